"""A term's uploads, with metadata as Gradescope writes them: what each result shows, and when."""

import json
import re
import stat
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from types import SimpleNamespace

import pytest

import grading
from autograder import authoritative, solutions
from autograder.gradescope import document, session
from grading.errors import GradingError
from grading.staging import Staged
from grading.verdicts import Outcome, Results, TestResult
from tools import emulate

from .test_document import edition_of

NOON = datetime.fromisoformat("2027-01-28T12:00:00.250000-08:00")


REQUIRED = ("submission/dataset.py", "submission/helper.py", "vanilla.model.params")
RENAMED = {
    "submission/helper.py": "submission/Helper.PY",
    "vanilla.model.params": "data/vanilla.model.params",
}


@pytest.mark.parametrize(
    ("staged", "words"),
    [
        (
            {"taken": {"submission/dataset.py": "there"}, "renamed": RENAMED},
            ["submission/helper.py, vanilla.model.params", "`Helper.PY`", "`data/vanilla.model.p"],
        ),
        ({"place": "a.zip/src/Submission"}, ["a.zip/src/Submission"]),
        (
            {"release": "2027-spring.1", "edition": "cs224n"},
            ["This is work on cs224n of 2027-spring.1, and it is graded as xcs224n: hand it in"],
        ),
    ],
)
def test_the_overview_says_what_is_missing_and_where_the_code_was(
    staged, words, grade, monkeypatch, tmp_path
):
    run, staged = Runner.run, Staged(Path("staged"), required=REQUIRED, **staged)
    monkeypatch.setattr(Runner, "run", lambda *given: given[3].staged(staged) or run(*given))
    output = emulate.readable(grade(edition_of(), None)["output"])
    for word in words:
        assert word in output


class Runner:
    """In place of the runner: all tests pass except the hidden ones if `right` is False."""

    def __init__(self, edition, right=True):
        self._right, self.judging = right, object()
        self.assignment = SimpleNamespace(edition=lambda name: edition)

    def tests(self, edition):
        return [SimpleNamespace(spec=spec) for spec in edition.tests]

    def blank(self, edition, seed, name):
        facts = {"submission": name, "graded": "now", "judged_by": "0" * 64, "versions": {}}
        facts["release"] = edition.release
        return Results(
            edition, seed, [TestResult(spec=s, description=s.name) for s in edition.tests], facts
        )

    def run(self, options, seed, observer, pool):
        results = self.blank(self.assignment.edition(None), seed, options.name)
        observer.started(results)
        for place, test in enumerate(results.tests):
            if not options.selection or test.spec.test_id in options.selection:
                passes = self._right or not test.spec.is_hidden
                points = test.spec.max_score if passes else 0 * test.spec.max_score
                outcome = Outcome.PASSED if passes else Outcome.FAILED
                results.tests[place] = TestResult(
                    spec=test.spec, description=test.spec.name, outcome=outcome, score=points
                )
        observer.graded(None)
        return results


def limited(a_day, **settings):
    return edition_of(hidden_feedback_a_day=a_day, leaderboard=True, **settings)


@pytest.fixture
def grade(tmp_path, monkeypatch):
    """Return grade(edition, metadata), which returns results.json."""
    monkeypatch.setattr(solutions, "ANSWERS", tmp_path)
    monkeypatch.setattr(grading, "SOLUTIONS", tmp_path)
    board = [{"name": "vanilla: right on dev (%)", "value": 25.0}]
    monkeypatch.setattr(document, "leaderboard", lambda *_: board)
    no_pool = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(authoritative, "open_pool", lambda *_: no_pool)
    (tmp_path / session.SECRET).write_text("secret", encoding="ascii")
    (tmp_path / "results").mkdir()

    def run(edition, about, right=True):
        file = tmp_path / session.METADATA
        file.unlink(missing_ok=True)
        if about is not None:
            text = about if isinstance(about, str) else json.dumps(about)
            file.write_text(text, encoding="utf-8")
        session.grade(Runner(edition, right), tmp_path, None, json_file=tmp_path / "run.json")
        return json.loads((tmp_path / session.RESULTS).read_text(encoding="utf-8"))

    return run


def entry_of(at, score):
    """What metadata have of an earlier upload; without a score, its grading failed."""
    return {"submission_time": at.isoformat(), "score": score, "autograder_error": score is None}


