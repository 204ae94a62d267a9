"""What the harness is told about this assignment: recipes, the data set, the leaderboard."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from grading.assignment import Assignment
from grading.cases import BoundTest
from grading.question_set import QuestionSet
from grading.results import Results
from grading.runner import Run
from grading.staging import Provided

from . import leaderboard
from .shared.data_set import CourseData

RECIPES = "recipes.json"


class Course(QuestionSet):
    """The questions on self-attention, transformers and pretraining."""

    provided = Provided(
        given=("__init__.py", "model.py", "trainer.py", "utils.py"),
        packages=("pretraining",),
        generated=(RECIPES,),
    )

    def prepare(self, assignment: Assignment, root: Path) -> None:
        """Write the recipes, which are never a student's. Earlier uploads want them in both."""
        tables = assignment.shipped_recipes()
        for package in ("pretraining", "submission"):
            target = root / package / RECIPES
            target.write_text(json.dumps(tables), encoding="utf-8")
            target.chmod(0o644)

    def open_data(self, assignment: Assignment, data: Path, answers: Path | None) -> CourseData:
        """Return the installed data set."""
        return CourseData(assignment, data, answers)

    def leaderboard(
        self, run: Run, results: Results, tests: list[BoundTest]
    ) -> list[dict[str, Any]]:
        """Return accuracies on dev and numbers of parameters."""
        return leaderboard.entries(run, results, tests)
