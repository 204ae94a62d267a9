"""The reference's datasets: span corruption, and questions with their places."""

import numpy as np
import pytest
import torch

from tests.reference.texts import CORPUS, text_of

# Span corruption ----------------------------------------------------------------------------


def parts(s, dataset, index: int) -> tuple[str, str, str]:
    """Prefix, suffix and masked content of a fresh corruption."""
    x, y = dataset[index]
    text = text_of(dataset, [*x, y[-1]])
    prefix, suffix, content, padding = text.split(s.dataset.MASK_CHAR)
    assert set(padding) <= {s.dataset.PAD_CHAR}
    return prefix, suffix, content


def test_corrupted_pieces_put_together_again_are_a_prefix_of_the_document(s):
    dataset = s.dataset.CharCorruptionDataset(CORPUS, 32)
    for _ in range(200):
        for index, document in enumerate(dataset.data):
            prefix, suffix, content = parts(s, dataset, index)
            assert document.startswith(prefix + content + suffix)


def test_every_truncation_from_4_to_the_bound_occurs_and_no_other(s):
    dataset = s.dataset.CharCorruptionDataset(CORPUS, 32)
    # 25 lengths, each with probability 1/25 (28 = 7/8 of 32, the second document is longer).
    # A given one is missed in 600 draws with probability (24/25)^600 < 3e-11; any, below 1e-9.
    seen = {sum(map(len, parts(s, dataset, 1))) for _ in range(600)}
    assert seen == set(range(4, 29))


def test_short_documents_are_never_padded_to_reach_a_length(s):
    dataset = s.dataset.CharCorruptionDataset("abcdef", 32)
    # 3 lengths; one is missed in 60 draws with probability 3 (2/3)^60 < 1e-9.
    assert {sum(map(len, parts(s, dataset, 0))) for _ in range(60)} == {4, 5, 6}


def test_a_quarter_of_the_document_is_masked_on_average(s):
    dataset = s.dataset.CharCorruptionDataset("x" * 100 + "\n", 128)
    shares = []
    for _ in range(4000):
        pieces = parts(s, dataset, 0)
        if sum(map(len, pieces)) >= 40:
            shares.append(len(pieces[2]) / sum(map(len, pieces)))
    # Uniform from 0 to 1/2: deviation .145; of the mean of over 2,000 below .0033. Rounding down
    # lowers the mean by at most 1/160. .03 is more than seven deviations beyond that.
    assert abs(np.mean(shares) - 0.25) < 0.03


def test_x_and_y_are_long_tensors_of_block_size_shifted_by_one(s):
    dataset = s.dataset.CharCorruptionDataset(CORPUS, 32)
    x, y = dataset[1]
    assert x.dtype == y.dtype == torch.long
    assert x.shape == y.shape == (32,)
    assert torch.equal(x[1:], y[:-1])


def test_the_vocabulary_is_pad_mask_and_the_sorted_characters(s):
    dataset = s.dataset.CharCorruptionDataset("ba\ncd\nabcd", 32)
    assert [dataset.itos[i] for i in range(dataset.vocab_size)] == ["□", "⁇", "\n", *"abcd"]
    assert dataset.data == ["abcd"]


# NameDataset --------------------------------------------------------------------------------

ROWS = "Where was Émile Łuk born?\tTromsø\nWhere was Ana Ruiz born?\tLima"


@pytest.mark.parametrize("ending", ["", "\n"])
def test_the_last_row_is_kept_with_and_without_a_newline(s, corpus, ending):
    dataset = s.dataset.NameDataset(ROWS + ending, corpus)
    assert len(dataset) == 2
    assert text_of(dataset, dataset[1][0]).startswith("Where was Ana Ruiz born?⁇Lima⁇□")


def test_letters_outside_ascii_are_kept(s, corpus):
    x, _ = s.dataset.NameDataset(ROWS, corpus)[0]
    assert text_of(corpus, x).startswith("Where was Émile Łuk born?⁇Tromsø⁇□")


def test_y_has_the_place_and_the_mask_behind_it_alone(s, corpus):
    x, y = s.dataset.NameDataset(ROWS, corpus)[1]
    question = len("Where was Ana Ruiz born?")
    assert text_of(corpus, y) == "□" * question + "Lima⁇" + "□" * (64 - question - 5)
    assert torch.equal(y[question:-1], x[question + 1 :])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("no tab", "line 2: got 'no tab', expected a question, one tab, a place"),
        ("a\tb\tc", "line 2"),
        ("\tLima", "line 2"),
        ("", "line 2"),
        ("Where was Ω born?\tLima", "line 2: got the characters 'Ω'"),
        ("W" * 50 + "\t" + "W" * 14, "line 2: got 66 characters with both MASKs.*at most 65"),
    ],
)
def test_a_bad_row_is_an_error_that_names_its_line(s, corpus, row, said):
    with pytest.raises(ValueError, match=said):
        s.dataset.NameDataset(f"Where was Ana Ruiz born?\tLima\n{row}\n", corpus)


def test_a_row_that_just_fits_is_an_example(s, corpus):
    _, y = s.dataset.NameDataset("W" * 50 + "\t" + "W" * 13 + "\n", corpus)[0]
    assert text_of(corpus, y) == "□" * 50 + "W" * 13 + "⁇"
