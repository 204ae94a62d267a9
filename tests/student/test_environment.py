"""A Python that is too old or lacks a package: one line with the command that mends it."""

import ast
import os
import shutil
import subprocess
import sys

import pytest

import environment
from tests import interpreter
from tests.interpreter import STRICT
from tests.project import ROOT

SCRIPTS = [path for path in (ROOT / "src").glob("*.py") if path.name != "environment.py"]
COMMANDS = sorted(p.name for p in SCRIPTS if '"__main__":' in p.read_text(encoding="utf-8"))
# The packages that each command requires; the grader runs some tests without torch.
NEEDS = {
    "attention_exploration.py": "numpy",
    "dataset.py": "torch and no numpy and no tqdm",
    "grader.py": "numpy",
    "london_baseline.py": "torch and no numpy and no tqdm",
    "run.py": "torch and no numpy and no tqdm",
}
OLD = """
import runpy, sys
sys.version_info = (3, 10, 4, "final", 0)
sys.argv = sys.argv[1:]
sys.path.insert(0, "src")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def python(*words):
    """Run this Python as if no environment were activated: without any installed package."""
    keep = {key: value for key, value in os.environ.items() if key in ("PATH", "SYSTEMROOT")}
    return subprocess.run(
        [sys.executable, *STRICT, *words],
        cwd=ROOT,
        env=keep,
        capture_output=True,
        encoding="utf-8",
        stdin=subprocess.DEVNULL,
    )


def test_commands_are_known():
    assert {"collect_submission.py", "check_written.py", *NEEDS} == set(COMMANDS)


@pytest.mark.parametrize("name", sorted(NEEDS))
def test_missing_packages_are_one_line_with_a_command(name):
    ran = python("-S", "-E", "-s", f"src/{name}")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith(f"{name}: this Python (")
    assert f"has no {NEEDS[name]}; " in ran.stderr
    assert any(word in ran.stderr for word in (" -m pip install ", "/bin/activate", "uv run "))


@pytest.mark.parametrize("name", ["collect_submission.py", "check_written.py"])
def test_packing_and_checking_need_no_package(name):
    assert python("-S", "-E", "-s", f"src/{name}", "--help").returncode == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_an_old_python_is_one_line_with_a_command(name):
    ran = python("-c", OLD, f"src/{name}")
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stderr
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith(f"{name}: this is Python 3.10, expected 3.11 or newer; ")


@pytest.mark.parametrize("name", [*COMMANDS, "environment.py"])
def test_old_pythons_can_read_the_command_down_to_the_check(name):
    """Python parses the whole file before its first line runs."""
    tree = ast.parse((ROOT / "src" / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    for node in tree.body:
        if isinstance(node, ast.If) and name != "environment.py":  # the check
            assert "environment.check(" in ast.unparse(node)
            return
        names = [alias.name for alias in getattr(node, "names", [])]
        module = getattr(node, "module", None)
        for imported in [module] if module else names:
            # `__future__.annotations` is unknown to 3.6. What else is imported, 3.6 has.
            first = imported.partition(".")[0]
            assert first in sys.stdlib_module_names - {"__future__", "tomllib"} | {"environment"}
    assert name == "environment.py"


@pytest.mark.parametrize(
    "words",
    [
        ("attention_exploration.py", "--help"),
        ("check_written.py", "--help"),
        ("collect_submission.py", "--help"),
        ("grader.py", "--list"),
        ("run.py", "--help"),
    ],
)
def test_a_reader_who_has_left_makes_no_traceback(words):
    """Run it as in `python src/grader.py | head`."""
    reading, writing = os.pipe()
    os.close(reading)
    name, option = words
    arguments = [sys.executable, *STRICT, f"src/{name}", option]
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(
            arguments, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.PIPE
        )
    assert ran.stderr == b"" and ran.returncode in (0, 130)


# ---------------------------------------------------------------- files that hide modules


@pytest.fixture
def source(tmp_path):
    """A copy of src/, without the data set."""
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("data"))
    return tmp_path / "src"


def said_of(*names: str) -> str:
    return "".join(
        "{command}: " + os.path.join("src", name) + " has the name of a module that Python or the "
        "commands need, and would be imported in its place: rename it\n"
        for name in names
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_with_the_name_of_a_module_is_named(name, source):
    hiding = ["copy.py", "inspect.py", "random.py", "signal.py", "token.py", "types.py"]
    for each in hiding:
        (source / each).write_text("VALUE = 3\n", encoding="utf-8")
    ran = interpreter.python(source.parent, f"src/{name}", "--help")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == said_of(*hiding).format(command=name)


def test_every_module_of_python_can_be_hidden_and_is_named(source):
    """Nothing but what Python itself has loaded is imported before the check."""
    names = sorted(sys.stdlib_module_names - set(sys.builtin_module_names))
    for name in names:
        (source / f"{name}.py").write_text("raise KeyError('imported')\n", encoding="utf-8")
    ran = interpreter.python(source.parent, "src/grader.py", "--list")
    assert ran.stderr == said_of(*(f"{name}.py" for name in names)).format(command="grader.py")


@pytest.mark.parametrize("made", ["torch.py", "numpy/__init__.py", "inputs/__init__.py"])
def test_libraries_and_our_own_modules_can_be_hidden_too(made, source):
    path = source / made
    path.parent.mkdir(exist_ok=True)
    path.write_text("VALUE = 3\n", encoding="utf-8")
    ran = interpreter.python(source.parent, "src/run.py", "--help")
    assert ran.stderr == said_of(made.partition("/")[0]).format(command="run.py")


def test_folders_of_pythonpath_are_searched_and_other_files_hide_nothing(source, tmp_path):
    folder, library = tmp_path / "mine", tmp_path / "site-packages"
    (folder / "numpy").mkdir(parents=True)
    (folder / "numpy" / "__init__.py").touch()  # a library may be there
    for path in (folder / "random.py", library / "wave.py", folder / "data" / "random.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("from secrets import *\n", encoding="utf-8")
    for name in ("sys.py", "notes.py", "random.txt"):
        (source / name).touch()
    (source / "random").mkdir()
    ran = {
        path: interpreter.python(
            source.parent, "src/check_written.py", "--help", env={"PYTHONPATH": str(path)}
        )
        for path in (folder, library)
    }
    expected = said_of("random.py").format(command="check_written.py").replace("src", "mine")
    assert ran[folder].stderr == expected
    assert ran[library].stderr == ""


def test_a_pipe_that_is_not_the_readers_keeps_its_traceback():
    code = "import environment; environment.explain_uncaught(); raise BrokenPipeError"
    ran = python("-c", f"import sys; sys.path.insert(0, 'src'); {code}")
    assert ran.returncode == 1 and "BrokenPipeError" in ran.stderr


NAMESAKES = [name for name in COMMANDS if (ROOT / "src" / "submission" / name).exists()]


def test_some_modules_have_a_command():
    assert {"dataset.py", "london_baseline.py"} <= set(NAMESAKES)


@pytest.mark.parametrize("name", NAMESAKES)
def test_a_module_that_is_run_names_its_command(name, run_python):
    """An editor may run the file that is open."""
    ran = run_python(ROOT / "src" / "submission" / name)
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1
    assert ran.stderr.endswith(f"; its command is: python src/{name}\n")


CTRL_C = """
import builtins, runpy, sys
usual = builtins.__import__
def load(name, *rest):
    if name == "torch":
        raise KeyboardInterrupt
    return usual(name, *rest)
