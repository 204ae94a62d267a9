"""Writes the numbers of a report as CSV files, one for each of its tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from classroom.cells import Number, write
from grading.report import points as shown_points

from .failures import Failure
from .gathered import Gathered, Handed
from .numbers import MeasuredRow, QuestionRow, Spread, TestRow
from .result_pages import number_of
from .when import When

Cell = str | Number
Called = Callable[[Handed], str]
SPREAD = ("least", "lower_quartile", "median", "upper_quartile", "greatest", "mean")


def files(
    gathered: Gathered,
    questions: list[QuestionRow],
    tests: list[TestRow],
    failures: list[Failure],
    measured: list[MeasuredRow],
    when: When,
    called: Called,
) -> dict[str, str]:
    """Return the content of each file by its name.

    Args:
        called: returns the name of a submission in them.
    """
    return {
        "scores.csv": _scores(gathered, called),
        "questions.csv": _questions(questions),
        "tests.csv": _tests(tests),
        "outcomes.csv": _outcomes(tests),
        "causes.csv": _causes(failures, called),
        "measured.csv": _measured(measured),
        "days.csv": _csv(["day", "submissions"], ([day, _n(n)] for day, n, _ in when.days)),
        "varied.csv": _varied(gathered, called),
    }


def _csv(head: list[str], rows: Iterable[Iterable[Cell]]) -> str:
    return write([head, *(list(row) for row in rows)])


def _n(number: float | Decimal | None) -> Cell:
    if number is None:
        return ""
    return Number(shown_points(number) if isinstance(number, Decimal) else f"{number:.6g}")


def _scores(gathered: Gathered, called: Called) -> str:
    numbers = list(gathered.questions)
    head = ["submission", "status", "score", "max_score", *numbers]
    rows: list[list[Cell]] = []
    for one in gathered.handed:
        if not one.is_counted:
            rows.append([called(one), one.status, *[""] * (2 + len(numbers))])
            continue
        own = {number: Decimal(0) for number in numbers}
        for test in one.tests:
            own[number_of(test)] += Decimal(str(test["score"]))
        scores: list[Cell] = [_n(one.score), _n(gathered.max_score)]
        rows.append([called(one), one.status, *scores, *(_n(score) for score in own.values())])
    return _csv(head, rows)


def _spread(spread: Spread | None) -> list[Cell]:
    if spread is None:
        return [""] * len(SPREAD)
    lower, upper = spread.quartiles
    numbers = (spread.least, lower, spread.median, upper, spread.greatest, spread.mean)
    return [_n(number) for number in numbers]


def _questions(rows: list[QuestionRow]) -> str:
    head = ["question", "max_score", *SPREAD, "full", "none"]
    return _csv(
        head,
        ([r.number, _n(r.most), *_spread(r.scores), _n(r.full), _n(r.none)] for r in rows),
    )


def _tests(rows: list[TestRow]) -> str:
    head = ["test", "name", "kind", "max_score", "graded", "passed", "points_lost"]
    head += ["discrimination", "cpu_s_median", "cpu_s_greatest", "mib_median", "mib_greatest"]
    found: list[list[Cell]] = []
    for row in rows:
        cells: list[Cell] = [row.test_id, row.name, row.kind, _n(row.most), _n(row.total)]
        cells += [_n(row.passed), _n(row.cost), _n(row.discrimination)]
        for spread in (row.cpu_s, row.memory):
            known = spread and (spread.median, spread.greatest)
            cells += [_n(number) for number in known or (None, None)]
        found.append(cells)
    return _csv(head, found)


def _outcomes(rows: list[TestRow]) -> str:
    pairs = ((row, outcome, n) for row in rows for outcome, n in row.outcomes.most_common())
    return _csv(["test", "outcome", "count"], ([r.test_id, o, _n(n)] for r, o, n in pairs))


def _causes(failures: list[Failure], called: Called) -> str:
    head = ["topic", "cause", "tests", "submissions", "points_lost", "submission"]
    rows = (
        [f.topic, f.cause, " ".join(f.tests), _n(len(f.handed)), _n(f.cost), called(one)]
        for f in failures
        for one in f.handed
    )
    return _csv(head, rows)


def _measured(rows: list[MeasuredRow]) -> str:
    head = ["test", "number", "count", *SPREAD, "threshold", "below"]
    return _csv(head, (_measured_row(row) for row in rows))


def _measured_row(row: MeasuredRow) -> list[Cell]:
    below: Any = "" if row.threshold is None else _n(row.below)
    known = [row.test_id, row.name, _n(row.spread.count), *_spread(row.spread)]
    return [*known, _n(row.threshold), below]


def _varied(gathered: Gathered, called: Called) -> str:
    rows = (
        [called(one), test_id, end, _n(count)]
        for one in gathered.handed
        for test_id, ends in one.varied.items()
        for end, count in ends.most_common()
    )
    return _csv(["submission", "test", "end", "count"], rows)
