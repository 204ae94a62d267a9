"""The reference's NameDataset; span corruption is what the grader's own tests check."""

import pytest

ROWS = "Where was Émile Łuk born?\tTromsø\nWhere was Ana Ruiz born?\tLima"


def text_of(dataset, ids) -> str:
    return "".join(dataset.itos[int(i)] for i in ids)


def test_documents_are_the_lines_of_four_characters_or_more(s):
    dataset = s.dataset.CharCorruptionDataset("abc\nabcd\n\nabcde\n", 64)
    assert dataset.data == ["abcd", "abcde"]


def test_every_row_is_an_example_whose_targets_are_the_place_and_the_mask_behind_it(s, corpus):
    for ending in ("", "\n"):
        dataset = s.dataset.NameDataset(ROWS + ending, corpus)
        assert len(dataset) == 2
        first, (x, y) = dataset[0][0], dataset[1]
        assert text_of(corpus, first).startswith("Where was Émile Łuk born?⁇Tromsø⁇□")
        assert text_of(corpus, x).startswith("Where was Ana Ruiz born?⁇Lima⁇□")
        question = len("Where was Ana Ruiz born?")
        assert text_of(corpus, y) == "□" * question + "Lima⁇" + "□" * (64 - question - 5)


def test_a_bad_row_is_an_error_that_names_its_line(s, corpus):
    for row, said in (
        ("a\tb\tc", "line 2"),
        ("", "line 2"),
        ("W" * 50 + "\t" + "W" * 14, "line 2: got 66 characters with both MASKs.*at most 65"),
    ):
        with pytest.raises(ValueError, match=said):
            s.dataset.NameDataset(f"Where was Ana Ruiz born?\tLima\n{row}\n", corpus)


def test_a_row_that_just_fits_is_an_example(s, corpus):
    _, y = s.dataset.NameDataset("W" * 50 + "\t" + "W" * 13 + "\n", corpus)[0]
    assert text_of(corpus, y) == "□" * 50 + "W" * 13 + "⁇"
