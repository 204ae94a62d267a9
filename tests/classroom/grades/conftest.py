"""A small course: its assignment, its due date, and a policy that tests can change."""

import pytest

from autograder.description import load_assignment
from classroom.grades import book, commands
from tests.classroom.grades.building import ASSIGNMENT, Class, course


@pytest.fixture
def policy(monkeypatch, tmp_path_factory):
    """Return policy(late_days=2, ...), which sets the course's [grading]."""
    path = tmp_path_factory.mktemp("description") / "assignment.toml"
    path.write_text(ASSIGNMENT, encoding="utf-8")
    described = load_assignment(path.parent)
    monkeypatch.setattr(book, "load_assignment", lambda: described)

    def set_policy(**grading) -> None:
        monkeypatch.setattr(commands, "load_course", lambda: course(**grading))

    set_policy()
    return set_policy


@pytest.fixture
def made(tmp_path, policy):
    """Return a class to which submissions can be added."""
    return Class(tmp_path / "class")
