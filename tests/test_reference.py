"""The reference solution's parts, one by one: datasets, attention, decoding, recipes."""

import cmath
import importlib
import math
import random
import types

import numpy as np
import pytest
import torch
from laid_out import VARIANTS, imports_from, lay_out, make_model, switch

CORPUS = "Ana Ruiz was born in Lima.\nÉmile Łuk, a sailor, was born in Tromsø in 1845.\nabc\nabcd\n"


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("laid_out") / "root") / "src"


@pytest.fixture(scope="module", autouse=True)
def s(source):
    """The modules of the reference, as attributes."""
    with imports_from(source):
        names = [path.stem for path in (source / "submission").glob("*.py")]
        modules = {name: importlib.import_module(f"submission.{name}") for name in names}
        yield types.SimpleNamespace(**modules)


@pytest.fixture(autouse=True)
def seed():
    random.seed(0)
    torch.manual_seed(0)


def text_of(dataset, ids) -> str:
    return "".join(dataset.itos[int(i)] for i in ids)


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


@pytest.fixture
def corpus(s):
    return s.dataset.CharCorruptionDataset(CORPUS + "Where?", 64)


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
    # Sums of at most 16 terms of size 1 to 10: float64 errs by some 1e-14. The cosines of angles
    # are kept in float32, to 6e-8, through scores of some 10 and sums of some 100.
    bound = 1e-4 if variant == "rope" else 1e-11
    np.testing.assert_allclose(block(x)[0].detach().numpy(), expected, rtol=0, atol=bound)


