"""The modules that the grader adds come with bytecode; a student's don't."""

import importlib.util
import subprocess
import sys
from pathlib import Path

from autograder.judging import Judging
from grading.staging import stage
from questions.course import Course

PROVIDED = Course().provided


def bytecode(module: Path) -> Path:
    return Path(importlib.util.cache_from_source(str(module)))


def run(root: Path, code: str) -> str:
    """Run code that imports from `root`, as a worker would, and return what it prints."""
    command = [sys.executable, "-B", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {code}"]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout.strip()


def test_only_what_the_grader_adds_is_compiled(submission, tmp_path):
    for name in PROVIDED.given:
        (submission / "submission" / name).unlink(missing_ok=True)
    root = stage(submission, tmp_path / "staged", PROVIDED).root
    for path in root.glob("*/*.py"):
        is_ours = path.parent.name == "pretraining" or path.name in PROVIDED.given
        assert bytecode(path).exists() == is_ours, path
    (submission / "submission" / "model.py").write_text("MINE = 1\n", encoding="utf-8")
    root = stage(submission, tmp_path / "other", PROVIDED).root
    assert not bytecode(root / "submission" / "model.py").exists()


def test_it_is_not_used_for_other_source(tmp_path):
    Judging.stage_reference(tmp_path / "reference", PROVIDED)
    root = tmp_path / "reference"
    assert bytecode(root / "pretraining" / "files.py").exists()
    (root / "pretraining" / "files.py").write_text("OTHER = 7\n", encoding="utf-8")
    assert run(root, "import pretraining.files as m; print(m.OTHER)") == "7"
