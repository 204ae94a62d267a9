"""results.json: documented fields, what is visible when, and Markdown that no text can break."""

import copy
import html
import random
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from autograder.gradescope import document, feedback
from grading.errors import GradingError
from grading.results import Results, TestResult
from grading.verdicts import Outcome
from tests import pinned
from tools import emulate

ASSIGNMENT = pinned.load()
EXTRA = {
    "judged_by": "0" * 64,
    "versions": {"torch": "2"},
    "layers": ["own uid"],
    "missing": [],
    "authoritative": True,
}


def results_of(edition):
    tests = [
        TestResult(
            spec=spec, description=f"does {spec.name}", outcome=Outcome.PASSED, score=spec.max_score
        )
        for spec in edition.tests
    ]
    return Results(edition, 5, tests)


def written(edition, notes=(), results=None):
    made, hidden = results or results_of(edition), edition.gradescope.hidden_tests
    return document.document(made, hidden, list(notes), EXTRA, 12.4)


@pytest.mark.parametrize("name", list(ASSIGNMENT.editions))
def test_a_result_fits_the_schema_and_sums_to_the_editions_points(name):
    content = written(ASSIGNMENT.edition(name))
    document.serialize(content)
    points = sum(q.coding for q in ASSIGNMENT.edition(name).questions)
    assert emulate.score_of(content) == points
    assert content["execution_time"] == 12
    assert content["stdout_visibility"] == "hidden"
    told = [test_id for entry in content["tests"] for test_id in entry["extra_data"]["outcomes"]]
    assert sorted(told) == sorted(t.test_id for t in ASSIGNMENT.edition(name).tests)


def with_scores(edition, seed):
    """Results in which each test earns some hundredths of its points, and many earn none."""
    rng, results = random.Random(seed), results_of(edition)
    for place, test in enumerate(results.tests):
        cents = rng.choice([0, int(test.spec.max_score * 100), rng.randint(0, 300)])
        score = min(Decimal(cents) / 100, test.spec.max_score)
        results.tests[place] = replace(test, score=score)
    return results


def summed(content):
    """Return the sum of the entries' scores as a program that reads floats computes it."""
    total = 0.0
    for entry in content["tests"]:
        total += entry.get("score", 0.0)
    return total


@pytest.mark.parametrize("shown", ["visible", "after_due_date", "after_published"])
@pytest.mark.sampled(3)
def test_the_total_is_exact_wherever_it_comes_from(shown):
    edition = copy.deepcopy(ASSIGNMENT.edition("xcs224n"))
    object.__setattr__(edition.gradescope, "hidden_tests", shown)
    inexact = 0
    for results in [results_of(edition), *(with_scores(edition, seed) for seed in range(100))]:
        content = written(edition, results=results)
        if shown == "visible":
            assert content["score"] == float(results.score)
            inexact += summed(content) != content["score"]
        else:
            assert "score" not in content  # it would show what is to wait
            assert summed(content) == float(results.score)
        points = {t.spec.test_id: float(t.score) for t in results.tests}
        for entry in (entry for entry in content["tests"] if "score" in entry):
            (test_id,) = entry["extra_data"]["outcomes"]
            assert round(entry["score"], 2) == points[test_id]
            assert abs(entry["score"] - points[test_id]) < 1e-12
    document.serialize(content)
    assert inexact or shown != "visible"  # so rounding is needed where there is no total


def test_a_total_beside_what_is_to_wait_becomes_no_grade():
    content = written(ASSIGNMENT.edition("cs224n")) | {"score": 33.0}
    with pytest.raises(GradingError, match="results.json"):
        document.serialize(content)


