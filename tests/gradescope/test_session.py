"""A term's uploads, with metadata as Gradescope writes them: what each result shows, and when.

Dates are the student's own, and nothing odd in submission_metadata.json costs points.
"""

import json
import re
import stat
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import pytest

import grading
from autograder import authoritative, solutions
from autograder.gradescope import document, metadata, session
from classroom.grade import Release
from grading.errors import GradingError
from grading.staging import Staged
from tools import emulate

from .test_document import ASSIGNMENT, edition_of, results_of

NOON = datetime.fromisoformat("2027-01-28T12:00:00.250000-08:00")


def test_the_overview_says_what_is_missing_and_where_the_code_was(grade, monkeypatch):
    run, required = Runner.run, ("submission/dataset.py", "submission/helper.py")
    staged = Staged(
        Path("staged"),
        taken={"submission/dataset.py": "there"},
        required=required,
        renamed={"submission/helper.py": "submission/Helper.PY"},
        place="a.zip/src/Submission",
        release="2027-spring.1",
        edition="cs224n",
    )
    monkeypatch.setattr(Runner, "run", lambda *given: given[3].staged(staged) or run(*given))
    output = emulate.readable(grade(edition_of(), None)["output"])
    assert "submission/helper.py" in output and "`Helper.PY`" in output
    assert "a.zip/src/Submission" in output
    assert "This is work on cs224n of 2027-spring.1, and it is graded as xcs224n" in output


class Runner:
    """In place of the runner: all tests pass."""

    def __init__(self, edition):
        self.judging = object()
        self.assignment = SimpleNamespace(edition=lambda name: edition)

    def blank(self, edition, seed, name):
        facts = {"submission": name, "graded": "now", "judged_by": "0" * 64, "versions": {}}
        facts["release"] = edition.release
        return replace(results_of(edition, lambda _: {"score": Decimal(0)}), seed=seed, facts=facts)

    def run(self, options, seed, observer, pool):
        edition = self.assignment.edition(None)
        results = self.blank(edition, seed, options.name)
        observer.started(results)
        results.tests[:] = results_of(edition).tests
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

    def run(edition, about):
        file = tmp_path / session.METADATA
        file.unlink(missing_ok=True)
        if about is not None:
            text = about if isinstance(about, str) else json.dumps(about)
            file.write_text(text, encoding="utf-8")
        session.grade(Runner(edition), tmp_path, None, json_file=tmp_path / "run.json")
        return json.loads((tmp_path / session.RESULTS).read_text(encoding="utf-8"))

    return run


def entry_of(at, score):
    """What metadata have of an earlier upload; without a score, its grading failed."""
    return {"submission_time": at.isoformat(), "score": score, "autograder_error": score is None}


def term(grade, a_day, hours, failed=(), kept=list):
    """Return whether uploads show hidden tests at once: as they come, and graded again at the end.

    Args:
        hours: when they come, counted from the first noon.
        failed: the numbers of those of which the grading fails.
        kept: what the metadata have of all of them at the end.
    """
    edition, entries = limited(a_day), []

    def shown(at):
        about = emulate.about("first") | {"created_at": at.isoformat()}
        results = grade(edition, about | {"previous_submissions": entries})
        assert emulate.score_of(results) == 53  # whatever it shows, it is graded in full
        return shows(results)

    times, first = [NOON + timedelta(hours=hour) for hour in hours], []
    for number, at in enumerate(times):
        first.append(shown(at))
        entries.append(entry_of(at, None if number in failed else "53.0"))
    entries = kept(entries)
    return first, [shown(at) for at in times]


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


@pytest.mark.parametrize(
    ("a_day", "hours", "more", "seen"),
    [
        (0, range(4), {}, [True] * 4),  # no limit
        (2, [0, 1, 2, 23.9], {}, [True, True, False, False]),
        # Whoever uploads every six hours is not locked out by uploads that showed nothing.
        (1, [0, 6, 12, 24, 30, 48], {}, [True, False, False, True, False, True]),
        # An upload that is graded again may be in the list, so the same instant doesn't count.
        (1, [0, 0, 1], {}, [True, True, False]),
        (1, range(4), {"failed": (0, 2)}, [True, True, False, False]),  # a failure uses nothing up
        # In any other order, the second one would seem to have shown them, too.
        (1, [0, 6, 25], {"kept": lambda entries: entries[::-1]}, [True, False, True]),
    ],
)
def test_an_upload_shows_hidden_tests_if_fewer_did_in_the_day_before(
    grade, a_day, hours, more, seen
):
    # The same again, although the metadata then also list what came later.
    assert term(grade, a_day, hours, **more) == (seen, seen)


def test_staff_read_if_the_limit_of_a_day_cannot_be_applied(grade, capsys):
    assert shows(grade(limited(1), {"id": 1}))
    assert "so the daily limit on hidden feedback can't be applied" in capsys.readouterr().out


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


