"""submission_metadata.json: dates are the student's own, and odd content costs no points."""

import copy
import json
from datetime import timedelta

import pytest

from grading import paths
from grading.gradescope import document, metadata, session
from tests import pinned
from tools import emulate

ASSIGNMENT = pinned.load()


def read(tmp_path, content):
    path = tmp_path / "submission_metadata.json"
    text = content if isinstance(content, str) else json.dumps(content)
    path.write_text(text, encoding="utf-8")
    return metadata.read(path)


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        ("first", "Submitted on 2027-01-30 at 18:00 (UTC-0800), on time."),
        (
            "late",
            "Submitted on 2027-01-30 at 18:00 (UTC-0800), 1 day and 2 h after the due date. "
            "The grader deducts nothing for this.",
        ),
        ("extension", "Submitted on 2027-01-30 at 18:00 (UTC-0800), on time."),
        (
            "group",
            "Submitted on 2027-01-30 at 18:00 (UTC-0800), 2 h 0 min after the due date of 1 of "
            "the group's 2. The grader deducts nothing for this.",
        ),
        ("malformed", ""),
    ],
)
def test_when_a_submission_came(tmp_path, kind, sentence):
    assert metadata.arrival(read(tmp_path, emulate.about(kind))) == sentence


def test_a_member_without_a_date_of_their_own_has_everybodys(tmp_path):
    content = emulate.about("late")
    for user in content["users"]:
        del user["assignment"]
    assert "1 day and 2 h after the due date" in metadata.arrival(read(tmp_path, content))


def test_without_any_date_only_the_arrival_is_told(tmp_path):
    content = emulate.about("first")
    del content["users"], content["assignment"]["due_date"]
    assert metadata.arrival(read(tmp_path, content)) == (
        "Submitted on 2027-01-30 at 18:00 (UTC-0800)."
    )


def test_nobody_is_named(tmp_path):
    about = read(tmp_path, emulate.about("group"))
    told = metadata.arrival(about) + repr(about)
    assert "Student" not in told and "@" not in told


ODD = [
    "0001-01-01T00:00:00-01:00",
    "\ud800",
    None,
    17,
    -1.5,
    "",
    "x",
    [],
    {},
    [[]],
    [None, 3],
    True,
    "9" * 5000,
    {"due_date": 3},
    "😀",
]


@pytest.mark.parametrize("field", list(emulate.about("tenth")))
def test_nothing_odd_in_a_field_stops_a_grading(tmp_path, field):
    for odd in ODD:
        content = emulate.about("tenth") | {field: odd}
        about = read(tmp_path, content)
        for edition in ASSIGNMENT.editions.values():
            assert isinstance(session.earlier(about, edition), str)
        assert isinstance(metadata.arrival(about), str)
        session.limited(about, limited_edition(1))


@pytest.mark.parametrize("field", ["submission_time", "score", "results"])
def test_nothing_odd_in_an_earlier_submission_stops_a_grading(tmp_path, field):
    scores = [{"score": odd} for odd in ("x", float("inf"), float("nan"), 10**400, -1, True)]
    for odd in [*ODD, {"tests": [3, {}, *scores], "extra_data": 4}]:
        content = emulate.about("tenth")
        content["previous_submissions"][3][field] = odd
        about = read(tmp_path, content)
        assert len(about.previous) == 9
        told = session.earlier(about, ASSIGNMENT.edition(None))
        assert told == "You submitted 9 times before; best so far: 8 points."


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", '"x"', "[" * 100_000, '{"id": NaN}', "\ufeff{}"]
)
def test_what_is_no_table_reads_as_unknown(tmp_path, text):
    about = read(tmp_path, text)
    assert (about.submission_id, about.created, about.previous) == (None, None, ())
    assert about.problems


def test_a_missing_file_reads_as_unknown(tmp_path):
    about = metadata.read(tmp_path / "nothing.json")
    assert about == metadata.Metadata() and about.problems


# ---------------------------------------------------------------- the seed


def test_grading_again_has_the_same_seed_and_another_submission_another(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "ANSWERS", tmp_path)
    (tmp_path / session.SECRET).write_text("secret", encoding="ascii")
    seeds = {i: session.seed_of(metadata.Metadata(submission_id=i)) for i in ("1", "2")}
    assert seeds["1"] != seeds["2"]
    assert session.seed_of(metadata.Metadata(submission_id="1")) == seeds["1"]
    (tmp_path / session.SECRET).write_text("another", encoding="ascii")
    assert session.seed_of(metadata.Metadata(submission_id="1")) != seeds["1"]
    assert session.seed_of(metadata.Metadata(submission_id="\ud800")) not in seeds.values()
    drawn = {session.seed_of(metadata.Metadata()) for _ in range(3)}  # 2^-63 to be the same
    assert len(drawn) == 3 and all(0 <= seed < 2**63 for seed in drawn)


