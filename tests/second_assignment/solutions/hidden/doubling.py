"""Doubling: the answers are the reference's."""

from typing import Any

from questions.doubling.tests import ANSWERS


def doubling_any_number(case: Any, numbers: list, got: list) -> None:
    """Compare with the reference; a right function can't fail."""
    wanted = case.reference("doubling.double_each", ANSWERS, numbers=numbers)["answers"]
    sentence = "double is wrong for some number"
    case.expect(got == wanted, sentence, id="double.values-for-some", got=got, expected=wanted)
