"""A student's folder, its files, and a command in it; and that of one who has finished."""

import json
import shutil
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch

import collect_submission
from grading import staging
from grading.edition import EDITION, to_json
from grading.release import fingerprints
from tests import pinned
from tests.interpreter import call
from tests.project import ROOT, edit
from tools import starter
from tools.reference import compose
from tools.student import TAKEN, project

Files = dict[str, bytes]


@dataclass
class Folder:
    """A student's folder."""

    root: Path
    capture: pytest.CaptureFixture

    def run(self, main: Callable, *arguments: str) -> tuple[int, str, str]:
        """Return a command's exit code, standard output and standard error."""
        return call(main, self.capture, *arguments)


def students_copy(tree: Path, target: Path) -> Path:
    """Copy the starter and what students get besides it, except for the sheet and the demo."""
    for pattern in (*TAKEN, "src/submission/*"):
        for path in filter(Path.is_file, tree.glob(pattern)):
            copied = target / path.relative_to(tree)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copied)
    (target / EDITION).write_bytes(starter.edition_file(tree, "xcs224n"))
    (target / "pyproject.toml").write_text(project(tree), encoding="utf-8")
    assert not {"autograder", "classroom", "solutions"} & {path.name for path in target.iterdir()}
    return target


STARTER = ROOT / "src" / "submission"
PRETRAINING = ROOT / "src" / "pretraining"
QUESTIONS = {"birth_dev.tsv": "Where was {} born?\tRome\n", "birth_test_inputs.tsv": "Where {}?\n"}
LINES = {"dev": 3, "test": 2}


class Desk(Folder):
    """A folder of finished code."""

    @property
    def code(self) -> Path:
        return self.root / "src" / "submission"

    @property
    def zip(self) -> Path:
        return self.root / "assignment5.zip"

    def collect(self, *arguments: str) -> tuple[int, str, str]:
        return self.run(collect_submission.main, *arguments)

    def renew(self) -> None:
        """Lay out the same folder again."""
        shutil.rmtree(self.root)
        lay_out(self.root)

    def warnings(self) -> list[str]:
        """Run collect_submission, which must write a zip with warnings; return these."""
        self.zip.unlink(missing_ok=True)
        code, out, err = self.collect()
        found = [line.removeprefix("Warning: ") for line in out.splitlines() if "Warning: " in line]
        assert (code, err) == (1 if found else 0, "")
        assert staging.stage(self.zip, Path(tempfile.mkdtemp(dir=self.root.parent))).omissions == []
        return found

    def packed(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.zip) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def replace(self, name: str, old: str, new: str) -> None:
        edit(self.code / name, old, new)


def required_files() -> list[str]:
    return list(pinned.load().edition(None).required_files)


def texts(folder: Path) -> dict[str, str]:
    return {f"{folder.name}/{p.name}": p.read_text(encoding="utf-8") for p in folder.glob("*.py")}


def edition_file(name: str) -> bytes:
    """Return the edition.json of an edition's students."""
    assignment = pinned.load()
    return to_json(assignment.for_students(name, assignment.variants))


def lay_out(root: Path) -> Path:
    """Create the folder of a student who has finished: the reference's code and made-up outputs."""
    source = root / "src"
    source.mkdir(parents=True)
    compose(ROOT, source)
    (root / EDITION).write_bytes(edition_file("xcs224n"))
    given = json.dumps(fingerprints(texts(STARTER) | texts(PRETRAINING)))
    (source / "submission_lines.json").write_text(given, encoding="utf-8")
    (source / "data").mkdir()
    for (name, line), count in zip(QUESTIONS.items(), LINES.values(), strict=True):
        rows = "".join(line.format(f"Zoë {number}") for number in range(count))
        (source / "data" / name).write_text(rows, encoding="utf-8", newline="\n")
    for name in required_files():
        if name.endswith(".params"):
            torch.save({name: torch.zeros(1)}, root / name)
        else:
            text = "Łódź\n" * LINES[name.split(".")[-2]]
            (root / name).write_text(text, encoding="utf-8", newline="\n")
    return root