# ---------------------------------------------------------------- earlier submissions, the limit


def graded(edition, hours_before, points, hidden_feedback=True):
    """An earlier submission with a valid result of ours."""
    tests = [
        {
            "number": spec.number,
            "name": spec.test_id,
            "score": points if i == 0 else 0.0,
            "max_score": float(spec.max_score),
            "status": "failed",
            "output_format": "md",
            "output": "x",
            "visibility": document.visibility(edition, spec),
            "tags": [],
            "extra_data": {"outcomes": {spec.test_id: "failed"}},
        }
        for i, spec in enumerate(edition.tests)
    ]
    extra = {"edition": edition.name, "seed": "1", "judged_by": "0" * 64, "versions": {}}
    extra |= {"layers": [], "authoritative": True, "hidden_feedback": hidden_feedback}
    results = {"visibility": "visible", "stdout_visibility": "hidden", "execution_time": 1}
    results |= {"output_format": "md", "output": "", "extra_data": extra, "tests": tests}
    time = emulate.CREATED - timedelta(hours=hours_before)
    return {"submission_time": time.isoformat(), "score": points, "results": results}


def limited_edition(a_day):
    edition = copy.deepcopy(ASSIGNMENT.edition("xcs224n"))
    object.__setattr__(edition.gradescope, "hidden_feedback_a_day", a_day)
    return edition


@pytest.mark.parametrize(
    ("limit", "hours", "kept"),
    [
        (0, [1, 2, 3], None),  # no limit
        (3, [1, 2], None),
        (2, [1, 2], 1),
        (2, [1, 23.9], 1),
        (2, [1, 24.1], None),  # the day is over
        (2, [1, -1], None),  # came after this one: it doesn't count when this one is graded again
        (1, [2, -1], 2),  # ... nor keeps it
        (1, [5, 3, 4], 3),  # whatever their order
    ],
)
def test_the_daily_limit_counts_from_when_this_one_came(tmp_path, limit, hours, kept):
    edition = limited_edition(limit)
    content = emulate.about("first")
    content["previous_submissions"] = [graded(edition, h, points=h) for h in hours]
    found = session.limited(read(tmp_path, content), edition)
    assert (found and found.tests[0]["score"]) == kept


def test_submissions_without_hidden_feedback_do_not_count_and_hand_on_what_they_kept(tmp_path):
    edition = limited_edition(2)
    content = emulate.about("first")
    earlier = [graded(edition, 3, 7.0), graded(edition, 2, 7.0, hidden_feedback=False)]
    content["previous_submissions"] = earlier
    assert session.limited(read(tmp_path, content), edition) is None
    earlier.append(graded(edition, 1, 9.0))
    assert session.limited(read(tmp_path, content), edition).tests[0]["score"] == 9.0


def test_only_a_valid_result_of_this_edition_is_kept(tmp_path):
    edition = limited_edition(1)
    content = emulate.about("first")
    broken, other = graded(edition, 1, 9.0), graded(ASSIGNMENT.edition("cs224n"), 2, 8.0)
    broken["results"]["tests"][0]["score"] = "NaN"  # what was refused comes as not in full
    refused = graded(edition, 1.5, 0.0, hidden_feedback=False)
    content["previous_submissions"] = [broken, other, refused]
    assert session.limited(read(tmp_path, content), edition) is None
    content["previous_submissions"].append(graded(edition, 3, 7.0))
    assert session.limited(read(tmp_path, content), edition).tests[0]["score"] == 7.0


def test_what_gradescope_adds_to_a_result_does_not_keep_it_from_being_kept(tmp_path):
    edition = limited_edition(1)
    content = emulate.about("first")
    previous = graded(edition, 1, 9.0)
    previous["results"] |= {"score": 9.0, "submission_id": 3}
    previous["results"]["tests"][0]["id"] = 4
    content["previous_submissions"] = [previous]
    kept = session.limited(read(tmp_path, content), edition)
    assert kept.tests[0]["score"] == 9.0 and "id" not in kept.tests[0]
    document.serialize(kept.results)


def test_the_best_score_so_far_counts_what_students_see(tmp_path):
    told = {}
    for name in ("xcs224n", "cs224n"):
        edition = ASSIGNMENT.edition(name)
        content = emulate.about("first")
        content["previous_submissions"] = [graded(edition, 2, 3.0), graded(edition, 1, 1.25)]
        for previous in content["previous_submissions"]:
            hidden = next(i for i, spec in enumerate(edition.tests) if spec.is_hidden)
            previous["results"]["tests"][hidden]["score"] = 5.0
        told[name] = session.earlier(read(tmp_path, content), edition)
    assert told["xcs224n"] == "You submitted 2 times before; best so far: 8 points."
    assert told["cs224n"] == (
        "You submitted 2 times before; best so far: 3 points in the tests that are visible at once."
    )
