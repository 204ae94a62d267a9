"""results.json: documented fields, what is visible when, and Markdown that no text can break."""

import html
import random
import re
from dataclasses import replace
from decimal import Decimal

import pytest

from autograder.gradescope import document, feedback
from grading.edition import Edition, TestSpec
from grading.errors import GradingError
from grading.verdicts import Outcome, Results, TestResult
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
FAILED = {"outcome": Outcome.FAILED}


def edition_of(name: str = "xcs224n", **settings) -> Edition:
    """An edition with other settings for Gradescope."""
    edition = ASSIGNMENT.edition(name)
    return replace(edition, gradescope=replace(edition.gradescope, **settings))


def results_of(edition: Edition, changes=lambda spec: {}) -> Results:
    """Results in which every test passes, changed for each test."""
    tests = []
    for spec in edition.tests:
        words = f"does {spec.name}"
        passed = TestResult(
            spec=spec, description=words, outcome=Outcome.PASSED, score=spec.max_score
        )
        tests.append(replace(passed, **changes(spec)))
    return Results(edition, 5, tests)


def written(edition: Edition, changes=lambda spec: {}, notes=()) -> dict:
    """The content of results.json, which fits its schema."""
    results, hidden = results_of(edition, changes), edition.gradescope.hidden_tests
    content = document.document(results, hidden, list(notes), EXTRA, 12.4)
    document.serialize(content)
    return content


def ids(entry: dict) -> list[str]:
    """The tests of an entry."""
    return list(entry["extra_data"]["outcomes"])


@pytest.mark.parametrize("name", list(ASSIGNMENT.editions))
def test_a_result_has_every_test_and_sums_to_the_editions_points(name):
    edition = ASSIGNMENT.edition(name)
    content = written(edition)
    assert emulate.score_of(content) == edition.coding
    assert content["execution_time"] == 12
    assert content["stdout_visibility"] == "hidden"
    found = sorted(test_id for entry in content["tests"] for test_id in ids(entry))
    assert found == sorted(t.test_id for t in edition.tests)


def summed(content: dict) -> float:
    """Return the sum of the entries' scores as a program that reads floats computes it."""
    total = 0.0
    for entry in content["tests"]:
        total += entry.get("score", 0.0)
    return total


@pytest.mark.parametrize("shown", ["visible", "after_published"])
def test_the_total_is_exact_wherever_it_comes_from(shown):
    edition, inexact = edition_of(hidden_tests=shown), 0
    for seed in range(20):  # each test earns some hundredths of its points, and many earn none
        rng, points = random.Random(seed), {}

        def some_points(spec, rng=rng, points=points):
            cents = rng.choice([0, int(spec.max_score * 100), rng.randint(0, 300)])
            points[spec.test_id] = min(Decimal(cents) / 100, spec.max_score)
            return {"score": points[spec.test_id]}

        content = written(edition, some_points)
        total = float(sum(points.values()))
        if shown == "visible":
            assert content["score"] == total
            inexact += summed(content) != total
        else:
            assert "score" not in content  # it would show what is to wait
            assert summed(content) == total
        for entry in (entry for entry in content["tests"] if "score" in entry):
            assert abs(entry["score"] - float(points[ids(entry)[0]])) < 1e-12
    assert inexact or shown != "visible"  # so rounding is needed where there is no total


@pytest.mark.parametrize("shown", ["visible", "after_due_date", "after_published"])
def test_hidden_tests_show_when_the_edition_says(shown):
    content = written(edition_of(hidden_tests=shown))
    seen = {
        test_id.rpartition("-")[2]: entry["visibility"]
        for entry in content["tests"]
        for test_id in ids(entry)
    }
    assert seen == {"basic": "visible", "hidden": shown}
    assert ("your total" in content["output"]) == (shown != "visible")
    lines = "\n".join(emulate.student_lines(content))
    assert ("-hidden" in lines) == (shown == "visible")
    assert ("Autograder score: 53" in lines) == (shown == "visible")


def test_waiting_points_do_not_show_in_the_overview():
    edition = ASSIGNMENT.edition("cs224n")
    worse = written(edition, lambda spec: {"score": Decimal(0)} | FAILED if spec.is_hidden else {})
    assert worse["output"] == written(edition)["output"]


def test_extra_credit_adds_to_the_score_and_not_to_the_maximum():
    edition = ASSIGNMENT.edition("xcs224n")
    paid = next(spec for spec in edition.tests if spec.max_score)
    extra = replace(paid, is_extra_credit=True)
    content = written(edition, lambda spec: {"spec": extra} if spec == paid else {})
    (entry,) = (entry for entry in content["tests"] if paid.test_id in ids(entry))
    assert (entry["score"], entry["max_score"]) == (float(paid.max_score), 0.0)
    assert "extra credit" in entry["tags"]


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("tests", 0, "score"), float("nan")),
        (("tests", 0, "score"), -1),
        (("tests", 0, "visibility"), "after_published"),  # beside a total, which shows at once
        (("tests", 0, "output"), "x" * 17000),
        (("tests",), []),
        (("stdout_visibility",), "visible"),
        (("surplus",), 1),
    ],
)
def test_a_result_that_does_not_fit_becomes_no_grade(path, value):
    content = place = written(ASSIGNMENT.edition(None))
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(GradingError, match="results.json"):
        document.serialize(content)


