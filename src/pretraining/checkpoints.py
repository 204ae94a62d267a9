"""Checkpoints, from which an interrupted training resumes as if nothing had happened.

A checkpoint contains everything that determines the next step: parameters, optimizers, the position
in the data, the state of every random number generator, number format and threads. Resumed on the
same machine with the same versions, training ends with bit-identical parameters (with num_workers
0: worker processes prepare batches in advance, and their state is unknown).
"""

from __future__ import annotations

import dataclasses
import hashlib
import platform
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import torch

from . import InputError, Trainer
from .batches import random_states, restore_random_states
from .fast import Pace
from .parameter_files import save_tensors
from .progress import Progress

# Settings of a TrainerConfig that may differ between the two halves of a training.
FREE = {"writer", "ckpt_path", "num_workers", "dtype", "threads", "resume", "expected_loss"}
FREE |= {"checkpoint_path", "checkpoint_s"}
POSITION = ("tokens", "history", "best_test_loss")  # attributes of a Trainer


def identity(trainer: Trainer) -> dict[str, str]:
    """Describe a training's starting point, which must be the same when it is resumed."""
    data = trainer.train_dataset
    digest = hashlib.sha256(repr(getattr(data, "data", None)).encode())
    start = hashlib.sha256()
    for parameter in trainer.model.parameters():
        start.update(parameter.detach().cpu().double().numpy().tobytes())
    model = getattr(trainer.model, "config", type(trainer.model).__name__)
    settings = {
        field.name: repr(getattr(trainer.config, field.name))
        for field in dataclasses.fields(trainer.config)
        if field.name not in FREE
    }
    return {
        "model": repr(model),
        "dataset": f"{type(data).__name__} of {len(data)} examples ({digest.hexdigest()[:8]})",
        **settings,
        "start": f"parameters {start.hexdigest()[:8]}",
    }


def surroundings() -> dict[str, str]:
    """Describe what may differ between two runs, although this changes the result's last bits."""
    return {
        "torch": str(torch.__version__),
        "numpy": np.__version__,
        "python": platform.python_version(),
        "processor": f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}",
    }


def state_of(trainer: Trainer) -> dict:
    """Return what a checkpoint contains."""
    return {
        "identity": trainer.identity,
        "surroundings": surroundings(),
        "pace": dataclasses.asdict(trainer.pace),
        "model": trainer.model.state_dict(),
        "optimizers": [optimizer.state_dict() for optimizer in trainer.optimizers],
        "position": {name: getattr(trainer, name) for name in POSITION},
        "order": {"seed": trainer.order.seed, "done": trainer.order.done},
        "random": random_states(),
    }


def to_resume(trainer: Trainer) -> dict | None:
    """Return the checkpoint to resume from, or None; print a line if there should be one.

    Raises:
        InputError: it can't be read, or is from a different training; the message says what
            differs.
    """
    path = trainer.config.checkpoint_path
    if not trainer.config.resume or path is None:
        return None
    if not Path(path).is_file():
        print(f"There is no {path}: training starts from the beginning.")
        return None
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        if not isinstance(state, dict) or "surroundings" not in state:
            raise ValueError("something else")
    except OSError:
        raise
    except Exception:  # torch.load raises half a dozen types for damaged files
        raise InputError(
            f"{path}: not a readable checkpoint, expected one that an interrupted training left "
            "(--restart instead of --resume starts from the beginning)"
        ) from None
    then, now = state["identity"], trainer.identity
    for key in [*now, *then]:
        if then.get(key) != now.get(key):
            raise InputError(
                f"{path}: a checkpoint of a different training: {key} was {then.get(key)}, and is "
                f"now {now.get(key)} (a different recipe, variant, data set, seed or pretraining? "
                "--restart instead of --resume starts from the beginning)"
            )
    return state


def restore(trainer: Trainer, state: dict) -> None:
    """Give a checkpoint's state to a trainer whose optimizers are built."""
    here = surroundings()
    changed = [
        f"{key} was {value}, and is now {here.get(key)}"
        for key, value in state["surroundings"].items()
        if here.get(key) != value
    ]
    if dataclasses.asdict(trainer.pace) != state["pace"]:
        changed.append(f"computed in {Pace(**state['pace'])}, now in {trainer.pace}")
    if changed:
        print(f"Resuming, but the result will differ in its last digits: {'; '.join(changed)}.")
    trainer.model.load_state_dict(state["model"])
    for optimizer, saved in zip(trainer.optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(saved)
    trainer.__dict__.update(state["position"])
    trainer.order.__dict__.update(state["order"])
    restore_random_states(state["random"])


class Keeper:
    """Writes a checkpoint from time to time, and before training stops for Ctrl-C.

    In a `with` block, the first Ctrl-C waits until the step is complete and saved (a second one
    interrupts at once). A full disk does not end the training, but is reported once.
    """

    def __init__(self, trainer: Trainer, progress: Progress):
        self._trainer, self._progress = trainer, progress
        self._path = trainer.config.checkpoint_path
        self._last = time.monotonic()
        self._asked_to_stop = False
        self._failed = False
        self._handler: Callable[[int, FrameType | None], object] | int | None = None

    def __enter__(self) -> Keeper:
        if self._path and threading.current_thread() is threading.main_thread():
            self._handler = signal.signal(signal.SIGINT, self._ask_to_stop)
        return self

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)

    def _ask_to_stop(self, *_: object) -> None:
        self._asked_to_stop = True
        signal.signal(signal.SIGINT, self._handler)

    def after_step(self) -> None:
        """Save if it is time to do so.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; the checkpoint is written.
        """
        due = time.monotonic() - self._last >= self._trainer.config.checkpoint_s
        if self._path and (due or self._asked_to_stop):
            self.save()
        if self._asked_to_stop:
            raise KeyboardInterrupt

    def save(self) -> None:
        """Write a checkpoint now, in place of the older one once it is complete."""
        self._progress.settle()
        try:
            save_tensors(state_of(self._trainer), self._path)
        except OSError as error:
            if not self._failed:
                self._progress.say(
                    f"Warning: no checkpoint was written ({error}); training continues, but can't "
                    "be resumed from here."
                )
            self._failed = True
        self._last = time.monotonic()
