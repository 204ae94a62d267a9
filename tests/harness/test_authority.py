"""Whether a run may be authoritative: what the canary tries, and what `--doctor` says."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import grading
import host
from autograder import isolation
from autograder.isolation import authority, sandbox
from grading import upload
from tests.interpreter import python
from tests.project import copy_of_the_grader

NOTHING = {"read": [], "written": [], "signalled": [], "sockets": [], "scratch": True, "linked": []}
ROOT = sandbox.Layers(root=True, landlock_abi=0, seccomp=False)


def test_each_success_of_the_canary_is_a_fault():
    assert authority.faults(ROOT, NOTHING) == []
    for key, value in NOTHING.items():
        success = False if value is True else ["/solutions"]
        assert len(authority.faults(ROOT, NOTHING | {key: success})) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
def test_the_canary_finds_what_is_open(tmp_path, monkeypatch):
    places = {"SOLUTIONS": grading.SOLUTIONS, "SRC": tmp_path, "ROOT": tmp_path, "DATA": tmp_path}
    monkeypatch.setattr(authority, "grading", SimpleNamespace(**places))  # it writes there
    # Staging follows links, but what removes trees does not.
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | {"lstat": os.stat}))
    monkeypatch.setattr(host, "os", SimpleNamespace(**vars(os) | {"O_NOFOLLOW": 0}))
    found = isolation.obstacles(sandbox.Layers(root=False, landlock_abi=0, seccomp=False))
    for words in (
        f"can read {grading.SOLUTIONS / 'hidden' / '__init__.py'}",
        f"can write to {tmp_path}",
        f"can signal process {os.getpid()}",
        "can open TCP sockets",
        "can open Unix sockets",
    ):
        assert f"student code {words}" in found
    for name in authority.LINKS:
        assert f"{name} can be submitted as a link to the solutions" in found


NOBODY = 65_534


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """What grades, where other users can read it (pytest's folders are private)."""
    folder = copy_of_the_grader(Path(tempfile.mkdtemp(prefix="doctor-")))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


MODES = {0o755: "tests have no uid of their own", 0o700: "exists, but this user can't read"}


@pytest.mark.requires_root
@pytest.mark.parametrize("mode", MODES, ids=oct)  # of solutions/
@pytest.mark.sampled(2)
def test_an_ordinary_user_has_no_authority_and_is_told_why(project, mode):
    words = MODES[mode]
    (project / "solutions").chmod(mode)
    # Another user could not write what `make coverage` measures.
    environment = {n: v for n, v in os.environ.items() if not n.startswith("COVERAGE_")}
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    as_nobody["env"] = environment | {"HOME": "/nonexistent"}
    doctor = python(project, "src/grader.py", "--doctor", **as_nobody)
    assert doctor.returncode == 0 and not doctor.stderr, doctor.stderr
    (authority,) = re.findall(r"^Authority +(no.*(?:\n {13}.*)*)$", doctor.stdout, re.MULTILINE)
    assert words in authority
    # A run isn't authoritative either; where it is impossible, one line says so.
    ran = python(project, "src/grader.py", "3a-0-basic", "--submission", "src", **as_nobody)
    assert ran.returncode in (1, 2) and "Traceback" not in ran.stdout + ran.stderr
    assert (words in ran.stderr) == (ran.returncode == 2) == (mode == 0o700)
