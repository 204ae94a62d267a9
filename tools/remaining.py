"""Estimate how long the rest of the demo will take.

The time of a training is proportional to the number of positions that go through the model, which
follows from the recipe and the data; the running training shows how many positions per second this
machine processes. Fixed costs (starting Python, importing torch, grading) were measured once, and
are scaled with the machine's speed.
"""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autograder.description import check_recipe, load_assignment

from .commands import Command, pipelines_of
from .datafiles import DATASET, TRAIN, WIKI, require_data_set

# Measured by benchmarks.training and `make demo` on two idle cores of an Intel Xeon with
# avx512_bf16.
POSITIONS_PER_S = 39_000  # of the laptop recipe, in either variant and stage
START_S = 5  # until the first step of a training: imports, timing of paces
EVALUATION_S = 1.5
GRADING_S = 10
SPECIALS = 3  # MASKs in an example
LEAST_S = 10  # a training that was observed for less than this says little about the machine
Clock = Callable[[], float]  # seconds since an arbitrary moment
RecipeOf = Callable[[str, str], dict[str, Any]]  # a table's settings for a variant


class Remaining:
    """An estimate that is corrected by observed progress; call `now` whenever there is some."""

    def __init__(self, root: Path, recipe: RecipeOf, clock: Clock = time.monotonic):
        """
        Args:
            root: the project's, with a data set installed; the default edition determines
                what is trained.
            recipe: from chosen_recipe().
        """
        self._clock = clock
        self._work = {
            command: positions(command, recipe, root)
            for commands in pipelines_of(root).values()
            for command in commands
        }
        self._running: Command | None = None
        self._since = 0.0
        self._seen: list[tuple[float, float]] = []  # when the share changed, and what it was then
        self._slower = 1.0  # factor, relative to the machine that was measured

    def now(self, running: Command, share: float) -> float:
        """Return the seconds left.

        Args:
            running: the command that runs now.
            share: the share of its steps that is done, 0 to 1.
        """
        now = self._clock()
        if running != self._running:
            self._running, self._since, self._seen = running, now, []
        # Logs are updated seldom: only a changed share belongs to the present time. A resumed
        # training starts with a share.
        if share > (self._seen[-1][1] if self._seen else 0.0):
            self._seen.append((now, share))
            (began, first), work = self._seen[0], self._work[running]
            if share > first + 0.02 and now - began >= LEAST_S:
                self._slower = (now - began) * POSITIONS_PER_S / (work * (share - first))
        commands = list(self._work)
        left = commands[commands.index(running) :]
        left_s = sum(map(self._seconds, left)) + GRADING_S * self._slower
        behind_s = now - self._since
        if self._seen:
            at, latest = self._seen[-1]
            behind_s = self._seconds(running) * latest + now - at
        return max(left_s - min(behind_s, self._seconds(running)), 1.0)

    def _seconds(self, command: Command) -> float:
        """Return the seconds that a command takes in all."""
        fixed_s = START_S if self._work[command] else EVALUATION_S
        return (fixed_s + self._work[command] / POSITIONS_PER_S) * self._slower


def positions(command: Command, recipe: RecipeOf, root: Path) -> float:
    """Return how many positions go through the model in a training; 0 for any other command."""
    function, variant = command.arguments[1:3]
    if function == "evaluate":
        return 0.0
    stage = function
    if function == "finetune":
        stage = "finetune_pretrained" if command.reads else "finetune_scratch"
    table = WIKI if function == "pretrain" else TRAIN
    lengths: list[float] = [
        len(line) for line in (root / table).read_text(encoding="utf-8").splitlines()
    ]
    if function == "pretrain":  # truncated to any length of at least 4 characters
        longest = recipe("model", variant)["block_size"] * 7 // 8
        lengths = [(4 + min(length, longest)) / 2 + SPECIALS for length in lengths]
    return recipe(stage, variant)["max_epochs"] * sum(lengths)


def chosen_recipe(root: Path, name: str | None) -> RecipeOf:
    """Return a recipe by its name; None is the installed data set's.

    Raises:
        UsageError: the recipe or the data set is missing, or assignment.toml has a mistake.
    """
    check_recipe(root, name)
    require_data_set(root)
    described = load_assignment(root)
    dataset = json.loads((root / DATASET).read_text(encoding="utf-8"))["name"]
    chosen = name or described.datasets[dataset].recipe
    return lambda table, variant: described.settings(chosen, table, variant)
