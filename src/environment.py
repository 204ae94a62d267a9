"""Report in one line what this Python lacks, and what ends a command unforeseen.

    import environment

    if __name__ == "__main__":
        environment.check("torch", "numpy")

Python 3.6 and newer can parse this file, and each command down to these lines, so that an old
Python also prints this line and not a traceback.
"""

# ruff: noqa: E402
# These two were imported before Python knew of the command's folder. All others may be hidden by a
# file in it, so that the check comes first.
import os
import sys

LIBRARIES = ("torch", "numpy", "tqdm", "tensorboard", "jinja2", "matplotlib", "rich")


def hiding_files() -> list:
    """Return the files that would be imported in place of a module of Python, a library, or ours.

    Python looks first in the folder of the command, where students may put files of their own, and
    then in those of PYTHONPATH, where libraries may be installed.
    """
    found = []
    names = set(getattr(sys, "stdlib_module_names", ())) - set(sys.builtin_module_names)
    library = os.path.realpath(os.path.dirname(os.__file__))
    for folder in sys.path:
        if os.path.realpath(folder) == library:
            break  # what comes later hides nothing
        own = os.path.basename(folder) not in ("site-packages", "dist-packages")
        is_ours = os.path.realpath(folder) == os.path.dirname(os.path.realpath(__file__))
        entries = sorted(os.listdir(folder)) if own and os.path.isdir(folder) else []
        for entry in entries:
            name, suffix = os.path.splitext(entry)
            is_package = os.path.isfile(os.path.join(folder, entry, "__init__.py"))
            hides = name in names or (is_ours and name in LIBRARIES)
            hides_ours = is_ours and entry + ".py" in entries  # a package comes first
            if (is_package and hides_ours) or (hides and (is_package or suffix == ".py")):
                found.append(os.path.join(folder, entry))
    return found


def _from_here(path: str) -> str:
    try:
        return os.path.relpath(path)
    except ValueError:  # another drive on Windows
        return path


def _say(fault: str) -> None:
    command = os.path.basename(sys.argv[0])
    command = "error" if command == "-m" else command  # in `python -m`, while packages are imported
    print(f"{command}: {fault}", file=sys.stderr)


HIDING = hiding_files()
for _file in HIDING:
    _say(
        f"{_from_here(_file)} has the name of a module that Python or the commands need, and "
        "would be imported in its place: rename it"
    )
if HIDING:
    sys.exit(2)

import argparse
import atexit
import contextlib
import hashlib
import io
import itertools
import json
import re
import shutil
import subprocess
import traceback
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import host

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
OLDEST = (3, 11)  # the first one with tomllib and typing.Self
NEWER = "3.12"  # the one that grades on Gradescope
USAGE, INTERRUPTED = 2, 130  # exit codes
UPDATE, JOURNAL = ".update", "journal.json"  # a prepared update (update.py) in the folder
# What commands import from src/; other files there are commands themselves, such as dataset.py.
OURS = ("environment", "experiments", "host", "inputs", "letters")


def check(*packages: str, wanted: str = "") -> None:
    """Exit with code 2 and one line unless this Python is new enough and has these packages.

    If an update was killed, it is completed first, since modules may be of two releases.

    Args:
        packages: the packages that the command needs.
        wanted: a package without which the command can do less; if it is missing, a line says so.
    """
    if sys.version_info < OLDEST:
        major, minor = sys.version_info[:2]
        _end(f"this is Python {major}.{minor}, expected {OLDEST[0]}.{OLDEST[1]} or newer")
    complete_killed_update()
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        _end(f"this Python ({sys.executable}) has no {' and no '.join(missing)}")
    if wanted and find_spec(wanted) is None:
        fault = f"has no {wanted}: tests that need it can't run"
        _say(f"this Python ({sys.executable}) {fault}; {mend()}")
    for fault in too_old({*packages, wanted}):
        _say(f"this Python ({sys.executable}) has {fault}; {mend()}")
    explain_uncaught()


def too_old(names: "set[str]") -> list:
    """Return words about each of these packages that is older than requirements.txt asks for."""
    from importlib import metadata  # unknown to old Pythons

    path = Path(ROOT, "requirements.txt")
    text = path.read_text("utf-8") if path.is_file() else ""
    found = []
    for name, oldest in re.findall(r"^(\w+)>=([\d.]+)", text, re.MULTILINE):
        with contextlib.suppress(metadata.PackageNotFoundError):
            version = metadata.version(name)
            if name in names and _numbers(version) < _numbers(oldest):
                found.append(f"{name} {version}, expected {oldest} or newer")
    return found


def _numbers(version: str) -> list:
    return [int(number) for number in re.findall(r"\d+", version)]


def complete_killed_update() -> None:
    """Complete this folder's update, if one was killed, and run the command from its beginning."""
    try:
        if not finish_update(ROOT):
            return
    except OSError as error:
        _say(f"an update was interrupted; {reason(error)}")
        sys.exit(USAGE)
    _say("completed the update that was interrupted")
    sys.exit(subprocess.call([sys.executable, *sys.orig_argv[1:]]))


def reason(error: BaseException) -> str:
    """Return an error's message; of an error of the system, with the file and what may help."""
    if not isinstance(error, OSError):
        return str(error) or "interrupted"
    path = _from_here(str(error.filename2 or error.filename))
    return f"{path}: {error.strerror}{host.advice_on(error)}"


