"""`make setup`: which interpreter it takes, what it makes anew, and the lists it installs from.

The packages themselves are not installed here: `make test` has just done that. Where a set-up
runs, it does so in a small copy of the project that asks for no package, or for a made-up torch.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
import rattler
import yaml

from tools import apt

pytestmark = pytest.mark.requires_tool("sh")
BASE = os.path.realpath(getattr(sys, "_base_executable", None) or sys.executable)
AS_ROOT = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="concerns root only"
)


@pytest.fixture
def which(tmp_path, root):
    """A function that runs `setup.sh --which` where nothing but given interpreters is found.

    Each is a name and a line of Python that changes what the real interpreter says of itself.
    """
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in ("sh", "id", "dirname"):
        (folder / tool).symlink_to(shutil.which(tool))

    def run(interpreters, **environment):
        for name, change in interpreters.items():
            program = f"import sys; {change}; exec(sys.argv[1])"
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec "{BASE}" -c "{program}" "$3"\n', encoding="utf-8")
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
# What a usable interpreter does: claim to be a file that every user reaches on every Unix.
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
    # A readable file in an open folder that nobody may execute.
    result = which({"python3.13": f"{GOOD}; sys._base_executable = '/etc/passwd'"})
    assert result.returncode == 2 and "may not be executed by other users" in result.stderr


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


# ---------------------------------------------------------------- making .venv


@pytest.fixture
def project(tmp_path, root):
    """The Makefile and set-up of the project, with lists that name no package."""
    (tmp_path / "tools").mkdir()
    shutil.copy(root / "Makefile", tmp_path)
    shutil.copy(root / "tools" / "setup.sh", tmp_path / "tools")
    for name in (*(p.name for p in root.glob("requirements*.txt")), "constraints.txt"):
        (tmp_path / name).write_text("# nothing\n", encoding="utf-8")
    return tmp_path


def make(project, *arguments, **environment):
    # Without this machine's pip configuration: nothing may come from anywhere but the test.
    isolated = {"PIP_CONFIG_FILE": os.devnull, "PIP_FIND_LINKS": "", "PIP_NO_INDEX": ""}
    inherited = {k: v for k, v in os.environ.items() if k not in ("TORCH_INDEX", "MAKEFLAGS")}
    return subprocess.run(
        ["make", *arguments],
        cwd=project,
        env={**inherited, **isolated, "PYTHON": BASE, **environment},
        capture_output=True,
        encoding="utf-8",
    )


@pytest.mark.requires_tool("make")
def test_second_setup_costs_nothing_and_a_half_made_one_is_made_anew(project):
    first = make(project, "setup")
    assert first.returncode == 0, first.stderr
    python = project / ".venv" / "bin" / "python"
    assert subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0

    assert make(project, "--question", "setup").returncode == 0
    assert "making" not in make(project, "setup").stdout

    # Changed pins are installed into the same environment.
    kept = project / ".venv" / "kept"
    kept.touch()
    later = (project / ".venv" / ".stamp").stat().st_mtime + 10
    os.utime(project / "constraints.txt", (later, later))
    changed = make(project, "setup")
    assert "installing" in changed.stdout and "making" not in changed.stdout and kept.exists()

    # Interrupted: no stamp, and no interpreter that works.
    (project / ".venv" / ".stamp").unlink()
    python.unlink()
    again = make(project, "setup")
    assert again.returncode == 0, again.stderr
    assert "making .venv" in again.stdout and python.exists() and not kept.exists()


def fake_wheel(folder, version):
    """A torch of nothing but metadata, in a wheel index of its own."""
    folder = folder / "torch"
    folder.mkdir(parents=True)
    info = f"torch-{version}.dist-info"
    name = f"torch-{version}-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\nRequires-Dist: not-there\n",
        )
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    link = name.replace("+", "%2B")
    (folder / "index.html").write_text(f'<a href="{link}">{name}</a>', encoding="utf-8")


@AS_ROOT
def test_root_installs_the_venv_module_that_debian_splits_off(project, which):
    # Refused until the stand-in for apt-get has run; then taken, though no venv comes of it.
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
    assert f"making .venv with {PRINTED}" in result.stdout, result.stderr


@pytest.mark.requires_tool("make")
def test_torch_comes_from_the_index_that_is_named(project, root):
    index = project / "index"
    fake_wheel(index, "2.13.0+mine")
    for name in ("requirements.txt", "constraints.txt"):
        shutil.copy(root / name, project)
    url = index.as_uri()
    made = make(project, "setup", TORCH_INDEX=url)
    assert made.returncode == 0, made.stderr
    installed = list((project / ".venv").glob("lib/python*/site-packages/torch-*.dist-info"))
    assert [path.name for path in installed] == ["torch-2.13.0+mine.dist-info"]

    assert make(project, "--question", "setup", TORCH_INDEX=url).returncode == 0
    assert make(project, "--question", "setup").returncode == 0
    other = make(project, "--question", "setup", TORCH_INDEX=url + "/other")
    assert other.returncode == 1, "another index must make .venv anew"


@pytest.mark.requires_tool("make")
def test_make_alone_prints_every_target_with_its_help(root):
    text = (root / "Makefile").read_text(encoding="utf-8")
    phony = " ".join(re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE))
    environment = {k: v for k, v in os.environ.items() if k != "MAKEFLAGS"}
    printed = subprocess.run(
        ["make"], cwd=root, env=environment, capture_output=True, encoding="utf-8"
    )
    shown = re.findall(r"^make ([a-z-]+) +\S", printed.stdout, re.MULTILINE)
    assert sorted(shown) == sorted(set(phony.split()) - {"force"})
    assert set(re.findall(r"^([a-z][a-z-]*):", text, re.MULTILINE)) == set(shown)


# ---------------------------------------------------------------- the lists of packages


def packages(path):
    """Names (as pip compares them) and versions of a requirements file's own lines."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    split = [re.match(r"([\w.-]+)(.*)", line).groups() for line in lines if line[:1].isalnum()]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in split}


