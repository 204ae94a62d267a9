"""Functions that run.py calls: build a model, pretrain it, finetune it.

Hyperparameters of the recipe "original":

    pretrain              max_epochs 650, batch_size 128, learning_rate 6e-3
    finetune, no reading_params_path
                          max_epochs  75, batch_size 256, learning_rate 6e-4
    finetune, from pretrained parameters
                          max_epochs  10, batch_size 256, learning_rate 6e-4
    all three             lr_decay True, warmup_tokens 512 * 20,
                          final_tokens 200 * len(pretrain_dataset) * block_size,
                          betas (0.9, 0.95), weight_decay 0.1, grad_norm_clip 1.0, num_workers 0

Those of "laptop" and any other recipe are in src/edition.json. You need not copy numbers: with the
`recipe` that is passed to the functions below,

    trainer_settings(load_recipe(recipe), stage, len(pretrain_dataset), block_size, variant)

returns the fields of a TrainerConfig as a dict, for any recipe. stage is "pretrain",
"finetune_scratch" or "finetune_pretrained"; variant is model.variant.
"""

from pathlib import Path

import torch

from pretraining.progress import Writer
from pretraining.recipes import load_recipe, trainer_settings

from .dataset import CharCorruptionDataset, NameDataset
from .model import GPT, GPTConfig
from .trainer import Trainer, TrainerConfig
from .utils import save_parameters


def initialize_vanilla_model(mconf: GPTConfig) -> GPT:
    """Return a new model with CausalSelfAttention.

    Args:
        mconf: the model's shape.
    """
    attention_model = None
    # [finetuning]
    ### START CODE HERE ###
    attention_model = GPT(mconf)
    ### END CODE HERE ###
    return attention_model


def initialize_synthesizer_model(mconf: GPTConfig) -> GPT:
    """Return a new model with SynthesizerAttention.

    Hint: see how model.attention_of decides between the two.

    Args:
        mconf: the model's shape and variant.
    """
    attention_model = None
    # [synthesizer]
    ### START CODE HERE ###
    mconf.synthesizer = True
    attention_model = GPT(mconf)
    ### END CODE HERE ###
    return attention_model


def initialize_rope_model(mconf: GPTConfig) -> GPT:
    """Return a new model whose CausalSelfAttention uses RoPE instead of learned positions.

    Hint: see what model.GPT and CausalSelfAttention read from their config.

    Args:
        mconf: the model's shape and variant.
    """
    attention_model = None
    # [rope]
    ### START CODE HERE ###
    mconf.rope = True
    attention_model = GPT(mconf)
    ### END CODE HERE ###
    return attention_model


def finetune(
    reading_params_path: str | None,
    finetune_corpus_path: str,
    pretrain_dataset: CharCorruptionDataset,
    block_size: int,
    model: GPT,
    finetune_lr: float | None = None,
    writer: Writer | None = None,
    recipe: str | None = None,
) -> tuple[TrainerConfig, Trainer]:
    """Prepare finetuning: make a NameDataset and a Trainer, without training yet.

    Args:
        reading_params_path: a file with the parameters of a pretrained model, or None to start
            from `model` as it is.
        finetune_corpus_path: lines `Where was NAME born?<TAB>PLACE`, UTF-8.
        pretrain_dataset: the dataset whose vocabulary NameDataset uses.
        block_size: number of entries of an example.
        model: the model to train, on its device.
        finetune_lr: a learning rate to use instead of the recipe's.
        writer: a SummaryWriter for the TrainerConfig, or None.
        recipe: the name of a recipe; None means the data set's own.

    Returns:
        tconf, trainer_obj: a TrainerConfig and the Trainer made with it.
    """
    if reading_params_path is not None:
        # Give `model` the parameters in the file (torch.load, with weights_only=True and
        # map_location="cpu", since they may have been written on another device).
        # [pretraining]
        ### START CODE HERE ###
        state = torch.load(reading_params_path, map_location="cpu", weights_only=True)
        model.load_state_dict(state)
        ### END CODE HERE ###

    tconf, trainer_obj = None, None
    # Read the file (UTF-8, so on Windows open() needs encoding="utf-8"), make a NameDataset, a
    # TrainerConfig (mind the stage) and a Trainer.
    # [finetuning]
    ### START CODE HERE ###
    text = Path(finetune_corpus_path).read_text(encoding="utf-8")
    finetune_dataset = NameDataset(text, pretrain_dataset)
    stage = "finetune_scratch" if reading_params_path is None else "finetune_pretrained"
    settings = trainer_settings(
        load_recipe(recipe), stage, len(pretrain_dataset), block_size, model.variant
    )
    if finetune_lr is not None:
        settings["learning_rate"] = finetune_lr
    tconf = TrainerConfig(**settings, writer=writer)
    trainer_obj = Trainer(model, finetune_dataset, None, tconf)
    ### END CODE HERE ###
    return tconf, trainer_obj


def pretrain(
    pretrain_dataset: CharCorruptionDataset,
    block_size: int,
    model: GPT,
    pretrain_lr: float | None = None,
    writer: Writer | None = None,
    recipe: str | None = None,
) -> tuple[TrainerConfig, Trainer]:
    """Prepare pretraining on corrupted documents: make a Trainer, without training yet.

    Args:
        pretrain_dataset: the dataset to train on.
        block_size: number of entries of an example.
        model: the model to train, on its device.
        pretrain_lr: a learning rate to use instead of the recipe's.
        writer: a SummaryWriter for the TrainerConfig, or None.
        recipe: the name of a recipe; None means the data set's own.

    Returns:
        tconf, trainer_obj: a TrainerConfig and the Trainer made with it.
    """
    tconf, trainer_obj = None, None
    # [pretraining]
    ### START CODE HERE ###
    settings = trainer_settings(
        load_recipe(recipe), "pretrain", len(pretrain_dataset), block_size, model.variant
    )
    if pretrain_lr is not None:
        settings["learning_rate"] = pretrain_lr
    tconf = TrainerConfig(**settings, writer=writer)
    trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
    ### END CODE HERE ###
    return tconf, trainer_obj


def train(model: GPT, writing_params_path: str, trainer_obj: Trainer) -> None:
    """Train, then write the model's parameters."""
    trainer_obj.train()
    save_parameters(model, writing_params_path)
