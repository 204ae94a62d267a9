"""The reference: its data sets, models, decoding and scores.

Span corruption and attention are what the grader's own tests check, on right solutions, too.
"""

import pytest
import torch

from tests.laid_out import VARIANTS, make_model

# Data sets ----------------------------------------------------------------------------------

ROWS = "Where was Émile Łuk born?\tTromsø\nWhere was Ana Ruiz born?\tLima"


def text_of(dataset, ids) -> str:
    return "".join(dataset.itos[int(i)] for i in ids)


def test_documents_are_the_lines_of_four_characters_or_more(s):
    dataset = s.dataset.CharCorruptionDataset("abc\nabcd\n\nabcde\n", 64)
    assert dataset.data == ["abcd", "abcde"]


def test_every_row_is_an_example_whose_targets_are_the_place_and_the_mask_behind_it(s):
    corpus = s.dataset.CharCorruptionDataset(ROWS, 64)
    for ending in ("", "\n"):
        dataset = s.dataset.NameDataset(ROWS + ending, corpus)
        assert len(dataset) == 2
        first, (x, y) = dataset[0][0], dataset[1]
        assert text_of(corpus, first).startswith("Where was Émile Łuk born?⁇Tromsø⁇□")
        assert text_of(corpus, x).startswith("Where was Ana Ruiz born?⁇Lima⁇□")
        question = len("Where was Ana Ruiz born?")
        assert text_of(corpus, y) == "□" * question + "Lima⁇" + "□" * (64 - question - 5)


# Decoding -----------------------------------------------------------------------------------


def one_by_one(s, model, prompt: list[int], stop: int, steps: int) -> tuple[list[int], float]:
    """Return what greedy_answers should return for a prompt, computed with utils.sample."""
    written = s.utils.sample(model, torch.tensor([prompt]), steps)[0].tolist()[len(prompt) :]
    end = written.index(stop) if stop in written else len(written)
    probability, context = 1.0, list(prompt)
    for token in written[: end + 1]:
        logits, _ = model(torch.tensor([context[-32:]]))
        probability *= torch.softmax(logits[0, -1].double(), dim=-1)[token].item()
        context.append(token)
    return written[:end], probability


@pytest.mark.parametrize("kind", [*VARIANTS, "own attention"])
@pytest.mark.parametrize("lengths", [[3, 9, 5, 5, 1], [24, 31, 32, 25, 8]])
# With a cache: the given attention, and prompts that leave room in the block.
@pytest.mark.sampled(4, group_of=lambda *values: "vanilla" in values and [3, 9, 5, 5, 1] in values)
def test_batched_decoding_agrees_with_sampling_one_by_one(s, kind, lengths):
    model = make_model(s, kind if kind in VARIANTS else "vanilla")

    class Mine(s.attention.CausalSelfAttention):
        def forward(self, x, layer_past=None):
            return 2 * super().forward(x)

    if kind == "own attention":
        for block in model.blocks:
            block.attn.__class__ = Mine
    asked = [torch.randint(2, 20, (length,)).tolist() for length in lengths * 4]
    # An id that this model writes, so that answers of several lengths are compared.
    stop = s.utils.sample(model, torch.tensor(asked[:1]), 4)[0, -1].item()
    lengths_written = set()
    for prompt, (ids, probability) in zip(
        asked, s.decoding.greedy_answers(model, asked, stop, 8), strict=True
    ):
        expected_ids, expected = one_by_one(s, model, prompt, stop, 8)
        assert ids == expected_ids
        # Up to 8 factors from float32 scores of size 10, each right to some 1e-5.
        assert probability == pytest.approx(expected, rel=1e-3)
        lengths_written.add(len(ids))
    assert len(lengths_written) > 2 and 8 in lengths_written


# Scores -------------------------------------------------------------------------------------


def test_places_are_counted_if_they_are_exact_and_one_for_each_question(s, tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("Q1\tLima\nQ2\tTromsø\nQ3\tOslo\n", encoding="utf-8")
    assert s.utils.evaluate_places(path, ["Lima", "tromsø", "Oslo "]) == (3, 1)
    for count in (2, 4):
        with pytest.raises(ValueError, match=f"got {count} predictions, expected 3"):
            s.utils.evaluate_places(path, ["Lima"] * count)


def test_names_can_be_taken_from_the_package(s):
    from submission import GPT, NameDataset

    assert (GPT, NameDataset) == (s.model.GPT, s.dataset.NameDataset)
