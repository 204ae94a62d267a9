"""This assignment, as the harness needs to know it: recipes, the data set."""

import json
from pathlib import Path

from grading.cases import QuestionSet
from grading.edition import EDITION, Assignment, Edition

from .provided import PROVIDED, RECIPES, TOPICS_OF_MODULE, CourseData


class Course(QuestionSet):
    """The questions on self-attention, transformers and pretraining."""

    provided = PROVIDED

    def required_files(self, edition: Edition) -> tuple[str, ...]:
        """Return the modules that count in the edition, and its outputs."""
        topics = [question.topic for question in edition.questions if question.coding]
        modules = [
            f"submission/{module}"
            for module, beginning in TOPICS_OF_MODULE.items()
            if any(topic.startswith(beginning) for topic in topics)
        ]
        return (*modules, *edition.required_files)

    def prepare(self, assignment: Assignment, root: Path) -> None:
        """Write the recipes, never a student's; earlier years' code reads a file of its own."""
        tables = assignment.for_training()
        earlier = tables | {"datasets": {n: d["recipe"] for n, d in tables["datasets"].items()}}
        for name, content in ((EDITION.name, tables), (f"submission/{RECIPES}", earlier)):
            (root / name).write_text(json.dumps(content), encoding="utf-8")
            (root / name).chmod(0o644)

    def open_data(self, assignment: Assignment, data: Path, answers: Path | None) -> CourseData:
        """Return the installed data set."""
        return CourseData(assignment, data, answers)
