"""Do a head's attention weights look like those of an induction circuit?

`python src/run.py induction vanilla` trains small models to answer `B 2 D 4 A 1 C 1 A` with the
digit that followed the first A, and calls these functions on their weights.

Glossary of shapes:
    nh  number of heads
    T   length of the input, an odd number: pairs of a letter and a digit, then a letter again
"""

from __future__ import annotations

import torch


def previous_token_score(weights: torch.Tensor) -> torch.Tensor:
    """Return how much weight each head gives, on average, from a digit to the letter before it.

    Digits stand at positions 1, 3, ..., T - 2; each follows its letter. Row t of a head's weights
    holds what position t gives to each position. Letters don't count: nothing depends on whether
    they look at the digit before them.

    Example: for T = 3, there is one digit, so the score of a head is its weight in row 1, column 0.

    Args:
        weights: shape (nh, T, T), float; each row sums to 1.

    Returns:
        shape (nh,), float, from 0 to 1.
    """
    # [induction scores]
    ### START CODE HERE ###
    digits = torch.arange(1, weights.size(-1), 2)
    return weights[:, digits, digits - 1].mean(dim=-1)
    ### END CODE HERE ###


def induction_score(weights: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return how much weight each head gives from the last position to the digit asked for.

    The last token is a letter that occurred once before; the digit asked for stands right behind
    that earlier occurrence.

    Example: for the tokens of B 2 D 4 B, this is the weight in row 4, column 1.

    Args:
        weights: shape (nh, T, T), float; each row sums to 1.
        tokens: the input's ids, shape (T,), long. Ids of letters differ from those of digits.

    Returns:
        shape (nh,), float, from 0 to 1.
    """
    # [induction scores]
    ### START CODE HERE ###
    earlier = int(tokens[:-1].eq(tokens[-1]).nonzero())
    return weights[:, -1, earlier + 1]
    ### END CODE HERE ###
