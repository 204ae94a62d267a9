"""docs/grading-a-class.md: each command runs as written there, in another home folder."""

import os
import re
import shlex

import pytest

from tests.classroom.similar import write
from tests.follow import commands_of
from tests.project import ROOT

DOCUMENT = (ROOT / "docs" / "grading-a-class.md").read_text(encoding="utf-8")
# See test_graded_document.py, grades/test_end_to_end.py and regrading/test_document.py.
ELSEWHERE = "grade|table|certificates|grades|decide"
ELSEWHERE += "|forget|purge|regrade|apply|discard|history|repeat|stored|report"
GRADE = re.compile(rf"classroom (?:{ELSEWHERE}) |tools\.rubrics ")
COMMANDS = [command for command in commands_of(DOCUMENT) if not GRADE.search(command)]


@pytest.fixture(scope="module")
def followed(tmp_path_factory, run_python):
    """Return the answer of each command in the document, in order, and the home folder."""
    home = tmp_path_factory.mktemp("home")
    write(home / "earlier-years" / "2025", {"submission/dataset.py": "x = 1\n"})
    answers = {}
    for command in COMMANDS:
        program, *words = shlex.split(command.replace("~", str(home)))
        assert program == "python"
        answers[command] = run_python(*words, env=os.environ | {"HOME": str(home)})
    return answers, home


def test_every_command_ends_well(followed):
    answers, _ = followed
    assert len(answers) == len(COMMANDS) == 5
    for command, answer in answers.items():
        assert (answer.returncode, answer.stderr) == (0, ""), command


def test_the_commands_say_what_the_document_shows(followed):
    shown, *_ = re.findall(r"^```text\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL)
    answers, _ = followed
    listed = next(answer.stdout for command, answer in answers.items() if " list " in command)
    assert len(shown.splitlines()) == 5
    for line in shown.splitlines():
        assert line in listed.splitlines()


def test_the_class_was_compared(followed):
    answers, home = followed
    said = next(answer.stdout for command, answer in answers.items() if " similar " in command)
    assert f"Open {home}/class/similar/index.html in a browser" in said
    assert re.search(r"^[1-9]\d* pairs compared, [1-9]\d* of them have a page$", said, re.MULTILINE)


def test_what_the_document_says_of_limits_is_so():
    from tools.classroom import uploads

    assert uploads.MAX_BYTES == 1 << 30 and f"{uploads.MAX_FILES:,} files" in DOCUMENT
