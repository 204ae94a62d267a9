"""Paths relative to this file; the tree is the same for a course and for its students."""

from __future__ import annotations

from pathlib import Path

SRC = Path(__file__).resolve().parents[1]
ROOT = SRC.parent
DATA = SRC / "data"
QUESTIONS = SRC / "questions"
SOLUTIONS = ROOT / "solutions"  # which only staff have
