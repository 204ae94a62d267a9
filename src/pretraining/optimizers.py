"""Optimizers: which one updates which parameters, how learning rates change, and the pace."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch

from . import InputError, TrainerConfig

FORMATS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
# For the Newton-Schulz iteration (Jordan et al. 2024): a x + b x^3 + c x^5 takes singular values
# in (0, 1] to between .7 and 1.2 in five rounds.
NEWTON_SCHULZ = (3.4445, -4.7750, 2.0315)
ROUNDS = 5


@dataclass(frozen=True)
class Pace:
    """How steps are computed: the dtype, "float32" or "bfloat16", and the number of threads."""

    dtype: str = "float32"
    threads: int = 1

    def __str__(self) -> str:
        return f"{self.dtype}, {self.threads} thread{'s' if self.threads > 1 else ''}"


def build_optimizers(
    model: torch.nn.Module, config: TrainerConfig, pace: Pace
) -> list[torch.optim.Optimizer]:
    """Return the one or two optimizers that config.optimizer means for a model's parameters.

    Args:
        pace: the dtype and the threads with which Muon multiplies matrices.
    """
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
    # fused: one pass over the parameters instead of a dozen.
    adamw = AdamW(groups, lr=config.learning_rate, betas=config.betas, fused=True)
    optimizers: list[torch.optim.Optimizer] = [adamw]
    if blocks:
        optimizers.append(Muon(blocks, config.muon_learning_rate, config.weight_decay, pace))
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
    return optimizers


class WithoutCompiler(torch.optim.Optimizer):
    """An optimizer that does not import torch.compile, which nothing here uses.

    torch wraps these methods to keep torch.compile away from them, and the wrappers import it
    first: 900 modules, which add nearly a second to each command that trains.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)
    state_dict = inspect.unwrap(torch.optim.Optimizer.state_dict)
    load_state_dict = inspect.unwrap(torch.optim.Optimizer.load_state_dict)


class AdamW(WithoutCompiler, torch.optim.AdamW):
    """torch's AdamW."""

    step = torch.no_grad()(inspect.unwrap(torch.optim.AdamW.step))


class Muon(WithoutCompiler):
    """Momentum with orthogonalized steps (Jordan et al. 2024), for matrices only.

    It computes the same as torch.optim.Muon with adjust_lr_fn="match_rms_adamw" (steps as long as
    AdamW's, whatever the shape of the matrix). That one always multiplies in bfloat16, which takes
    forty times as long on processors without it, and processes matrices one at a time; here
    matrices of the same shape are stacked, and divided among the threads.
    """

    def __init__(
        self,
        params: Iterable[torch.nn.Parameter],
        lr: float,
        weight_decay: float,
        pace: Pace,
        momentum: float = 0.95,
    ):
        self.dtype, self.threads = FORMATS[pace.dtype], pace.threads
        self._pool = ThreadPoolExecutor(pace.threads, "muon", torch.set_num_threads, (1,))
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum})

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # nobody gives it a closure
        """Update the parameters that have a gradient."""
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[torch.nn.Parameter]] = {}
            for parameter in group["params"]:
                if parameter.grad is not None:
                    by_shape.setdefault(parameter.shape, []).append(parameter)
            for shape, parameters in by_shape.items():
                momenta = self._momenta(parameters, group["momentum"]).chunk(self.threads)
                directions = torch.cat(list(self._pool.map(orthogonalized, momenta)))
                length = 0.2 * math.sqrt(max(shape))  # Liu et al. 2025, section 2.2
                for parameter, direction in zip(parameters, directions, strict=True):
                    parameter.mul_(1 - group["lr"] * group["weight_decay"])
                    parameter.add_(direction, alpha=-group["lr"] * length)

    def _momenta(self, parameters: list[torch.nn.Parameter], momentum: float) -> torch.Tensor:
        """Return Nesterov's momentum for matrices of one shape, (n, rows, columns), self.dtype."""
        result = []
        for parameter in parameters:
            state = self.state[parameter]
            if "momentum" not in state:
                state["momentum"] = torch.zeros_like(parameter)
            gradient = parameter.grad
            assert gradient is not None  # step() skips the others
            state["momentum"].lerp_(gradient, 1 - momentum)
            result.append(gradient.lerp(state["momentum"], momentum))
        return torch.stack(result).to(self.dtype)


def orthogonalized(matrices: torch.Tensor) -> torch.Tensor:
    """Return each matrix's approximate orthogonal factor (Newton-Schulz), (n, rows, columns)."""
    tall = matrices.size(1) > matrices.size(2)
    x = matrices.mT if tall else matrices
    x = x / x.float().norm(dim=(1, 2), keepdim=True).clamp(min=1e-7).to(x.dtype)
    a, b, c = NEWTON_SCHULZ
    for _ in range(ROUNDS):
        gram = x @ x.mT  # (n, rows, rows)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.mT if tall else x


def learning_rate_factor(tokens: int, all_tokens: int, config: TrainerConfig) -> float:
    """Return the factor of the learning rates after `tokens` of all_tokens."""
    if not config.lr_decay:
        return 1.0
    final_tokens = all_tokens if config.final_tokens is None else config.final_tokens
    if tokens < config.warmup_tokens:
        return tokens / config.warmup_tokens
    length = max(1, final_tokens - config.warmup_tokens)
    progress = (tokens - config.warmup_tokens) / length
    if config.schedule == "linear":
        return max(0.0, 1.0 - progress)
    # After final_tokens the cosine rises again, as in the public course, whose pretraining is three
    # times as long.
    return max(0.1, 0.5 * (1.0 + math.cos(math.pi * progress)))
