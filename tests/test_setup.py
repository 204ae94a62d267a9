"""`make setup`: its choice of interpreter, how it gets uv, and when it starts over.

Set-ups run in a small copy of the project that requires no packages, or only a made-up torch.
"""

import os
import shutil
import sys

import pytest
from uv import find_uv_bin

from tests.interpreter import captured
from tests.project import OUTER_MAKE, edit, write_files
from tests.wheels import torch_index

pytestmark = pytest.mark.requires_tool("make")
BASE = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)


@pytest.fixture
def project(tmp_path, root):
    """Return the project's Makefile and set-up, with lists that name no package."""
    tools = ("tools/__init__.py", "tools/make.py", "tools/setup.sh")
    for name in ("Makefile", "src/environment.py", "src/host.py", *tools):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(root / name, tmp_path / name)
    lists = ("requirements.txt", "requirements-staff.txt", "constraints.txt")
    return write_files(tmp_path, dict.fromkeys(lists, "# nothing\n"))


@pytest.fixture
def make(project):
    """Return a function that runs `make` in the project, with uv and this interpreter."""
    program = shutil.which("make")
    # Without this machine's configuration: everything must come from the test.
    isolated = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
        "PIP_NO_INDEX": "1",
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(project / "cache"),
    }
    inherited = {k: v for k, v in os.environ.items() if k not in ("TORCH_INDEX", *OUTER_MAKE)}

    def run(*arguments, **environment):
        own = {"UV": find_uv_bin(), "PYTHON": BASE, **environment}
        return captured([program, *arguments], project, env=inherited | isolated | own)

    return run


def script(path, text):
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)


OLD = "sys.version_info = (3, 10, 0)"
NO_PIP = "sys.modules['ensurepip'] = None"
# A usable interpreter: it claims to be a file that all users can execute on every Unix.
GOOD = "sys._base_executable = '/bin/sh'"


@pytest.fixture
def interpreters(project, make):
    """Return a function that runs `make setup` where only given interpreters are found.

    Each is a name and a line of Python that changes what the real interpreter reports about itself.
    Creating .venv only notes which one did it. uv and pip install nothing, and pip has a setting.
    """
    setup = project / "tools" / "setup.sh"
    edit(setup, ' "/usr/local/bin/$name" "/usr/bin/$name"', "")
    folder = project / "bin"
    folder.mkdir()
    for tool in "cat chmod dirname grep id ln mkdir rm sed sh uname".split():
        (folder / tool).symlink_to(shutil.which(tool))
    settings = "global.index-url='https://index.example/simple'"
    asked = f'*"config list") echo "{settings}"'
    install = 'pip*) echo "from $UV_DEFAULT_INDEX"'
    fonts = '*font_manager) echo "listing fonts"'
    script(project / "nothing", f'case "$*" in {asked} ;; {install} ;; {fonts} ;; esac')
    programs = f"ln -s '{project}/nothing' .venv/bin/python; ln -s '{project}/nothing' .venv/bin/uv"

    def run(changes, **environment):
        for name, change in changes.items():
            creating = f"mkdir -p .venv/bin; {programs}; echo {name} $* >.venv/by"
            code = f"import sys; {change}; exec(sys.argv[1])"
            text = f'case $1 in -m) {creating} ;; *) exec "{BASE}" -c "{code}" "$3" ;; esac'
            script(folder / name, text)
        ran = make("setup", **{"PATH": str(folder), "PYTHON": "", "UV": "", **environment})
        by = project / ".venv" / "by"
        words = by.read_text(encoding="utf-8").split() if by.is_file() else [""]
        return ran, words[0], "--without-pip" not in words

    return run


def test_the_first_usable_interpreter_is_taken_and_a_named_one_or_none(interpreters, project):
    ran, by, _ = interpreters({"python3.13": OLD, "python3.12": NO_PIP, "python3": GOOD})
    assert by == "python3", ran.stderr
    assert "setup: creating .venv with " in ran.stdout and "python3\n" in ran.stdout
    # The index is that which pip is set to. Workers copy the list of fonts.
    assert "from https://index.example/simple\nlisting fonts\n" in ran.stdout

    # Where .venv is activated, its own uv doesn't create it again: it is deleted first.
    (project / ".venv" / ".stamp").unlink()
    path = f"{project}/.venv/bin{os.pathsep}{project}/bin"
    ran, _, with_pip = interpreters({}, UV="uv", PATH=path)
    assert ran.returncode == 0 and with_pip, ran.stderr

    (project / ".venv" / ".stamp").unlink()
    named = str(project / "bin" / "mine")
    ran, *_ = interpreters({"mine": OLD}, PYTHON=named)
    assert ran.returncode == 2
    assert f"among: {named}; name one: make setup PYTHON=FILE" in ran.stderr


