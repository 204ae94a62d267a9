"""`--doctor` says what works: as root, as an ordinary user, and in the emulator's container."""

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
from tests.project import ROOT
from tools import container

NOBODY = 65_534
PARTS = ("src", "autograder", "solutions/hidden", "solutions/submission", "assignment.toml")
LIMITS = container.Limits(cpus=2.0)
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="confined workers need Linux")
HEADS = ("Release", "Python", "System", "CPUs", "Libraries", "Workers", "Layers", "Authority")


@pytest.fixture(scope="module")
def project() -> Iterator[Path]:
    """What the grader needs, where other users can read it (pytest's folders are private)."""
    folder = Path(tempfile.mkdtemp(prefix="doctor-"))
    lay_out(folder)
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


def lay_out(folder: Path) -> None:
    for name in PARTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    (folder / "solutions").chmod(0o700)


def run(folder: Path, *arguments: str, **keywords) -> subprocess.CompletedProcess:
    """Run the grader in a folder."""
    return subprocess.run(
        [sys.executable, "src/grader.py", *arguments],
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
        env=os.environ | {"HOME": "/nonexistent"},
        **keywords,
    )


def examined(folder: Path, **keywords) -> dict[str, str]:
    """Run the doctor, which must succeed; return its lines by their headings."""
    ran = run(folder, "--doctor", **keywords)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    return lines_of(ran.stdout)


def lines_of(said: str) -> dict[str, str]:
    assert "Traceback" not in said and "did not return" not in said, said
    found = dict(re.findall(r"^(\w+) +(.*(?:\n {13}.*)*)$", said, re.MULTILINE))
    assert set(HEADS) <= set(found), said
    return found


@LINUX
@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_as_root_it_says_yes(project):
    if not (layers := sandbox.detect()).root:
        pytest.skip(layers.obstacle)
    found = examined(project)
    assert found["Authority"] == "yes" and "a uid for each test" in found["Layers"]


@LINUX
@pytest.mark.parametrize(
    ("mode", "words"),
    [
        (0o755, "tests have no uid of their own"),
        (0o700, "solutions/ exists, but this user can't read"),
    ],
    ids=["solutions open", "solutions closed"],
)
@pytest.mark.sampled(2)
@pytest.mark.skipif(os.getuid() != 0, reason="becomes another user: root")
def test_an_ordinary_user_has_no_authority_and_is_told_why(project, mode, words):
    (project / "solutions").chmod(mode)
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    try:
        found = examined(project, **as_nobody)
        ran = run(project, "3a-0-basic", "--submission", "src", **as_nobody)
    finally:
        (project / "solutions").chmod(0o700)
    assert found["Authority"].startswith("no") and words in found["Authority"]
    # A run isn't authoritative either; where it is impossible, one line says so.
    assert ran.returncode in (1, 2) and "Traceback" not in ran.stdout + ran.stderr
    assert (words in ran.stderr) == (ran.returncode == 2) == (mode == 0o700)


@pytest.mark.long  # tests/gradescope/ grades in the emulator
def test_in_the_emulator_it_says_what_a_grading_there_can():
    with container.fresh(Path(sys.prefix)) as place:
        lay_out(place.autograder / "source")
        python = '"${PROBLEM_SET_HOME:-/opt/problem-set}/venv/bin/python"'
        log = place.autograder / "stdout"
        command = f"{python} source/src/grader.py --doctor"
        ran = place.run(["sh", "-c", command], log, LIMITS)
        said = log.read_text(encoding="utf-8")
    assert ran.code == 0, said
    found = lines_of(said)
    if place.isolated:
        assert found["Authority"] == "yes", said
