"""A student's folder, its files, and a command in it."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from grading.edition import EDITION
from tools.starter import edition_file
from tools.student import TAKEN, project

Files = dict[str, bytes]


def contents(root: Path) -> Files:
    """Return a folder's files by name, without what Python writes."""
    found = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


@dataclass
class Folder:
    """A student's folder."""

    root: Path
    capture: pytest.CaptureFixture

    def run(self, main: Callable, *arguments: str) -> tuple[int, str, str]:
        """Return a command's exit code, standard output and standard error."""
        try:
            code = main(list(arguments))
        except SystemExit as ended:  # argparse's
            code = ended.code
        out, err = self.capture.readouterr()
        assert "Traceback" not in err
        return code, out, err


def students_copy(tree: Path, target: Path) -> Path:
    """Copy the starter and what students get besides it, except for the sheet and the demo."""
    for pattern in (*TAKEN, "src/submission/*"):
        for path in filter(Path.is_file, tree.glob(pattern)):
            copied = target / path.relative_to(tree)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copied)
    (target / EDITION).write_bytes(edition_file(tree, "xcs224n"))
    (target / "pyproject.toml").write_text(project(tree), encoding="utf-8")
    assert not {"autograder", "classroom", "solutions"} & {path.name for path in target.iterdir()}
    return target
