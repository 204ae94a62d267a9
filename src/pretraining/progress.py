"""Progress of a training: bar, estimate, TensorBoard, and hints when a curve looks wrong."""

from __future__ import annotations

import math
import os
import sys
import time
from typing import Protocol, TextIO

import torch
from tqdm import tqdm  # type: ignore[import-untyped]  # it has no annotations

from . import InputError, Trainer, is_corrupted
from .batches import Examples, random_states, restore_random_states

REFRESH_S = 0.5  # losses are fetched from the device together, as each fetch makes it wait
TENTHS = 10
# Of hints.
LOOKED_AT = 512  # examples whose masked share is measured, with a standard deviation below .01
SHARE = (0.18, 0.30)  # contains every corruption that follows the sheet; the mean is .25
LATEST = 20  # steps whose mean loss is judged
FLAT = 0.95  # of ln(vocabulary): learning only the characters' frequencies brings it to .75
LEAST_STEPS = 50
TOO_GOOD = 0.5  # of the reference's loss, which varies by .1 between seeds and right corruptions


class Writer(Protocol):
    """A writer for TensorBoard: a SummaryWriter, which takes seconds to import."""

    def add_scalar(self, tag: str, scalar_value: float, global_step: int, /) -> None: ...

    def close(self) -> None: ...


class Progress:
    """Follows a Trainer; use it with `with`, so that the bar is always closed."""

    def __init__(self, trainer: Trainer, step_s: float):
        """Begin the bar of a trainer that has order, pace and optimizers; a step takes step_s."""
        self._trainer, self._order, self._writer = trainer, trainer.order, trainer.config.writer
        left = len(self._order) - self._order.done
        print(
            f"{left} steps of {trainer.config.batch_size} examples in {trainer.pace}: "
            f"{in_words(left * step_s)} on this machine",
            file=sys.stderr,  # like the bar: it differs from run to run
        )
        self._bar = progress_bar(len(self._order), self._order.done)
        self._pending: list[torch.Tensor] = []  # losses still on the device
        self._tokens = 0
        self._refreshed = time.monotonic()
        if hint := hint_about_data(trainer.train_dataset):
            self.say(f"Hint: {hint}")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._refresh()
        self._bar.close()

    def say(self, line: str) -> None:
        """Print a line without disturbing the bar."""
        self._bar.write(line, file=sys.stdout)
        sys.stdout.flush()

    def after_step(self, loss: torch.Tensor, x: torch.Tensor) -> None:
        """Record the loss of a step on ids x, (B, T).

        Raises:
            InputError: the loss is not finite any more.
        """
        self._pending.append(loss)
        self._tokens += int((x != 0).sum())
        self._bar.update()
        tenth = self._order.done * TENTHS // len(self._order)
        new_tenth = tenth > (self._order.done - 1) * TENTHS // len(self._order)
        if new_tenth or time.monotonic() - self._refreshed > REFRESH_S:
            self._refresh()
        if new_tenth and (hint := hint_about_loss(tenth, self._trainer)):
            self.say(f"Hint: {hint}")

    def settle(self) -> None:
        """Bring the trainer's history up to date."""
        losses = torch.stack(self._pending).tolist() if self._pending else []
        self._pending.clear()
        self._trainer.history += losses
        if losses and not all(loss < float("inf") for loss in losses):  # also True for nan
            raise InputError(
                f"the loss is {losses[-1]} after {self._order.done} steps: training has diverged "
                "(is the learning rate too high?)"
            )

    def _refresh(self) -> None:
        first = len(self._trainer.history)
        self.settle()
        history = self._trainer.history
        if len(history) == first:
            return
        now = time.monotonic()
        speed = self._tokens / max(now - self._refreshed, 1e-9)
        self._tokens, self._refreshed = 0, now
        rates = [o.param_groups[0]["lr"] for o in self._trainer.optimizers]
        self._bar.set_postfix_str(f"loss {history[-1]:.3f} rate {rates[0]:.1e}", refresh=False)
        if self._writer is not None:
            for step, loss in enumerate(history[first:], start=first + 1):
                self._writer.add_scalar("train/loss", loss, step)
            for optimizer, rate in zip(self._trainer.optimizers, rates, strict=True):
                name = type(optimizer).__name__.lower()
                self._writer.add_scalar(f"train/learning_rate_{name}", rate, len(history))
            self._writer.add_scalar("train/tokens_per_second", speed, len(history))


