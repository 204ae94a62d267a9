"""submission_metadata.json: dates are the student's own, and odd content costs no points."""

import json
from datetime import timedelta

import pytest

from autograder import solutions
from autograder.gradescope import metadata, session
from classroom.grade import Release
from tools import emulate

from .test_document import ASSIGNMENT, edition_of


def read(tmp_path, content):
    path = tmp_path / "submission_metadata.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return metadata.read(path)


def test_a_member_without_a_date_of_their_own_has_everybodys(tmp_path):
    content = emulate.about("late")
    for user in content["users"]:
        del user["assignment"]
    assert " 1 day and 2 h after " in metadata.arrival(read(tmp_path, content))
    del content["users"], content["assignment"]["due_date"]
    assert "time" not in metadata.arrival(read(tmp_path, content))  # only the arrival is told


def test_nobody_is_named(tmp_path):
    about = read(tmp_path, emulate.about("group"))
    told = metadata.arrival(about) + repr(about)
    assert "Student" not in told and "@" not in told


ODD = ["0001-01-01T00:00:00-01:00", "\ud800", None, 17, -1.5, "", [], {}, [[]], [None, 3], True]
ODD += ["9" * 5000, {"due_date": 3}]


@pytest.mark.parametrize("field", list(emulate.about("tenth")))
def test_nothing_odd_in_a_field_stops_a_grading(tmp_path, field):
    limited = edition_of(hidden_feedback_a_day=1)
    for odd in ODD:
        content = emulate.about("tenth") | {field: odd}
        about = read(tmp_path, content)
        for edition in ASSIGNMENT.editions.values():
            assert isinstance(session.earlier(about, edition), str)
            assert session.hidden_tests(about, edition) == edition.gradescope.hidden_tests
        assert isinstance(metadata.arrival(about), str)
        moment = session.hidden_tests(about, limited)
        if field in ("created_at", "previous_submissions"):
            assert moment == "visible"
        else:  # no odd date makes hidden tests show at once
            assert moment == ("after_published" if field == "assignment" else "after_due_date")


@pytest.mark.parametrize("field", ["submission_time", "score", "autograder_error", "results"])
def test_nothing_odd_in_an_earlier_submission_stops_a_grading(tmp_path, field):
    edition = ASSIGNMENT.edition(None)
    for odd in [*ODD, "inf", float("inf"), float("nan"), 10**400, "1e400", -1]:
        content = emulate.about("tenth")
        content["previous_submissions"][3][field] = odd
        about = read(tmp_path, content)
        times = 8 if field == "submission_time" and odd != ODD[0] else 9
        assert len(about.previous) == times
        told = session.earlier(about, edition)
        best = 17 if field == "score" and odd == 17 else 8
        assert told == f"You submitted {times} times before; best so far: {best} points."
        assert about.until_feedback(1) == timedelta(hours=4)  # one 20 hours before this


def test_what_is_missing_or_no_table_reads_as_unknown(tmp_path):
    assert metadata.read(tmp_path / "nothing.json").problems
    for text in ("", "null", "[]", "{", "[" * 100_000, '{"id": NaN}', "\ufeff{}"):
        about = read(tmp_path, text)
        assert (about.submission_id, about.created, about.previous) == (None, None, ()), text
        assert about.problems


# ---------------------------------------------------------------- the seed


def test_grading_again_has_the_same_seed_and_another_submission_another(tmp_path, monkeypatch):
    monkeypatch.setattr(solutions, "ANSWERS", tmp_path)
    (tmp_path / session.SECRET).write_text("secret", encoding="ascii")
    seeds = {i: session.seed_of(metadata.Metadata(submission_id=i)) for i in ("1", "2")}
    assert seeds["1"] != seeds["2"]
    assert session.seed_of(metadata.Metadata(submission_id="1")) == seeds["1"]
    # A class that is graded outside of Gradescope has the same inputs.
    release = Release("", "tiny", "", "", b"secret", b"")
    assert release.seed("submission_1") == str(seeds["1"])
    (tmp_path / session.SECRET).write_text("another", encoding="ascii")
    assert session.seed_of(metadata.Metadata(submission_id="1")) != seeds["1"]
    assert session.seed_of(metadata.Metadata(submission_id="\ud800")) not in seeds.values()
    drawn = {session.seed_of(metadata.Metadata()) for _ in range(3)}  # 2^-63 to be the same
    assert len(drawn) == 3 and all(0 <= seed < 2**63 for seed in drawn)
