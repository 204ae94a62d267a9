"""A Python that is too old or lacks a package: one line with the command that mends it."""

import ast
import os
import re
import shutil
import sys
from importlib import metadata

import pytest

import environment
from autograder.description import load_assignment
from tests.interpreter import python, python_after
from tests.project import ROOT, write_files
from tests.snapshots import check
from tests.systems import become

SCRIPTS = [path for path in (ROOT / "src").glob("*.py") if path.name != "environment.py"]
COMMANDS = sorted(p.name for p in SCRIPTS if '"__main__":' in p.read_text(encoding="utf-8"))
# The packages that each command requires; the grader runs some tests without torch.
NEEDS = {
    "attention_exploration.py": "numpy and no matplotlib",
    "dataset.py": "torch and no numpy and no tqdm",
    "grader.py": "numpy and no rich",
    "london_baseline.py": "torch and no numpy and no tqdm",
    "run.py": "torch and no numpy and no tqdm and no jinja2 and no matplotlib and no rich",
}
BARE = ("-S", "-E", "-s")  # Python without any installed package
NO_PACKAGES = ("collect_submission.py", "check_written.py", "update.py")


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_missing_packages_are_one_line_with_a_command(name):
    ran = python(ROOT, *BARE, f"src/{name}")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith(f"{name}: this Python (")
    assert f"has no {NEEDS[name]}; " in ran.stderr
    assert any(word in ran.stderr for word in ("README.md", "/bin/activate", "uv run "))


@pytest.mark.parametrize("name", NO_PACKAGES)
def test_packing_checking_and_updating_need_no_package(name):
    assert python(ROOT, *BARE, f"src/{name}", "--help").returncode == 0


def test_an_old_python_is_one_line_with_a_command():
    """Each command begins with the same check; see below."""
    ran = python_after("sys.version_info = (3, 10, 4, 'final', 0)", ROOT, "src/grader.py")
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith("grader.py: this is Python 3.10, expected 3.11")
    advised = load_assignment(ROOT).gradescope_python
    assert advised == environment.NEWER, "src/environment.py names another Python to install"


@pytest.mark.parametrize("name", [*COMMANDS, "environment.py", "host.py"])
def test_old_pythons_can_read_the_command_down_to_the_check(name):
    """Python parses the whole file before its first line runs."""
    text = (ROOT / "src" / name).read_text(encoding="utf-8")
    ast.parse(text, feature_version=(3, 6))
    before = text.partition("environment.check(")[0] if name in COMMANDS else text
    assert before != text or name not in COMMANDS
    assert not re.search("^(from|import) (__future__|tomllib)", before, re.MULTILINE)


def test_a_file_with_the_name_of_a_module_is_named(tmp_path):
    """A module of Python, a library, or a package, which would come before our module.

    Nothing but what Python itself has loaded is imported before the check.
    """
    source = tmp_path / "src"
    shutil.copytree(ROOT / "src", source, ignore=shutil.ignore_patterns("data"))
    hiding = [f"{name}.py" for name in sys.stdlib_module_names - set(sys.builtin_module_names)]
    hiding = sorted([*hiding, "torch.py", "inputs"])
    names = [name if name.endswith(".py") else f"{name}/__init__.py" for name in hiding]
    write_files(source, dict.fromkeys(names, "raise KeyError('imported')\n"))
    ran = python(tmp_path, "src/grader.py", "--list")
    assert (ran.returncode, ran.stdout) == (2, "")
    said = [line.partition(" a module ")[0] for line in ran.stderr.splitlines()]
    place = os.path.join("src", "")
    assert said == [f"grader.py: {place}{name} has the name of" for name in hiding]


def test_a_module_that_is_run_names_its_command():
    """An editor may run the file that is open."""
    ran = python(ROOT, "src/submission/london_baseline.py")
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1
    assert ran.stderr.endswith("; its command is: python src/london_baseline.py\n")


# ---------------------------------------------------------------- which command


@pytest.fixture
def mend(tmp_path, monkeypatch):
    """Return a function that gives the command for a folder, a Python and what is on the path."""
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["src/grader.py", "--submission", "my work"])

    def tell(prefix="/usr", base="/usr", there=(), version=(3, 12, 0), conda="", lacks=()):
        monkeypatch.setattr(environment, "find_spec", lambda name: None if name in lacks else name)
        monkeypatch.setattr(sys, "prefix", str(tmp_path / prefix))
        monkeypatch.setattr(sys, "base_prefix", str(base))
        monkeypatch.setattr(sys, "executable", "/bin/p")
        monkeypatch.setattr(sys, "version_info", version)
        monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
        monkeypatch.setenv("CONDA_DEFAULT_ENV", conda)
        monkeypatch.setenv("CONDA_PREFIX", prefix if conda else "")
        return environment.mend()

    return tell


VENV = ".venv/bin/activate"
# What is there, and the Python that is running; its prefix may be the folder's .venv.
MADE = {"prefix": ".venv"}
OLD_PYTHON = {"version": (3, 10, 0)}
CONDA = {"prefix": "/opt/conda/envs/a5", "base": "/opt/conda/envs/a5", "conda": "a5"}
BASE = {"prefix": "/opt/conda", "base": "/opt/conda", "conda": "base"}
UV = {"there": ("uv",)}
CASES = {
    "an environment is there": ([VENV], {}),
    "an environment is there, of an old Python": ([VENV], {"version": (3, 9, 0)}),
    "an environment is active": ([VENV], MADE),
    "the same, which uv made": ([VENV, "pyproject.toml"], MADE | UV | {"lacks": ("pip",)}),
    "conda's is active": ([], CONDA),
    "conda's base is active": ([], BASE),
    "uv": (["pyproject.toml"], UV),
    "uv, an old Python": (["pyproject.toml"], OLD_PYTHON | UV),
    "only Python": ([], {}),
    "only an old Python": ([], OLD_PYTHON),
    "an environment was begun": ([".venv/bin/x"], {}),
}


WINDOWS = {
    "an environment is there, on Windows": ([VENV.replace("bin", "Scripts")], {}),
    "uv, on Windows": (["pyproject.toml", VENV], UV),
}


def test_the_command_that_mends_each_python(mend, tmp_path, monkeypatch):
    found = {}
    for title, (names, given) in (CASES | WINDOWS).items():
        become("win32" if title in WINDOWS else "linux", monkeypatch)
        shutil.rmtree(tmp_path / ".venv", ignore_errors=True)
        (tmp_path / "pyproject.toml").unlink(missing_ok=True)
        write_files(tmp_path, dict.fromkeys(names, ""))
        found[title] = mend(**given)
    check("environment", found, {str(tmp_path): "A5"})


def test_a_package_that_is_too_old_is_a_line_that_ends_nothing(tmp_path, monkeypatch, capsys):
    """Colab's torch is kept as it is (handout/student/colab.ipynb)."""
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["run.py"])
    environment.check("torch", "numpy")
    assert capsys.readouterr().err == ""
    (tmp_path / "requirements.txt").write_text(
        "torch>=99.1,<100\nnumpy>=1.2.3\nrich>=99\n", "utf-8"
    )
    environment.check("torch", "numpy")
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and said.startswith("run.py: this Python (")
    assert f" has torch {metadata.version('torch')}, expected 99.1 or newer; " in said