def hint_about_data(dataset: Examples) -> str | None:
    """Return a hint unless about a quarter of a CharCorruptionDataset's characters are masked."""
    if not is_corrupted(dataset):
        return None
    states = random_states()
    masked = total = 0
    for number in range(LOOKED_AT):
        x, y = dataset[number % len(dataset)]
        text = [id_ for id_ in (*x.tolist(), int(y[-1])) if id_ != 0]
        # Of prefix MASK suffix MASK masked_content [MASK].
        masks = [place for place, id_ in enumerate(text) if id_ == dataset.stoi[dataset.MASK_CHAR]]
        end = masks[2] if len(masks) > 2 else len(text)
        masked += end - masks[1] - 1 if len(masks) > 1 else 0
        total += end - 2 if len(masks) > 1 else end
    restore_random_states(states)
    share = masked / max(total, 1)
    if SHARE[0] < share < SHARE[1]:
        return None
    return (
        f"{share:.0%} of the characters are masked in {LOOKED_AT} examples, expected about 25%. "
        "Likely cause: the length of the span is not a quarter, on average, of the truncated "
        "document's real length, or the parts are out of order (dataset.py, [span corruption])."
    )


def hint_about_loss(tenth: int, trainer: Trainer) -> str | None:
    """Return a hint if the loss after `tenth` tenths of training is far from what it should be."""
    history = trainer.history
    if len(history) < LEAST_STEPS:
        return None
    loss = sum(history[-LATEST:]) / LATEST
    characters = getattr(trainer.train_dataset, "vocab_size", None)
    if characters is not None and tenth >= 2 and loss > FLAT * math.log(characters):
        return (
            f"the loss is {loss:.2f} after {len(history)} steps, no better than guessing among "
            f"{characters} characters (ln {characters} = {math.log(characters):.2f}): the model "
            "learns nothing. Likely cause: a learning rate that is 0 or far too high, or code that "
            "stops the gradient (detach, no_grad, .data) or ignores its input."
        )
    expected = (trainer.config.expected_loss or [])[tenth - 1 : tenth]
    if expected and loss < TOO_GOOD * expected[0]:
        return (
            f"the loss is {loss:.3f} after {len(history)} steps, and that of the reference is "
            f"{expected[0]:.2f}. This is too good: targets leak into the input. Likely cause: y is "
            "not x shifted by one (dataset.py, [span corruption]), or positions see later ones "
            "(no causal mask; attention.py, [synthesizer])."
        )
    return None


def in_words(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 45:
        return "less than a minute"
    if seconds < 90:
        return "about a minute"
    if seconds < 3600:
        return f"about {seconds / 60:.0f} minutes"
    return f"about {seconds / 3600:.1f} hours"


class TerminalBar:
    """A bar in the grader's look, with the methods of tqdm's that Progress calls."""

    def __init__(self, steps: int, done: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        columns = (BarColumn(20), MofNCompleteColumn(), "steps,", TimeRemainingColumn(), "left,")
        self._progress = Progress(
            *columns,
            "{task.description}",
            console=Console(stderr=True),
            auto_refresh=False,
            redirect_stdout=sys.stdout.isatty(),
        )
        self._task = self._progress.add_task("", total=steps, completed=done)
        self._progress.start()

    def update(self) -> None:
        self._progress.advance(self._task)

    def set_postfix_str(self, text: str, refresh: bool) -> None:
        self._progress.update(self._task, description=text, refresh=True)

    def write(self, line: str, file: TextIO) -> None:
        print(line, file=sys.stdout)  # of this moment: above the bar, if it goes to the terminal

    def close(self) -> None:
        self._progress.stop()


def progress_bar(steps: int, done: int) -> tqdm | TerminalBar:
    """Return a bar with speed and time left, which without a terminal prints occasional lines."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if sys.stderr.isatty() and not is_plain:
        return TerminalBar(steps, done)
    seldom_s = 0.2 if sys.stderr.isatty() else 5
    return tqdm(total=steps, initial=done, unit="step", mininterval=seldom_s, dynamic_ncols=True)
