"""Evidence that predictions come from a model, and the model from pretraining on the corpus.

Predictions alone prove nothing: a few lines of Python find the birth places in wiki.txt. So the
submitted parameters must give the same answers, all of them, with the reference's model. Where the
edition also requires the pretrained parameters, they must show three things. Nothing is trained
here; the reference's code computes log-probabilities, in float32.

(a) Spans of fresh corruptions of the corpus are predicted well: the mean loss of the pretrained
    parameters is below a limit for the data set and the variant (assignment.toml). A higher loss
    is accepted where (b) is met far more clearly.
(b) In sentences about people of dev and test, the true place behind the masks is likelier than
    other people's places of the same length. In the generated world, names and places are
    independent. For parameters that know nothing about these people, whatever else they know,
    every exchange of places is therefore as likely as the truth: a permutation test.
(c) The finetuned parameters descend from the pretrained ones: each weight matrix still points in
    nearly the same direction.

This leaves two ways to cheat, both measured (docs/measurements.md): genuine pretraining by other
means or by somebody else, such as another student's parameters with some noise; and finetuning
from there on more questions than the given ones. Only a comparison of submissions can find the
first; the second requires the pretraining that the assignment is about.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from grading import wire
from grading.edition import Evidence
from questions.shared import trained_files
from questions.shared.models import OutputsCase
from questions.span_corruption import items

from . import spans

LOGS = {"log_probabilities": wire.Array("float64", (None,))}
DIFFERING = {"lines": [int], "given": [str]}

DIFFER = (
    "the predictions differ from the answers that the parameters give: were both files written "
    "by the same training?"
)
# The id of each failure, and what a student reads.
UNRELATED = (
    "finetuned-parameters.unrelated",
    "{variant}.finetune.params was not finetuned from {variant}.pretrain.params: were both files "
    "written by the same training?",
)
UNTRAINED = (
    "pretrained-parameters.masked-spans",
    "{variant}.pretrain.params does not fill masked spans of wiki.txt as a pretrained model does: "
    "was it pretrained to the end, with span corruption, on this data set?",
)
IGNORANT = (
    "pretrained-parameters.birth-places",
    "{variant}.pretrain.params does not know what wiki.txt says about people: was it pretrained "
    "on this data set?",
)
COMPLETE = ("", "")  # no evidence is missing

NOTE = "evidence of pretraining (not of whose, nor of the questions used for finetuning): "


@dataclass(frozen=True)
class Finding:
    """The missing evidence, and what was measured."""

    id: str  # of the failure; "" if no evidence is missing
    sentence: str
    measured: dict[str, Any]  # in words
    numbers: dict[str, float]  # for comparison within a class


def expect_accuracy(
    case: OutputsCase, variant: str, predicted: list, places: list | None, threshold: float
) -> None:
    """Expect enough right answers, from a pretrained model that gives these answers.

    They are counted over the lines of the answers. Without answers (some real data withholds
    them), the test can't be graded.
    """
    if places is None:
        case.not_graded("the answers of the test split are not available here")
    correct = trained_files.count_correct(predicted, places)
    case.measure("accuracy", correct / len(places))
    case.measure("threshold", threshold)
    case.expect(
        correct >= threshold * len(places),
        "too few right answers on the test set",
        id="test-predictions.too-few-right",
        got=f"{correct} of {len(places)}",
        expected=f"at least {threshold:.0%}",
    )
    expect_own_answers(case, variant, "test")


def expect_own_answers(case: OutputsCase, variant: str, split: str) -> None:
    """Expect that the parameters give these answers and were pretrained."""
    expect_match(case, f"{variant}.finetune.params", f"{variant}.pretrain", (split,))
    if f"{variant}.pretrain.params" in case.run.edition.required_files:
        found = case.once(f"evidence {variant}", lambda apart: _evidence(apart, variant))
        for name, value in found.numbers.items():
            case.measure(name, value)
        if found.sentence:
            case.fail(found.sentence, id=found.id, private=True, **found.measured)
        case.note(NOTE + "; ".join(f"{key} {value}" for key, value in found.measured.items()))


def expect_match(
    case: OutputsCase, params: str, prefix: str, splits: tuple[str, ...] = ("dev", "test")
) -> None:
    """Expect all predictions to equal the parameters' answers, decoded greedily.

    Rounding can flip a character if the two likeliest are within 1e-5 of each other. Even if that
    happened to one answer in 1,000, 3 lines of 100 would differ only with probability
    C(100, 3) 0.001^3 = 1.6e-4. It happened in no training (docs/measurements.md: in none of some
    thousand lines, AVX2 against other kernels), so the rate is more like one answer in 100,000,
    and the probability for 3 of 100 is below 2e-10.
    """
    for split in splits:
        name = f"{prefix}.{split}.predictions"
        predicted = [line.strip() for line in case.predictions(name, split)]
        most = max(2, len(predicted) // 50)
        find = partial(_differing, params=params, split=split, predicted=predicted, most=most)
        wrong = case.once(f"{params} {name}", find)
        if len(wrong["lines"]) > most:
            shown = [(g, predicted[i]) for i, g in zip(*wrong.values(), strict=True)][:3]
            case.fail(
                DIFFER,
                id="predictions.not-of-parameters",
                private=True,
                file=name,
                more_than=most,
                differ_e_g=shown,
            )


def _differing(case: OutputsCase, params: str, split: str, predicted: list[str], most: int) -> dict:
    """Return the lines of a file that the parameters do not give in any of their readings."""
    variant = params.split(".")[0]
    weights, config = _fitting(case, params, variant)
    asked = {"questions": case.run.data.questions(split), "predicted": predicted, "most": most}
    models = [case.loading(variant, config, each) for each in case.readings(weights, config)]
    found = [case.reference("shared.differing", DIFFERING, model=m, **asked) for m in models]
    return min(found, key=lambda answer: len(answer["lines"]))


def _fitting(case: OutputsCase, params: str, variant: str) -> tuple[dict[str, np.ndarray], dict]:
    return case.once(f"parameters {params}", lambda apart: apart.fitting(params, variant))


def _evidence(case: OutputsCase, variant: str) -> Finding:
    """Check (c), (a) and (b), the cheapest first, up to the first that is missing."""
    old, config = _fitting(case, f"{variant}.pretrain.params", variant)
    new, other = _fitting(case, f"{variant}.finetune.params", variant)
    asks = case.run.data.dataset.evidence
    assert asks is not None  # only a student's copy lacks it
    measured: dict[str, Any] = {}
    numbers: dict[str, float] = {}

    def finding(mistake: tuple[str, str]) -> Finding:
        id, sentence = mistake
        finite = {name: float(n) for name, n in numbers.items() if np.isfinite(n)}
        return Finding(id, sentence.format(variant=variant), measured, finite)

    if config != other:
        measured["shapes"] = "from two recipes"
        return finding(UNRELATED)
    name, cosine = _furthest(old, new)
    numbers["least cosine"] = cosine
    measured["least cosine"] = f"{cosine:.3f} ({name}), at least {asks.cosine}"
    if not cosine >= asks.cosine:
        return finding(UNRELATED)
    readings = [(_loss(case, variant, config, w), w) for w in case.readings(old, config)]
    loss, weights = min(readings, key=lambda pair: pair[0])
    numbers["loss"] = loss
    measured["loss"] = f"{loss:.3f} nats per character, at most {asks.loss[variant]}"
    if not loss <= largest_loss(asks, variant):
        return finding(UNTRAINED)
    log_p = _log_p(case, variant, config, weights, asks.p)
    if log_p is None:
        measured["p"] = "not computed: the corpus gives the birth places of too few people"
    else:
        numbers["log10 p"] = log_p / np.log(10)
        measured["p"] = f"1e{log_p / np.log(10):.1f}, at most {asks.p:g}"
    return finding(lacking(asks, variant, loss, log_p))


def largest_loss(asks: Evidence, variant: str) -> float:
    """Return the loss above which no p is small enough."""
    return max(asks.loss[variant], asks.strong.loss if asks.strong else 0.0)


def lacking(asks: Evidence, variant: str, loss: float, log_p: float | None) -> tuple[str, str]:
    """Return the id and the sentence of the failure if (a) or (b) fails, otherwise COMPLETE.

    A model that was pretrained with masks of another kind, such as short ones or single words,
    fills long spans badly, but knows the places as well as any: it passes with a far smaller p.

    Args:
        log_p: the natural logarithm of p; None where the corpus says too little.
    """
    if not loss <= asks.loss[variant]:
        strong = asks.strong
        if strong is None or log_p is None:
            return UNTRAINED
        return COMPLETE if log_p <= np.log(strong.p) and loss <= strong.loss else UNTRAINED
    return IGNORANT if log_p is not None and not log_p <= np.log(asks.p) else COMPLETE


def _furthest(old: dict, new: dict) -> tuple[str, float]:
    """Return, for (c), the weight matrix that finetuning turned most, and its cosine.

    Vectors are left out, since they are too short to tell anything.
    """
    matrices = [name for name, array in old.items() if array.ndim > 1]
    cosines = {name: spans.cosine(old[name], new[name]) for name in matrices}
    return min(cosines.items(), key=lambda pair: pair[1])


def _loss(case: OutputsCase, variant: str, config: dict, weights: dict) -> float:
    """Compute the loss of (a), in nats per character."""
    long = [d for d in case.run.data.corpus().split("\n") if len(d) >= spans.SHORTEST]
    documents = [long[i] for i in case.rng.choice(len(long), size=spans.DRAWS)]
    drawn = corruptions(case, documents, config["block_size"])
    content = spans.content_spans(drawn)
    return spans.mean_loss(content, _logs(case, content, variant, config, weights))


def corruptions(case: OutputsCase, documents: list[str], block_size: int) -> list[str]:
    """Return each document corrupted once, as the string before padding."""
    run = {"documents": documents, "block_size": block_size, "repeat": 1}
    answer = items.drawn([(len(documents), 1)])
    (drawn,) = case.reference("span_corruption.draw", answer, runs=[run])["runs"]
    halves = items.halves(drawn, items.expected_vocabulary(documents))
    return [(x + y[-1:]).rstrip(items.PAD_CHAR) for x, y, _ in halves]


def _log_p(case: OutputsCase, variant: str, config: dict, weights: dict, p: float) -> float | None:
    """Return the natural logarithm of the bound of (b), or None if it can't reach p."""
    data = case.run.data
    people: list[tuple[str, str]] = []
    for split in ("dev", "test"):
        places = data.places(split)  # None where real data withholds the answers
        people += zip(data.questions(split), places or [], strict=places is not None)
    chosen = [people[i] for i in case.rng.permutation(len(people))[: spans.PEOPLE]]
    documents = data.corpus().split("\n")
    hidden = spans.hidden_places(case.rng, documents, chosen, config["block_size"])
    blocks = spans.blocks(case.rng, hidden)
    if not spans.can_tell(blocks, p):
        return None
    exchanged = [span for block in blocks for span in spans.exchanged(block)]
    logs = _logs(case, exchanged, variant, config, weights)
    return spans.log_p_value(spans.matrices(blocks, logs))


def _logs(case: OutputsCase, wanted: list, variant: str, config: dict, weights: dict) -> np.ndarray:
    asked = {
        "texts": [span.text for span in wanted],
        "starts": [span.start for span in wanted],
        "stops": [span.stop for span in wanted],
    }
    model = case.loading(variant, config, weights)
    got = case.reference("shared.span_log_probabilities", LOGS, model=model, **asked)
    return got["log_probabilities"]
