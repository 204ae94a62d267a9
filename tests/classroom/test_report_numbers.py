"""Statistics of a class, compared with numbers computed by hand."""

import random
from decimal import Decimal

import pytest

from tests.classroom.nasty import TESTS, record_of
from tests.classroom.nasty import test_of as entry_of
from tools.classroom.reports import numbers
from tools.classroom.reports.failures import failures
from tools.classroom.reports.gathered import Gathered, Handed
from tools.classroom.submissions import RollEntry, Student

# Which of the five tests each of four submissions passes.
PASSES = ((1, 1, 1, 1, 1), (1, 0, 1, 0, 1), (0, 0, 1, 1, 1), (0, 0, 0, 0, 1))


def gathered(passes=PASSES, **changed) -> Gathered:
    rng = random.Random(1)
    handed = []
    for number, row in enumerate(passes):
        tests = [entry_of(i, bool(p), rng, cpu_s=1.0 + number) for i, p in enumerate(row)]
        entry = RollEntry(f"s{number}", (Student(f"k{number}", f"N{number}"),))
        handed.append(Handed(f"s{number}", entry, record_of(tests) | changed, {}))
    return Gathered("r", tuple(handed))


def test_scores_and_questions():
    # 11, 1.5+2.5+1 = 5, 2.5+2+1 = 5.5 and 1 points of 11
    made = gathered()
    assert [one.score for one in made.counted] == [11, 5, Decimal("5.5"), 1]
    known = numbers.spread([float(one.score) for one in made.counted])
    assert (known.count, known.least, known.greatest, known.mean) == (4, 1, 11, 5.625)
    assert known.median == 5.25 and known.quartiles == (4.0, 6.875)
    first, second = numbers.questions(made)
    assert (first.number, first.most, first.full, first.none) == ("1e", 8, 1, 1)
    assert first.scores.mean == (8 + 4 + 2.5 + 0) / 4
    assert (second.number, second.most, second.full, second.none) == ("1f", 3, 2, 0)


def test_tests_are_sorted_by_what_they_cost():
    rows = numbers.tests(gathered())
    assert [(row.test_id, float(row.cost)) for row in rows] == [
        ("1e-1-hidden", 12.0),
        ("1f-0-basic", 4.0),
        ("1e-0-basic", 3.0),
        ("1e-2-hidden", 2.5),
        ("1f-1-hidden", 0.0),
    ]
    assert [row.passed for row in rows] == [1, 2, 2, 3, 4]
    assert rows[0].outcomes == {"passed": 1, "failed": 3}
    assert rows[0].cpu_s.median == 2.5 and rows[0].cpu_s.greatest == 4.0


def test_discrimination_is_the_correlation_with_the_rest():
    rows = {row.test_id: row for row in numbers.tests(gathered())}
    # The test's points are 4, 0, 0, 0, and the rest 7, 5, 5.5, 1: the correlation is .627.
    rest, own = [7, 5, 5.5, 1], [4, 0, 0, 0]
    mean = sum(rest) / 4
    above = sum((a - 1) * (b - mean) for a, b in zip(own, rest, strict=True))
    spread = (sum((a - 1) ** 2 for a in own) * sum((b - mean) ** 2 for b in rest)) ** 0.5
    assert rows["1e-1-hidden"].discrimination == pytest.approx(above / spread)
    assert rows["1f-1-hidden"].discrimination is None  # everybody passes
    assert numbers.correlation([1, 2], [1, 2]) is None  # two points are always on a line


def test_accuracies_are_counted_against_their_threshold():
    (row,) = numbers.measured(gathered())
    assert (row.test_id, row.name, row.threshold, row.spread.count) == (
        "1f-0-basic",
        "accuracy",
        0.3,
        4,
    )
    assert row.below == 2 and sum(bar.count for bar in row.bins) == 4


@pytest.mark.parametrize(
    "values, most, counts",
    [
        ([0, 10], 10, [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
        ([9.99, 10, 12], 10, [0] * 9 + [3]),  # with extra credit above the maximum
        ([1.0, 1.0, 0.99], 10, [1, 2] + [0] * 8),
    ],
)
def test_a_histogram_counts_each_once(values, most, counts):
    assert [bar.count for bar in numbers.histogram(values, most)] == counts


@pytest.mark.parametrize("values, most", [([], 10), ([0.0], 0)])
def test_without_numbers_or_points_there_are_no_bars(values, most):
    assert numbers.histogram(values, most) == ()
    assert numbers.spread([]) is None and numbers.spread([2.0]).quartiles == (2.0, 2.0)


@pytest.mark.parametrize(
    "changed",
    [{"fault": "ours", "results": None}, {"again": ["1e-0-basic"]}],
    ids=["staff fault", "not finished"],
)
def test_what_has_no_final_result_is_counted_nowhere(changed):
    made = gathered(**changed)
    assert made.counted == [] and numbers.tests(made) == [] and failures(made) == []


def test_failures_are_grouped_by_cause_and_those_with_a_place_are_the_example():
    found = failures(gathered())
    assert [(f.cause, [one.submission_id for one in f.handed]) for f in found] == [
        (TESTS[1][4][1], ["s1", "s2", "s3"]),
        (TESTS[3][4][1], ["s1", "s3"]),
        (TESTS[0][4][1], ["s2", "s3"]),
        (TESTS[2][4][1], ["s3"]),
    ]
    assert found[3].where == "submission/dataset.py:3" and found[3].example.submission_id == "s3"
    assert found[0].cost == 12 and found[0].tests == {"1e-1-hidden": 3}
    assert found[0].look_at == "f in submission/dataset.py"