def turned(x: np.ndarray) -> np.ndarray:
    """RoPE of rows 0 to T-1, shape (T, hs), by complex numbers in a loop."""
    T, hs = x.shape
    out = np.zeros_like(x)
    for t in range(T):
        for k in range(hs // 2):
            number = complex(*x[t, 2 * k : 2 * k + 2]) * cmath.exp(1j * t * 10_000 ** (-2 * k / hs))
            out[t, 2 * k : 2 * k + 2] = number.real, number.imag
    return out


def test_rotary_angles_are_those_of_the_paper(s):
    cache = s.attention.precompute_rotary_emb(6, 40)
    assert cache.shape == (40, 3, 2) and cache.dtype == torch.float32
    ones = np.tile([1.0, 0.0], (40, 3))
    expected = turned(ones).reshape(40, 3, 2)
    np.testing.assert_allclose(cache.numpy(), expected, rtol=0, atol=1e-6)  # float32: 6e-8


def test_rope_keeps_lengths_and_scores_depend_on_distances_only(s):
    x = torch.randn(1, 2, 1, 8, dtype=torch.float64).expand(1, 2, 30, 8)  # the same everywhere
    y = torch.randn(1, 2, 1, 8, dtype=torch.float64).expand(1, 2, 30, 8)
    cache = s.attention.precompute_rotary_emb(8, 50)
    q, k = (s.attention.apply_rotary_emb(each, cache) for each in (x, y))
    # The angles' float32 cosines are right to 6e-8; sums of 8 products of some 1 to 5.
    torch.testing.assert_close(q.norm(dim=-1), x.norm(dim=-1), rtol=0, atol=1e-5)
    scores = q @ k.transpose(-2, -1)
    torch.testing.assert_close(scores[..., 1:, 1:], scores[..., :-1, :-1], rtol=0, atol=1e-5)
    assert not torch.allclose(scores[..., 0, 1:], scores[..., 0, :-1], rtol=0, atol=1e-3)


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
    """What greedy_answers should return for a prompt, from utils.sample."""
    written = s.utils.sample(model, torch.tensor([prompt]), steps)[0].tolist()[len(prompt) :]
    end = written.index(stop) if stop in written else len(written)
    probability, context = 1.0, list(prompt)
    for token in written[: end + 1]:
        logits, _ = model(torch.tensor([context[-32:]]))
        probability *= torch.softmax(logits[0, -1].double(), dim=-1)[token].item()
        context.append(token)
    return written[:end], probability


def own_attention(s, model):
    """The same model with a student's own class of attention."""

    class Mine(s.attention.CausalSelfAttention):
        pass

    for block in model.blocks:
        block.attn.__class__ = Mine
    return model


@pytest.mark.parametrize("kind", [*VARIANTS, "own attention"])
@pytest.mark.parametrize("lengths", [[3, 9, 5, 5, 1], [24, 31, 32, 25, 8]])
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
    assert s.decoding.can_cache(make_model(s))
    assert s.decoding.can_cache(make_model(s, "rope"))
    assert not s.decoding.can_cache(make_model(s, "synthesizer"))
    assert not s.decoding.can_cache(own_attention(s, make_model(s)))


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
    # Scores a thousand times as far apart: all but the likeliest have no chance.
    assert torch.equal(s.utils.sample(model, x, 6, temperature=1e-3, sample=True), greedy)


# Scoring and parameters ---------------------------------------------------------------------


def test_evaluate_places_counts_exact_answers(s, tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("Q1\tLima\nQ2\tTromsø\nQ3\tOslo\n", encoding="utf-8")
    assert s.utils.evaluate_places(path, ["Lima", "tromsø", "Oslo "]) == (3, 1)


@pytest.mark.parametrize("predictions", [["Lima"], ["Lima"] * 3])
def test_a_wrong_number_of_predictions_is_refused_with_both_numbers(s, tmp_path, predictions):
    path = tmp_path / "dev.tsv"
    path.write_text("Q1\tLima\nQ2\tTromsø\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"got {len(predictions)} predictions, expected 2"):
        s.utils.evaluate_places(path, predictions)


def test_questions_alone_score_nothing_and_say_so(s, tmp_path, capsys):
    path = tmp_path / "test.tsv"
    path.write_text("Q1\nQ2\n", encoding="utf-8")
    assert s.utils.evaluate_places(path, ["Lima", "Lima"]) == (0, 0)
    assert "no answers" in capsys.readouterr().out


def test_london_baseline_counts_london(s, tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("Q1\tLondon\nQ2\tLima\nQ3\tLondon\n", encoding="utf-8")
    assert s.london_baseline.london_baseline(str(path)) == (2, 3)


def test_parameters_written_and_read_are_the_same(s, tmp_path):
    model, other = make_model(s), make_model(s)
    s.utils.save_parameters(model, tmp_path / "p")
    other.load_state_dict(s.utils.load_parameters(tmp_path / "p", other))
    for name, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[name], value)


def test_a_write_that_fails_leaves_the_older_file_alone(s, tmp_path):
    path = tmp_path / "p"
    path.write_text("older", encoding="utf-8")

    def write(file):
        file.write(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        s.utils.save_atomically(write, path)
    assert path.read_text(encoding="utf-8") == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_weights_that_would_run_code_are_refused(s, tmp_path):
    torch.save({"model": print}, tmp_path / "p")
    with pytest.raises(ValueError, match="no readable parameters"):
        s.utils.load_parameters(tmp_path / "p", make_model(s))


# Recipes and helper -------------------------------------------------------------------------


def test_the_original_recipe_has_the_public_courses_numbers(s):
    recipe = s.recipes.load_recipe("original")
    assert (recipe.model["n_layer"], recipe.model["n_head"], recipe.model["n_embd"]) == (4, 8, 256)
    for stage, epochs, batch, rate in [
        ("pretrain", 650, 128, 6e-3),
        ("finetune_scratch", 75, 256, 6e-4),
        ("finetune_pretrained", 10, 256, 6e-4),
    ]:
        settings = s.recipes.trainer_settings(recipe, stage, 1000, 128)
        config = s.trainer.TrainerConfig(**settings)
        assert (config.max_epochs, config.batch_size) == (epochs, batch)
        assert (config.learning_rate, config.lr_decay) == (rate, True)
        assert (config.warmup_tokens, config.final_tokens) == (512 * 20, 200 * 1000 * 128)
        assert (config.betas, config.weight_decay) == ((0.9, 0.95), 0.1)
        assert (config.grad_norm_clip, config.optimizer) == (1.0, "adamw")


def test_every_recipe_builds_both_variants_and_all_stages(s, source):
    names = list(s.recipes._tables()["recipes"])
    assert {"laptop", "original", "real", "smoke"} <= set(names)
    for name in names:
        recipe = s.recipes.load_recipe(name)
        for variant in VARIANTS:
            s.model.GPT(s.model.GPTConfig(50, **recipe.model, **switch(variant)))
            synthesizer = variant == "synthesizer"
            for stage in s.recipes.STAGES:
                settings = s.recipes.trainer_settings(recipe, stage, 10, 128, synthesizer)
                s.trainer.TrainerConfig(**settings)


def test_a_recipe_may_differ_for_the_synthesizer(s):
    recipe = s.recipes.load_recipe("laptop")
    vanilla = s.recipes.trainer_settings(recipe, "pretrain", 10, 128)
    other = s.recipes.trainer_settings(recipe, "pretrain", 10, 128, synthesizer=True)
    overrides = recipe.pretrain["synthesizer"]
    assert overrides and other == vanilla | overrides


def test_without_a_name_the_installed_data_sets_recipe_is_meant(s):
    assert s.recipes.installed_dataset() == "smoke"
    assert s.recipes.load_recipe().name == "tiny"
    assert s.recipes.default_recipe("real") == "original"
    assert s.recipes.default_recipe(None) == "laptop"


def test_learning_rates_given_replace_the_recipes(s, source):
    corpus = s.dataset.CharCorruptionDataset(CORPUS + "Where?", 64)
    model = s.helper.initialize_vanilla_model(s.model.GPTConfig(corpus.vocab_size, 64))
    tconf, trainer = s.helper.pretrain(corpus, 64, model, pretrain_lr=0.5)
    assert tconf.learning_rate == 0.5
    assert (trainer.train_dataset, trainer.model, trainer.config) == (corpus, model, tconf)


def test_finetuning_loads_the_parameters_given_and_trains_on_names(s, tmp_path):
    corpus = s.dataset.CharCorruptionDataset(CORPUS + "Where?", 32)
    model, pretrained = make_model(s), make_model(s)
    s.utils.save_parameters(pretrained, tmp_path / "p")
    (tmp_path / "train.tsv").write_text("Where was Ana born?\tLima\n", encoding="utf-8")
    _, trainer = s.helper.finetune(
        str(tmp_path / "p"), str(tmp_path / "train.tsv"), corpus, 32, model, recipe="laptop"
    )
    assert torch.equal(model.head.weight, pretrained.head.weight)
    assert isinstance(trainer.train_dataset, s.dataset.NameDataset)
    assert (
        trainer.config.max_epochs
        == (s.recipes.load_recipe("laptop").finetune_pretrained["max_epochs"])
    )


# Attention exploration ----------------------------------------------------------------------


def some_keys(n: int, d: int, seed: int, cosine: float) -> np.ndarray:
    """n unit vectors of d dimensions, any two of which have a cosine of at most this, or -this."""
    draws, keys = np.random.default_rng(seed), []
    while len(keys) < n:
        key = draws.normal(size=d)
        key /= np.linalg.norm(key)
        if all(abs(key @ other) <= cosine for other in keys):
            keys.append(key)
    return np.array(keys)


@pytest.mark.parametrize("seed", range(5))
def test_copying_query_puts_all_weight_on_one_value(s, seed):
    keys = some_keys(6, 12, seed, 0.5)
    for j in range(6):
        query = s.attention_exploration.copying_query(keys, j)
        _, alpha = s.attention_exploration.attention(query, keys, np.eye(6))
        assert alpha[j] > 0.999


@pytest.mark.parametrize("seed", range(5))
def test_average_query_shares_the_weight_between_two_values(s, seed):
    # Scores of a and b exceed 1 - .15, those of others are below .3: far enough apart.
    keys = some_keys(6, 12, seed, 0.15)
    for a, b in [(0, 1), (4, 2), (5, 0)]:
        query = s.attention_exploration.average_query(keys, a, b)
        c, alpha = s.attention_exploration.attention(query, keys, np.eye(6))
        np.testing.assert_allclose(alpha[[a, b]], 0.5, rtol=0, atol=1e-3)
        np.testing.assert_allclose(c, alpha)


def test_names_can_be_taken_from_the_package(s):
    import submission

    assert submission.GPT is s.model.GPT
    assert submission.NameDataset is s.dataset.NameDataset
    with pytest.raises(AttributeError, match="GPTX"):
        submission.GPTX  # noqa: B018
