"""A small course: its assignment, its due date, and a policy that tests can change."""

import pytest

from autograder.description import load_assignment
from tests.classroom.gradebook.building import ASSIGNMENT, Export, course
from tools.classroom.gradebook import bookkeeping, sources


@pytest.fixture
def policy(monkeypatch, tmp_path_factory):
    """Return policy(late_days=2, ...), which sets the course's [grading]."""
    path = tmp_path_factory.mktemp("description") / "assignment.toml"
    path.write_text(ASSIGNMENT, encoding="utf-8")
    described = load_assignment(path.parent)
    monkeypatch.setattr(sources, "load_assignment", lambda: described)

    def set_policy(**grading) -> None:
        monkeypatch.setattr(bookkeeping, "load_course", lambda: course(**grading))

    set_policy()
    return set_policy


@pytest.fixture
def export(tmp_path):
    """Return a Gradescope export to which submissions can be added."""
    return Export(tmp_path / "download")
