"""Does a model know what it knows? Its probabilities, its accuracy, and a refusal threshold.

    python src/run.py calibration vanilla wiki.txt \\
        --reading_params_path vanilla.finetune.params --outputs_path calibration.svg

A model is *calibrated* if, among the answers to which it gives a probability of about p, a share of
p is right. A system that uses it can refuse to answer below some threshold: it then gives fewer
answers, of which a larger share is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import NamedTuple

from inputs import Setting, find_data, load, predict, read_answered
from pretraining import plots
from pretraining.files import write_atomically
from submission import utils

from .estimates import table
from .people import DEV

BINS = 10  # of equal width
DOT = 4  # square points for each answer of a bin
THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
LOOKS = dict(zip(("right", "wrong", "unseen"), plots.LOOKS, strict=False))


@dataclass(frozen=True)
class Answers:
    """The probabilities that a model gives to its answers."""

    right: Sequence[float]
    wrong: Sequence[float]
    unseen: Sequence[float]  # about people who occur nowhere, for whom no answer is right


@dataclass(frozen=True)
class Bin:
    """Answers of similar probability."""

    probability: float  # on average
    right: float  # the share of right ones
    count: int


class Refusal(NamedTuple):
    """The effect of giving an answer only if its probability reaches a threshold."""

    threshold: float
    answered: float  # the share of questions about known people that are answered
    accuracy: float | None  # the share of right answers among these; None if there are none
    unseen: float | None  # the share of made-up answers that are given; None if there are none


def reliability(right: Sequence[float], wrong: Sequence[float]) -> list[Bin]:
    """Return the nonempty bins of a reliability diagram, from left to right.

    Bin b of BINS contains the probabilities from b/BINS up to but excluding (b+1)/BINS, the last
    one also 1 (Guo et al. 2017, section 2, whose bins are closed at the other end).
    """
    groups: dict[int, list[tuple[float, int]]] = {}
    for p, ok in sorted([(p, 1) for p in right] + [(p, 0) for p in wrong]):
        groups.setdefault(min(int(p * BINS), BINS - 1), []).append((p, ok))
    return [
        Bin(sum(p for p, _ in g) / len(g), sum(ok for _, ok in g) / len(g), len(g))
        for g in groups.values()
    ]


def calibration_error(answers: Answers) -> float:
    """Return the expected calibration error for known people (Guo et al. 2017, section 2).

    It is the mean over all answers of their bin's distance between probability and accuracy; 0
    without answers.
    """
    bins = reliability(answers.right, answers.wrong)
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.right - each.probability) for each in bins) / max(total, 1)


def refuse_below(answers: Answers, threshold: float) -> Refusal:
    """Return the effect of refusing to answer below a threshold."""
    groups = answers.right, answers.wrong, answers.unseen
    right, wrong, unseen = (sum(p >= threshold for p in group) for group in groups)
    known, answered = len(answers.right) + len(answers.wrong), right + wrong
    return Refusal(
        threshold=threshold,
        answered=answered / known if known else 0.0,
        accuracy=right / answered if answered else None,
        unseen=unseen / len(answers.unseen) if answers.unseen else None,
    )


def run(setting: Setting) -> None:
    """Compare a finetuned model's probabilities with its accuracy, in a picture and a table."""
    args = setting.args
    path, questions, places = read_answered(args.eval_corpus_path or DEV)
    unseen = find_data(args.unseen_corpus_path)
    load(setting.model, args.reading_params_path)
    pairs = list(zip(predict(setting.model, setting.dataset, path, questions), places, strict=True))
    made_up = predict(setting.model, setting.dataset, unseen, utils.read_places(unseen)[0])
    answers = Answers(
        right=[p.probability for p, place in pairs if p.place == place],
        wrong=[p.probability for p, place in pairs if p.place != place],
        unseen=[p.probability for p in made_up],
    )
    write_atomically(args.outputs_path, draw(answers, args.variant))
    print(report(answers))
    print(f"Wrote {args.outputs_path}.")


def report(answers: Answers) -> str:
    """Return the effects of some round thresholds as a table, and the calibration error."""
    rows = []
    for threshold, *shares in (refuse_below(answers, threshold) for threshold in THRESHOLDS):
        rows.append([f"{threshold:.2f}", *("-" if s is None else f"{s:.0%}" for s in shares)])
    header = ["threshold", "dev answered", "right of these", "unseen answered"]
    error = f"expected calibration error on dev: {calibration_error(answers):.3f}"
    return f"{table(header, rows)}\n{error}"


def draw(answers: Answers, name: str) -> str:
    """Return an SVG document of three panels.

    They show the reliability diagram, the accuracy against the share of questions answered, and
    the share of right, wrong and made-up answers that a threshold lets through. There must be at
    least one answer about known people; `name` is the model's.
    """
    first, second, third = plots.panels(3)
    for axes in (first, second, third):
        axes.set(xlim=(0, 1), ylim=(0, 1.02))

    first.set(title="Reliability", xlabel="probability given by the model")
    first.set_ylabel("share of right answers")
    first.plot([0, 1], [0, 1], color="#aaaaaa")
    made_up = [*answers.wrong, *answers.unseen]
    kinds = ("dev", "right", answers.wrong), ("dev and unseen people", "unseen", made_up)
    for label, look, wrong in kinds:
        x, y, counts = zip(*map(astuple, reliability(answers.right, wrong)), strict=True)
        first.plot(x, y, label=label, **LOOKS[look])
        # A bin of few answers says little: a dot's area is its number of answers.
        sizes = [DOT * count for count in counts]
        first.scatter(x, y, s=sizes, color=LOOKS[look]["color"], alpha=0.5)
    first.legend()

    second.set(title="Refusing below a rising threshold")
    second.set_xlabel("share of the dev questions that are answered")
    second.set_ylabel("share of these that are right")
    refusals = [refuse_below(answers, p) for p in sorted({0.0, *answers.right, *answers.wrong})]
    points = [(one.answered, one.accuracy) for one in refusals if one.accuracy is not None]
    second.plot(*zip(*points, strict=True), **LOOKS["right"])
    second.set_ylim(bottom=math.floor(10 * min(accuracy for _, accuracy in points)) / 10)

    third.set(title="What a threshold lets through", xlabel="threshold")
    third.set_ylabel("share of answers that are still given")
    for kind, group in zip(LOOKS, (answers.right, answers.wrong, answers.unseen), strict=True):
        if group:  # one answer fewer after each probability
            left = [1 - number / len(group) for number in range(len(group) + 1)]
            label = "unseen people" if kind == "unseen" else kind
            edges = [0.0, *sorted(group), 1.0]
            third.stairs(left, edges, baseline=None, label=label, linewidth=2, **LOOKS[kind])
    third.legend()
    whole = refuse_below(answers, 0.0)
    return plots.svg(
        first,
        f"{name}: {whole.accuracy:.0%} of the answers about people of dev are right; expected "
        f"calibration error {calibration_error(answers):.3f}",
    )
