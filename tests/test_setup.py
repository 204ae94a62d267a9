"""`make setup`: its choice of interpreter, installing with uv or pip, and when it starts over.

The packages themselves are not installed here: `make test` has just done that. Set-ups run in a
small copy of the project that requires no packages, or only a made-up torch.
"""

import os
import re
import shutil
import subprocess
import sys

import pytest
from uv import find_uv_bin

from tests.project import OUTER_MAKE
from tests.wheels import torch_index
from tools import apt

pytestmark = pytest.mark.requires_tool("sh")
BASE = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="concerns root only"
)


@pytest.fixture
def which(tmp_path, root):
    """Return a function that runs `setup.sh --which` where only given interpreters are found.

    Each is a name and a line of Python that changes what the real interpreter reports about itself.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "id", "dirname"):
        (folder / tool).symlink_to(shutil.which(tool))

    def run(interpreters, **environment):
        for name, change in interpreters.items():
            program = (
                f"import runpy, sys; {change}; runpy.run_path(sys.argv[1], run_name='__main__')"
            )
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec "{BASE}" -c "{program}" "$2"\n', encoding="utf-8")
            script.chmod(0o755)
        return subprocess.run(
            ["sh", root / "tools" / "setup.sh", "--which"],
            env={"PATH": str(folder), "FALLBACK_FOLDERS": "", **environment},
            capture_output=True,
            encoding="utf-8",
        )

    return run


OLD = "sys.version_info = (3, 10, 0)"
NO_VENV = "sys.modules['ensurepip'] = None"
# A usable interpreter: it claims to be a file that all users can execute on every Unix.
GOOD = "sys._base_executable = sys.executable = '/bin/sh'; import os; os.__file__ = '/bin/sh'"
PRINTED = os.path.realpath("/bin/sh") if os.name == "posix" and os.geteuid() == 0 else "/bin/sh"


def test_usable_interpreter_is_taken(which):
    result = which({"python3.12": GOOD})
    assert (result.returncode, result.stdout.strip()) == (0, PRINTED), result.stderr


@pytest.mark.parametrize(
    "change, reason",
    [
        (OLD, "is Python 3.10, expected 3.11 or newer"),
        (f"{GOOD}; {NO_VENV}", "lacks venv or ensurepip"),
        ("sys.exit(1)", "does not run"),
        ("print('hello'); sys.exit(0)", "does not answer like a Python"),
    ],
)
def test_unusable_interpreter_is_refused_with_its_reason(which, change, reason):
    result = which({"python3.12": change})
    assert result.returncode == 2 and not result.stdout
    assert "no suitable Python" in result.stderr and "make setup PYTHON=FILE" in result.stderr
    assert re.search(rf"bin/python3\.12 {re.escape(reason)}", result.stderr)


@AS_ROOT
@pytest.mark.parametrize("attribute", ["sys._base_executable", "os.__file__"])
def test_root_refuses_an_interpreter_that_others_cannot_reach(which, tmp_path, attribute):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    (private / "python").touch(mode=0o755)
    tmp_path.chmod(0o755)
    change = f"{GOOD}; {attribute} = '{private}/python'"
    result = which({"python3.13": change})
    assert result.returncode == 2
    assert "which other users cannot enter" in result.stderr


@AS_ROOT
def test_root_refuses_an_interpreter_that_others_may_not_execute(which):
    # A readable file in an accessible folder, but without permission to execute it.
    result = which({"python3.13": f"{GOOD}; sys._base_executable = '/etc/passwd'"})
    assert result.returncode == 2 and "may not be executed by other users" in result.stderr


def test_with_uv_an_interpreter_needs_no_venv_module(which, tmp_path):
    result = which({"python3.12": f"{GOOD}; {NO_VENV}", "uv": ""})
    assert (result.returncode, result.stdout.strip()) == (0, PRINTED), result.stderr


def test_refused_interpreter_gives_way_to_the_next(which):
    result = which({"python3.13": OLD, "python3.12": NO_VENV, "python3": GOOD})
    assert result.stdout.strip() == PRINTED, result.stderr


def test_named_interpreter_comes_first(which, tmp_path):
    other = GOOD.replace("sys.executable = '/bin/sh'", "sys.executable = '/bin/ls'")
    result = which({"mine": other.replace("/bin/sh", "/bin/ls"), "python3.13": GOOD})
    assert result.stdout.strip() == PRINTED
    result = which({}, PYTHON=str(tmp_path / "bin" / "mine"))
    assert result.stdout.strip().endswith("/ls"), result.stderr


def test_named_interpreter_that_is_refused_is_not_passed_over_in_silence(which, tmp_path):
    named = str(tmp_path / "bin" / "mine")
    result = which({"mine": OLD, "python3.13": GOOD}, PYTHON=named)
    assert result.stdout.strip() == PRINTED
    assert "not used" in result.stderr and f"{named} is Python 3.10" in result.stderr


def test_nothing_found_says_so(which):
    result = which({})
    assert result.returncode == 2 and "Refused: none was found" in result.stderr


# ---------------------------------------------------------------- creating .venv


@pytest.fixture
def project(tmp_path, root):
    """Return the project's Makefile and set-up, with lists that name no package."""
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "Makefile", tmp_path)
    (tmp_path / "src").mkdir()
    for name in ("__init__.py", "make.py", "setup.sh", "usable_python.py"):
        shutil.copy(root / "tools" / name, tmp_path / "tools")
    shutil.copy(root / "src/environment.py", tmp_path / "src")
    for name in (*(p.name for p in root.glob("requirements*.txt")), "constraints.txt"):
        (tmp_path / name).write_text("# nothing\n", encoding="utf-8")
    return tmp_path


