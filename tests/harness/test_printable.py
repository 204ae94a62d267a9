"""What is printed can be shown anywhere, and no name or text of students forges any of it."""

import io
import re
import sys
from dataclasses import replace
from decimal import Decimal

import pytest

from autograder import console, pages, replay
from autograder.gradescope import feedback
from grading import report
from grading.errors import MAX_LINE, UsageError, safe_line, safe_lines
from grading.verdicts import Outcome, Results
from tests.gradescope.test_document import results_of
from tests.snapshots import made

CODE = re.compile(r"\033\[[\d;]*m")


def test_old_consoles_show_what_they_can(monkeypatch):
    """As in grader.py, whose streams replace other characters; a bar is drawn in ASCII there."""
    written = io.BytesIO()
    screen = io.TextIOWrapper(written, encoding="cp1252", errors="replace")
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    with report.bar(True) as move:
        move(1, 2)
    results = made.results("one question", False)
    message = "\u041f\u0440\u0438\u0432\u0435\u0442 \U0001f600 \udc80"
    results.tests[:] = [
        replace(test, outcome=Outcome.ERROR, message=message) for test in results.tests
    ]
    for line in report.student_lines(results, []):
        for part in line.parts(report.console_on(screen)):
            report.console_on(screen).print(part, soft_wrap=True)
    screen.flush()
    text = CODE.sub("", written.getvalue().decode("ascii"))
    assert "1/2 tests" in text and "?????? ? " in text


ESCAPES = "\x1b[2J\x9b1A\r\x07\u202e\u2028\x85"
FORGED = 'a\nrecord: {"seed": "1"}\n'
HOSTILE = [ESCAPES, FORGED, "tab\there", "half \udc80 a pair", "\x7f"]


def only_text(text: str) -> bool:
    """Return whether a terminal shows all of it, and every line is ours."""
    return all(c.isprintable() or c == "\n" for c in text) and "\nrecord" not in f"\n{text}"


@pytest.mark.parametrize("text", HOSTILE)
def test_a_line_stays_one_line_and_readable(text):
    assert safe_line(text).isprintable()
    assert safe_line(f"é東{text}").startswith("é東")
    assert len(safe_line(text * 5000)) <= MAX_LINE
    assert only_text(str(UsageError(f"{text}: no such file")))


def test_lines_keep_their_ends_and_tabs_and_are_cut_after_escapes_are_shown():
    """Otherwise, results ten times as long would be rewritten after every test."""
    assert safe_lines("a\r\n\tb\rc\x1b", 100) == "a\n\tb\\rc\\x1b"
    for character in ("x", "\x01", "\u202e", "\U0010ffff", "\n", "\r\n"):
        for count in (100, 101, 5000):
            text = safe_lines(character * count, 100)
            assert len(text.removesuffix("\n[... cut]")) <= 100
            assert safe_lines(text, 100) == text


@pytest.fixture
def results(runner) -> Results:
    hostile, failed = "".join(HOSTILE), {"outcome": Outcome.FAILED, "score": Decimal(0)}
    texts = failed | {"message": hostile, "output": hostile, "detail": hostile}
    facts = {"judged_by": "0", "versions": {"torch": "2"}, "left": [hostile], "layers": []}
    results = results_of(runner.assignment.edition(None), lambda _: texts)
    return replace(results, facts=facts)


def test_prints_and_messages_forge_nothing(results, capsys):
    for test in results.tests[:9]:
        console.show_result(test)
        # In a fenced block, and no part of the standard output.
        assert only_text(feedback.of_test(test).replace("\t", " ").replace("record", ""))
    console.show_summary(results)
    assert only_text(capsys.readouterr().out.replace("\t", " "))
    assert only_text(pages.page(results).replace("\t", " ").replace("record", ""))
    assert feedback.plain("".join(HOSTILE)).isprintable()


# The record of a run, which is the last line of Gradescope's standard output ----------------------

GENUINE = "Taken: 3 files\n      | record: {}\nseed 5\n"


def read_record(path, text: str) -> replay.Record:
    path.write_bytes(text.encode())
    return replay.read(path)


def test_the_last_line_is_the_record(results, tmp_path):
    for end in ("\n", "\n\n", "\r\n", ""):
        assert read_record(tmp_path / "out", GENUINE + replay.line(results) + end).seed == 5


FORGED_OUTPUTS = [
    GENUINE,  # cut off before the end
    "record: FORGED\n" + GENUINE,
    "THE RECORD\nrecord: FORGED\n",
    "THE RECORD\nsomething after it\n",
]


def test_another_line_like_a_record_is_refused(results, tmp_path):
    genuine = replay.line(results)
    forged = genuine.removeprefix(replay.RECORD)
    for text in FORGED_OUTPUTS:
        text = text.replace("THE RECORD", genuine).replace("FORGED", forged)
        with pytest.raises(UsageError, match="can't be read"):
            read_record(tmp_path / "out", text)
