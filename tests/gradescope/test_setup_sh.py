"""setup.sh, with made-up packages: it installs for every user, and says what it could not install.

The real packages take hundreds of megabytes; to install those, run `make emulate SETUP=1`.
"""

import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.interpreter import captured
from tests.project import ROOT, write_files
from tests.wheels import torch_index

pytestmark = pytest.mark.requires_tool("bash")


def python_for_everybody() -> Path | None:
    """Return an interpreter that setup.sh would accept if it had the required version."""
    names = ("python3.13", "python3.12", "python3.11")
    found = [Path(folder, name) for name in names for folder in ("/usr/local/bin", "/usr/bin")]
    return next((path for path in found if path.exists()), None)


# Tests install with the Python at hand; it does not matter which one Gradescope has.
VERSION = (python_for_everybody() or Path("python3.12")).name.removeprefix("python")
NOWHERE = "http://127.0.0.1:9"  # fails at once


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user can enter, as pytest's own can't be."""
    with tempfile.TemporaryDirectory(prefix="setup-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def source(place) -> Path:
    """What is in the zip's root, with lists that name a made-up torch alone."""
    lists = {
        "requirements.txt": "torch>=2.13,<3\n",
        "requirements-autograder.txt": "-r requirements.txt\n",
        "constraints.txt": "torch==2.13.0\n",
    }
    source = write_files(place / "autograder" / "source", lists)
    write_script(source, VERSION)
    return source


def write_script(source: Path, version: str) -> None:
    """setup.sh as `make autograder` writes it, for this version of Python."""
    text = (ROOT / "tools" / "gradescope" / "setup.sh").read_text(encoding="utf-8")
    assert "@PYTHON@" in text
    script = source.parent / "setup.sh"
    script.write_text(text.replace("@PYTHON@", version), encoding="utf-8")


def set_up(source: Path, **environment: str) -> subprocess.CompletedProcess:
    """Run setup.sh as Gradescope does, the copy in /autograder; pip finds a made-up torch."""
    place = source.parent.parent
    torch_index(place / "wheels", "2.13.0")
    ours = {"PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "0", "PIP_PROXY": NOWHERE}
    ours |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place / "wheels" / "torch")}
    ours["PROBLEM_SET_HOME"] = str(place / "home")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
    return captured(
        ["bash", "./setup.sh"], source.parent, env=kept | ours | environment, umask=0o077
    )


needs_python = pytest.mark.skipif(
    python_for_everybody() is None, reason="no Python 3.11 to 3.13 in /usr: uv would fetch one"
)


@needs_python
def test_it_installs_what_every_user_can_run(source, place):
    done = set_up(source)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "torch 2.13.0" in done.stdout and done.stdout.endswith("setup.sh: done\n")
    home = place / "home"
    assert all(path.stat().st_mode & 0o004 for path in home.rglob("*") if not path.is_symlink())


def stand_in_for_pip(place: Path, body: str) -> str:
    """A PATH whose pip3 is this shell script; returns the PATH."""
    (place / "bin").mkdir()
    pip = place / "bin" / "pip3"
    pip.write_text(f"#!/bin/sh\n{body}\n", encoding="ascii")
    pip.chmod(0o755)
    return f"{pip.parent}:{os.environ['PATH']}"


# uv's layout of an interpreter: DIR/cpython-.../bin/python3.N, and a link to that folder.
UV = """
import os, sys
words = ["python", "install", "--no-bin", "--install-dir"]
assert sys.argv[1:5] == words and sys.argv[6:] == ["VERSION"], sys.argv
folder = os.path.join(sys.argv[5], "cpython-VERSION.9-linux-x86_64-gnu", "bin")
os.makedirs(folder)
os.symlink("INTERPRETER", os.path.join(folder, "pythonVERSION"))
"""


@pytest.mark.long
@needs_python
def test_what_uv_fetched_is_taken(source, place):
    # uv itself is made up: downloading the real one needs the network.
    body = UV.replace("INTERPRETER", str(python_for_everybody())).replace("VERSION", VERSION)
    (place / "uv.py").write_text(body, encoding="utf-8")
    pip = f"""while [ "$1" != --target ]; do shift; done
        mkdir -p "$2/uv" && cp "{place}/uv.py" "$2/uv/__main__.py"
        touch "$2/uv/__init__.py" """  # so that it goes before a real uv beside this python3
    path = stand_in_for_pip(place, pip)
    done = set_up(source, PYTHON_FOLDERS="/nowhere", PATH=path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"cpython-{VERSION}.9-linux-x86_64-gnu/bin/python{VERSION}" in done.stdout
    assert done.stdout.endswith("setup.sh: done\n")


@needs_python
def test_no_other_python_is_taken_than_the_one_that_is_pinned(source, place):
    major, minor = VERSION.split(".")
    write_script(source, f"{major}.{int(minor) + 1}")
    folder = place / "pythons"
    folder.mkdir()  # its name has the right version, but it reports another one
    (folder / f"python{major}.{int(minor) + 1}").symlink_to(python_for_everybody())
    folders = f"{folder} {python_for_everybody().parent}"
    done = set_up(source, PYTHON_FOLDERS=folders, PATH=stand_in_for_pip(place, "exit 1"))
    assert done.returncode == 1
    assert f"fetching Python {major}.{int(minor) + 1} with uv" in done.stdout
