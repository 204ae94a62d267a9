"""Building blocks of pretraining: objectives and metrics, as short functions.

Tensors are torch tensors. There are B sequences and T positions. Functions must not modify their
arguments, which the caller still needs.

Papers: [1] Raffel et al. 2020 (T5); [2] Devlin et al. 2019 (BERT).
"""

import math

import torch

SENTINELS = tuple(f"<{letter}>" for letter in "XYZABCDEFGHIJKLMNOPQRSTUVW")
IGNORED = -100  # a target that torch's cross_entropy ignores


def span_corruption(tokens: list[str], spans: list[tuple[int, int]]) -> tuple[list[str], list[str]]:
    """Return T5's input and target (section 3.1.4 of [1]): a sentinel for each removed span.

    Example: "Thank you for inviting me to your party last week" without (2, 4) and (8, 9) is the
    input "Thank you <X> me to your party <Y> week" and the target "<X> for inviting <Y> last <Z>".

    Args:
        tokens: the text.
        spans: (start, end) of each, end exclusive; in order, not empty, with at least one token
            between any two; there are fewer spans than SENTINELS.

    Returns:
        input and target. The target ends with the sentinel after the last one used.
    """
    # [blocks sentinels]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks sentinels] span_corruption"
        " in submission/building_blocks_pretraining.py is yours to write"
    )
    ### END CODE HERE ###


def bert_mask(
    tokens: torch.Tensor, mask_id: int, vocab_size: int, generator: torch.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return BERT's inputs and targets (section 3.1 of [2]): 15 % of the tokens are predicted.

    Each token is chosen with probability .15. Of those chosen, 80 % are replaced by mask_id, 10 %
    by a token drawn from the whole vocabulary, and 10 % stay as they are. No token moves: the
    target at position t is the token that was at position t.

    Args:
        tokens: ids, shape (B, T), long; they must not be modified.
        mask_id: the id that stands for a masked token.
        vocab_size: ids are 0 .. vocab_size - 1.
        generator: the source of every random number.

    Returns:
        inputs and targets, shape (B, T), long. The target is IGNORED where no token was chosen.
    """
    # [blocks bert mask]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks bert mask] bert_mask"
        " in submission/building_blocks_pretraining.py is yours to write"
    )
    ### END CODE HERE ###


def perplexity(log_probs: torch.Tensor, n_words: int) -> float:
    """Return P(text)^(-1/N): in effect, the number of words between which the model hesitates.

    Args:
        log_probs: natural logarithm of the probability of each token given those before, shape
            (number of tokens,). With 100,000 of them, P itself underflows to 0 in any dtype.
        n_words: N. A word may consist of several tokens.
    """
    # [blocks perplexity]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks perplexity] perplexity"
        " in submission/building_blocks_pretraining.py is yours to write"
    )
    ### END CODE HERE ###


def bits_per_character(loss: float, tokens: int, characters: int) -> float:
    """Return how many bits a language model needs per character of a text.

    Example: a loss of 0.7 nats per token, each token a character, is about 1.01 bits per
    character.

    Args:
        loss: the mean cross-entropy per token, in nats (with natural logarithms).
        tokens: the number of tokens in the text.
        characters: the number of characters in the text.
    """
    # [blocks perplexity]
    ### START CODE HERE ###
    raise NotImplementedError(
        "[blocks perplexity] bits_per_character"
        " in submission/building_blocks_pretraining.py is yours to write"
    )
    ### END CODE HERE ###