def finish_update(root: str) -> bool:
    """Rename each file of a prepared update to its place; return whether there was an update.

    A prepared update is a folder with files 0, 1, ... and a list of them, which was written last:
    each file's place, and the SHA-256 of what it replaces and of itself. Wherever this is killed,
    another call does the rest. What was edited in between is kept beside its place, as NAME.mine.

    Raises:
        OSError: a file can't be replaced; another call does the rest.
    """
    folder = Path(root, UPDATE)
    try:
        journal = json.loads((folder / JOURNAL).read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False  # nothing was renamed yet
    for number, (name, old, new) in enumerate(journal):
        staged, target = folder / str(number), Path(root, name)
        if not staged.exists():
            continue  # it is in its place
        with contextlib.suppress(FileNotFoundError):
            if hashlib.sha256(target.read_bytes()).hexdigest() not in (old, new):
                places = candidates(str(target), ".mine")
                os.replace(target, next(path for path in places if not os.path.lexists(path)))
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # another command did it
            os.replace(staged, target)
    shutil.rmtree(folder, ignore_errors=True)
    return True


def candidates(start: str, end: str) -> "Iterator[str]":
    """Yield START END, START-2 END, ..., of which one is free."""
    return (start + (f"-{n}" if n > 1 else "") + end for n in itertools.count(1))


def find_submission() -> None:
    """Let `submission` be imported as by the grader: its modules also have their bare names.

    Exit with code 2 and one line for each module that is saved as UTF-16.
    """
    from grading.errors import UTF16, saved_as_utf16
    from grading.worker import BareNames

    package = Path(ROOT) / "src" / "submission"
    bad = saved_as_utf16(package)
    for path in bad:
        _say(f"{_from_here(str(path))} is {UTF16}")
    if bad:
        sys.exit(USAGE)
    sys.meta_path.insert(0, BareNames(package, OURS))


def parser(doc: str) -> argparse.ArgumentParser:
    """Return the parser of a command whose help begins with this docstring of its module."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def use_utf8() -> None:
    """Print UTF-8, whatever the console's encoding: names have accents."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")


def report_errors(command: "Callable[[], None]") -> int:
    """Call command(); return the exit code: 2, with one line, for bad input or unwritten code."""
    from pretraining import InputError

    use_utf8()
    try:
        command()
    except NotImplementedError as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(f"{place.filename}:{place.lineno}: {error}", file=sys.stderr)
        return USAGE
    except BrokenPipeError:  # see explain_uncaught()
        raise
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE
    return 0


def explain_uncaught() -> None:
    """End the command in a line where Python would print a long traceback.

    This is for Ctrl-C during imports, for a reader of the output who leaves, as in `| head`, and
    for errors in the submission.
    """
    usual = sys.excepthook

    def end(kind, error, trace):  # type: ignore[no-untyped-def]  # (old Pythons parse this)
        if issubclass(kind, BrokenPipeError) and reader_has_left():
            sys.exit(INTERRUPTED)
        if issubclass(kind, KeyboardInterrupt):
            print("\nInterrupted.", file=sys.stderr)
            sys.exit(INTERRUPTED)
        lines = lines_of_submission(error, trace)
        print("\n".join(lines), file=sys.stderr) if lines else usual(kind, error, trace)

    sys.excepthook = end
    atexit.register(reader_has_left)  # buffered output is written at exit


def lines_of_submission(error, trace):  # type: ignore[no-untyped-def]  # (old Pythons parse this)
    """Return a traceback without libraries that ends in the student's line; [] if there is none."""
    frames = traceback.extract_tb(trace)
    places = [(os.path.abspath(frame.filename), frame.lineno) for frame in frames]
    if isinstance(error, SyntaxError) and error.filename:
        places.append((os.path.abspath(error.filename), error.lineno or 1))
    package = os.path.join(ROOT, "src", "submission", "")
    own = [(file, number) for file, number in places if file.startswith(package)]
    if not own:
        return []
    first = places.index(own[0])
    ours = [f for f in frames[first:] if _is_ours(os.path.abspath(f.filename))]
    shown = "".join(traceback.format_list(ours)).rstrip().splitlines()
    file, number = own[-1]
    name = "submission/" + file[len(package) :].replace(os.sep, "/")
    text = " ".join(traceback.format_exception_only(type(error), error)[-1].split())[:500]
    if isinstance(error, UnicodeDecodeError):
        text += ' (is encoding="utf-8" missing where the file is opened?)'
    head = ["Traceback, without libraries:"] if shown else []
    return [*head, *shown, f"error: {name}:{number}: {text}"]


def _is_ours(file: str) -> bool:
    return file.startswith(os.path.join(ROOT, "")) and "site-packages" not in file


def reader_has_left() -> bool:
    """Return whether nobody reads the output any more; if so, stop printing."""
    left = True
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()
        left = False
    left = left or not host.has_reader(sys.stdout.fileno())  # the failed write may be discarded
    if left:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return left


def _end(fault: str) -> None:
    _say(f"{fault}; {mend()}")
    sys.exit(USAGE)


def mend() -> str:
    """Return what to do to get an environment with all packages."""
    usable = sys.version_info >= OLDEST
    venv = _from_here(os.path.join(ROOT, ".venv"))
    activation = host.activation(venv)
    if activation and os.path.realpath(sys.prefix) != os.path.realpath(venv):
        return f"activate the environment: {activation}"
    given = os.environ.get
    in_conda = sys.prefix == given("CONDA_PREFIX") and given("CONDA_DEFAULT_ENV") != "base"
    if usable and (sys.prefix != sys.base_prefix or in_conda) and find_spec("pip"):
        path = host.quoted(_from_here(os.path.join(ROOT, "requirements.txt")))
        return f"install the packages: python -m pip install -r {path}"
    if shutil.which("uv") and os.path.isfile(os.path.join(ROOT, "pyproject.toml")):
        return f"let uv create the environment: uv run {' '.join(map(host.quoted, sys.argv))}"
    newer = "" if usable else f"install Python {NEWER} from https://www.python.org/downloads/, and "
    return newer + "create and activate an environment as README.md says"
