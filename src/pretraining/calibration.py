"""Does a model know what it knows? Its probabilities, its accuracy, and a refusal threshold.

    python src/run.py calibration vanilla wiki.txt \\
        --reading_params_path vanilla.finetune.params --outputs_path calibration.svg

A model is *calibrated* if, among the answers to which it gives a probability of about p, a share of
p is right. A system that uses it can refuse to answer below some threshold: it then gives fewer
answers, of which a larger share is right.

Only the standard library is imported.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from .plots import TOP, WIDTH, Axis, Panel, from_zero, svg, text

BINS = 10  # of equal width
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# Distinct with any kind of colour blindness (Okabe and Ito 2008), and by their dashes.
LOOKS = {
    "right": "stroke='#0072b2' stroke-width='2'",
    "wrong": "stroke='#d55e00' stroke-width='2' stroke-dasharray='7 3'",
    "unseen": "stroke='#444444' stroke-width='2' stroke-dasharray='2 3'",
}
LEGEND, LETTER = 300, 8  # pixels: from a panel's left edge to its legend; width of a letter there


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
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in rows
    )


def draw(answers: Answers, name: str) -> str:
    """Return an SVG document of three panels.

    They show the reliability diagram, the accuracy against the share of questions answered, and
    the share of right, wrong and made-up answers that a threshold lets through.

    Args:
        answers: at least one of known people.
        name: of the model, for the titles.
    """
    panels = [_reliability(answers), _accuracy(answers), _given(answers)]
    error = calibration_error(reliability(answers.right, answers.wrong))
    whole = refuse_below(answers, 0.0)
    return svg(
        f"{name}: {whole.accuracy:.0%} of the answers about people of dev are right; expected "
        f"calibration error {error:.3f}",
        panels,
    )


def _share_axis(label: str) -> Axis:
    return from_zero(label, 1.0)


def _reliability(answers: Answers) -> Panel:
    axes = _share_axis("probability given by the model"), _share_axis("share of right answers")
    panel = Panel("Reliability", *axes)
    panel.line([(0, 0), (1, 1)], "stroke='#aaa'")
    everyone = [*answers.wrong, *answers.unseen]
    for wrong, look in ((answers.wrong, "right"), (everyone, "unseen")):
        bins = reliability(answers.right, wrong)
        panel.line([(each.probability, each.right) for each in bins], LOOKS[look])
        for each in bins:
            panel.dot(each.probability, each.right, "fill='black'")
    _legend(panel, [("right", "dev"), ("unseen", "dev and unseen people")])
    return panel


def _accuracy(answers: Answers) -> Panel:
    axes = (
        _share_axis("share of the dev questions that are answered"),
        _share_axis("share of these that are right"),
    )
    panel = Panel("Refusing below a rising threshold", *axes, left=WIDTH)
    points = [(one.answered, one.accuracy) for one in refusals(answers) if one.accuracy is not None]
    panel.line(points, LOOKS["right"])
    return panel


def _given(answers: Answers) -> Panel:
    axes = _share_axis("threshold"), _share_axis("share of answers that are still given")
    panel = Panel("What a threshold lets through", *axes, left=2 * WIDTH)
    kinds = [kind for kind in LOOKS if getattr(answers, kind)]
    for kind in kinds:
        group = sorted(getattr(answers, kind))
        # One answer fewer after each probability: a staircase.
        points = [(0.0, 1.0)]
        for number, probability in enumerate(group, start=1):
            points += [(probability, points[-1][1]), (probability, 1 - number / len(group))]
        panel.line([*points, (1.0, points[-1][1])], LOOKS[kind])
    names = {"right": "right", "wrong": "wrong", "unseen": "unseen people"}
    _legend(panel, [(kind, names[kind]) for kind in kinds])
    return panel


def _legend(panel: Panel, entries: Sequence[tuple[str, str]]) -> None:
    """Name lines above a panel, after the label of its vertical axis."""
    x = panel.left + LEGEND
    for kind, words in entries:
        ends = f"x1='{x}' x2='{x + 24}' y1='{TOP - 12}' y2='{TOP - 12}'"
        panel.parts.append(f"<line {ends} {LOOKS[kind]}/>")
        panel.parts.append(text(x + 30, TOP - 8, words))
        x += 46 + LETTER * len(words)
