"""A small course: its edition, its due date, and a policy that tests can change."""

from types import SimpleNamespace

import pytest

from autograder.description import Grading, load_course
from classroom.grades import book, commands
from tests.classroom.grades.building import DUE, EDITION, Class


@pytest.fixture
def policy(monkeypatch):
    """Return policy(late_days=2, ...), which sets the course's [grading]."""
    described = SimpleNamespace(edition=lambda name: EDITION)
    monkeypatch.setattr(book, "load_assignment", lambda: described)
    real = load_course()
    dates = real.dates.model_copy(update={"due": DUE})

    def set_policy(**grading) -> None:
        course = real.model_copy(update={"dates": dates, "grading": Grading(**grading)})
        monkeypatch.setattr(commands, "load_course", lambda: course)

    set_policy()
    return set_policy


@pytest.fixture
def made(tmp_path, policy):
    """Return a class to which submissions can be added."""
    return Class(tmp_path / "class")
