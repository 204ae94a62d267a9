"""The reference's files and settings: predictions, parameters, recipes, the package's names."""

import dataclasses

import pytest
import torch

from tests.laid_out import VARIANTS, make_model, switch
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
        s.files.save_atomically(write, path)
    assert path.read_text(encoding="utf-8") == "older"
    assert list(tmp_path.iterdir()) == [path]


def test_weights_that_would_run_code_are_refused(s, tmp_path):
    torch.save({"model": print}, tmp_path / "p")
    with pytest.raises(ValueError, match="can't be read as parameters"):
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
            s.model.GPT(s.model.GPTConfig(50, **recipe.model_of(variant), **switch(variant)))
            for stage in s.recipes.STAGES:
                settings = s.recipes.trainer_settings(recipe, stage, 10, 128, variant)
                s.trainer.TrainerConfig(**settings)


def test_a_recipe_may_have_another_model_for_the_synthesizer(s):
    model = {"n_layer": 4, "n_embd": 8, "synthesizer": {"n_layer": 3, "n_embd": 8}}
    recipe = s.recipes.Recipe("r", "R", model, {}, {}, {})
    shapes = {variant: recipe.model_of(variant) for variant in VARIANTS}
    assert shapes["vanilla"] == shapes["rope"] == {"n_layer": 4, "n_embd": 8}
    assert shapes["synthesizer"] == {"n_layer": 3, "n_embd": 8}


def test_a_recipe_may_differ_for_the_synthesizer(s):
    recipe = s.recipes.load_recipe("laptop")
    vanilla = s.recipes.trainer_settings(recipe, "pretrain", 10, 128)
    other = s.recipes.trainer_settings(recipe, "pretrain", 10, 128, "synthesizer")
    own = recipe.pretrain["synthesizer"]
    assert other == own | {"betas": tuple(own["betas"])} != vanilla
    assert other.keys() == vanilla.keys()
    # Code of earlier terms passes a bool.
    sizes = recipe, "pretrain", 10, 128
    assert s.recipes.trainer_settings(*sizes, True) == other
    assert s.recipes.trainer_settings(*sizes, synthesizer=True) == other
    assert s.recipes.trainer_settings(*sizes, False) == vanilla


def test_any_variant_may_have_its_own_settings(s):
    recipe = s.recipes.load_recipe("laptop")
    own = recipe.pretrain | {"max_epochs": 7, "synthesizer": {}}
    recipe = dataclasses.replace(recipe, pretrain=recipe.pretrain | {"rope": own, "vanilla": own})
    for variant in ("rope", "vanilla", False):
        settings = s.recipes.trainer_settings(recipe, "pretrain", 10, 128, variant)
        assert settings["max_epochs"] == 7


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


# The package --------------------------------------------------------------------------------


def test_names_can_be_taken_from_the_package(s):
    import submission

    assert submission.GPT is s.model.GPT
    assert submission.NameDataset is s.dataset.NameDataset
    with pytest.raises(AttributeError, match="GPTX"):
        submission.GPTX  # noqa: B018