class Term:
    """A student's uploads; hours count from the first noon."""

    def __init__(self, grade, edition):
        self._grade, self._edition = grade, edition
        self.entries, self.results = [], []

    def about(self, at, previous):
        """Return the metadata of the upload at that time."""
        if previous:
            previous = [*previous[:-1], previous[-1] | {"results": self.results[len(previous) - 1]}]
        about = emulate.about("first") | {"created_at": at.isoformat()}
        return about | {"previous_submissions": previous}

    def upload(self, hours, failed=False):
        """Grade another upload; return whether it shows hidden tests at once."""
        at = NOON + timedelta(hours=hours)
        results = self._grade(self._edition, self.about(at, self.entries))
        assert emulate.score_of(results) == 53  # whatever it shows, it is graded in full
        score = None if failed else str(float(emulate.score_of(results)))
        self.entries.append(entry_of(at, score))
        self.results.append({"output": "it failed"} if failed else results)
        return shows(results)

    def again(self):
        """Return whether each upload shows hidden tests at once if all are graded again."""
        return [
            shows(self._grade(self._edition, self.about(_time(entry), self.entries)))
            for entry in self.entries
        ]


def _time(entry):
    return datetime.fromisoformat(entry["submission_time"])


def shows(results):
    """Return whether hidden tests are visible at once: all of them, or none."""
    seen = {
        entry["visibility"] == "visible"
        for entry in results["tests"]
        for test_id in entry["extra_data"]["outcomes"]
        if test_id.endswith("-hidden")
    }
    (at_once,) = seen
    assert ("leaderboard" in results) is at_once
    assert ("in 24 hours" in results["output"]) is not at_once
    assert ("your total" in results["output"]) is not at_once
    return at_once


def test_a_grader_that_fails_leaves_no_result_and_has_closed_its_files(
    grade, monkeypatch, tmp_path
):
    def fail(*_):
        raise GradingError("ours")

    monkeypatch.setattr(Runner, "run", fail)
    with pytest.raises(GradingError, match="ours"):
        grade(edition_of(), emulate.about("first"))
    assert not (tmp_path / session.RESULTS).exists()
    for name, mode in (("results", 0o700), (session.METADATA, 0o600)):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode


# ---------------------------------------------------------------- the daily limit


@pytest.mark.parametrize(
    ("a_day", "hours", "seen"),
    [
        (0, range(9), [True] * 9),  # no limit
        (3, range(9), [True] * 3 + [False] * 6),
        (2, [0, 1, 2, 23.9], [True, True, False, False]),
        (2, [0, 1, 24], [True, True, True]),  # the first is a day ago
        # Whoever uploads every six hours is not locked out by uploads that showed nothing.
        (1, [0, 6, 12, 18, 24, 30, 48], [True, False, False, False, True, False, True]),
        (2, [0, 1, 2, 25, 25.5, 26], [True, True, False, True, True, False]),
        # An upload that is graded again may be in the list, so the same instant doesn't count.
        (1, [0, 0, 1], [True, True, False]),
    ],
)
def test_an_upload_shows_hidden_tests_if_fewer_did_in_the_day_before(grade, a_day, hours, seen):
    term = Term(grade, limited(a_day))
    assert [term.upload(hour) for hour in hours] == seen
    assert term.again() == seen  # although the metadata now also list what came later


def test_a_run_that_failed_uses_nothing_up(grade):
    term = Term(grade, limited(1))
    assert term.upload(0, failed=True) and term.upload(1) and not term.upload(2, failed=True)
    assert not term.upload(3)
    assert term.again() == [True, True, False, False]


def test_neither_order_nor_time_zones_of_earlier_uploads_matter(grade):
    term = Term(grade, limited(2))
    assert [term.upload(hour) for hour in (0, 1, 2)] == [True, True, False]
    tokyo = timezone(timedelta(hours=9))
    for entry in term.entries:
        entry["submission_time"] = _time(entry).astimezone(tokyo).isoformat()
    term.entries.reverse()
    assert term.again() == [False, True, True]


@pytest.mark.parametrize(
    "about",
    [
        None,
        "malformed",
        {"id": 1, "created_at": "2027-01-28T12:00:00"},  # no time zone
        {"id": 1, "created_at": 1801166400},
    ],
)
def test_without_its_own_time_an_upload_shows_hidden_tests_and_staff_read_why(grade, about, capsys):
    if isinstance(about, dict):
        about = about | {"previous_submissions": [entry_of(NOON, "5.0")] * 3}
    results = grade(limited(1), about)
    assert shows(results) and emulate.score_of(results) == 53
    assert "metadata: " in capsys.readouterr().out


def test_an_earlier_upload_without_a_time_is_reported_and_not_counted(grade, capsys):
    term = Term(grade, limited(1))
    term.upload(0)
    term.entries[0]["submission_time"] = "2027-01-28T12:00:00"
    assert term.upload(1)
    assert "metadata: submission_time is '2027-01-28T12:00:00'" in capsys.readouterr().out


# ---------------------------------------------------------------- when the rest becomes visible