def numbers(grade, edition, scores):
    """The numbers in the sentence on other uploads, of which the hours are given from this one's.

    They are: how many came earlier, the best.
    """
    about = emulate.about("first")
    for hours, score in scores.items():
        at = emulate.CREATED + timedelta(hours=hours)
        about["previous_submissions"].append(entry_of(at, score))
    lines = emulate.readable(grade(edition, about)["output"]).splitlines()
    (line,) = [line for line in lines if line.startswith("You submitted")]
    return re.findall(r"[\d.]*\d", line)


def test_the_best_score_so_far_is_gradescopes_own_without_what_has_to_wait(grade):
    earlier = {-3: "12.0", -2: "19.25", -1: 11.25}
    assert numbers(grade, edition_of(), earlier) == ["3", "19.25"]
    assert numbers(grade, edition_of(), {-2: "0.0", -1: None}) == ["2", "0"]  # the latest failed
    assert numbers(grade, edition_of(), {-1: None}) == ["1"]
    later = {0: "6.0", 3: "50.0"}
    assert numbers(grade, edition_of(), {-2: "5.0"} | later) == ["1", "5"]
    edition = edition_of()
    waiting = tuple(
        replace(q, tests=tuple(replace(t, after_published=t.is_hidden) for t in q.tests))
        for q in edition.questions
    )
    hidden = (edition_of(hidden_tests=shown) for shown in ("after_due_date", "after_published"))
    for other in (*hidden, replace(edition, questions=waiting)):
        assert numbers(grade, other, {-2: "19.0", -1: "30.0"}) == ["2"]
    # Over the daily limit, an upload didn't show its score.
    assert numbers(grade, limited(2), {-3: "7.0", -2: "9.0", -1: "50.0"}) == ["3", "9"]


# ---------------------------------------------------------------- odd and missing metadata


@pytest.fixture
def read(tmp_path):
    """Return read(content), which reads the metadata in a file."""

    def run(content):
        path = tmp_path / session.METADATA
        text = content if isinstance(content, str) else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return metadata.read(path)

    return run


ODD = ["0001-01-01T00:00:00-01:00", "\ud800", None, 17, -1.5, "", [], {}, [[]], [None, 3], True]
ODD += ["9" * 5000, {"due_date": 3}, "2027-01-28T12:00:00"]  # the last has no time zone
WITHOUT = {"created_at": "visible", "previous_submissions": "visible"}
WITHOUT["assignment"] = "after_published"  # no odd date makes hidden tests show at once


@pytest.mark.parametrize("field", list(emulate.about("tenth")))
def test_nothing_odd_in_a_field_stops_a_grading(read, field):
    for odd in ODD:
        about = read(emulate.about("tenth") | {field: odd})
        assert isinstance(metadata.arrival(about), str)
        for edition in ASSIGNMENT.editions.values():
            assert isinstance(session.earlier(about, edition), str)
        assert session.hidden_tests(about, limited(1)) == WITHOUT.get(field, "after_due_date")


@pytest.mark.parametrize("field", ["submission_time", "score", "autograder_error", "results"])
def test_nothing_odd_in_an_earlier_submission_stops_a_grading(read, field):
    for odd in [*ODD, "inf", float("inf"), float("nan"), 10**400, "1e400", -1]:
        content = emulate.about("tenth")
        content["previous_submissions"][3][field] = odd
        about = read(content)
        times = 8 if field == "submission_time" and odd != ODD[0] else 9
        best = 17 if field == "score" and odd == 17 else 8
        told = session.earlier(about, edition_of())
        assert told == f"You submitted {times} times before; best so far: {best} points."
        assert about.until_feedback(1) == timedelta(hours=4)  # one 20 hours before this


def test_what_is_no_table_reads_as_unknown(read):
    for text in ("", "null", "[]", "{", "[" * 100_000, '{"id": NaN}', "\ufeff{}"):
        about = read(text)
        assert (about.submission_id, about.created, about.previous) == (None, None, ()), text
        assert about.problems


def test_grading_again_has_the_same_seed_and_another_submission_another(tmp_path, monkeypatch):
    def seed_of(number: str | None) -> int:
        return session.seed_of(metadata.Metadata(submission_id=number))

    monkeypatch.setattr(solutions, "ANSWERS", tmp_path)
    (tmp_path / session.SECRET).write_text("secret", encoding="ascii")
    first = seed_of("1")
    assert seed_of("1") == first != seed_of("2")
    # A class that is graded outside of Gradescope has the same inputs.
    assert Release("", "tiny", "", "", b"secret", b"").seed("submission_1") == str(first)
    (tmp_path / session.SECRET).write_text("another", encoding="ascii")
    assert first not in (seed_of("1"), seed_of("\ud800"))
    drawn = {seed_of(None) for _ in range(3)}  # 2^-63 to be the same
    assert len(drawn) == 3 and all(0 <= seed < 2**63 for seed in drawn)
