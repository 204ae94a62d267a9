"""The reference's NameDataset; span corruption is what the grader's own tests check."""

import pytest
import torch

from tests.reference.texts import text_of

ROWS = "Where was Émile Łuk born?\tTromsø\nWhere was Ana Ruiz born?\tLima"


@pytest.mark.parametrize("ending", ["", "\n"])
def test_every_row_and_letter_is_kept_with_and_without_a_newline(s, corpus, ending):
    dataset = s.dataset.NameDataset(ROWS + ending, corpus)
    assert len(dataset) == 2
    first, second = (text_of(dataset, dataset[i][0]) for i in range(2))
    assert first.startswith("Where was Émile Łuk born?⁇Tromsø⁇□")
    assert second.startswith("Where was Ana Ruiz born?⁇Lima⁇□")


def test_y_has_the_place_and_the_mask_behind_it_alone(s, corpus):
    x, y = s.dataset.NameDataset(ROWS, corpus)[1]
    question = len("Where was Ana Ruiz born?")
    assert text_of(corpus, y) == "□" * question + "Lima⁇" + "□" * (64 - question - 5)
    assert torch.equal(y[question:-1], x[question + 1 :])


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("a\tb\tc", "line 2"),
        ("\tLima", "line 2"),
        ("", "line 2"),
        ("W" * 50 + "\t" + "W" * 14, "line 2: got 66 characters with both MASKs.*at most 65"),
    ],
)
def test_a_bad_row_is_an_error_that_names_its_line(s, corpus, row, said):
    with pytest.raises(ValueError, match=said):
        s.dataset.NameDataset(f"Where was Ana Ruiz born?\tLima\n{row}\n", corpus)


def test_a_row_that_just_fits_is_an_example(s, corpus):
    _, y = s.dataset.NameDataset("W" * 50 + "\t" + "W" * 13 + "\n", corpus)[0]
    assert text_of(corpus, y) == "□" * 50 + "W" * 13 + "⁇"
