"""The folder of a student who has finished, with code to collect."""

import pytest

import grading
from tests.student.folder import Desk, lay_out


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys) -> Desk:
    root = lay_out(tmp_path / "Übung 5 (copy)")
    monkeypatch.setattr(grading, "ROOT", root)
    monkeypatch.setattr(grading, "SRC", root / "src")
    monkeypatch.setattr(grading, "DATA", root / "src" / "data")
    return Desk(root, capsys)
