"""The fastest pace of training on this computer, found by timing a few steps."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable

import torch

from . import checkpoints
from .batches import load, random_states, restore_random_states
from .errors import InputError
from .fast import CPU_ROWS, FORMATS, Engine, Pace
from .given import Trainer
from .optimizers import build_optimizers

MOST_THREADS = 4  # a batch of 128 has no work for more
TIMED_STEPS = 3
WORTH_S = 8.0  # shorter trainings aren't worth the seconds it takes to choose
GAIN_OF_FORMAT = 1.25  # float32 is more exact: give it up only for a real gain
GAIN_OF_THREADS = 1.1

TimeAStep = Callable[[Pace, int], float]  # seconds for a number of rows


def choose_pace(trainer: Trainer, stored: str | None) -> tuple[Pace, float]:
    """Find the fastest pace for a Trainer, among those that its config and device allow.

    The steps use a copy of the model, and have no effect on what follows.

    Args:
        trainer: not started yet.
        stored: a checkpoint whose pace to keep, or None.

    Returns:
        the pace, and how many seconds a step takes, including the loading of its batch.

    Raises:
        InputError: config asks for an unknown dtype or too many threads.
    """
    config, device = trainer.config, next(trainer.model.parameters()).device
    dropout = any(isinstance(m, torch.nn.Dropout) and m.p > 0 for m in trainer.model.modules())
    # Threads would draw from the shared generator in an unpredictable order.
    most = 1 if dropout or device.type != "cpu" else MOST_THREADS
    dtype, threads = config.dtype, config.threads
    if dtype not in (None, *FORMATS):
        raise InputError(f"dtype {dtype!r} is unknown, expected one of: {', '.join(FORMATS)}")
    if threads is not None and not 1 <= threads <= most:
        raise InputError(
            f"got {threads} threads, expected 1 to {most} (a GPU, and dropout, allow 1)"
        )
    if stored is not None:
        pace = checkpoints.stored_pace(stored)
        dtype, threads = dtype or pace.dtype, threads or pace.threads

    states = random_states()
    started = time.perf_counter()
    x, y = next(iter(load(trainer.train_dataset, trainer.order, num_workers=0)))
    reading_s = time.perf_counter() - started

    def time_a_step(pace: Pace, rows: int) -> float:
        trial = copy.copy(trainer)
        trial.model, trial.order = copy.deepcopy(trainer.model), copy.copy(trainer.order)
        trial.optimizers = build_optimizers(trial.model, config, pace)
        with Engine(trial.model, pace) as engine:
            return least_seconds(lambda: trial.learn(engine, x[:rows], y[:rows]).item())

    pace, step_s = fastest(time_a_step, len(trainer.order), len(x), dtype, threads, most)
    restore_random_states(states)
    return pace, step_s + reading_s


def fastest(
    time_a_step: TimeAStep, steps: int, rows: int, dtype: str | None, threads: int | None, most: int
) -> tuple[Pace, float]:
    """Find the fastest pace; return it and the seconds that a step takes.

    Args:
        time_a_step: returns the seconds per step at a pace with a number of rows.
        steps, rows: the number of steps to come, and of rows in a batch.
        dtype, threads: given values, or None.
        most: the greatest number of threads.
    """
    pace = Pace(dtype or "float32", threads or 1)
    best_s = time_a_step(pace, rows)
    if best_s * steps < WORTH_S:
        return pace, best_s
    if dtype is None:
        # A processor without bfloat16 takes 20 times as long: find out with a few rows.
        few = min(rows, CPU_ROWS)
        few_s = {name: time_a_step(Pace(name, pace.threads), few) for name in FORMATS}
        if few_s["bfloat16"] * GAIN_OF_FORMAT < few_s["float32"]:
            pace = Pace("bfloat16", pace.threads)
            best_s = time_a_step(pace, rows)
    if threads is None:
        for count in (2, 4):
            if count <= min(most, os.cpu_count() or 1):
                candidate = Pace(pace.dtype, count)
                took_s = time_a_step(candidate, rows)
                if took_s * GAIN_OF_THREADS < best_s:
                    pace, best_s = candidate, took_s
    return pace, best_s


def least_seconds(step: Callable[[], object]) -> float:
    """Return the time of the fastest of a few runs of step(), in seconds, after a warm-up."""
    took = []
    for _ in range(1 + TIMED_STEPS):
        started = time.perf_counter()
        step()
        took.append(time.perf_counter() - started)
    return min(took[1:])
