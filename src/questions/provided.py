"""What this assignment provides: files that every submission gets, and the installed data set with
its questions, public answers and, for staff, the test split's answers.

Scores are always counted over the lines of the answers here, never over the student's. Each file is
read when a test needs it, so that tests of code run without a data set. Packing imports this module
without numpy.
"""

import json
from functools import cached_property
from pathlib import Path

from grading.edition import Assignment, DataSet
from grading.errors import DataError
from grading.staging import Provided

RECIPES = "recipes.json"
# The modules that students write, each with the beginning of its topics' names; "": any topic.
TOPICS_OF_MODULE = {
    "attention.py": "",
    "attention_exploration.py": "attention_",
    "building_blocks.py": "blocks_",
    "building_blocks_positions.py": "blocks_",
    "building_blocks_pretraining.py": "blocks_",
    "dataset.py": "",
    "helper.py": "",
    "london_baseline.py": "",
}
PROVIDED = Provided(
    modules=tuple(TOPICS_OF_MODULE),
    given=("__init__.py", "model.py", "trainer.py", "utils.py"),
    packages=("pretraining",),
    generated=(RECIPES,),
)
DATASET = "dataset.json"
MEND = "staff: run `make world`; students: unpack the course's files again"
TRAIN, TEST_ANSWERS = "birth_places_train.tsv", "birth_test.tsv"
QUESTION_FILES = {"dev": "birth_dev.tsv", "test": "birth_test_inputs.tsv"}


class CourseData:
    """Reads the files of `src/data/` and, where there is one, `solutions/data/`."""

    def __init__(self, assignment: Assignment, data: Path, answers: Path | None) -> None:
        self._assignment, self._data, self._answers = assignment, data, answers

    @cached_property
    def dataset(self) -> DataSet:
        """The installed data set, with its thresholds.

        Raises:
            DataError: no data set is installed, or one that the assignment does not describe.
        """
        known, text = self._assignment.datasets, self._read(self._data / DATASET)
        try:
            return known[json.loads(text)["name"]]
        except (ValueError, RecursionError, LookupError, TypeError):
            raise DataError(
                f"{DATASET} contains {text!r:.60}, which names none of {self._assignment.source}'s "
                f"data sets, {', '.join(known)}; {MEND}"
            ) from None

    @property
    def recipe(self) -> str:
        """The data set's recipe; if no data set is installed, that of the default one.

        `run.py` does the same, and a test of settings can run without data.
        """
        if not (self._data / DATASET).exists():
            return self._assignment.datasets[self._assignment.default_dataset].recipe
        return self.dataset.recipe

    def questions(self, split: str) -> list[str]:
        """Return the questions of "dev" or "test", in the file's order."""
        return [row.split("\t")[0] for row in self._rows(QUESTION_FILES[split])]

    def train_pairs(self) -> list[tuple[str, str]]:
        """Return (question, place) of each line of the training table."""
        return [_pair(row, "train") for row in self._rows(TRAIN)]

    def places(self, split: str) -> list[str] | None:
        """Return the right places of "dev" or "test", or None if the answers are not available."""
        if split == "dev":
            return [_pair(row, "dev")[1] for row in self._rows(QUESTION_FILES["dev"])]
        if self._answers is None or not (self._answers / TEST_ANSWERS).exists():
            return None
        rows = self._read(self._answers / TEST_ANSWERS).split("\n")
        pairs = [_pair(row, "test answers") for row in rows]
        if [question for question, _ in pairs] != self.questions("test"):
            raise DataError(
                "birth_test.tsv and birth_test_inputs.tsv ask different questions: "
                "they belong to two data sets; run `make world` or `make data` again"
            )
        return [place for _, place in pairs]

    def corpus(self) -> str:
        """Return the pretraining text without its final newline, as `run.py` reads it."""
        return self._read(self._data / "wiki.txt")

    def require(self) -> None:
        """Check that everything the tests need is installed, for a run whose score counts.

        Raises:
            DataError: a file is missing or can't be read.
        """
        _ = self.dataset
        self.corpus()
        self.train_pairs()
        for split in QUESTION_FILES:
            self.questions(split)
            if self.places(split) is None and self._answers is not None:
                raise DataError(
                    f"{TEST_ANSWERS} in {self._answers.parent.name}/{self._answers.name}/ is "
                    "missing: the answers of the test split"
                )

    def _rows(self, name: str) -> list[str]:
        rows = self._read(self._data / name).split("\n")
        if "" in rows:
            raise DataError(f"{name}, line {rows.index('') + 1} is blank; {MEND}")
        return rows

    def _read(self, path: Path) -> str:
        place = f"{path.name} in {path.parent.parent.name}/{path.parent.name}/"
        try:
            return path.read_text(encoding="utf-8").removesuffix("\n")
        except FileNotFoundError:
            raise DataError(f"{place} is missing; {MEND}") from None
        except OSError as error:
            raise DataError(f"{place} can't be read: {error.strerror}; {MEND}") from None
        except UnicodeDecodeError:
            raise DataError(f"{place} is not UTF-8 text; {MEND}") from None


def _pair(row: str, name: str) -> tuple[str, str]:
    question, tab, place = row.partition("\t")
    if not tab or not place:
        raise DataError(f"the {name} table contains {row!r:.100}: expected question, tab, place")
    return question, place
