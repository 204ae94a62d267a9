"""The training loop: batches, loss, gradients, steps. Given: to read, not to change.

Nothing here depends on the task: any dataset of pairs (x, y) of ids will do, where id 0 in y says
that there is nothing to predict.
"""

import math
import sys
from dataclasses import dataclass

import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from .fast import backward
from .optimizers import build_optimizers, learning_rate_factor


@dataclass
class TrainerConfig:
    """Settings of a Trainer. A keyword that is not listed here is refused by name.

    Attributes:
        max_epochs, batch_size: number of passes over the data; examples in a batch.
        learning_rate, betas: of AdamW.
        grad_norm_clip: greatest norm of the gradient; longer ones are shortened to it.
        weight_decay: for matrices; biases, norms and embeddings have none.
        lr_decay: whether learning rates change in the course of training, as follows.
        warmup_tokens: they grow linearly for so many tokens (positions, padding included),
        final_tokens: and shrink until so many (None: the end of training).
        ckpt_path: file to save the parameters in whenever test_dataset has its best loss so far.
        num_workers: processes that prepare batches; 0 prepares them in this one.
        writer: a torch.utils.tensorboard.SummaryWriter, told the loss of each step.
        optimizer: "adamw", or "muon": Muon for the matrices of the blocks, AdamW for the rest.
        muon_learning_rate: of Muon.
        schedule: how learning rates shrink: "cosine" (to a tenth) or "linear" (to nothing).
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
    writer: object = None
    optimizer: str = "adamw"
    muon_learning_rate: float = 1e-2
    schedule: str = "cosine"


class Trainer:
    """Trains a model on a dataset, on whatever device the model is on.

    Attributes: model, train_dataset, test_dataset (None: nothing is tested), config, and tokens,
    the number of positions seen so far, padding included.
    """

    def __init__(
        self,
        model: torch.nn.Module,
        train_dataset: Dataset,
        test_dataset: Dataset | None,
        config: TrainerConfig,
    ):
        self.model = model
        self.train_dataset = train_dataset
        self.test_dataset = test_dataset
        self.config = config
        self.tokens = 0

    def train(self) -> None:
        """Train for config.max_epochs epochs."""
        config, model = self.config, self.model
        device = next(model.parameters()).device
        optimizers = build_optimizers(model, config)
        batches = self._loader(self.train_dataset, shuffle=True)
        if config.final_tokens is None:
            block_size = self.train_dataset[0][0].numel()
            final_tokens = config.max_epochs * len(self.train_dataset) * block_size
        else:
            final_tokens = config.final_tokens
        best = math.inf
        bar = progress_bar(config.max_epochs * len(batches))
        for epoch in range(1, config.max_epochs + 1):
            model.train()
            for x, y in batches:
                self.tokens += y.numel()
                rate = learning_rate_factor(self.tokens, final_tokens, config)
                model.zero_grad(set_to_none=True)
                loss = backward(model, x.to(device), y.to(device))
                torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_norm_clip)
                for optimizer in optimizers:
                    for group in optimizer.param_groups:
                        group["lr"] = rate * group["initial_lr"]
                    optimizer.step()
                if config.writer is not None:
                    config.writer.add_scalar("train/loss", loss.item(), bar.n)
                bar.set_postfix_str(
                    f"epoch {epoch} loss {loss.item():.3f} rate {rate * config.learning_rate:.1e}",
                    refresh=False,
                )
                bar.update()
            if self.test_dataset is not None:
                test_loss = self.test_loss()
                tqdm.write(f"epoch {epoch}: test loss {test_loss:.3f}")
                if config.ckpt_path is not None and test_loss < best:
                    best = test_loss
                    torch.save(model.state_dict(), config.ckpt_path)
        bar.close()

    @torch.no_grad()
    def test_loss(self) -> float:
        """Mean loss of the batches of test_dataset, in nats."""
        self.model.eval()
        device = next(self.model.parameters()).device
        batches = self._loader(self.test_dataset, shuffle=False)
        losses = [self.model(x.to(device), y.to(device))[1].item() for x, y in batches]
        return sum(losses) / len(losses)

    def _loader(self, dataset: Dataset, shuffle: bool) -> DataLoader:
        config = self.config
        return DataLoader(
            dataset,
            config.batch_size,
            shuffle,
            num_workers=config.num_workers,
            persistent_workers=config.num_workers > 0,  # starting them takes seconds
        )


def progress_bar(steps: int) -> tqdm:
    """A bar with speed and time left; where there is no terminal, a line now and then."""
    seldom_s = 0.2 if sys.stderr.isatty() else 20
    return tqdm(total=steps, unit="step", mininterval=seldom_s, dynamic_ncols=True)
