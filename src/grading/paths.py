"""Where things are, from this file's own place; the same tree for a course and for its students."""

from __future__ import annotations

from pathlib import Path

SRC = Path(__file__).resolve().parents[1]
ROOT = SRC.parent
ASSIGNMENT = ROOT / "assignment.toml"
DATA = SRC / "data"
QUESTIONS = SRC / "questions"
SOLUTIONS = ROOT / "solutions"
HIDDEN = SOLUTIONS / "hidden"
ANSWERS = SOLUTIONS / "data"
