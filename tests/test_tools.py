"""`python -m tools.NAME`: wrong usage, or a missing data set or package, is one line.

A test checks that the tables are complete: new commands in tools/ must be added here, too.
"""

import os
import shutil
import subprocess
import sys

import pytest

from tests.interpreter import python
from tests.project import ROOT, copy_of_the_project
from tests.snapshots import check

COMMANDS = {
    # name: (required arguments, its options for editions and recipes, whether it needs data)
    "apt": ((), (), False),
    "autograder": ((), ("--edition", "--recipe"), True),
    "demo": ((), ("--recipe",), True),
    "emulate": (("src/submission",), ("--edition",), False),
    "experiments": (("no/such",), ("--edition",), False),
    "handout": ((), ("--edition",), False),
    "history": ((), (), False),
    "install_data": (("no/such",), (), False),
    "leaks": (("README.md",), ("--edition",), False),
    "new_term": (("--term=Spring 2027",), (), False),
    "question": (("No-Name",), (), False),
    "reference": ((), ("--edition", "--recipe"), True),
    "release": ((), ("--edition", "--recipe"), True),
    "requirements": ((), (), False),
    "restore": (("no/such",), (), False),
    "rubrics": (("--into=new",), ("--edition",), False),
    "starter": ((), (), False),
    "student": ((), ("--edition",), True),
    "viva": (("no/such",), ("--edition",), False),
    "world": ((), (), False),
}
NOT_FOR_PEOPLE = {"make"}  # the Makefile calls it


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """Return a fresh checkout, without a data set or builds."""
    return copy_of_the_project(tmp_path_factory.mktemp("project"))


@pytest.fixture
def said(bare):
    """Return a function that runs a command, which must fail, and returns its one line."""

    def say(name: str, *words: str) -> str:
        before = {path for path in bare.rglob("*") if "__pycache__" not in path.parts}
        ran = python(bare, "-m", f"tools.{name}", *words)
        assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
        assert ran.stderr.count("\n") == 1, ran.stderr
        assert ran.stderr.startswith(("error: ", "classroom: "))
        after = {path for path in bare.rglob("*") if "__pycache__" not in path.parts}
        assert after == before
        return ran.stderr

    return say


def test_the_table_is_complete():
    files = {path.stem for path in (ROOT / "tools").glob("*.py") if _is_command(path)}
    packages = {path.parent.name for path in (ROOT / "tools").glob("*/__main__.py")}
    assert files - NOT_FOR_PEOPLE | packages == set(COMMANDS)


def _is_command(path):
    return 'if __name__ == "__main__":' in path.read_text(encoding="utf-8")


def test_wrong_usage_is_one_line(said):
    found = {}
    for name, (words, options, _) in COMMANDS.items():
        calls = [(*words, "--papers=a4"), *((*words, f"{option}=nope") for option in options)]
        for call in [(), *calls] if words else calls:
            found[" ".join([name, *call])] = said(name, *call)
    check("tools_usage", found)


def test_without_a_data_set_a_command_says_how_to_make_one(said, bare):
    from tools import datafiles

    found = {name: said(name) for name, (_, _, data) in COMMANDS.items() if data}
    (bare / "src/data").mkdir()
    try:
        for name in set(datafiles.SHIPPED) - {datafiles.DEV}:
            (bare / name).touch()
        found["reference, without one file"] = said("reference")
    finally:
        shutil.rmtree(bare / "src/data")
    check("tools_without_data", found, {str(bare): "PROJECT"})


# ---------------------------------------------------------------- this Python


def bare_python(folder, *words: str, code: str = ""):
    """Run this Python without any installed package; `code` runs first."""
    start = ["-c", code] if code else []
    return subprocess.run(
        [sys.executable, "-S", "-E", "-s", *start, *words],
        cwd=folder,
        env={key: value for key, value in os.environ.items() if key in ("PATH", "SYSTEMROOT")},
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("name", ["autograder", "handout", "leaks", "release", "student"])
def test_a_missing_package_is_one_line_with_a_command(bare, name):
    ran = bare_python(bare, "-m", f"tools.{name}", *COMMANDS[name][0])
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.startswith("error: this Python (") and ran.stderr.count("\n") == 1
    assert " has no " in ran.stderr and "`make setup` creates .venv" in ran.stderr


OLD = """
import runpy, sys
sys.version_info = (3, 10, 4, "final", 0)
sys.argv = ["-m", *sys.argv[2:]]
sys.path.insert(0, "")
runpy.run_module("tools.requirements", run_name="__main__", alter_sys=True)
"""


def test_an_old_python_is_one_line_with_a_command(bare):
    ran = bare_python(bare, code=OLD)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert " is 3.10, expected 3.11 " in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_reader_who_has_left_makes_no_traceback(bare):
    """Run it as in `python -m tools.starter | head`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(
            [sys.executable, "-m", "tools.starter", "--check"],
            cwd=bare,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
        )
    assert ran.stderr == b"" and ran.returncode in (0, 130)


def test_a_mistake_of_ours_keeps_its_traceback(bare):
    """If a module of our own is missing, installing packages would not help."""
    path = bare / "tools" / "broken.py"
    path.write_text("from . import nowhere\nimport tools.nowhere\n", encoding="utf-8")
    try:
        ran = bare_python(bare, "-m", "tools.broken")
    finally:
        path.unlink()
    assert ran.returncode == 1 and "Traceback" in ran.stderr
