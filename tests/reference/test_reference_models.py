"""The reference's models: what they refuse, and decoding.

Their attention is compared with its formula by the grader's own tests, on right solutions.
"""

import types

import pytest
import torch

from tests.laid_out import VARIANTS, make_model

# Models -------------------------------------------------------------------------------------


def test_a_rotary_model_has_no_learned_positions_and_saves_no_angles(s):
    model = s.helper.initialize_rope_model(s.model.GPTConfig(vocab_size=20, block_size=32))
    assert not [name for name in model.state_dict() if "pos_emb" in name or "rope" in name]
    ids = torch.randint(2, 20, (1, 9))
    assert not torch.allclose(model(ids)[0][:, -1], model(ids.roll(1, 1))[0][:, -1])


def test_an_earlier_years_config_knows_no_rope(s):
    fields = {"n_embd": 16, "n_head": 4, "block_size": 8, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    assert not s.attention.CausalSelfAttention(types.SimpleNamespace(**fields)).rope


def test_what_makes_no_sense_is_refused_with_its_numbers(s):
    for settings, message in (
        ({"rope": True, "synthesizer": True}, "got synthesizer and rope, expected one"),
        ({"rope": True, "n_embd": 12}, "a head has 3 channels, expected an even number"),
        ({"n_embd": 18}, "n_embd is 18, expected a multiple of n_head, 4"),
    ):
        with pytest.raises(ValueError, match=message):
            make_model(s, **settings)
    with pytest.raises(ValueError, match="length 33, expected at most 32"):
        make_model(s)(torch.ones(1, 33, dtype=torch.long))
    with pytest.raises(TypeError, match="n_heads"):
        s.model.GPTConfig(vocab_size=20, block_size=32, n_heads=4)
    with pytest.raises(TypeError, match="epochs"):
        s.trainer.TrainerConfig(epochs=4)


# Decoding -----------------------------------------------------------------------------------


def prompts(lengths) -> list[list[int]]:
    return [torch.randint(2, 20, (length,)).tolist() for length in lengths]


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


def own_attention(s, model):
    """Return the same model with a student's own attention class."""

    class Mine(s.attention.CausalSelfAttention):
        def forward(self, x, layer_past=None):
            return 2 * super().forward(x)

    for block in model.blocks:
        block.attn.__class__ = Mine
    return model


@pytest.mark.parametrize("kind", [*VARIANTS, "own attention"])
@pytest.mark.parametrize("lengths", [[3, 9, 5, 5, 1], [24, 31, 32, 25, 8]])
# With a cache: the given attention, and prompts that leave room in the block.
@pytest.mark.sampled(4, group_of=lambda *values: "vanilla" in values and [3, 9, 5, 5, 1] in values)
def test_batched_decoding_agrees_with_sampling_one_by_one(s, kind, lengths):
    model = make_model(s, kind if kind in VARIANTS else "vanilla")
    if kind == "own attention":
        model = own_attention(s, model)
    asked = prompts(lengths * 4)
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


def test_sampling_follows_temperature_and_top_k(s):
    model, x = make_model(s), torch.tensor([[3, 4, 5]])
    greedy = s.utils.sample(model, x, 6)
    assert greedy.shape == (1, 9) and torch.equal(greedy[:, :3], x)
    assert torch.equal(s.utils.sample(model, x, 6, sample=True, top_k=1), greedy)
    # Scores a thousand times as far apart: only the likeliest has a chance.
    assert torch.equal(s.utils.sample(model, x, 6, temperature=1e-3, sample=True), greedy)
