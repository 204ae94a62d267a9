"""Finetuning and pretraining: setups, predictions, parameters."""

from typing import Any

from questions.shared.models import OutputsCase
from questions.training.tests import TrainingCase

from .evidence import expect_accuracy, expect_match
from .tolerances import same_logits


def no_pretraining_london_anywhere(case: OutputsCase, got: Any, places: list[str]) -> None:
    right = [places.count("London"), len(places)]
    case.expect(
        got == right,
        "london_baseline returns wrong numbers for a different file",
        id="london-baseline.counts-for-some",
        got=got,
        expected=right,
    )


def no_pretraining_remembers_training(
    case: OutputsCase, given: list[str], places: list[str]
) -> None:
    """Expect right answers to at least 90 % of 50 training questions.

    A checkpoint that knows every training answer can't fail; one that knows 99.4 % of them fails
    with probability C(50, 6) 0.006^6 < 8e-7. The course's own files ask nine of 2,000 questions
    twice, with different places, of which only one can be learnt: 0.45 %.
    """
    right = sum(g == p for g, p in zip(given, places, strict=True))
    case.measure("remembered", right / len(places))
    case.expect(
        right >= 0.9 * len(places),
        "vanilla.model.params doesn't remember the questions it was finetuned on: was it trained "
        "to the end, with the recipe's settings?",
        id="finetuned-parameters.training-questions",
        got=f"{right} of {len(places)}",
        expected="at least 90 %",
    )


def pretraining_loads_pretrained(case: TrainingCase, runs: list[tuple]) -> None:
    for variant, stage, got in runs:
        case.expect_training(got, stage, variant)


finetuning_model_output = same_logits
no_pretraining_matches_checkpoint = expect_match
pretraining_test_accuracy = expect_accuracy
pretraining_matches_checkpoint = expect_match
