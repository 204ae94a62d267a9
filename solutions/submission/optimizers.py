"""Which optimizer moves which parameters, and how learning rates change in training.

`config` is a TrainerConfig (trainer.py) throughout.
"""

import math

import torch

from .errors import InputError


def build_optimizers(model: torch.nn.Module, config) -> list:
    """One or two optimizers that share out the model's parameters, as config.optimizer says."""
    if config.optimizer not in ("adamw", "muon"):
        raise InputError(f"optimizer {config.optimizer!r} is unknown, expected adamw or muon")
    decayed, rest, blocks = [], [], []
    for name, parameter in model.named_parameters():
        if parameter.dim() != 2 or "_emb" in name:
            rest.append(parameter)
        elif config.optimizer == "muon" and name.startswith("blocks."):
            blocks.append(parameter)
        else:
            decayed.append(parameter)
    groups = [
        {"params": decayed, "weight_decay": config.weight_decay},
        {"params": rest, "weight_decay": 0.0},
    ]
    optimizers = [torch.optim.AdamW(groups, lr=config.learning_rate, betas=config.betas)]
    if blocks:
        # match_rms_adamw: updates as long as AdamW's, whatever the shape of the matrix.
        muon = torch.optim.Muon(
            blocks,
            lr=config.muon_learning_rate,
            weight_decay=config.weight_decay,
            adjust_lr_fn="match_rms_adamw",
        )
        optimizers.append(muon)
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return optimizers


def learning_rate_factor(tokens: int, final_tokens: float, config) -> float:
    """What learning rates are multiplied with after so many tokens."""
    if not config.lr_decay:
        return 1.0
    if tokens < config.warmup_tokens:
        return tokens / config.warmup_tokens
    length = max(1, final_tokens - config.warmup_tokens)
    progress = (tokens - config.warmup_tokens) / length
    if config.schedule == "linear":
        return max(0.0, 1.0 - progress)
    # After final_tokens the cosine rises again, as in the public course, whose pretraining runs
    # for three times as long.
    return max(0.1, 0.5 * (1.0 + math.cos(math.pi * progress)))
