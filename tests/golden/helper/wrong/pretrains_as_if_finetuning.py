# Pretraining gets the settings of a finetuning.
# caught by: pretraining.pretrain_configuration, pretraining.loads_pretrained
# region: helper.py, pretrain, pretraining
recipe, synthesizer = load_recipe(recipe), model.config.synthesizer
settings = trainer_settings(
    recipe, "finetune_scratch", len(pretrain_dataset), block_size, synthesizer
)
tconf = TrainerConfig(**settings, writer=writer)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
