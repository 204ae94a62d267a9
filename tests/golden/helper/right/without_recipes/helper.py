# Earlier years' module: no recipes, the course's numbers, the learning rates as arguments.
import torch

from .dataset import NameDataset
from .model import GPT
from .trainer import Trainer, TrainerConfig


def initialize_vanilla_model(mconf):
    return GPT(mconf)


def initialize_synthesizer_model(mconf):
    mconf.synthesizer = True
    return GPT(mconf)


def finetune(
    reading_params_path,
    finetune_corpus_path,
    pretrain_dataset,
    block_size,
    model,
    finetune_lr=6e-4,
    writer=None,
):
    if reading_params_path is not None:
        model.load_state_dict(torch.load(reading_params_path, map_location="cpu"))
    with open(finetune_corpus_path, encoding="utf-8") as file:
        dataset = NameDataset(file.read(), pretrain_dataset)
    tconf = TrainerConfig(
        max_epochs=75 if reading_params_path is None else 10,
        batch_size=256,
        learning_rate=finetune_lr,
        lr_decay=True,
        warmup_tokens=512 * 20,
        final_tokens=200 * len(pretrain_dataset) * block_size,
        num_workers=4,
        writer=writer,
    )
    return tconf, Trainer(model, dataset, None, tconf)


def pretrain(pretrain_dataset, block_size, model, pretrain_lr=6e-3, writer=None):
    tconf = TrainerConfig(
        max_epochs=650,
        batch_size=128,
        learning_rate=pretrain_lr,
        lr_decay=True,
        warmup_tokens=512 * 20,
        final_tokens=200 * len(pretrain_dataset) * block_size,
        num_workers=4,
        writer=writer,
    )
    return tconf, Trainer(model, pretrain_dataset, None, tconf)


def train(model, writing_params_path, trainer_obj):
    trainer_obj.train()
    torch.save(model.state_dict(), writing_params_path)
