"""The reference: its data sets, models, decoding, files and recipes.

Span corruption and attention are what the grader's own tests check, on right solutions, too.
"""

import types

import pytest
import torch

from tests.laid_out import VARIANTS, make_model, switch

# Data sets ----------------------------------------------------------------------------------

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


def test_a_bad_row_is_an_error_that_names_its_line_and_one_that_just_fits_is_none(s, corpus):
    fits = "W" * 50 + "\t" + "W" * 13
    for row in ("a\tb\tc", "", fits + "W"):
        with pytest.raises(ValueError, match="line 2"):
            s.dataset.NameDataset(f"Where was Ana Ruiz born?\tLima\n{row}\n", corpus)
    _, y = s.dataset.NameDataset(fits + "\n", corpus)[0]
    assert text_of(corpus, y) == "□" * 50 + "W" * 13 + "⁇"


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


# Scoring and parameters ---------------------------------------------------------------------


def test_places_are_counted_if_they_are_exact_and_one_for_each_question(s, tmp_path):
    path = tmp_path / "dev.tsv"
    path.write_text("Q1\tLima\nQ2\tTromsø\nQ3\tOslo\n", encoding="utf-8")
    assert s.utils.evaluate_places(path, ["Lima", "tromsø", "Oslo "]) == (3, 1)
    for count in (2, 4):
        with pytest.raises(ValueError, match=f"got {count} predictions, expected 3"):
            s.utils.evaluate_places(path, ["Lima"] * count)


def test_a_write_that_fails_leaves_the_older_file_alone(s, tmp_path):
    path = tmp_path / "p"
    path.write_text("older", encoding="utf-8")

    def write(file):
        file.write(b"half")
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        s.files.save_atomically(write, path)
    assert path.read_text(encoding="utf-8") == "older"
    assert list(tmp_path.iterdir()) == [path]


# Recipes and helper -------------------------------------------------------------------------


def test_every_recipe_builds_both_variants_and_all_stages(s):
    names = list(s.recipes._tables()["recipes"])
    assert {"laptop", "original", "real", "smoke"} <= set(names)
    for name in names:
        recipe = s.recipes.load_recipe(name)
        for variant in VARIANTS:
            s.model.GPT(s.model.GPTConfig(50, **recipe.model_of(variant), **switch(variant)))
            for stage in s.recipes.STAGES:
                settings = s.recipes.trainer_settings(recipe, stage, 10, 128, variant)
                s.trainer.TrainerConfig(**settings)


def test_a_recipe_may_differ_for_any_variant(s):
    model = {"n_layer": 4, "n_embd": 8, "synthesizer": {"n_layer": 3, "n_embd": 8}}
    stage = {"max_epochs": 2, "betas": [0.9, 0.95], "synthesizer": {"betas": [0.8, 0.9]}}
    recipe = s.recipes.Recipe("r", "R", model, stage, {}, {})
    shapes = {variant: recipe.model_of(variant) for variant in VARIANTS}
    assert shapes["vanilla"] == shapes["rope"] == {"n_layer": 4, "n_embd": 8}
    assert shapes["synthesizer"] == {"n_layer": 3, "n_embd": 8}

    def settings(*variant, **keywords):
        return s.recipes.trainer_settings(recipe, "pretrain", 10, 128, *variant, **keywords)

    assert settings() == settings("rope") == {"max_epochs": 2, "betas": (0.9, 0.95)}
    assert settings("synthesizer") == {"betas": (0.8, 0.9)}
    # Code of earlier terms passes a bool.
    assert settings(True) == settings(synthesizer=True) == settings("synthesizer")
    assert settings(False) == settings()


def test_without_a_name_the_installed_data_sets_recipe_is_meant(s):
    assert s.recipes.installed_dataset() == "smoke"
    assert s.recipes.load_recipe().name == "tiny"
    assert s.recipes.default_recipe("real") == "real"
    assert s.recipes.default_recipe(None) == "laptop"


def test_learning_rates_given_replace_the_recipes(s, corpus, tmp_path):
    model = s.helper.initialize_vanilla_model(s.model.GPTConfig(corpus.vocab_size, 64))
    tconf, trainer = s.helper.pretrain(corpus, 64, model, pretrain_lr=0.5)
    assert tconf.learning_rate == 0.5
    assert (trainer.train_dataset, trainer.model, trainer.config) == (corpus, model, tconf)
    (tmp_path / "t.tsv").write_text("Where was Ana Ruiz born?\tLima\n", encoding="utf-8")
    tconf, _ = s.helper.finetune(None, tmp_path / "t.tsv", corpus, 64, model, finetune_lr=0.25)
    assert tconf.learning_rate == 0.25


# The package --------------------------------------------------------------------------------


def test_names_can_be_taken_from_the_package(s):
    import submission

    assert submission.GPT is s.model.GPT
    assert submission.NameDataset is s.dataset.NameDataset
    with pytest.raises(AttributeError, match="GPTX"):
        submission.GPTX  # noqa: B018