# ---------------------------------------------------------------- questions without points


def practice_of(edition: Edition) -> dict:
    """Its questions without coding points, by their number, with their tests."""
    return {q.number: q for q in edition.questions if q.tests and not q.coding}


UNWRITTEN = FAILED | {"is_unwritten": True, "message": "submission/x.py:1: not written yet"}


@pytest.mark.parametrize("end", [UNWRITTEN, {"outcome": Outcome.MISSING_FILE}])
@pytest.mark.parametrize("name", ["xcs224n", "cs224n"])
def test_practice_that_nobody_began_has_no_entry_and_stays_on_record(name, end):
    edition = ASSIGNMENT.edition(name)
    practice = practice_of(edition)
    content = written(edition, lambda spec: end if spec.number in practice else {})
    assert not {entry["number"] for entry in content["tests"]} & practice.keys()
    assert {entry["status"] for entry in content["tests"]} == {"passed"}  # nothing is red
    tests = [test for question in practice.values() for test in question.tests]
    seen = [t for t in tests if edition.gradescope.hidden_tests == "visible" or not t.is_hidden]
    assert f" 0 of {len(seen)} " in content["output"]
    ended = end["outcome"].value
    topics = {q.topic: {t.test_id: ended for t in q.tests} for q in practice.values()}
    assert content["extra_data"]["not_begun"] == topics


def test_practice_that_was_begun_has_an_entry_even_if_nothing_passes():
    edition = ASSIGNMENT.edition("xcs224n")
    number, question = next((n, q) for n, q in practice_of(edition).items() if len(q.tests) > 2)

    def one_written(spec):
        if spec.number != number:
            return {}
        return FAILED | {"id": "x"} if spec == question.tests[-1] else UNWRITTEN

    content = written(edition, one_written)
    (entry,) = [entry for entry in content["tests"] if entry["number"] == number]
    assert entry["status"] == "failed" and not {"score", "max_score"} & entry.keys()
    assert content["extra_data"]["not_begun"] == {}


def test_an_entry_of_practice_says_no_more_than_its_tests_would():
    edition = edition_of(hidden_tests="after_published")
    both = (q for q in practice_of(edition).values() if len({t.kind for t in q.tests}) == 2)
    number = next(both).number

    def of_kind(spec: TestSpec) -> dict:
        ended = FAILED | {"message": f"of {spec.kind}", "detail": "DETAIL"}
        return ended if spec.number == number else {}

    for entry in written(edition, of_kind)["tests"]:
        if entry["number"] == number:
            kind, other = "basic", "hidden"
            if entry["visibility"] != "visible":
                kind, other = other, kind
            assert entry["status"] == "failed" and f"of {kind}" in entry["output"]
            assert f"of {other}" not in entry["output"] and "DETAIL" not in entry["output"]


# ---------------------------------------------------------------- what a student reads

NASTY = [
    "<script>alert(1)</script> & <b>",
    "**bold** _it_ `code` [link](http://x) ![i](y) # head | ~~gone~~",
    "1. a list",
    "- a list",
    "```\nout of the block\n```\n# free",
    "````text\n`````\n<b>free</b>",
]


@pytest.mark.parametrize("text", NASTY)
def test_no_text_is_markdown(text):
    shown = feedback.plain(text)
    assert html.unescape(shown) == " ".join(text.split())
    assert not re.search(r"[\\`*_{}\[\]|~$<>]", shown) and not re.match(r"[-+#]|\d+[.)]", shown)
    first, *body, last = feedback.fenced(text).split("\n")
    assert first == last + "text" and set(last) == {"`"}
    assert "\n".join(body) == text
    assert not any(line.startswith(last) for line in body)


def test_no_text_of_a_submission_is_too_long_for_a_screen_or_for_the_schema():
    edition, output = ASSIGNMENT.edition(None), "*" * 70_000 + "\nz" * 900

    def flood(spec: TestSpec) -> dict:  # for a different reason each
        message = f"{spec.test_id} " + "<" * 4000 + "\n" + "`" * 2900 + "\nx" * 900
        return FAILED | {"message": message, "output": output}

    content = written(edition, flood, ["Left: " + ", ".join([chr(1) * 255] * 10)] * 5)
    entries = {len(ids(entry)): entry["output"].split("\n") for entry in content["tests"]}
    assert len(entries[1]) <= feedback.MAX_LINES + 20
    assert max(map(len, entries[1][3:])) <= feedback.MAX_COLUMNS
    most = max(entries)
    assert f"{most - feedback.CAUSES} more did not pass." in entries[most]


def test_a_long_line_is_wrapped_and_not_lost():
    line = "x = " + "a" * 250
    body = feedback.fenced(line).split("\n")[1:-1]
    assert body[0] == line[:100] and "".join(part.strip() for part in body) == line


def test_prints_show_with_basic_tests_only():
    edition = ASSIGNMENT.edition(None)
    texts = {"message": "a fixed sentence", "output": "PRINTED", "detail": "DETAIL"}
    content = written(edition, lambda _: FAILED | texts)
    practice = practice_of(edition)
    for entry in content["tests"]:
        is_shown = "basic" in entry["tags"] and entry["number"] not in practice
        assert ("PRINTED" in entry["output"]) == is_shown and "DETAIL" not in str(entry)
