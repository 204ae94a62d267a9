"""A small course: its assignment, its due date, and a policy that a test may change."""

import pytest

from grading.assignment import load_assignment
from tests.classroom.gradebook.building import ASSIGNMENT, Export, course
from tools.classroom.gradebook import bookkeeping, sources


@pytest.fixture
def policy(monkeypatch, tmp_path_factory):
    """policy(late_days=2, ...) sets [grading] of the course; the assignment is a small one."""
    path = tmp_path_factory.mktemp("description") / "assignment.toml"
    path.write_text(ASSIGNMENT, encoding="utf-8")
    described = load_assignment(path)
    monkeypatch.setattr(sources, "load_assignment", lambda: described)

    def set_policy(**grading) -> None:
        monkeypatch.setattr(bookkeeping, "load_course", lambda: course(**grading))

    set_policy()
    return set_policy


@pytest.fixture
def export(tmp_path):
    """A Gradescope export to add submissions to."""
    return Export(tmp_path / "download")
