"""The lists of packages: all are pinned, and uv gets from them what pip gets."""

import os
import re
import shutil
import sys

import pytest
from uv import find_uv_bin

from tests.interpreter import captured
from tests.project import write_files
from tests.wheels import torch_index
from tools import requirements, student


def test_every_requirement_is_pinned(root):
    pinned = dict(pin.split("==") for pin in requirements.pins(root))
    for path in root.glob("requirements*.txt"):
        names = re.findall(r"^\w[\w.-]*", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert {name.replace("_", "-") for name in names} <= pinned.keys()
    assert all(re.fullmatch(r"[\d.]+", version) for version in pinned.values()), pinned


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
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("UV_", "VIRTUAL_"))}
    environment = inherited | {
        "UV_NO_CONFIG": "1",
        "UV_OFFLINE": "1",
        "UV_CACHE_DIR": str(project / "cache"),
        "UV_DEFAULT_INDEX": torch_index(project / "index", "2.13.0"),
        "UV_PYTHON": os.path.realpath(sys.executable),
    }

    def run(*words):
        return captured([find_uv_bin(), *words], project, env=environment)

    return run


def test_uv_run_and_uv_sync_make_the_environment(project, uv, root):
    """Also in what students unpack, where it works from src/ and without `python`."""
    program = "import sys, torch; print(torch.__version__, sys.argv[1])"
    write_files(project, {"src/grader.py": program})
    synced = uv("sync")
    assert synced.returncode == 0 and "torch==2.13.0" in synced.stderr
    template = "handout/student/pyproject.toml.txt"
    text = (root / template).read_text(encoding="utf-8")
    # uv resolves extras, too, and the made-up index has none of these packages.
    write_files(project, {template: text.replace('["notebook"]', "[]")})
    students = student.project(project)
    assert '"torch==2.13.0",' in students
    for words in (["python", "src/grader.py"], ["src/grader.py"], ["--directory=src", "grader.py"]):
        ran = uv("run", *words, "1e")
        assert (ran.returncode, ran.stdout) == (0, "2.13.0 1e\n"), ran.stderr
        (project / "pyproject.toml").write_text(students, encoding="utf-8")
        shutil.rmtree(project / ".venv")