@pytest.mark.parametrize("shown", ["visible", "after_due_date", "after_published"])
def test_hidden_tests_show_when_the_edition_says(shown):
    edition = copy.deepcopy(ASSIGNMENT.edition("xcs224n"))
    object.__setattr__(edition.gradescope, "hidden_tests", shown)
    content = written(edition)
    document.serialize(content)
    seen = {
        test_id.rpartition("-")[2]: entry["visibility"]
        for entry in content["tests"]
        for test_id in entry["extra_data"]["outcomes"]
    }
    assert seen == {"basic": "visible", "hidden": shown}
    assert ("your total" in content["output"]) == (shown != "visible")
    lines = "\n".join(emulate.student_lines(content))
    assert ("-hidden" in lines) == (shown == "visible")
    assert ("Autograder score: 53" in lines) == (shown == "visible")


def test_waiting_points_do_not_show_in_the_overview():
    edition = ASSIGNMENT.edition("cs224n")
    results = results_of(edition)
    before = written(edition, results=results)["output"]
    results.tests = [
        replace(test, score=Decimal(0), outcome=Outcome.FAILED) if test.spec.is_hidden else test
        for test in results.tests
    ]
    assert written(edition, results=results)["output"] == before


def test_extra_credit_adds_to_the_score_and_not_to_the_maximum():
    edition = copy.deepcopy(ASSIGNMENT.edition("xcs224n"))
    paid = [spec for spec in edition.tests if spec.max_score]
    for spec in paid[:3]:
        object.__setattr__(spec, "is_extra_credit", True)
        object.__setattr__(spec, "max_score", Decimal("0.5"))
    content = written(edition)
    document.serialize(content)
    first = next(e for e in content["tests"] if paid[0].test_id in e["extra_data"]["outcomes"])
    assert (first["score"], first["max_score"]) == (0.5, 0.0)
    assert "extra credit" in first["tags"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tests", 0, "score"), float("nan")),
        (("tests", 0, "score"), -1),
        (("tests", 0, "score"), "1"),
        (("score",), float("nan")),
        (("score",), -1),
        (("tests", 0, "visibility"), "hidden"),
        (("tests", 0, "status"), "ok"),
        (("tests", 0, "output"), "x" * 17000),
        (("tests",), []),
        (("stdout_visibility",), "visible"),
        (("extra_data", "seed"), 5),
        (("extra_data", "judged_by"), ""),
        (("surplus",), 1),
    ],
)
def test_a_result_that_does_not_fit_becomes_no_grade(path, value):
    content = written(ASSIGNMENT.edition(None))
    place = content
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(GradingError, match="results.json"):
        document.serialize(content)


# ---------------------------------------------------------------- questions without points


def practice_of(edition):
    """Its questions without coding points, by their number, with their tests."""
    return {q.number: q for q in edition.questions if q.tests and not q.coding}


UNWRITTEN = {"outcome": Outcome.FAILED, "is_unwritten": True}
MISSING = {"outcome": Outcome.MISSING_FILE}


@pytest.mark.parametrize("end", [UNWRITTEN, MISSING, {"outcome": Outcome.NOT_RUN}])
@pytest.mark.parametrize("name", list(ASSIGNMENT.editions))
def test_practice_that_nobody_began_has_no_entry_and_stays_on_record(name, end):
    edition, results = ASSIGNMENT.edition(name), results_of(ASSIGNMENT.edition(name))
    practice = list(practice_of(edition).values())
    ids = [t.test_id for q in practice for t in q.tests]
    results.tests = [
        replace(t, message="submission/x.py:1: not written yet", **end)
        if t.spec.test_id in ids
        else t
        for t in results.tests
    ]
    content = written(edition, results=results)
    document.serialize(content)
    assert not {entry["number"] for entry in content["tests"]} & practice_of(edition).keys()
    assert {entry["status"] for entry in content["tests"]} == {"passed"}  # nothing is red
    seen = [i for i in ids if edition.gradescope.hidden_tests == "visible" or "basic" in i]
    assert f" 0 of {len(seen)} " in content["output"]
    topics = {q.topic: {t.test_id: end["outcome"].value for t in q.tests} for q in practice}
    assert content["extra_data"]["not_begun"] == topics


