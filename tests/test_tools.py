"""`python -m tools.NAME`: wrong usage, or a missing data set or package, is one line.

A test checks that the tables are complete: new commands in tools/ must be added here, too.
"""

import os
import subprocess
import sys

import pytest

from tests.interpreter import STRICT, python
from tests.project import ROOT, copy_of_the_project

COMMANDS = {
    # name: (required arguments, its options for editions and recipes, whether it needs data)
    "apt": ((), (), False),
    "autograder": ((), ("--edition", "--recipe"), True),
    "classroom": (("grade", "no/such", "--into=new"), ("--edition",), False),
    "compare": ((), ("--recipe",), True),
    "demo": ((), ("--recipe",), True),
    "dist": ((), (), False),
    "emulate": (("src/submission",), ("--edition",), False),
    "handout": ((), ("--edition",), False),
    "install_data": (("no/such",), (), False),
    "leaks": (("README.md",), ("--edition",), False),
    "new_term": (("--term=Spring 2027",), (), False),
    "notebooks": (("--check",), (), False),
    "pins": ((), (), False),
    "question": (("No-Name",), (), False),
    "reference": ((), ("--edition", "--recipe"), True),
    "release": ((), ("--edition", "--recipe"), True),
    "starter": ((), (), False),
    "student": ((), ("--edition",), True),
    "world": ((), (), False),
}
NOT_FOR_PEOPLE = {"usable_python", "watched_pretraining"}  # setup.sh and compare.py call them
NEEDS_WORDS = sorted({name for name, (words, _, _) in COMMANDS.items() if words})
KNOWN = {"--edition": "cs224n, current, xcs224n", "--recipe": "laptop, original, real, smoke"}
OPTIONS = [(name, option) for name, (_, options, _) in COMMANDS.items() for option in options]
NEEDS_DATA = sorted(name for name, (_, _, data) in COMMANDS.items() if data)


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


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_is_none_is_one_line(said, name):
    line = said(name, *COMMANDS[name][0], "--papers=a4")
    assert f"unrecognized arguments: --papers=a4 (see python -m tools.{name} --help)" in line


@pytest.mark.parametrize("name", NEEDS_WORDS)
def test_without_what_it_needs_a_command_is_one_line(said, name):
    line = said(name)
    assert "required" in line and f"(see python -m tools.{name} --help)" in line


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_an_unknown_name_lists_the_right_ones(said, name, option):
    line = said(name, *COMMANDS[name][0], f"{option}=nope")
    assert "'nope'" in line and KNOWN[option] in line


@pytest.mark.parametrize("name", NEEDS_DATA)
def test_without_a_data_set_a_command_says_how_to_make_one(said, bare, name):
    assert (
        said(name) == f"error: there is no data set in {bare}: `make world` generates a data set\n"
    )


def test_a_file_of_the_data_set_that_is_missing_is_named(said, bare, monkeypatch):
    from tools import datafiles

    (bare / "src/data").mkdir()
    try:
        for name in set(datafiles.SHIPPED) - {datafiles.DEV}:
            (bare / name).touch()
        assert "there is no src/data/birth_dev.tsv in " in said("reference")
    finally:
        for name in set(datafiles.SHIPPED) - {datafiles.DEV}:
            (bare / name).unlink()
        (bare / "src/data").rmdir()


# ---------------------------------------------------------------- this Python


def bare_python(folder, *words: str, code: str = ""):
    """Run this Python without any installed package; `code` runs first."""
    start = ["-c", code] if code else []
    return subprocess.run(
        [sys.executable, *STRICT, "-S", "-E", "-s", *start, *words],
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
runpy.run_module("tools.pins", run_name="__main__", alter_sys=True)
"""


def test_an_old_python_is_one_line_with_a_command(bare):
    ran = bare_python(bare, code=OLD)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert " is 3.10, expected 3.11 or newer; `make setup`" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_reader_who_has_left_makes_no_traceback(bare):
    """Run it as in `python -m tools.starter | head`."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(
            [sys.executable, *STRICT, "-m", "tools.starter", "--check"],
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