builtins.__import__ = load
sys.path.insert(0, "src")
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("name", ["run.py", "dataset.py", "london_baseline.py"])
def test_ctrl_c_while_torch_is_imported_is_one_line(name, run_python):
    ran = run_python("-c", CTRL_C, f"src/{name}", "--help", cwd=ROOT)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "\nInterrupted.\n")


# ---------------------------------------------------------------- which command


@pytest.fixture
def mend(tmp_path, monkeypatch):
    """Return a function that gives the command for a folder, a Python and what is on the path."""
    monkeypatch.setattr(environment, "ROOT", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["src/grader.py", "1e"])

    def tell(prefix="/usr", base="/usr", there=(), version=(3, 12, 0), conda="", lacks=()):
        monkeypatch.setattr(environment, "find_spec", lambda name: None if name in lacks else name)
        monkeypatch.setattr(sys, "prefix", str(prefix))
        monkeypatch.setattr(sys, "base_prefix", str(base))
        monkeypatch.setattr(sys, "executable", "/bin/p")
        monkeypatch.setattr(sys, "_base_executable", "/bin/base")
        monkeypatch.setattr(sys, "version_info", version)
        monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
        monkeypatch.setenv("CONDA_DEFAULT_ENV", conda)
        monkeypatch.setenv("CONDA_PREFIX", str(prefix) if conda else "")
        return environment.mend()

    return tell


