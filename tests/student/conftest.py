"""Folders of students: finished code to collect, written answers to check."""

import pytest

import check_written
import grading
from tests.student.folder import Desk, lay_out
from tests.student.writing import Paper


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys) -> Desk:
    root = lay_out(tmp_path / "Übung 5 (copy)")
    monkeypatch.setattr(grading, "ROOT", root)
    monkeypatch.setattr(grading, "SRC", root / "src")
    monkeypatch.setattr(grading, "DATA", root / "src" / "data")
    return Desk(root, capsys)


@pytest.fixture
def paper(tmp_path, monkeypatch, capsys) -> Paper:
    root = tmp_path / "Übung 5 (copy)"
    monkeypatch.setattr(check_written, "ROOT", root)
    monkeypatch.setattr(check_written, "WRITTEN", root / "written")
    paper = Paper(root, capsys)
    paper.renew()
    return paper
