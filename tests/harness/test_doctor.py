"""`--doctor` says what works: as root and as an ordinary user."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from autograder.isolation import sandbox
from tests.interpreter import python
from tests.project import copy_of_the_grader

NOBODY = 65_534

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="becomes another user: root on Linux"
)


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """What grades, where other users can read it (pytest's folders are private)."""
    folder = copy_of_the_grader(Path(tempfile.mkdtemp(prefix="doctor-")))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def run(folder: Path, *arguments: str, **keywords) -> subprocess.CompletedProcess:
    # Another user could not write what `make coverage` measures.
    environment = {n: v for n, v in os.environ.items() if not n.startswith("COVERAGE_")}
    environment["HOME"] = "/nonexistent"
    return python(folder, "src/grader.py", *arguments, env=environment, **keywords)


def examined(folder: Path, **keywords) -> dict[str, str]:
    """Run the doctor, which must succeed; return its lines by their headings."""
    ran = run(folder, "--doctor", **keywords)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    assert "Traceback" not in ran.stdout and "did not return" not in ran.stdout, ran.stdout
    return dict(re.findall(r"^(\w+) +(.*(?:\n {13}.*)*)$", ran.stdout, re.MULTILINE))


def test_as_root_it_says_yes(project):
    if not (layers := sandbox.detect()).root:
        pytest.skip(layers.obstacle)
    (project / "solutions").chmod(0o700)
    found = examined(project)
    assert found["Authority"] == "yes" and "a uid for each test" in found["Layers"]


@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (0o755, "tests have no uid of their own"),
        (0o700, "solutions/ exists, but this user can't read"),
    ],
    ids=["solutions open", "solutions closed"],
)
@pytest.mark.sampled(2)
def test_an_ordinary_user_has_no_authority_and_is_told_why(project, mode, words):
    (project / "solutions").chmod(mode)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    found = examined(project, **as_nobody)
    assert found["Authority"].startswith("no") and words in found["Authority"]
    # A run isn't authoritative either; where it is impossible, one line says so.
    ran = run(project, "3a-0-basic", "--submission", "src", **as_nobody)
    assert ran.returncode in (1, 2) and "Traceback" not in ran.stdout + ran.stderr
    assert (words in ran.stderr) == (ran.returncode == 2) == (mode == 0o700)