def environment_in(folder):
    """Create the files that every environment has."""
    script = folder / ".venv" / ("Scripts" if os.name == "nt" else "bin") / "activate"
    script.parent.mkdir(parents=True)
    script.touch()


LISTS = "python -m pip install -r requirements.txt -c constraints.txt"
posix = pytest.mark.skipif(os.name == "nt", reason="activating is another command on Windows")


@posix
def test_an_environment_that_is_there_is_to_be_activated(mend, tmp_path, monkeypatch):
    environment_in(tmp_path)
    assert mend() == "activate the environment: . .venv/bin/activate"
    assert mend(version=(3, 9, 0)) == "activate the environment: . .venv/bin/activate"
    (tmp_path / "src").mkdir()
    monkeypatch.chdir(tmp_path / "src")
    assert mend() == "activate the environment: . ../.venv/bin/activate"


def test_an_environment_that_is_active_lacks_packages(mend, tmp_path):
    environment_in(tmp_path)
    assert mend(prefix=tmp_path / ".venv") == f"install what is missing: {LISTS}"


def test_an_active_environment_of_conda_lacks_packages(mend):
    said = mend(prefix="/opt/conda/envs/a5", base="/opt/conda/envs/a5", conda="a5")
    assert said == f"install what is missing: {LISTS}"


def test_uv_makes_the_environment_where_it_is_installed(mend, tmp_path):
    (tmp_path / "pyproject.toml").touch()
    there = ("uv", "conda")
    assert mend(there=there) == "let uv create the environment: uv run src/grader.py 1e"
    assert mend(there=there, version=(3, 10, 0)).endswith(": uv run src/grader.py 1e")


def test_conda_is_named_where_it_is_installed(mend):
    said = mend(there=("conda",))
    assert "conda activate pretraining" in said
    assert "conda env create -f environment.yml" in said


def test_the_base_environment_of_conda_is_not_to_be_filled(mend):
    said = mend(prefix="/opt/conda", base="/opt/conda", there=("conda",), conda="base")
    assert "conda activate pretraining" in said


@posix
def test_else_python_makes_one(mend):
    made = "-m venv .venv && . .venv/bin/activate && " + LISTS
    assert mend() == f"create an environment: /bin/p {made}"
    said = mend(version=(3, 10, 0), there=("python3.13", "python3.11"))
    assert said == f"create an environment: python3.13 {made}"
    assert "install Python 3.12 from https://" in mend(version=(3, 10, 0))


@posix
@pytest.mark.parametrize("half_made", [False, True])
def test_a_python_without_ensurepip_makes_one_all_the_same(mend, tmp_path, half_made):
    """Debian packages it separately; without it, `python3 -m venv` leaves out pip and activate."""
    if half_made:
        (tmp_path / ".venv" / "bin").mkdir(parents=True)
    pip = "/bin/p -m pip --python .venv/bin/python"
    lists = LISTS.removeprefix("python -m pip")
    assert mend(lacks=("ensurepip",)) == (
        f"create an environment: /bin/p -m venv --without-pip .venv && . .venv/bin/activate && "
        f"{pip}{lists}"
    )
    said = mend(lacks=("ensurepip", "pip"))
    assert said.startswith("install uv (https://docs.astral.sh/uv/), or Debian's python3-venv;")


@pytest.mark.parametrize(
    ("there", "pip"), [((), "/bin/base -m pip --python /bin/p"), (("uv",), "uv pip")]
)
def test_an_active_environment_without_pip_is_filled_from_outside(mend, tmp_path, there, pip):
    environment_in(tmp_path)
    said = mend(prefix=tmp_path / ".venv", there=there, lacks=("pip",))
    assert said == f"install what is missing: {LISTS.replace('python -m pip', pip)}"


@posix
def test_paths_are_quoted_for_the_shell(mend, tmp_path, monkeypatch):
    folder = tmp_path / "Übung (copy)"
    environment_in(folder)
    monkeypatch.setattr(environment, "ROOT", str(folder))
    assert mend() == "activate the environment: . 'Übung (copy)/.venv/bin/activate'"


def test_what_is_missing_and_only_wanted_ends_nothing(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["grader.py"])
    environment.check(wanted="no_such_package")
    said = capsys.readouterr().err
    assert (
        said.count("\n") == 1 and "has no no_such_package: tests that need it can't run; " in said
    )
