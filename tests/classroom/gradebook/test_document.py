"""docs/grading-a-class.md, "From results to grades": its commands, and what it says."""

import re
import shlex
from datetime import datetime
from pathlib import Path

import pytest

from autograder.description import Grading
from tests.classroom.gradebook.building import DUE, Export, Student, command, put, record, scores
from tests.follow import commands_of
from tests.project import ROOT
from tools.classroom.gradebook.decisions import COLUMNS
from tools.classroom.gradebook.sources import KNOWN

DOCUMENT = (ROOT / "docs" / "grading-a-class.md").read_text(encoding="utf-8")
CHAPTER = DOCUMENT[DOCUMENT.index("From results to grades") :]
CHAPTER = re.split(r"^## ", CHAPTER, maxsplit=1, flags=re.MULTILINE)[0]
ADA = Student("Ada Byron", "007", "ada@example.edu")
CANVAS = """\
Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)
    Points Possible,,,,,20
"Byron, Ada",1,007,ada,S1,
"""


def of(word: str, home: Path) -> list[str]:
    """Return the words of the chapter's command with this name, without `python -m ...`."""
    start = f"python -m tools.classroom {word} "
    (line,) = [each for each in commands_of(CHAPTER) if each.startswith(start)]
    return shlex.split(line.replace("~", str(home)))[3:]


def at(hour: int, minute: int) -> datetime:
    return DUE.replace(hour=hour, minute=minute)


@pytest.fixture
def home(tmp_path, policy, monkeypatch):
    monkeypatch.setattr("tests.classroom.gradebook.building.RELEASE", "one")
    found = record(10, 6, 10)
    test = dict(found["results"]["tests"][0], score=14.0, max_score=16.0)
    found = found | {"results": found["results"] | {"tests": [test]}}
    export = Export(tmp_path / "download")
    export.add(61424066, [ADA], at(20, 0), found)
    folder = export.into(tmp_path / "class")
    questions = ("1: 3(a) Copying (4.0 pts)",)
    text = scores([[ADA, [3.5], at(21, 30), "51"]], questions)
    put(folder, written=text.replace(",6.0,", ",4.0,"), canvas=CANVAS)
    monkeypatch.setattr("tools.classroom.gradebook.sources.load_assignment", lambda: FourWritten())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.toml").write_text("[grading]\nlate_days = 3\n", encoding="utf-8")
    return tmp_path


class FourWritten:
    """An assignment whose one edition has a written question of 4 points."""

    def edition(self, name):
        from types import SimpleNamespace

        question = SimpleNamespace(number="3a", written=4, is_extra_credit=False)
        return SimpleNamespace(name=name, questions=(question,))


def test_the_commands_lead_to_grades(home, capsys):
    assert len(commands_of(CHAPTER)) == 4
    assert command(*of("gradebook", home)) == 0
    said = capsys.readouterr().out
    assert "1 person: 1 graded; 0 notes" in said
    text = (home / "class" / "grades" / "canvas.csv").read_text(encoding="utf-8")
    assert text.splitlines()[-1] == '"Byron, Ada",1,007,ada,S1,17.50'
    assert command(*of("policy", home)) == 0
    assert "1 unchanged, 0 up, 0 down" in capsys.readouterr().out


def test_the_explanation_is_as_shown(home, capsys):
    assert command(*of("explain", home)) == 0
    (shown,) = re.findall(r"^```text\n(.*?)^```", CHAPTER, re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out == shown


def test_the_sheets_command_is_understood(home, monkeypatch, capsys):
    # test_rubrics.py tests the sheets themselves.
    monkeypatch.setattr("tools.classroom.gradebook.rubrics.rubrics", lambda repo, edition: [])
    assert command(*of("rubrics", home)) == 2
    assert "the edition has no written question with points" in capsys.readouterr().err
    assert (home / "rubrics").is_dir()


def test_the_policys_keys_are_all_there_with_their_defaults():
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.*?) \|$", CHAPTER, re.MULTILINE))
    defaults = {"hard_deadline_days": "never", "extra_credit_cap": "all", "missing": '`"blank"`'}
    plain = Grading()
    assert rows == {
        name: defaults.get(name, str(getattr(plain, name))) for name in Grading.model_fields
    }


def test_the_files_and_their_columns_are_all_there():
    rows = dict(re.findall(r"^\| `([\w.]+)`[^|]* \| (.*?) \|$", CHAPTER, re.MULTILINE))
    for name in KNOWN:
        assert name in rows or f"`{name}/`" in CHAPTER
    for name, columns in COLUMNS.items():
        assert f"`{','.join(columns)}`" in rows[name]
