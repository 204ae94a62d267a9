"""Does a model know what it knows? Its probabilities, its accuracy, and a refusal threshold.

    python src/run.py calibration vanilla wiki.txt \\
        --reading_params_path vanilla.finetune.params --outputs_path calibration.svg

A model is *calibrated* if, among the answers to which it gives a probability of about p, a share of
p is right. A system that uses it can refuse to answer below some threshold: it then gives fewer
answers, of which a larger share is right.

matplotlib is imported only to draw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pretraining import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 10  # of equal width
DOT = 4  # square points for each answer of a bin
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LOOKS = dict(zip(("right", "wrong", "unseen"), plots.LOOKS, strict=False))


@dataclass(frozen=True)
class Answers:
    """The probabilities that a model gives to its answers.

    Attributes:
        right, wrong: for people whose birth place is known.
        unseen: for people who occur nowhere, for whom no answer is right.
    """

    right: Sequence[float]
    wrong: Sequence[float]
    unseen: Sequence[float]


@dataclass(frozen=True)
class Bin:
    """Answers of similar probability: their mean probability, the share of right ones, how many."""

    probability: float
    right: float
    count: int


@dataclass(frozen=True)
class Refusal:
    """The effect of giving an answer only if its probability reaches a threshold.

    Attributes:
        threshold: the least probability with which an answer is given.
        answered: the share of questions about known people that are answered.
        accuracy: the share of right answers among these; None if there are none.
        right, wrong, unseen: the shares of the right, wrong and made-up answers that are given;
            None if there are none of the kind.
    """

    threshold: float
    answered: float
    accuracy: float | None
    right: float | None
    wrong: float | None
    unseen: float | None


def reliability(right: Sequence[float], wrong: Sequence[float]) -> list[Bin]:
    """Return the nonempty bins of a reliability diagram, from left to right.

    Bin b of BINS contains the probabilities from b/BINS up to but excluding (b+1)/BINS, the last
    one also 1 (Guo et al. 2017, section 2, whose bins are closed at the other end).
    """
    pairs = [(p, 1) for p in right] + [(p, 0) for p in wrong]
    groups = [
        [pair for pair in pairs if min(int(pair[0] * BINS), BINS - 1) == b] for b in range(BINS)
    ]
    return [
        Bin(
            sum(p for p, _ in group) / len(group),
            sum(ok for _, ok in group) / len(group),
            len(group),
        )
        for group in groups
        if group
    ]


def calibration_error(bins: Sequence[Bin]) -> float:
    """Return the expected calibration error (Guo et al. 2017, section 2); 0 without answers.

    It is the mean over all answers of their bin's distance between probability and accuracy.
    """
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.right - each.probability) for each in bins) / max(total, 1)


def error_of(answers: Answers) -> float:
    """Return the expected calibration error for known people."""
    return calibration_error(reliability(answers.right, answers.wrong))


def refuse_below(answers: Answers, threshold: float) -> Refusal:
    """Return the effect of refusing to answer below a threshold."""
    given = [sum(p >= threshold for p in group) for group in _groups(answers)]
    right, wrong, unseen = (
        count / len(group) if group else None
        for count, group in zip(given, _groups(answers), strict=True)
    )
    known, answered = len(answers.right) + len(answers.wrong), given[0] + given[1]
    return Refusal(
        threshold=threshold,
        answered=answered / known if known else 0.0,
        accuracy=given[0] / answered if answered else None,
        right=right,
        wrong=wrong,
        unseen=unseen,
    )


def _groups(answers: Answers) -> tuple[Sequence[float], ...]:
    return answers.right, answers.wrong, answers.unseen


def refusals(answers: Answers) -> list[Refusal]:
    """Return the effect of each threshold at which something changes, starting with 0."""
    levels = {0.0, *(p for group in _groups(answers) for p in group)}
    return [refuse_below(answers, threshold) for threshold in sorted(levels)]


def table(answers: Answers) -> str:
    """Return the effects of some round thresholds as text."""
    rows: list[tuple[str, ...]] = [
        ("threshold", "dev answered", "right of these", "unseen answered")
    ]
    for threshold in THRESHOLDS:
        one = refuse_below(answers, threshold)
        shares = (one.answered, one.accuracy, one.unseen)
        rows.append((f"{threshold:.2f}", *("-" if s is None else f"{s:.0%}" for s in shares)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    ]
    return "\n".join([*lines, f"expected calibration error on dev: {error_of(answers):.3f}"])


def draw(answers: Answers, name: str) -> str:
    """Return an SVG document of three panels.

    They show the reliability diagram, the accuracy against the share of questions answered, and
    the share of right, wrong and made-up answers that a threshold lets through.

    Args:
        answers: at least one of known people.
        name: of the model, for the title.
    """
    panels = plots.panels(3)
    for draw_panel, axes in zip((_reliability, _accuracy, _given), panels, strict=True):
        axes.set(xlim=(0, 1), ylim=(0, 1.02))
        draw_panel(answers, axes)
    whole = refuse_below(answers, 0.0)
    return plots.svg(
        panels[0],
        f"{name}: {whole.accuracy:.0%} of the answers about people of dev are right; expected "
        f"calibration error {error_of(answers):.3f}",
    )


def _reliability(answers: Answers, axes: Axes) -> None:
    axes.set(title="Reliability", xlabel="probability given by the model")
    axes.set_ylabel("share of right answers")
    axes.plot([0, 1], [0, 1], color="#aaaaaa")
    kinds = {"dev": ("right", answers.wrong)}
    kinds["dev and unseen people"] = "unseen", [*answers.wrong, *answers.unseen]
    for label, (look, wrong) in kinds.items():
        bins = reliability(answers.right, wrong)
        points = [each.probability for each in bins], [each.right for each in bins]
        axes.plot(*points, label=label, **LOOKS[look])
        # A bin of few answers says little: a dot's area is its number of answers.
        sizes = [DOT * each.count for each in bins]
        axes.scatter(*points, s=sizes, color=LOOKS[look]["color"], alpha=0.5)
    axes.legend()


def _accuracy(answers: Answers, axes: Axes) -> None:
    axes.set(title="Refusing below a rising threshold")
    axes.set_xlabel("share of the dev questions that are answered")
    axes.set_ylabel("share of these that are right")
    points = [(one.answered, one.accuracy) for one in refusals(answers) if one.accuracy is not None]
    axes.plot(*zip(*points, strict=True), **LOOKS["right"])
    axes.set_ylim(bottom=math.floor(10 * min(accuracy for _, accuracy in points)) / 10)


def _given(answers: Answers, axes: Axes) -> None:
    axes.set(title="What a threshold lets through", xlabel="threshold")
    axes.set_ylabel("share of answers that are still given")
    for kind, group in zip(LOOKS, _groups(answers), strict=True):
        if group:  # one answer fewer after each probability
            left = [1 - number / len(group) for number in range(len(group) + 1)]
            label = "unseen people" if kind == "unseen" else kind
            edges = [0.0, *sorted(group), 1.0]
            axes.stairs(left, edges, baseline=None, label=label, linewidth=2, **LOOKS[kind])
    axes.legend()