@pytest.fixture(params=["pip", pytest.param("uv", marks=pytest.mark.long)])
def make(request, project):
    """Return a function that runs `make` in the project, with pip or with uv."""
    # Without this machine's configuration: everything must come from the test.
    isolated = {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_FIND_LINKS": "",
        "PIP_NO_INDEX": "",
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(project / "cache"),
    }
    inherited = {k: v for k, v in os.environ.items() if k not in ("TORCH_INDEX", *OUTER_MAKE)}
    uv = "" if request.param == "pip" else find_uv_bin()

    def run(*arguments, **environment):
        return subprocess.run(
            ["make", *arguments],
            cwd=project,
            env={**inherited, **isolated, "UV": uv, "PYTHON": BASE, **environment},
            capture_output=True,
            encoding="utf-8",
        )

    return run


@pytest.fixture(scope="module")
def fresh_venv(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fresh") / ".venv"
    subprocess.run([BASE, "-m", "venv", folder], check=True)
    return folder


@pytest.fixture
def copied_venv(project, fresh_venv):
    """Let pip's set-up copy what `python -m venv` makes, for tests of what comes after it."""
    script = project / "tools" / "setup.sh"
    text = script.read_text(encoding="utf-8")
    line = '"$chosen" -m venv .venv;'
    assert text.count(line) == 1
    script.write_text(text.replace(line, f'cp -a "{fresh_venv}" .venv;'), encoding="utf-8")


@pytest.mark.requires_tool("make")
def test_second_setup_costs_nothing_and_a_half_made_one_is_made_anew(project, make):
    first = make("setup")
    assert first.returncode == 0, first.stderr
    python = project / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-c", ""]).returncode == 0

    assert make("--question", ".venv/.stamp").returncode == 0
    assert "making" not in make("setup").stdout

    # Changed pins are installed into the same environment.
    kept = project / ".venv" / "kept"
    kept.touch()
    change_pins(project)
    changed = make("setup")
    assert "installing" in changed.stdout and "making" not in changed.stdout and kept.exists()

    # Interrupted: no stamp, and no working interpreter.
    (project / ".venv" / ".stamp").unlink()
    python.unlink()
    again = make("setup")
    assert again.returncode == 0, again.stderr
    assert "creating .venv" in again.stdout and python.exists() and not kept.exists()


def change_pins(project):
    later = (project / ".venv" / ".stamp").stat().st_mtime + 10
    os.utime(project / "constraints.txt", (later, later))


@pytest.mark.requires_tool("make")
@pytest.mark.parametrize("make", ["pip"], indirect=True)
def test_an_activated_environment_is_not_made_by_its_own_uv(project, make, copied_venv):
    assert make("setup").returncode == 0
    folder = project / ".venv" / "bin"
    (folder / "uv").symlink_to(find_uv_bin())
    change_pins(project)
    (project / ".venv" / ".stamp").unlink()
    again = make("setup", UV="uv", PATH=f"{folder}{os.pathsep}{path_without_uv()}")
    assert again.returncode == 0, again.stderr
    assert "creating .venv" in again.stdout and "packages with pip" in again.stdout


def path_without_uv():
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if not os.path.exists(f"{folder}/uv"))