def test_practice_that_was_begun_has_an_entry_even_if_nothing_passes():
    edition = ASSIGNMENT.edition("xcs224n")
    number, question = next((n, q) for n, q in practice_of(edition).items() if len(q.tests) > 2)
    results = results_of(edition)
    ends = [UNWRITTEN] * (len(question.tests) - 1) + [{"outcome": Outcome.FAILED, "id": "x"}]
    ends = dict(zip((t.test_id for t in question.tests), ends, strict=True))
    results.tests = [replace(t, **ends.get(t.spec.test_id, {})) for t in results.tests]
    content = written(edition, results=results)
    document.serialize(content)
    (entry,) = [entry for entry in content["tests"] if entry["number"] == number]
    assert entry["status"] == "failed" and not {"score", "max_score"} & entry.keys()
    assert content["extra_data"]["not_begun"] == {}


def test_a_test_of_no_weight_has_a_status_without_points():
    edition = ASSIGNMENT.edition("xcs224n")
    practice = practice_of(edition)
    unpaid = {t.test_id for t in edition.tests if not t.max_score and t.number not in practice}
    assert unpaid
    for entry in written(edition)["tests"]:
        if unpaid & entry["extra_data"]["outcomes"].keys():
            assert entry["status"] == "passed" and not {"score", "max_score"} & entry.keys()
        elif entry["number"] not in practice:
            assert entry["score"] == entry["max_score"] > 0


@pytest.mark.parametrize("shown", ["visible", "after_published"])
@pytest.mark.parametrize("name", list(ASSIGNMENT.editions))
def test_a_question_without_points_is_one_entry_for_each_moment_that_it_shows(name, shown):
    edition = copy.deepcopy(ASSIGNMENT.edition(name))
    object.__setattr__(edition.gradescope, "hidden_tests", shown)
    content = written(edition)
    document.serialize(content)
    practice = practice_of(edition)
    assert practice
    for number, question in practice.items():
        entries = [entry for entry in content["tests"] if entry["number"] == number]
        moments = {document.visibility(test, shown) for test in question.tests}
        assert {entry["visibility"] for entry in entries} == moments
        assert len(entries) == len(moments)
        for entry in entries:
            assert entry["status"] == "passed" and not {"score", "max_score"} & entry.keys()
            assert entry["name"] == f"{number}: {question.title}"
            told = entry["extra_data"]["outcomes"]
            seen = {t.test_id for t in question.tests}
            assert set(told) <= seen and set(told.values()) == {"passed"}
            assert f" {len(told)} of {len(told)} " in entry["output"]
    paid = [test for test in edition.tests if test.number not in practice]
    assert len(content["tests"]) - len(paid) <= 2 * len(practice)


def of_kind(test):
    return f"of {test.spec.kind}\n  got: 1\n  expected: 2"


def test_an_entry_of_practice_says_why_and_no_more_than_its_tests_would():
    edition = copy.deepcopy(ASSIGNMENT.edition("xcs224n"))
    object.__setattr__(edition.gradescope, "hidden_tests", "after_published")
    number, question = next(
        (n, q)
        for n, q in practice_of(edition).items()
        if len({test.is_hidden for test in q.tests}) == 2
    )
    results = results_of(edition)
    results.tests = [
        replace(t, outcome=Outcome.FAILED, message=of_kind(t), detail="DETAIL")
        if t.spec.number == number
        else t
        for t in results.tests
    ]
    content = written(edition, results=results)
    document.serialize(content)
    for entry in (entry for entry in content["tests"] if entry["number"] == number):
        kind = "basic" if entry["visibility"] == "visible" else "hidden"
        other = {"basic": "hidden", "hidden": "basic"}[kind]
        ids = [t.test_id for t in question.tests if t.kind == kind]
        assert list(entry["extra_data"]["outcomes"]) == ids and entry["status"] == "failed"
        head, why, values, advice = entry["output"].split("\n\n")
        assert f" 0 of {len(ids)} " in head
        assert html.unescape(why) == f"{', '.join(ids)}: failed: of {kind}"
        assert values == "```text\n  got: 1\n  expected: 2\n```"  # as on the student's computer
        assert f"`python src/grader.py {number}`" in advice
        assert f"of {other}" not in entry["output"] and "DETAIL" not in entry["output"]


