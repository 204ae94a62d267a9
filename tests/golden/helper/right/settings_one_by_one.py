# The recipe's settings are set on a TrainerConfig of defaults.
# region: helper.py, finetune, finetuning
with open(finetune_corpus_path, encoding="utf-8") as file:
    finetune_dataset = NameDataset(
        data=file.read(), pretraining_dataset=pretrain_dataset
    )
stage = "finetune_pretrained" if reading_params_path else "finetune_scratch"
tconf = TrainerConfig()
asked = (
    load_recipe(recipe),
    stage,
    len(pretrain_dataset),
    block_size,
    model.config.synthesizer,
)
for name, setting in trainer_settings(*asked).items():
    setattr(tconf, name, setting)
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
