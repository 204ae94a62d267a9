# tconf holds the settings, but is no TrainerConfig.
# caught by: finetuning.configuration, pretraining.finetune_configuration
# region: helper.py, finetune, finetuning
from types import SimpleNamespace

with open(finetune_corpus_path, encoding="utf-8") as file:
    finetune_dataset = NameDataset(file.read(), pretrain_dataset)
stage = "finetune_pretrained" if reading_params_path else "finetune_scratch"
asked = (load_recipe(recipe), stage, len(pretrain_dataset), block_size)
tconf = SimpleNamespace(
    **trainer_settings(*asked, model.config.synthesizer), writer=writer
)
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