@pytest.mark.requires_tool("make")
@pytest.mark.parametrize("make", ["pip"], indirect=True)
def test_pip_makes_an_environment_anew_that_has_no_pip(project, make, copied_venv):
    # It was created by uv, which is gone.
    assert make("setup").returncode == 0
    for folder in (project / ".venv").glob("lib/python*/site-packages/pip"):
        shutil.rmtree(folder)
    change_pins(project)
    again = make("setup")
    assert again.returncode == 0, again.stderr
    assert "creating .venv" in again.stdout


@pytest.mark.requires_tool("make")
def test_failed_installation_says_so_and_the_next_one_starts_anew(project, make, copied_venv):
    staff = project / "requirements-staff.txt"
    listed = staff.read_text(encoding="utf-8")
    staff.write_text("not-there==1\n", encoding="utf-8")
    failed = make("setup", PIP_NO_INDEX="1")
    assert failed.returncode == 2 and "not-there" in failed.stderr
    assert "setup: installing the packages failed, see above" in failed.stderr
    staff.write_text(listed, encoding="utf-8")
    assert "creating .venv" in make("setup").stdout


@pytest.mark.requires_tool("make")
def test_an_installation_says_that_it_goes_on(project, make, copied_venv):
    # A slow stand-in for pip and uv.
    script = project / "tools" / "setup.sh"
    text = script.read_text(encoding="utf-8")
    line = 'install -r requirements-staff.txt || failed "installing the packages"\n'
    assert line in text
    script.write_text(text.replace(line, "sleep 2\n"), encoding="utf-8")
    made = make("setup", EVERY_S="0.3")
    assert made.returncode == 0, made.stderr
    lines = re.findall(
        r"^setup: still installing after \d+ s, \d+ MB in \.venv$", made.stdout, re.M
    )
    assert len(lines) >= 2 and made.stdout.endswith("setup: done\n")
    assert "EVERY_S:-10" in text


@AS_ROOT
def test_root_installs_the_venv_module_that_debian_splits_off(project, which):
    # Rejected until the stand-in for apt-get has run; then accepted, although creating fails.
    done = project / "done"
    change = f"{GOOD}; sys.modules.update({{}} if os.path.exists('{done}') else {{'venv': None}})"
    which({"python3.12": change})
    apt_get = project / "bin" / "apt-get"
    apt_get.write_text(f'#!/bin/sh\necho "$@" >>"{done}"\n', encoding="utf-8")
    apt_get.chmod(0o755)
    for tool in ("cat", "rm"):
        (project / "bin" / tool).symlink_to(shutil.which(tool))
    result = subprocess.run(
        ["sh", project / "tools" / "setup.sh"],
        env={"PATH": str(project / "bin"), "FALLBACK_FOLDERS": ""},
        capture_output=True,
        encoding="utf-8",
    )
    assert "install -y --no-install-recommends python3-venv" in done.read_text(encoding="utf-8")
    assert "installing python3-venv with apt" in result.stdout
    assert f"creating .venv with {PRINTED}" in result.stdout, result.stderr