def test_every_requirement_is_pinned(root):
    lists = [packages(path) for path in root.glob("requirements*.txt")]
    wanted = {name: version for listed in lists for name, version in listed.items()}
    pins = packages(root / "constraints.txt")
    assert wanted and wanted.keys() <= pins.keys()
    assert all(re.fullmatch(r"==[\d.]+", version) for version in pins.values()), pins


def test_student_requirements_are_those_agreed(root):
    agreed = {"torch": ">=2.13,<3"} | dict.fromkeys(
        ("numpy", "jinja2", "pytest", "tqdm", "tensorboard"), ""
    )
    assert packages(root / "requirements.txt") == agreed


def test_the_installed_packages_are_the_pinned_ones(root, run_python):
    # Whatever the interpreter has of the pinned list, it has in that version; `make setup` made it.
    pins = packages(root / "constraints.txt")
    if sys.prefix != str(root / ".venv"):
        pytest.skip("runs outside .venv")
    frozen = run_python("-m", "pip", "list", "--format=freeze").stdout
    for line in frozen.splitlines():
        name, version = line.split("==")
        name = re.sub(r"[-_.]+", "-", name).lower()
        if name == "pip" or re.match(r"nvidia-|cuda-|triton", name):
            continue  # pip is venv's; torch's metadata pins its CUDA libraries
        assert f"=={version.split('+')[0]}" == pins.get(name), f"{line} is not pinned"


def test_conda_environment_parses_and_takes_the_same_lists(root):
    # No solve: that needs conda's channels. py-rattler's parser reads each line as conda would.
    environment = yaml.safe_load((root / "environment.yml").read_text(encoding="utf-8"))
    assert set(environment) == {"name", "channels", "dependencies"}
    assert [rattler.Channel(name).name for name in environment["channels"]] == ["conda-forge"]
    *conda, pip = environment["dependencies"]
    specs = {spec.name.normalized: spec for spec in map(rattler.MatchSpec, conda)}
    assert set(specs) == {"python", "pip"}
    python = rattler.VersionSpec(str(specs["python"].version))
    versions = [f"3.{minor}.2" for minor in range(9, 17)]
    accepted = [version for version in versions if python.matches(rattler.Version(version))]
    assert accepted == ["3.12.2"]  # Gradescope's
    assert pip == {"pip": ["-r requirements.txt", "-c constraints.txt"]}


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
def test_an_installation_is_one_line(monkeypatch, capsys, works, words):
    monkeypatch.setattr(apt, "missing", lambda packages: ["latexmk", "chromium"])
    monkeypatch.setattr(apt, "install", lambda packages: works)
    assert apt.main([]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert words in line and line.endswith("latexmk, chromium")


def test_apt_txt_can_be_read(root):
    for name in apt.listed((root / "apt.txt").read_text(encoding="utf-8")):
        assert re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", name)
