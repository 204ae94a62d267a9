# The synthesizer's own settings are not asked for.
# caught by: pretraining.loads_pretrained
# region: helper.py, pretrain, pretraining
recipe, synthesizer = load_recipe(recipe), model.config.synthesizer
settings = trainer_settings(
    recipe, "pretrain", len(pretrain_dataset), block_size, False
)
tconf = TrainerConfig(**settings, writer=writer)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
