"""docs/grading-a-class.md: each command runs as written there, with a small class and question."""

import os
import re
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from tests.classroom.contents import export, lay
from tests.classroom.grades.building import read_csv
from tests.classroom.tiny import upload_of
from tests.follow import commands_of
from tests.project import ROOT

GUIDE = ROOT / "docs" / "grading-a-class.md"
DOCUMENT = GUIDE.read_text(encoding="utf-8")
COMMANDS = commands_of(DOCUMENT)
FILES = {
    "written.csv": "First Name,Last Name,Email,Total Score,Max Points,Status\n"
    "A,B,ada@example.edu,3,4,Graded\nC,D,bob@example.edu,2,4,Graded\n",
    "overrides.csv": "student,question,points,reason,author,date\n",
    "extensions.csv": "student,due,reason,author,date\n"
    "ada@example.edu,2099-02-03 23:59 -0800,ill,Kim,2026-11-01\n",
}


@pytest.fixture(scope="module")
def followed(tmp_path_factory, course, release, temporary):
    """Run all commands in order; return (exit code, output) of each, and the home folder."""
    home, answers = tmp_path_factory.mktemp("home"), {}
    environment = os.environ | {"HOME": str(home), "TMPDIR": str(temporary)}
    for name, text in FILES.items():
        (home / name).write_text(text, encoding="utf-8")
    lay(home / "earlier-years" / "2025", upload_of("slow"))
    for command in COMMANDS:
        # The class of the test has another assignment, whose hidden test has this id.
        command = command.replace("1e-8-hidden", "1a-1-hidden").replace("~", str(home))
        program, *words = shlex.split(command)
        if program == "make":
            continue  # `release` has the same files
        if program == "sqlite3":
            with sqlite3.connect(words[-2]) as database:
                answers[command] = 0, str(database.execute(words[-1]).fetchall())
            continue
        if words[2] in ("grade", "regrade"):
            words += ["--edition", "tiny", "--slots", "1"]
        if words[2] == "grade":
            _hand_in(home / "practice" / "assignment_4711_export.zip")
        words = [str(home / word) if word in FILES else word for word in words]
        ran = subprocess.run(
            [sys.executable, *words],
            cwd=course if words[1] == "classroom" else ROOT,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        answers[command] = ran.returncode, ran.stdout + ran.stderr
    return answers, home


def _hand_in(source: Path) -> None:
    """Put three submissions in place of the forty, of which one has nothing in it."""
    source.unlink()
    handed_in = {"ada": upload_of("right"), "bob": upload_of("wrong"), "cy": {}}
    for number, (name, files) in enumerate(handed_in.items(), 1):
        export(source, number, [f"{name}@example.edu"], "2026-11-02 15:48:00 -08:00", files)


@pytest.mark.requires_root
def test_every_command_ends_well_and_they_lead_to_grades_and_a_report(followed):
    answers, home = followed
    assert len(answers) == len(COMMANDS) - 1 > 15
    for command, (code, output) in answers.items():
        left = " forget " in command  # grades/, which is the instructor's
        assert code == left and ("grades.csv names the student" in output) == left, output

    shown, *_ = re.findall(r"^```text\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    listed = next(output for command, (_, output) in answers.items() if " list " in command)
    assert [line for line in shown.splitlines() if line not in listed.splitlines()] == []
    scores, failing, who = (said for c, (_, said) in answers.items() if c.startswith("sqlite3"))
    assert scores == str([
        ("ada", None, "4.00", "8.00", "graded"),
        ("bob", None, "0.00", "8.00", "graded"),
        ("cy", None, "0.00", "8.00", "nothing to grade"),
    ])  # fmt: skip
    assert "1a-1-hidden" in failing and "submission_2" in who
    assert len(read_csv(home / "class" / "grades" / "grades.csv")) >= 2
    assert "submission_1 removed" in "".join(output for _, output in answers.values())
