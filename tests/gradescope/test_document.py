"""results.json: fields, what is visible when, Markdown that no text can break, the leaderboard."""

import html
import random
import re
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.gradescope import document, feedback
from grading.edition import Edition, TestSpec
from grading.errors import GradingError
from grading.verdicts import Outcome, Results, TestResult, failure
from questions.shared.models import OutputsCase
from tests import pinned

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


@pytest.mark.parametrize("shown", ["visible", "after_published"])
def test_the_total_is_exact_wherever_it_comes_from(shown):
    edition, inexact = edition_of(hidden_tests=shown), 0
    for seed in range(20):  # each test earns some hundredths of its points, and many earn none
        rng = random.Random(seed)
        cents = {
            t: rng.choice([0, int(t.max_score * 100), rng.randint(0, 300)]) for t in edition.tests
        }
        points = {t.test_id: min(Decimal(c) / 100, t.max_score) for t, c in cents.items()}
        content = written(edition, lambda spec, points=points: {"score": points[spec.test_id]})
        total, summed = float(sum(points.values())), 0.0
        for entry in (entry for entry in content["tests"] if "score" in entry):
            summed += entry["score"]  # as a program that reads floats does, unlike sum()
            assert abs(entry["score"] - float(points[ids(entry)[0]])) < 1e-12
        inexact += summed != total
        # A total would show what is to wait, so the sum has to be exact.
        assert content.get("score") == (total if shown == "visible" else None)
    assert (inexact > 0) is (shown == "visible")


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


def test_an_entry_says_no_more_than_its_tests_would():
    """Prints show with basic tests that count, and an entry of practice is of tests of a kind."""
    edition = edition_of(hidden_tests="after_published")
    practice, texts = practice_of(edition), FAILED | {"output": "PRINTED", "detail": "DETAIL"}
    content = written(edition, lambda spec: texts | {"message": f"of {spec.kind}"})
    kinds = {"visible": "basic", "after_published": "hidden"}
    for entry in content["tests"]:
        others = {"basic", "hidden"} - {kinds[entry["visibility"]]}
        assert entry["status"] == "failed"
        assert "of " + kinds[entry["visibility"]] in entry["output"]
        assert f"of {others.pop()}" not in entry["output"] and "DETAIL" not in str(entry)
        is_shown = entry["visibility"] == "visible" and entry["number"] not in practice
        assert ("PRINTED" in entry["output"]) == is_shown
    assert {e["visibility"] for e in content["tests"] if e["number"] in practice} == kinds.keys()


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


# ---------------------------------------------------------------- accepted models have rows

PLACES = ["Rome", "Oslo", "Lima", "Bern"]


class Case(OutputsCase):
    """In place of a question's test case: three of four predictions are right."""

    fits = True

    def predictions(self, name, split):
        assert (name, split) == ("vanilla.pretrain.dev.predictions", "dev")
        return [*PLACES[:3], "?"]

    def fitting(self, params, variant):
        if not self.fits:
            raise failure("it fits no model", id="misfit")
        return {"w": np.zeros(1234)}, {}


LAB = SimpleNamespace(data=SimpleNamespace(places=lambda split: PLACES), seed=1, staged=None)


def rows(outcomes: dict[str, Outcome], case: type = Case) -> list[dict]:
    """Return the rows if all tests of vanilla's question passed except these."""
    edition = ASSIGNMENT.edition("current")

    def changes(spec):
        end = outcomes.get(spec.name, Outcome.PASSED)
        return {"outcome": end if spec.topic == "pretraining" else Outcome.NOT_RUN}

    specs = {(spec.topic, spec.name): spec for spec in edition.tests}
    results = results_of(edition, changes)
    return document.leaderboard(ASSIGNMENT, results, lambda *test: case(LAB, specs[test]))


def test_only_a_model_that_passed_and_fits_is_ranked():
    assert rows({}) == [
        {"name": "vanilla: right on dev (%)", "value": 75.0},
        {"name": "vanilla: parameters", "value": 1234, "order": "asc"},
    ]
    for name in document.RANKED:
        assert rows({name: Outcome.FAILED}) == rows({name: Outcome.NOT_RUN}) == []
    assert rows({}, type("Misfit", (Case,), {"fits": False})) == []
