"""The reference's models: attention, its variants, and decoding."""

import cmath
import math
import types

import numpy as np
import pytest
import torch

from tests.laid_out import VARIANTS, make_model

# Attention and model ------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_attention_agrees_with_its_formula_head_by_head(s, variant):
    T, C, nh, hs = 7, 16, 4, 4
    block = make_model(s, variant).double().blocks[0].attn
    x = torch.randn(1, T, C, dtype=torch.float64)
    n = {name: value.detach().numpy() for name, value in block.state_dict().items()}
    X, heads = x[0].numpy(), []
    for head in range(nh):
        own = slice(head * hs, (head + 1) * hs)

        def linear(name, own=own):
            return X @ n[f"{name}.weight"][own].T + n[f"{name}.bias"][own]

        if variant == "synthesizer":
            scores = np.maximum(linear("w1"), 0) @ n["w2"][:, :T] + n["b2"][:T]
        else:
            q, k = linear("query"), linear("key")
            if variant == "rope":
                q, k = turned(q), turned(k)
            scores = q @ k.T / math.sqrt(hs)
        scores[np.triu_indices(T, 1)] = -np.inf
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        heads.append(weights / weights.sum(axis=1, keepdims=True) @ linear("value"))
    expected = np.concatenate(heads, axis=1) @ n["proj.weight"].T + n["proj.bias"]
    # Sums of at most 16 terms of size 1 to 10: float64's error is about 1e-14. The angles' cosines
    # are float32, right to 6e-8, with scores of about 10 and sums of about 100.
    bound = 1e-4 if variant == "rope" else 1e-11
    np.testing.assert_allclose(block(x)[0].detach().numpy(), expected, rtol=0, atol=bound)


def turned(x: np.ndarray) -> np.ndarray:
    """Return RoPE of rows 0 to T-1, shape (T, hs), by complex numbers in a loop."""
    T, hs = x.shape
    out = np.zeros_like(x)
    for t in range(T):
        for k in range(hs // 2):
            number = complex(*x[t, 2 * k : 2 * k + 2]) * cmath.exp(1j * t * 10_000 ** (-2 * k / hs))
            out[t, 2 * k : 2 * k + 2] = number.real, number.imag
    return out


def test_a_rotary_model_has_no_learned_positions_and_saves_no_angles(s):
    model = s.helper.initialize_rope_model(s.model.GPTConfig(vocab_size=20, block_size=32))
    assert not [name for name in model.state_dict() if "pos_emb" in name or "rope" in name]
    ids = torch.randint(2, 20, (1, 9))
    assert not torch.allclose(model(ids)[0][:, -1], model(ids.roll(1, 1))[0][:, -1])


def test_a_rotary_model_reads_parameters_of_another_block_size(s):
    long, short = (make_model(s, "rope", block_size=size) for size in (32, 24))
    long.load_state_dict({n: p for n, p in short.state_dict().items() if "mask" not in n}, False)
    ids = torch.randint(2, 20, (2, 20))
    assert torch.equal(long(ids)[0], short(ids)[0])


def test_impossible_variants_are_refused(s):
    with pytest.raises(ValueError, match="got synthesizer and rope, expected one"):
        make_model(s, "rope", synthesizer=True)
    with pytest.raises(ValueError, match="a head has 3 channels, expected an even number"):
        make_model(s, "rope", n_embd=12)


def test_an_earlier_years_config_knows_no_rope(s):
    fields = {"n_embd": 16, "n_head": 4, "block_size": 8, "attn_pdrop": 0.0, "resid_pdrop": 0.0}
    assert not s.attention.CausalSelfAttention(types.SimpleNamespace(**fields)).rope


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_later_character_changes_no_earlier_output(s, variant):
    model = make_model(s, variant)
    a = torch.randint(2, 20, (1, 12))
    b = a.clone()
    b[0, 8] = (b[0, 8] - 1) % 20
    before, after = model(a)[0], model(b)[0]
    assert torch.equal(before[:, :8], after[:, :8])
    assert not torch.equal(before[:, 8:], after[:, 8:])


def test_the_variant_decides_the_attention(s):
    fields = {"vocab_size": 20, "block_size": 32}
    vanilla = s.helper.initialize_vanilla_model(s.model.GPTConfig(**fields))
    other = s.helper.initialize_synthesizer_model(s.model.GPTConfig(**fields))
    rope = s.helper.initialize_rope_model(s.model.GPTConfig(**fields))
    assert all(type(b.attn) is s.attention.CausalSelfAttention for b in vanilla.blocks)
    assert all(b.attn.rope for b in rope.blocks) and not any(b.attn.rope for b in vanilla.blocks)
    assert all(type(b.attn) is s.attention.SynthesizerAttention for b in other.blocks)
    assert [m.variant for m in (vanilla, other, rope)] == ["vanilla", "synthesizer", "rope"]


def test_padding_in_targets_is_not_learnt(s):
    model = make_model(s)
    idx, targets = torch.randint(2, 20, (3, 9)), torch.randint(1, 20, (3, 9))
    targets[:, ::2] = 0
    logits, loss = model(idx, targets)
    logp = torch.log_softmax(logits, dim=-1).gather(2, targets[:, :, None])[:, :, 0]
    torch.testing.assert_close(loss, -logp[targets != 0].mean())


def test_unknown_settings_are_refused_by_name(s):
    with pytest.raises(TypeError, match="n_heads"):
        s.model.GPTConfig(vocab_size=20, block_size=32, n_heads=4)
    with pytest.raises(TypeError, match="epochs"):
        s.trainer.TrainerConfig(epochs=4)


def test_channels_that_heads_cannot_share_are_refused(s):
    with pytest.raises(ValueError, match="n_embd is 18, expected a multiple of n_head, 4"):
        make_model(s, n_embd=18)


def test_a_sequence_longer_than_the_block_is_refused(s):
    with pytest.raises(ValueError, match="length 33, expected at most 32"):
        make_model(s)(torch.ones(1, 33, dtype=torch.long))


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
        pass

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


def test_only_the_given_attention_is_cached(s):
    assert s.pretraining.has_replaceable_attention(make_model(s))
    assert s.pretraining.has_replaceable_attention(make_model(s, "rope"))
    assert not s.pretraining.has_replaceable_attention(make_model(s, "synthesizer"))
    assert not s.pretraining.has_replaceable_attention(own_attention(s, make_model(s)))


def test_an_answer_is_the_text_between_the_first_and_second_mask(s, corpus, monkeypatch):
    ids = [corpus.stoi[ch] for ch in "Lima"]
    monkeypatch.setattr(s.utils, "greedy_answers", lambda *arguments: [(ids, 0.5)])
    model = make_model(s, vocab_size=corpus.vocab_size, block_size=64)
    (prediction,) = s.utils.predict_places(model, corpus, ["Where?"])
    assert (prediction.place, prediction.probability) == ("Lima", 0.5)


def test_sampling_follows_temperature_and_top_k(s):
    model, x = make_model(s), torch.tensor([[3, 4, 5]])
    greedy = s.utils.sample(model, x, 6)
    assert greedy.shape == (1, 9) and torch.equal(greedy[:, :3], x)
    assert torch.equal(s.utils.sample(model, x, 6, sample=True, top_k=1), greedy)
    # Scores a thousand times as far apart: only the likeliest has a chance.
    assert torch.equal(s.utils.sample(model, x, 6, temperature=1e-3, sample=True), greedy)
