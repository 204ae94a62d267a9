"""The reference's files and settings: predictions, parameters, recipes, the package's names."""

import pytest

from tests.laid_out import VARIANTS, switch
from tests.reference.texts import CORPUS

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
            s.model.GPT(s.model.GPTConfig(50, **recipe.model_of(variant), **switch(variant)))
            for stage in s.recipes.STAGES:
                settings = s.recipes.trainer_settings(recipe, stage, 10, 128, variant)
                s.trainer.TrainerConfig(**settings)


def test_a_recipe_may_differ_for_any_variant(s):
    model = {"n_layer": 4, "n_embd": 8, "synthesizer": {"n_layer": 3, "n_embd": 8}}
    stage = {"max_epochs": 2, "betas": [0.9, 0.95], "synthesizer": {"betas": [0.8, 0.9]}}
    stage["rope"] = stage | {"max_epochs": 7}
    recipe = s.recipes.Recipe("r", "R", model, stage, {}, {})
    shapes = {variant: recipe.model_of(variant) for variant in VARIANTS}
    assert shapes["vanilla"] == shapes["rope"] == {"n_layer": 4, "n_embd": 8}
    assert shapes["synthesizer"] == {"n_layer": 3, "n_embd": 8}

    def settings(*variant, **keywords):
        return s.recipes.trainer_settings(recipe, "pretrain", 10, 128, *variant, **keywords)

    vanilla = {"max_epochs": 2, "betas": (0.9, 0.95)}
    assert settings() == settings("vanilla") == vanilla
    assert settings("rope") == vanilla | {"max_epochs": 7}
    assert settings("synthesizer") == {"betas": (0.8, 0.9)}
    # Code of earlier terms passes a bool.
    assert settings(True) == settings(synthesizer=True) == settings("synthesizer")
    assert settings(False) == vanilla


def test_without_a_name_the_installed_data_sets_recipe_is_meant(s):
    assert s.recipes.installed_dataset() == "smoke"
    assert s.recipes.load_recipe().name == "tiny"
    assert s.recipes.default_recipe("real") == "real"
    assert s.recipes.default_recipe(None) == "laptop"


def test_learning_rates_given_replace_the_recipes(s, source):
    corpus = s.dataset.CharCorruptionDataset(CORPUS + "Where?", 64)
    model = s.helper.initialize_vanilla_model(s.model.GPTConfig(corpus.vocab_size, 64))
    tconf, trainer = s.helper.pretrain(corpus, 64, model, pretrain_lr=0.5)
    assert tconf.learning_rate == 0.5
    assert (trainer.train_dataset, trainer.model, trainer.config) == (corpus, model, tconf)


# The package --------------------------------------------------------------------------------


def test_names_can_be_taken_from_the_package(s):
    import submission

    assert submission.GPT is s.model.GPT
    assert submission.NameDataset is s.dataset.NameDataset
    with pytest.raises(AttributeError, match="GPTX"):
        submission.GPTX  # noqa: B018