@pytest.mark.requires_root
def test_root_refuses_an_interpreter_that_others_cannot_reach(interpreters, tmp_path):
    (tmp_path / "private").mkdir(mode=0o700)
    tmp_path.chmod(0o755)
    private = f"sys._base_executable = '{tmp_path}/private/python'"
    _, by, _ = interpreters({"python3.13": private, "python3": GOOD})
    assert by == "python3"


def test_second_setup_costs_nothing_and_a_half_made_one_is_made_anew(project, make):
    first = make("setup")
    assert first.returncode == 0, first.stderr
    assert f"setup: creating .venv with {BASE}\n" in first.stdout
    python = project / ".venv" / "bin" / "python"
    assert captured([python, "-c", ""], project).returncode == 0
    assert make("--question", ".venv/.stamp").returncode == 0
    assert make("setup").stdout == ""

    # Changed pins are installed into the same environment.
    kept = project / ".venv" / "kept"
    kept.touch()
    later = (project / ".venv" / ".stamp").stat().st_mtime + 10
    os.utime(project / "constraints.txt", (later, later))
    changed = make("setup")
    assert "installing" in changed.stdout and "creating" not in changed.stdout and kept.exists()

    # What can't be installed is named, and then .venv is made anew.
    staff = project / "requirements-staff.txt"
    listed = staff.read_text(encoding="utf-8")
    staff.write_text("not-there==1\n", encoding="utf-8")
    failed = make("setup")
    assert failed.returncode == 2 and "not-there" in failed.stderr
    assert "setup: failed, see above; the next make setup starts over" in failed.stderr
    staff.write_text(listed, encoding="utf-8")
    again = make("setup")
    assert again.returncode == 0, again.stderr
    assert "creating .venv" in again.stdout and not kept.exists()


def test_torch_comes_from_the_index_that_is_named_and_others_can_read_it(project, root, make):
    url = torch_index(project / "index", "2.13.0+mine", requires="not-there")
    # An index from uv's configuration would come first.
    other = torch_index(project / "other", "2.13.0+other")
    for name in ("requirements.txt", "constraints.txt"):
        shutil.copy(root / name, project)
    old = os.umask(0o077)
    try:
        assert make("setup", TORCH_INDEX=url, UV_INDEX=other).returncode == 0
        # uv's cache, whose files are private to somebody, is linked into .venv.
        for path in (project / "cache").rglob("torch.py"):
            path.chmod(0o600)
        shutil.rmtree(project / ".venv")
        assert make("setup", TORCH_INDEX=url, UV_INDEX=other).returncode == 0
    finally:
        os.umask(old)
    installed = [path for path in (project / ".venv").rglob("*") if not path.is_symlink()]
    names = {path.name for path in installed}
    assert "torch-2.13.0+mine.dist-info" in names and "torch-2.13.0+other.dist-info" not in names
    assert [path for path in installed if not path.stat().st_mode & 0o004] == []
    # uv compiles as pip does, since the grader's workers can't save bytecode.
    assert any(name.startswith("torch.cpython") for name in names)

    assert make("--question", ".venv/.stamp", TORCH_INDEX=url).returncode == 0
    assert make("--question", ".venv/.stamp").returncode == 0
    changed = make("--question", ".venv/.stamp", TORCH_INDEX=url + "/other")
    assert changed.returncode == 1, "with another index, .venv must be created again"


@pytest.mark.requires_root
@pytest.mark.parametrize(("code", "after"), [(0, "installed"), (1, "apt-get could not install")])
def test_missing_packages_are_installed_or_named(tmp_path, root, code, after):
    (tmp_path / "tools").mkdir()
    program = shutil.copy(root / "tools" / "apt.sh", tmp_path / "tools")
    (tmp_path / "apt.txt").write_text("# head\nlmodern\n\nlatexmk # why\nchromium\n", "utf-8")
    status = "echo 'install ok installed'"
    script(tmp_path / "dpkg-query", f'case "$3" in lmodern) {status} ;; *) exit 1 ;; esac')
    script(tmp_path / "apt-get", f'echo "$@" >>"{tmp_path}/done"; exit {code}')
    variables = os.environ | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    for words, expected in (([], 0), (["--loud"], code)):
        ran = captured(["sh", program, *words], tmp_path, env=variables)
        assert ran.returncode == expected
        assert ran.stdout.endswith(f"apt: {after} latexmk, chromium\n")
    done = (tmp_path / "done").read_text(encoding="utf-8").splitlines()
    assert done.count("install --yes --no-install-recommends latexmk chromium") == 2
