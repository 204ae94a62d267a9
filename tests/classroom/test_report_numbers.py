"""Statistics of a class, compared with numbers computed by hand."""

import random
from dataclasses import replace
from decimal import Decimal

import pytest

from classroom.report import numbers
from classroom.report.causes import causes_of
from classroom.store import Store
from classroom.submissions import Student, Submission
from tests.classroom.nasty import TESTS, record_of
from tests.classroom.nasty import test_of as entry_of

# Which of the five tests each of four submissions passes.
PASSES = ((1, 1, 1, 1, 1), (1, 0, 1, 0, 1), (0, 0, 1, 1, 1), (0, 0, 0, 0, 1))


@pytest.fixture
def gather(tmp_path):
    """Return gather(), which returns a class of four, the tests in its results, and the table."""

    def make(passes=PASSES, **changed):
        rng = random.Random(1)
        with Store.create(tmp_path / "class") as store:
            for number, row in enumerate(passes):
                entries = [entry_of(i, bool(p), rng, cpu_s=1.0 + number) for i, p in enumerate(row)]
                student = Student(f"k{number}", f"N{number}")
                one = Submission(f"s{number}", (student,))
                store.add_submissions(tmp_path, "folder", [one])
                record = replace(record_of(one.id, entries), **changed)
                number = store.add_record(record)
                if record.results is not None:
                    store.count(number)
            store.set("release", "r")
            made = numbers.gather(store)
            return made, list(numbers.results_of(store, made)), numbers.tests(store)

    return make


def test_scores_and_questions(gather):
    # 11, 1.5+2.5+1 = 5, 2.5+2+1 = 5.5 and 1 points of 11
    made, *_ = gather()
    assert [one.score for one in made.counted] == [11, 5, Decimal("5.5"), 1]
    known = numbers.spread([float(one.score) for one in made.counted])
    assert list(known.values()) == [1, 4.0, 5.25, 6.875, 11, 5.625] and [*known] == [
        *numbers.SPREAD
    ]
    first, second = numbers.questions(made)
    assert (first["question"], first["max_score"], first["full"], first["none"]) == ("1e", 8, 1, 1)
    assert first["mean"] == (8 + 4 + 2.5 + 0) / 4
    assert (second["question"], second["max_score"], second["full"], second["none"]) == (
        "1f",
        3,
        2,
        0,
    )


def test_tests_are_sorted_by_what_they_cost(gather):
    rows = gather()[2]
    assert [(row["test"], float(row["points_lost"])) for row in rows] == [
        ("1e-1-hidden", 12.0),
        ("1f-0-basic", 4.0),
        ("1e-0-basic", 3.0),
        ("1e-2-hidden", 2.5),
        ("1f-1-hidden", 0.0),
    ]
    assert [row["passed"] for row in rows] == [1, 2, 2, 3, 4]
    assert (rows[0]["graded"], rows[0]["other_outcomes"]) == (4, "failed 3")
    assert (rows[0]["cpu_s_mean"], rows[0]["cpu_s_greatest"]) == (2.5, 4.0)


def test_discrimination_is_the_correlation_with_the_rest(gather):
    rows = {row["test"]: row for row in gather()[2]}
    # The test's points are 4, 0, 0, 0, and the rest 7, 5, 5.5, 1: the correlation is .627.
    rest, own = [7, 5, 5.5, 1], [4, 0, 0, 0]
    mean = sum(rest) / 4
    above = sum((a - 1) * (b - mean) for a, b in zip(own, rest, strict=True))
    spread = (sum((a - 1) ** 2 for a in own) * sum((b - mean) ** 2 for b in rest)) ** 0.5
    assert rows["1e-1-hidden"]["discrimination"] == pytest.approx(above / spread)
    assert rows["1f-1-hidden"]["discrimination"] is None  # everybody passes
    assert numbers.correlation([1, 2], [1, 2]) is None  # two points are always on a line


@pytest.mark.parametrize(
    "values, most, counts",
    [
        ([0, 10], 10, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ([9.99, 10, 12], 10, [0] * 9 + [3]),  # with extra credit above the maximum
        ([1.0, 1.0, 0.99], 10, [1, 2] + [0] * 8),
    ],
)
def test_a_histogram_counts_each_once(values, most, counts):
    assert [*numbers.histogram(values, most).values()] == counts


@pytest.mark.parametrize("values, most", [([], 10), ([0.0], 0)])
def test_without_numbers_or_points_there_are_no_bars(values, most):
    assert numbers.histogram(values, most) == {}
    assert not any(numbers.spread([]).values()) and {*numbers.spread([2.0]).values()} == {2.0}


def test_what_has_no_result_is_counted_nowhere(gather):
    made, results, table = gather(results=None, outcome="staff fault", reason="ours")
    assert len(made.handed) == 4 and {one.status for one in made.handed} == {"staff fault"}
    assert made.counted == results == table == []


def test_causes_that_cost_most_points_are_first_and_one_with_a_place_is_the_example(gather):
    found = causes_of(gather()[1])[0]
    assert [(c.id, float(c.lost), [one.id for one in c.handed]) for c in found] == [
        (TESTS[1][4], 12.0, ["s1", "s2", "s3"]),
        (TESTS[3][4], 4.0, ["s1", "s3"]),
        (TESTS[0][4], 3.0, ["s2", "s3"]),
        (TESTS[2][4], 2.5, ["s3"]),
    ]
    assert found[3].where == "submission/dataset.py:3" and found[3].example.id == "s3"
    assert found[0].tests == {"1e-1-hidden": 3} and found[0].look_at == "f in submission/dataset.py"


def test_a_dropped_test_is_no_cause_of_failure(gather):
    results = gather()[1]
    for _, tests in results:
        tests[1] |= {"outcome": "dropped", "score": tests[1]["max_score"], "cause": "dropped"}
    ids = {cause.id for cause in causes_of(results)[0]}
    assert ids == {TESTS[place][4] for place in (0, 2, 3)}


def test_practice_is_apart_and_points_come_before_numbers(gather):
    """Everybody fails practice; three fail for one point each, and one for eight."""
    rng = random.Random(1)
    results = []
    made, *_ = gather()
    for number, one in enumerate(made.counted):
        cheap = entry_of(0, number == 0, rng, max_score=1.0)
        dear = entry_of(1, number != 3, rng, max_score=8.0)
        practice = entry_of(2, False, rng, max_score=0.0, test_id="3a-0-basic")
        results.append((one, [cheap, dear, practice]))
    *ranked, practice = causes_of(results)[0]
    assert [(c.lost, len(c.handed)) for c in ranked] == [(8, 1), (3, 3)]
    assert [c.is_practice for c in ranked] == [False, False] and practice.is_practice
    assert practice.question == "3a" and len(practice.handed) == 4
