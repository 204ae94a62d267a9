"""What a student reads in the terminal: their progress, and each cause of failure once."""

import io
import itertools
import re
import sys

import pytest

from grading import report
from grading.report import Report
from grading.verdicts import Outcome, Results, TestResult
from tests import pinned

EDITION = pinned.load().edition(None)
CODE = re.compile(r"\033\[[\d;]*m")


def specs(number):
    return [spec for spec in EDITION.tests if spec.number == number]


def results(*numbers, **changes):
    """Return a run in which basic tests pass and hidden ones run ungraded, except for `changes`.

    Args:
        changes: by test id with `_` in place of `-`, after "t": outcome, message and so on.
    """
    tests = []
    for spec in EDITION.tests:
        outcome = Outcome.RAN_NOT_GRADED if spec.is_hidden else Outcome.PASSED
        values = {"outcome": outcome, "message": "", "is_selected": spec.number in numbers}
        values |= changes.get(f"t{spec.test_id.replace('-', '_')}", {})
        tests.append(TestResult(spec=spec, description=f"does {spec.name}", **values))
    return Results(EDITION, 5, tests)


class Screen(io.StringIO):
    """What is written to a terminal, or to a file."""

    def __init__(self, is_terminal=True):
        super().__init__()
        self.isatty = lambda: is_terminal


def shown(made, screen=None, **environment):
    """Return what is printed to a screen, or to a file, as by show()."""
    screen = screen or Screen(False)
    lines = report.student_lines(made, ["Files: 9 of src/submission/"])
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"TERM": "xterm", "NO_COLOR": "", **environment}.items():
            patch.setenv(name, value)
        patch.setattr(sys, "stdout", screen)
        report.show(lines)
    return screen.getvalue()


CRASH = {"outcome": Outcome.ERROR, "message": "submission/dataset.py:9: ValueError: bad"}


def test_other_faults_are_other_causes():
    """What is one cause is in tests/snapshots: a hidden test's, missing files."""
    alike = CRASH | {"place": "ValueError f"}
    for test_id, changes in (
        ("t1e_2_basic", {"message": "dataset.py:12: ValueError", "place": "ValueError f"}),
        ("t1e_5_hidden", {"message": "f: ValueError", "place": "ValueError g"}),
    ):
        made = results("1e", t1e_1_basic=alike, **{test_id: CRASH | changes})
        causes = Report.of(made, staff=False, is_judged=False).causes
        assert [len(cause.tests) for cause in causes] == [1, 1]


@pytest.mark.parametrize("width", [57, 80, 133])
def test_text_fits_into_the_terminal(width):
    long = CRASH | {"message": "a cause " * 40 + "\n  got: " + "x, " * 90}
    changes = {f"t{s.test_id.replace('-', '_')}": long for s in EDITION.tests if s.number == "1f"}
    for numbers in (("1f",), ("1e", "1f")):
        text = shown(results(*numbers, **changes), Screen(), COLUMNS=str(width))
        lines = CODE.sub("", text).splitlines()
        assert max(map(len, lines)) <= width
        assert " ".join(" ".join(lines).split()).count("a cause") == 40


@pytest.mark.parametrize("encoding", ["cp1252", "cp437", "ascii"])
def test_old_consoles_show_what_they_can(encoding, monkeypatch):
    """As in grader.py, whose streams replace other characters; a bar is drawn in ASCII there."""
    written = io.BytesIO()
    screen = io.TextIOWrapper(written, encoding=encoding, errors="replace")
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", screen)
    changed = CRASH | {"message": "\u041f\u0440\u0438\u0432\u0435\u0442 \U0001f600 \udc80"}
    with report.bar("tests") as move:
        move(1, 2)
    for line in report.student_lines(results("1e", t1e_1_basic=changed), []):
        for part in line.parts(report.console_on(screen)):
            report.console_on(screen).print(part, soft_wrap=True)
    screen.flush()
    text = CODE.sub("", written.getvalue().decode("ascii"))
    assert "1/2 tests" in text and "?????? ? " in text


def test_without_rich_text_is_plain(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    made = results("1e", t1e_1_basic=CRASH)
    assert shown(made, Screen()) == shown(made)
    with report.bar("tests") as move:
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
    text = shown(results("1e", t1e_1_basic=CRASH), Screen(is_terminal), **environment)
    assert ("\033[" in text) == styles


def test_an_untouched_starters_report_fits_on_two_screens():
    ends = {
        f"t{spec.test_id.replace('-', '_')}": {
            "outcome": Outcome.FAILED,
            "message": f"submission/{spec.topic}.py:9: not written yet: f is yours to write",
            "is_unwritten": True,
            "where": f"submission/{spec.topic}.py:9",
        }
        for spec in EDITION.tests
    }
    numbers = dict.fromkeys(spec.number for spec in EDITION.tests)
    lines = CODE.sub("", shown(results(*numbers, **ends), Screen(), COLUMNS="80")).splitlines()
    assert len(lines) <= 2 * 24 and max(map(len, lines)) <= 80, "\n".join(lines)
    places = [line for line in lines if "not written yet: " in line and "no points" not in line]
    counted = [re.search(r"submission/\w+\.py:\d+", line)[0] for line in places]
    assert len(counted) == len(set(counted)) > 3


def test_every_outcome_has_its_line():
    for spec, outcome in zip(specs("1e"), itertools.cycle(Outcome), strict=False):
        changed = {f"t{spec.test_id.replace('-', '_')}": {"outcome": outcome, "message": "why"}}
        assert spec.test_id in shown(results("1e", **changed))