@pytest.mark.parametrize(
    ("kind", "usual", "then"),
    [
        ("first", "visible", "after_due_date"),
        ("extension", "visible", "after_published"),  # the others' due date is over
        ("late", "visible", "after_published"),  # the due date is over: it would show at once
        ("group", "visible", "after_published"),  # one member's due date is over
        ("undated", "visible", "after_published"),
        ("first", "after_due_date", "after_due_date"),
        ("late", "after_due_date", "after_published"),
        ("first", "after_published", "after_published"),
        ("late", "after_published", "after_published"),
    ],
)
def test_over_the_limit_hidden_tests_wait_for_the_next_moment(grade, kind, usual, then):
    about = emulate.about("first" if kind == "undated" else kind)
    if kind == "undated":
        del about["users"], about["assignment"]["due_date"]
    about["previous_submissions"] = [entry_of(emulate.CREATED - timedelta(hours=2), "53.0")]
    results = grade(limited(1, hidden_tests=usual), about)
    moments = {entry["visibility"] for entry in results["tests"]}
    assert moments == {"visible", then}
    # Where nothing changes for the student, nothing is said.
    assert ("in 24 hours" in results["output"]) is (usual != then)
    assert ("leaderboard" in results) is (usual == then)


def test_the_student_reads_why_and_when_the_next_upload_shows_them(grade):
    term = Term(grade, limited(2))
    for hour in (0, 1, 5.25):
        term.upload(hour)
    shown = emulate.readable(term.results[-1]["output"])
    assert "at most 2 submissions in 24 hours" in shown and " 18 h 45 min " in shown
    assert document.LATER["after_due_date"] in shown
    assert "Autograder score" not in "\n".join(emulate.student_lines(term.results[-1]))


def test_nothing_of_an_earlier_result_is_kept(grade):
    # Not of an older judge, and not of better work: the newest code is what counts.
    edition = limited(1)
    term = Term(grade, edition)
    term.upload(0)
    about = term.about(NOON + timedelta(hours=1), term.entries)
    worse = grade(edition, about, right=False)
    assert not shows(worse)
    assert 0 < emulate.score_of(worse) < 53
    assert worse == grade(edition, about | {"previous_submissions": term.entries}, right=False) | {
        key: worse[key] for key in ("execution_time",)
    }


# ---------------------------------------------------------------- the best score so far


def numbers(grade, edition, *scores):
    """The numbers in the sentence on earlier uploads, which came every hour: how many, the best."""
    about = emulate.about("first")
    for ago, score in enumerate(reversed(scores), 1):
        at = emulate.CREATED - timedelta(hours=ago)
        about["previous_submissions"].insert(0, entry_of(at, score))
    lines = emulate.readable(grade(edition, about)["output"]).splitlines()
    (line,) = [line for line in lines if line.startswith("You submitted")]
    return re.findall(r"[\d.]*\d", line)


@pytest.mark.parametrize(
    ("scores", "best"),
    [
        (["19.0", "12.0", "11.0"], "19"),
        ([19, 11.25], "19"),
        (["0.5", "19.25", None], "19.25"),  # the latest failed
        (["53.0"], "53"),
        (["0.0"], "0"),
    ],
)
def test_the_best_score_so_far_is_gradescopes_own(grade, scores, best):
    assert numbers(grade, edition_of(), *scores) == [str(len(scores)), best]


def with_one_that_waits(question):
    waits = (replace(t, after_published=t.test_id == "1f-4-hidden") for t in question.tests)
    return replace(question, tests=tuple(waits))


def test_a_score_that_is_unknown_or_has_points_that_wait_is_left_out(grade):
    for score in (None, "", "NaN", "Infinity", "-1", True, [], "1e400", "x"):
        assert numbers(grade, edition_of(), score) == ["1"], score
    for shown in ("after_due_date", "after_published"):
        assert numbers(grade, edition_of(hidden_tests=shown), "19.0", "30.0") == ["2"]
    edition = edition_of()
    edition = replace(edition, questions=tuple(map(with_one_that_waits, edition.questions)))
    assert numbers(grade, edition, "19.0") == ["1"]
    # Over the daily limit, an upload didn't show its score.
    assert numbers(grade, limited(2), "7.0", "9.0", "50.0") == ["3", "9"]


def test_later_uploads_are_not_earlier_ones(grade):
    about = emulate.about("first")
    for hours, score in ((-2, "5.0"), (0, "6.0"), (3, "50.0")):
        at = emulate.CREATED + timedelta(hours=hours)
        about["previous_submissions"].append(entry_of(at, score))
    shown = emulate.readable(grade(edition_of(), about)["output"])
    (line,) = [line for line in shown.splitlines() if " before; " in line]
    assert re.findall(r"\d+", line) == ["1", "5"]
