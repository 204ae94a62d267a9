"""The training loop: batches, loss, gradients, steps. Read it, but do not change it.

Nothing here depends on the task: any dataset of pairs (x, y) of ids will do, where id 0 in y means
that there is nothing to predict.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from pretraining import checkpoints
from pretraining.batches import BatchOrder, Examples, load
from pretraining.fast import Engine, choose_pace
from pretraining.optimizers import build_optimizers, learning_rate_factor
from pretraining.progress import Progress, Writer

from .utils import save_parameters

if TYPE_CHECKING:
    from .model import GPT


@dataclass
class TrainerConfig:
    """Settings of a Trainer. Keywords that are not listed here are refused by name.

    Attributes:
        max_epochs, batch_size: number of passes over the data; examples in a batch.
        learning_rate, betas: of AdamW.
        grad_norm_clip: greatest norm of the gradient; longer gradients are scaled down to it.
        weight_decay: for matrices; biases, norms and embeddings have none.
        lr_decay: whether learning rates change during training, as follows.
        warmup_tokens: they grow linearly for this many tokens (positions, including padding),
        final_tokens: and shrink until this many (None: the end of training).
        ckpt_path: where to save the parameters whenever test_dataset has its best loss so far.
        num_workers: processes that prepare batches; 0 prepares them in this one.
        writer: a torch.utils.tensorboard.SummaryWriter, or None.
        optimizer: "adamw", or "muon": Muon for the matrices of the blocks, AdamW for the rest.
        muon_learning_rate: of Muon.
        schedule: how learning rates shrink: "cosine" (to a tenth) or "linear" (to nothing).
        dtype, threads: see optimizers.Pace; None means the fastest on this computer.
        checkpoint_path, checkpoint_s: where to write checkpoints (None: nowhere), how often.
        resume: continue from the checkpoint, if there is one.
        expected_loss: the reference's loss after each tenth (see progress.py), or None.
    """

    max_epochs: int = 10
    batch_size: int = 64
    learning_rate: float = 3e-4
    betas: tuple[float, float] = (0.9, 0.95)
    grad_norm_clip: float = 1.0
    weight_decay: float = 0.1
    lr_decay: bool = False
    warmup_tokens: float = 375e6
    final_tokens: float | None = None
    ckpt_path: str | None = None
    num_workers: int = 0
    writer: Writer | None = None
    optimizer: str = "adamw"
    muon_learning_rate: float = 1e-2
    schedule: str = "cosine"
    dtype: str | None = None
    threads: int | None = None
    checkpoint_path: str | None = None
    checkpoint_s: float = 60.0
    resume: bool = False
    expected_loss: list[float] | None = None


class Trainer:
    """Trains a model on a dataset, on whatever device the model is on.

    Attributes: model, train_dataset, test_dataset (None: nothing is tested), config; tokens, the
    number of positions seen so far, including padding; history, the loss of each step, in nats;
    identity, pace, order, optimizers, best_test_loss: the state of training.
    """

    def __init__(
        self,
        model: GPT,
        train_dataset: Examples,
        test_dataset: Examples | None,
        config: TrainerConfig,
    ):
        self.model, self.config = model, config
        self.train_dataset, self.test_dataset = train_dataset, test_dataset
        self.tokens = 0
        self.history: list[float] = []
        self.best_test_loss = math.inf

    def train(self) -> None:
        """Train for config.max_epochs epochs.

        Raises:
            InputError: nothing can be learnt with these settings or data.
            KeyboardInterrupt: Ctrl-C was pressed; the checkpoint, if configured, is written.
        """
        config = self.config
        self.identity = checkpoints.identity(self)
        checkpoint = checkpoints.to_resume(self)
        self.order = BatchOrder(len(self.train_dataset), config.batch_size, config.max_epochs)
        self.pace, step_s = choose_pace(self, checkpoint)
        self.optimizers = build_optimizers(self.model, config, self.pace)
        if checkpoint is not None:
            checkpoints.restore(self, checkpoint)
        del checkpoint  # which has a copy of the parameters
        with (
            Progress(self, step_s) as progress,
            checkpoints.Keeper(self, progress) as keeper,
            Engine(self.model, self.pace) as engine,
        ):
            self.model.train()
            for x, y in load(self.train_dataset, self.order, config.num_workers):
                loss = self.learn(engine, x, y)
                progress.after_step(loss, x)
                if self.order.epoch_is_complete() and self.test_dataset is not None:
                    self._keep_the_best(progress)
                keeper.after_step()

    def learn(self, engine: Engine, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Take one step on a batch of ids x and targets y, (B, T); return the loss, in nats."""
        self.tokens += y.numel()
        self.order.done += 1
        all_tokens = self.config.max_epochs * len(self.train_dataset) * y.size(1)
        rate = learning_rate_factor(self.tokens, all_tokens, self.config)
        loss = engine.backward(x, y)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_norm_clip)
        for optimizer in self.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate * group["initial_lr"]
            optimizer.step()
        return loss

    @torch.no_grad()
    def test_loss(self) -> float:
        """Return the mean loss over the batches of test_dataset, in nats."""
        assert self.test_dataset is not None
        self.model.eval()
        device = next(self.model.parameters()).device
        order = BatchOrder(len(self.test_dataset), self.config.batch_size, epochs=1)
        batches = load(self.test_dataset, order, self.config.num_workers)
        losses = [self.model(x.to(device), y.to(device))[1].item() for x, y in batches]
        self.model.train()
        return sum(losses) / len(losses)

    def _keep_the_best(self, progress: Progress) -> None:
        """Test the model, and save its parameters if they are the best so far."""
        loss = self.test_loss()
        progress.say(f"step {self.order.done}: test loss {loss:.3f}")
        if loss < self.best_test_loss:
            self.best_test_loss = loss
            if self.config.ckpt_path is not None:
                save_parameters(self.model, self.config.ckpt_path)