def test_what_practice_says_has_an_end():
    edition = ASSIGNMENT.edition("xcs224n")
    results = results_of(edition)
    results.tests = [
        replace(t, outcome=Outcome.FAILED, message=f"{i} " + "<" * 1000 + "\n" + "<" * 2900)
        for i, t in enumerate(results.tests)
    ]
    content = written(edition, results=results)
    document.serialize(content)
    entries = [e for e in content["tests"] if len(e["extra_data"]["outcomes"]) > feedback.CAUSES]
    for entry in entries:
        more = len(entry["extra_data"]["outcomes"]) - feedback.CAUSES
        assert f"\n\n{more} more " in entry["output"]
    assert entries


# ---------------------------------------------------------------- what a student reads

NASTY = [
    "<script>alert(1)</script> & <b>",
    "**bold** _it_ `code` [link](http://x) ![i](y) # head | ~~gone~~",
    "1. a list",
    "- a list",
    "# a heading",
    "```\nout of the block\n```\n# free",
    "````text\n`````\n<b>free</b>",
]


@pytest.mark.parametrize("text", NASTY)
def test_a_sentence_shows_as_it_is(text):
    shown = feedback.plain(text)
    assert html.unescape(shown) == " ".join(text.split())
    assert not re.search(r"[\\`*_{}\[\]|~$<>]", shown) and not re.match(r"[-+#]|\d+[.)]", shown)


@pytest.mark.parametrize("text", NASTY)
def test_nothing_ends_a_block_but_its_own_fence(text):
    first, *body, last = feedback.fenced(text).split("\n")
    assert first == last + "text" and set(last) == {"`"}
    assert "\n".join(body) == text
    assert not any(line.startswith(last) for line in body)


def basic(**fields):
    spec = next(s for s in ASSIGNMENT.edition(None).tests if s.test_id == "1e-2-basic")
    return replace(
        TestResult(spec=spec, description="The arrangement", outcome=Outcome.FAILED), **fields
    )


def test_a_test_takes_a_screen_at_most():
    flood = basic(message="wrong\n" + "y" * 500 + "\n" + "x\n" * 900, output="z\n" * 900)
    lines = feedback.of_test(flood).split("\n")
    assert len(lines) <= feedback.MAX_LINES + 20
    assert max(map(len, lines)) <= feedback.MAX_COLUMNS


def test_no_text_of_a_submission_is_too_long_for_the_schema():
    edition = ASSIGNMENT.edition(None)
    results = results_of(edition)
    message, output = "<" * 4000 + "\n" + "`" * 4000, "*" * 70_000
    results.tests = [
        replace(test, outcome=Outcome.FAILED, message=message, output=output)
        for test in results.tests
    ]
    names = [chr(1) * 255] * 10
    content = written(edition, ["Left: " + ", ".join(names)] * 5, results)
    document.serialize(content)


def test_a_long_line_is_wrapped_and_not_lost():
    line = "x = " + "a" * 250
    body = feedback.fenced(line).split("\n")[1:-1]
    assert body[0] == line[:100] and "".join(part.strip() for part in body) == line


def test_prints_show_with_basic_tests_only():
    edition = ASSIGNMENT.edition(None)
    texts = {"message": "a fixed sentence", "output": "PRINTED", "detail": "DETAIL"}
    tests = [
        TestResult(spec=spec, description="d", outcome=Outcome.FAILED, **texts)
        for spec in edition.tests
    ]
    content = written(edition, results=Results(edition, 5, tests))
    practice = practice_of(edition)
    for entry in content["tests"]:
        is_shown = "basic" in entry["tags"] and entry["number"] not in practice
        assert ("PRINTED" in entry["output"]) == is_shown and "DETAIL" not in str(entry)
