"""The installed data set: questions, public answers, and, for staff, the test split's answers.

Scores are always counted over the answers' lines here, never over the student's.
"""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path

from .assignment import Assignment, DataSet
from .errors import UsageError

QUESTION_FILES = {"dev": "birth_dev.tsv", "test": "birth_test_inputs.tsv"}


class CourseData:
    """Reads the files of `src/data/` and, where there is one, `solutions/data/`."""

    def __init__(self, assignment: Assignment, data: Path, answers: Path | None) -> None:
        self._assignment, self._data, self._answers = assignment, data, answers

    @cached_property
    def dataset(self) -> DataSet:
        """Which data set is installed, with its thresholds."""
        name = json.loads(self._read(self._data / "dataset.json")).get("name")
        if name not in self._assignment.datasets:
            raise UsageError(f"dataset.json names {name!r}, which assignment.toml doesn't know")
        return self._assignment.datasets[name]

    def questions(self, split: str) -> list[str]:
        """The questions of "dev" or "test", in the file's order."""
        return [row.split("\t")[0] for row in self._rows(QUESTION_FILES[split])]

    def train_pairs(self) -> list[tuple[str, str]]:
        """(question, place) of the training table."""
        return [_pair(row, "train") for row in self._rows("birth_places_train.tsv")]

    def places(self, split: str) -> list[str] | None:
        """The right places of "dev" or "test", or None where the answers are not here."""
        if split == "dev":
            return [_pair(row, "dev")[1] for row in self._rows(QUESTION_FILES["dev"])]
        if self._answers is None or not (self._answers / "birth_test.tsv").exists():
            return None
        text = self._read(self._answers / "birth_test.tsv")
        pairs = [_pair(row, "test answers") for row in text.split("\n")]
        if [question for question, _ in pairs] != self.questions("test"):
            raise UsageError(
                "birth_test.tsv and birth_test_inputs.tsv ask different questions: "
                "they belong to two data sets; run `make world` or `make data` again"
            )
        return [place for _, place in pairs]

    def corpus(self) -> str:
        """The pretraining text without its final newline, as `run.py` reads it."""
        return self._read(self._data / "wiki.txt")

    def _rows(self, name: str) -> list[str]:
        return self._read(self._data / name).split("\n")

    def _read(self, path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8").removesuffix("\n")
        except FileNotFoundError:
            raise UsageError(
                f"{path.name} is missing in {path.parent.name}/; staff: `make world`; "
                "students: unpack the course's files again"
            ) from None


def _pair(row: str, name: str) -> tuple[str, str]:
    question, tab, place = row.partition("\t")
    if not tab or not place:
        raise UsageError(f"the {name} table holds {row!r}: expected question, tab, place")
    return question, place
