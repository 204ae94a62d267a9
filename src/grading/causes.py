"""Ids of the ways in which a test can fail, by which a class's failures are counted and compared.

An id has two parts, such as `failed.the-mask-is-missing-1f3a` or `error.ValueError`: the outcome
and the way. The way of an expectation that was not met is derived from its sentence, without the
values in it. If a sentence is reworded, or has to contain a student's text, its way can be given
explicitly (`errors.Verdict`).
"""

from __future__ import annotations

import hashlib
import re

from .outcomes import Outcome

WORDS = 9
# What may differ between submissions: numbers, and text in quotes or brackets.
VALUES = re.compile(r"\"[^\"]*\"|\([^()]*\)|\[[^\[\]]*\]|(?<!\w)'[^']*'(?!\w)|-?\d[\d.,e%-]*")


def cause_of(outcome: Outcome, way: str) -> str:
    """Return the id of a way of failing; "" for a test that passed."""
    if outcome is Outcome.PASSED:
        return ""
    kind = outcome.value.replace(",", "").replace(" ", "-")
    return f"{kind}.{way}" if way else kind


def way_of(sentence: str) -> str:
    """Return an id of a sentence's words: the first of them, and a hash of all."""
    words = re.findall(r"[a-z]+", VALUES.sub(" ", sentence).lower())
    digest = hashlib.sha256(" ".join(words).encode()).hexdigest()
    return "-".join([*words[:WORDS], digest[:4]])
