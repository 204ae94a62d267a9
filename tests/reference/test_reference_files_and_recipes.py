"""The reference's files and settings: predictions, parameters, recipes, the package's names."""

import pytest

from tests.laid_out import VARIANTS, switch

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
