# The settings are those without pretraining, always.
# caught by: pretraining.finetune_configuration, pretraining.loads_pretrained
# region: helper.py, finetune, finetuning
text = Path(finetune_corpus_path).read_text(encoding="utf-8")
finetune_dataset = NameDataset(text, pretrain_dataset)
stage = "finetune_scratch"
recipe = load_recipe(recipe)
synthesizer = model.config.synthesizer
settings = trainer_settings(
    recipe, stage, len(pretrain_dataset), block_size, synthesizer
)
tconf = TrainerConfig(**settings, writer=writer)
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
