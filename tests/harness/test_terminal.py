"""A student's terminal, of any width, colours and characters; tests/snapshots has the text."""

import io
import re
import sys
from dataclasses import replace

import pytest

from grading import report
from grading.verdicts import Outcome
from tests.snapshots import made

CODE = re.compile(r"\033\[[\d;]*m")


class Screen(io.StringIO):
    """What is written to a terminal, or to a file."""

    def __init__(self, is_terminal=True):
        super().__init__()
        self.isatty = lambda: is_terminal


def crashing(message="submission/dataset.py:9: ValueError: bad", outcome=Outcome.ERROR):
    """Return a run of question 1e in which each of its tests ends like this."""
    results = made.results("one question", False)
    results.tests[:] = [
        replace(test, outcome=outcome, message=message) if test.is_selected else test
        for test in results.tests
    ]
    return results


def shown(results, screen=None, **environment):
    """Return what is printed to a screen, or to a file, as by show()."""
    screen = screen or Screen(False)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TERM": "xterm", "NO_COLOR": "", **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", screen)
        report.show(report.student_lines(results, ["Files: 9 of src/submission/"]))
    return screen.getvalue()


@pytest.mark.parametrize("width", [57, 133])
def test_text_fits_into_the_terminal(width):
    results = crashing("a cause " * 40 + "\n  got: " + "x, " * 90)
    lines = CODE.sub("", shown(results, Screen(), COLUMNS=str(width))).splitlines()
    assert max(map(len, lines)) <= width
    assert " ".join(" ".join(lines).split()).count("a cause") == 40


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_old_consoles_show_what_they_can(encoding, monkeypatch):
    """As in grader.py, whose streams replace other characters; a bar is drawn in ASCII there."""
    written = io.BytesIO()
    screen = io.TextIOWrapper(written, encoding=encoding, errors="replace")
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    with report.bar(True) as move:
        move(1, 2)
    results = crashing("\u041f\u0440\u0438\u0432\u0435\u0442 \U0001f600 \udc80")
    for line in report.student_lines(results, []):
        for part in line.parts(report.console_on(screen)):
            report.console_on(screen).print(part, soft_wrap=True)
    screen.flush()
    text = CODE.sub("", written.getvalue().decode("ascii"))
    assert "1/2 tests" in text and "?????? ? " in text


def test_without_rich_text_is_plain(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert shown(crashing(), Screen()) == shown(crashing())
    with report.bar(True) as move:
        move(1, 2)


@pytest.mark.parametrize(
    ("is_terminal", "environment", "styles"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),  # no-color.org: "when present and not an empty string"
        (True, {"TERM": "dumb"}, False),
        (False, {}, False),
    ],
)
def test_who_gets_colours(is_terminal, environment, styles):
    assert ("\033[" in shown(crashing(), Screen(is_terminal), **environment)) == styles


def test_every_outcome_has_its_line():
    for outcome in Outcome:
        assert "1e-1-basic" in shown(crashing("why", outcome))
