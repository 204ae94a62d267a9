"""Sheets for graders of written answers, made from the solutions."""

import csv
from collections import Counter
from fractions import Fraction

import pytest

from autograder.description import editions, load_assignment
from tools import rubrics
from tools.rubrics import CRITERION, MISTAKE, items_of

RUBRIC = r"""
\begin{rubric}
\criterion{0.5}{Says \emph{why}, with \(\{a\}\).}
\criterion{1}{And
how.}
\end{rubric}
\begin{mistakes}
\item Without a scale. \credit{1/2}{Half credit.}
\item ``All of it.'' \credit{0}{No credit}: it isn't.
\item Fine \(x\)) \credit{1}{Full
credit.}
\item Half of the first. Half credit for the first idea.
\item No credit for this, but the rest counts.
\end{mistakes}
"""


def test_items_have_points_where_a_share_is_stated():
    items = list(items_of(RUBRIC, Fraction(3, 2)))
    assert [(i.kind, i.points) for i in items] == [
        (CRITERION, Fraction(1, 2)), (CRITERION, 1), (MISTAKE, Fraction(3, 4)), (MISTAKE, 0),
        (MISTAKE, Fraction(3, 2)), (MISTAKE, None), (MISTAKE, None),
    ]  # fmt: skip
    assert items[0].latex == r"Says \emph{why}, with \(\{a\}\)."
    assert items[3].latex == "``All of it.'' No credit: it isn't."


@pytest.mark.parametrize("name", editions())
def test_each_written_question_has_a_sheet_whose_criteria_share_out_its_points(
    name, tmp_path, numbers, monkeypatch
):
    """Its descriptions are Markdown with mathematics as Gradescope has it."""
    monkeypatch.setattr(rubrics, "compute_numbers", lambda *_: numbers)
    assert rubrics.main(["--edition", name, "--into", str(tmp_path)]) == 0
    of_questions: Counter[str] = Counter()
    descriptions, with_points = "", 0
    for path in tmp_path.glob("*.csv"):
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
        kinds = Counter(row["kind"] for row in rows)
        assert min(kinds[CRITERION], kinds[MISTAKE]) >= 2
        assert kinds.keys() == {CRITERION, MISTAKE}
        for row in rows:
            assert row["description"] and row["description"].count("$$") % 2 == 0
            descriptions += row["description"]
            with_points += row["kind"] == MISTAKE and row["points"] != ""
            if row["kind"] == CRITERION:
                of_questions[path.stem.partition("-")[0]] += Fraction(row["points"])
    edition = load_assignment().edition(name)
    assert of_questions == {q.number: q.written for q in edition.questions if q.written}
    assert with_points >= 20  # of the common wrong answers
    assert "$$k_a + k_b$$" in descriptions
    for left in ("\\(", "\\emph", "\\code", "\\item", "RUBRICS"):
        assert left not in descriptions