@pytest.mark.requires_tool("make")
def test_torch_comes_from_the_index_that_is_named(project, root, make, copied_venv):
    url = torch_index(project / "index", "2.13.0+mine", requires="not-there")
    # An index from uv's configuration would come first.
    other = torch_index(project / "other", "2.13.0+other")
    for name in ("requirements.txt", "constraints.txt"):
        shutil.copy(root / name, project)
    made = make("setup", TORCH_INDEX=url, UV_INDEX=other)
    assert made.returncode == 0, made.stderr
    installed = list((project / ".venv").glob("lib/python*/site-packages/torch-*.dist-info"))
    assert [path.name for path in installed] == ["torch-2.13.0+mine.dist-info"]

    assert make("--question", ".venv/.stamp", TORCH_INDEX=url).returncode == 0
    assert make("--question", ".venv/.stamp").returncode == 0
    other = make("--question", ".venv/.stamp", TORCH_INDEX=url + "/other")
    assert other.returncode == 1, "with another index, .venv must be created again"


@pytest.mark.long
@pytest.mark.requires_tool("make")
def test_other_users_can_read_what_is_installed(project, make, root):
    # uv's cache, whose files are private to somebody, is linked into .venv.
    url = torch_index(project / "index", "2.13.0")
    for name in ("requirements.txt", "constraints.txt"):
        shutil.copy(root / name, project)
    old = os.umask(0o077)
    try:
        assert make("setup", TORCH_INDEX=url).returncode == 0
        for path in (project / "cache").rglob("torch.py"):
            path.chmod(0o600)
        shutil.rmtree(project / ".venv")
        assert make("setup", TORCH_INDEX=url).returncode == 0
    finally:
        os.umask(old)
    files = [path for path in (project / ".venv").rglob("*") if not path.is_symlink()]
    assert any(path.name == "torch.py" for path in files)
    assert [path for path in files if not path.stat().st_mode & 0o004] == []
    # uv compiles as pip does, since the grader's workers can't save bytecode.
    assert any(path.name.startswith("torch.cpython") for path in files)


# ---------------------------------------------------------------- apt


def test_apt_list_is_one_package_a_line_with_comments():
    assert apt.listed("# head\n\nlatexmk\n  poppler-utils # pdftotext\n") == [
        "latexmk",
        "poppler-utils",
    ]


@pytest.mark.requires_tool("dpkg-query")
def test_only_missing_packages_are_to_be_installed():
    assert apt.missing(["dpkg", "no-such-package-0"]) == ["no-such-package-0"]


def test_nothing_is_printed_when_nothing_is_missing(monkeypatch, capsys):
    monkeypatch.setattr(apt, "missing", lambda packages: [])
    monkeypatch.setattr(apt, "install", lambda packages: pytest.fail("installed something"))
    assert apt.main([]) == 0 and capsys.readouterr().out == ""


@AS_ROOT
@pytest.mark.requires_tool("apt-get")
@pytest.mark.parametrize("works, words", [(True, "installed"), (False, "could not install")])
def test_an_installation_is_a_line_before_and_a_line_after(monkeypatch, capsys, works, words):
    monkeypatch.setattr(apt, "missing", lambda packages: ["latexmk", "chromium"])
    monkeypatch.setattr(apt, "install", lambda packages: works)
    assert apt.main([]) == 0
    before, after = capsys.readouterr().out.splitlines()
    assert before == "apt: installing latexmk, chromium ..."
    assert words in after and after.endswith("latexmk, chromium")


def test_apt_txt_can_be_read(root):
    for name in apt.listed((root / "apt.txt").read_text(encoding="utf-8")):
        assert re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name)
