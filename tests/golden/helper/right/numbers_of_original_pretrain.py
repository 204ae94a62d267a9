# The course's numbers, typed in.
# region: helper.py, pretrain, pretraining
tconf = TrainerConfig(
    max_epochs=650,
    batch_size=128,
    learning_rate=pretrain_lr or 6e-3,
    lr_decay=True,
    warmup_tokens=512 * 20,
    final_tokens=200 * len(pretrain_dataset) * block_size,
    num_workers=4,
    writer=writer,
)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
