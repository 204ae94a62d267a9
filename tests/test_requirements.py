"""The lists of packages: each names the right ones, and pip, conda and uv read the same."""

import os
import re
import shutil
import subprocess
import sys

import pytest
import rattler
import yaml
from uv import find_uv_bin

from tests.wheels import torch_index
from tools import requirements, student


def packages(path):
    """Return names (as pip compares them) and versions of a requirements file's own lines."""
    lines = (line.split("#")[0].strip() for line in path.read_text(encoding="utf-8").splitlines())
    split = [re.match(r"([\w.-]+)(.*)", line).groups() for line in lines if line[:1].isalnum()]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in split}


def test_every_requirement_is_pinned(root):
    lists = [packages(path) for path in root.glob("requirements*.txt")]
    wanted = {name: version for listed in lists for name, version in listed.items()}
    pinned = packages(root / "constraints.txt")
    assert wanted and wanted.keys() <= pinned.keys()
    assert all(re.fullmatch(r"==[\d.]+", version) for version in pinned.values()), pinned


def test_conda_environment_parses_and_takes_the_same_lists(root):
    # Solving would need conda's channels; py-rattler's parser reads each line as conda does.
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
    assert pip == {"pip": ["-r requirements.txt"]}


def test_the_lists_are_up_to_date(root):
    assert requirements.main(["--check"]) == 0, "run `python -m tools.requirements`"


@pytest.fixture
def project(tmp_path, root):
    """pyproject.toml and constraints.txt with a made-up torch alone, and the lists made of them."""
    for name in ("pyproject.toml", "assignment.toml"):
        shutil.copy(root / name, tmp_path)
    path = tmp_path / "pyproject.toml"
    text = requirements.with_array(
        path.read_text(encoding="utf-8"), "dependencies", ["torch>=2.13,<3"]
    )
    for name in ("autograder", "class", "staff"):
        text = requirements.with_array(text, name, [])
    path.write_text(text, encoding="utf-8")
    (tmp_path / "constraints.txt").write_text("# head\ntorch==2.13.0  # why\n", encoding="utf-8")
    assert requirements.main([], tmp_path) == 0
    return tmp_path


def test_a_list_that_is_out_of_date_is_named_and_nothing_is_written(project, capsys):
    (project / "constraints.txt").write_text("torch==2.13.1\n", encoding="utf-8")
    (project / "requirements-class.txt").unlink()
    before = (project / "pyproject.toml").read_bytes()
    assert requirements.main(["--check"], project) == 1
    assert "pyproject.toml, requirements-class.txt; run" in capsys.readouterr().out
    assert (project / "pyproject.toml").read_bytes() == before
    assert requirements.main([], project) == 0 == requirements.main(["--check"], project)


@pytest.fixture
def uv(project):
    """Return a function that runs `uv WORD...` in the project, with an index of one torch."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("UV_")}
    environment = {
        **inherited,
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(project / "cache"),
        "UV_DEFAULT_INDEX": torch_index(project / "index", "2.13.0"),
        "UV_PYTHON": os.path.realpath(sys.executable),
    }
    environment.pop("VIRTUAL_ENV", None)

    def run(*words):
        return subprocess.run(
            [find_uv_bin(), *words],
            cwd=project,
            env=environment,
            capture_output=True,
            encoding="utf-8",
        )

    return run


@pytest.fixture
def grader(project):
    """A command that prints the version of torch, and its argument."""
    (project / "src").mkdir()
    path = project / "src" / "grader.py"
    path.write_text("import sys, torch; print(torch.__version__, sys.argv[1])", encoding="utf-8")


def test_uv_sync_and_uv_run_make_the_environment(project, uv, grader):
    first = uv("run", "python", "src/grader.py", "1e")
    assert (first.returncode, first.stdout) == (0, "2.13.0 1e\n"), first.stderr
    shutil.rmtree(project / ".venv")
    synced = uv("sync")
    assert synced.returncode == 0 and "torch==2.13.0" in synced.stderr


def test_uv_run_works_in_what_students_unpack(project, uv, grader, root):
    """It works without `python` before the script, and from src/, as their README says."""
    template = "handout/student/pyproject.toml.txt"
    (project / template).parent.mkdir(parents=True)
    text = (root / template).read_text(encoding="utf-8")
    # uv resolves extras, too, and the made-up index has none of these packages.
    (project / template).write_text(text.replace('["notebook"]', "[]"), encoding="utf-8")
    (project / "pyproject.toml").write_text(student.project(project), encoding="utf-8")
    for words in (["src/grader.py"], ["--directory", "src", "grader.py"]):
        ran = uv("run", *words, "1e")
        assert (ran.returncode, ran.stdout) == (0, "2.13.0 1e\n"), ran.stderr


def test_uv_run_leaves_torch_from_another_index_alone_when_asked(project, uv, grader):
    other = torch_index(project / "other", "2.13.0+cpu")
    assert uv("venv").returncode == 0
    into = ("--python", str(project / ".venv" / "bin" / "python"))
    assert uv("pip", "install", *into, "--default-index", other, "torch").returncode == 0
    kept = uv("run", "--no-sync", "python", "src/grader.py", "1e")
    assert kept.stdout == "2.13.0+cpu 1e\n", kept.stderr
    assert not (project / "uv.lock").exists()
