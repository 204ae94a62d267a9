# 6e-3, which is pretraining's.
# caught by: finetuning.configuration, pretraining.finetune_configuration
# region: helper.py, finetune, finetuning
finetune_dataset = NameDataset(
    open(finetune_corpus_path, encoding="utf-8").read(), pretrain_dataset
)
tconf = TrainerConfig(
    max_epochs=75 if reading_params_path is None else 10,
    batch_size=256,
    learning_rate=6e-3,
    lr_decay=True,
    warmup_tokens=512 * 20,
    final_tokens=200 * len(pretrain_dataset) * block_size,
    num_workers=0,
    writer=writer,
)
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
