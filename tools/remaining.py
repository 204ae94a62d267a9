"""How long the rest of the demo will take.

Training costs in proportion to the positions that go through the model, which the recipe and the
data tell in advance; how many a second, the training that runs shows. What costs the same each
time (starting Python, importing torch, grading) was measured once and is scaled with the machine.
"""

import json
import time
from pathlib import Path

from .commands import PIPELINES, Command
from .datafiles import TRAIN, WIKI

# Measured by `make demo` on two idle cores of an AMD EPYC with avx512_bf16.
POSITIONS_PER_S = 23_000  # of the laptop recipe, in either variant and stage
START_S = 5  # until the first step of a training: imports, timing of paces
EVALUATION_S = 2.5
GRADING_S = 12
SPECIALS = 3  # MASKs in an example


class Remaining:
    """An estimate that is corrected by what it sees: call `now` whenever there is news."""

    def __init__(self, root: Path, recipe: dict, clock=time.monotonic):
        """
        Args:
            root: of the project, with a data set installed.
            recipe: a table of recipes.json.
        """
        self._clock = clock
        self._work = {
            command: positions(command, recipe, root)
            for commands in PIPELINES.values()
            for command in commands
        }
        self._running: Command | None = None
        self._since = self._share = 0.0
        self._slower = 1.0  # than the machine that was measured, so many times

    def now(self, running: Command | None, share: float) -> float:
        """Seconds left.

        Args:
            running: the command that runs now, None for grading.
            share: how much of its steps is done, 0 to 1.
        """
        if running != self._running:
            self._running, self._since, self._share = running, self._clock(), 0.0
        ran_s = self._clock() - self._since
        commands = list(self._work)
        place = commands.index(running) if running in self._work else len(commands)
        # A log tells the share seldom: only when it changes, it goes with the present time.
        if share > max(self._share, 0.02) and self._work.get(running):
            self._slower = ran_s / (START_S + self._work[running] * share / POSITIONS_PER_S)
            self._share = share
        left_s = sum(self._seconds(command) for command in [*commands[place:], None])
        behind_s = min(ran_s, self._seconds(running))
        return max(left_s - behind_s, 1.0)

    def _seconds(self, command: Command | None) -> float:
        """How long a command takes in all; None is grading."""
        if command is None:
            return GRADING_S * self._slower
        fixed_s = START_S if self._work[command] else EVALUATION_S
        return (fixed_s + self._work[command] / POSITIONS_PER_S) * self._slower


def positions(command: Command, recipe: dict, root: Path) -> float:
    """Positions that a training pushes through the model; 0 for any other command."""
    function, variant = command.arguments[1:3]
    if function == "evaluate":
        return 0.0
    stage = function
    if function == "finetune":
        stage = "finetune_pretrained" if command.reads else "finetune_scratch"
    settings = dict(recipe[stage])
    if variant == "synthesizer":
        settings |= settings.get("synthesizer", {})
    table = WIKI if function == "pretrain" else TRAIN
    lengths = [len(line) for line in (root / table).read_text(encoding="utf-8").splitlines()]
    if function == "pretrain":  # truncated to anything from 4 characters on
        longest = recipe["model"]["block_size"] * 7 // 8
        lengths = [(4 + min(length, longest)) / 2 + SPECIALS for length in lengths]
    return settings["max_epochs"] * sum(lengths)


def recipe_table(root: Path, name: str | None) -> dict:
    """A table of recipes.json; None is the installed data set's recipe."""
    tables = json.loads((root / "src/submission/recipes.json").read_text(encoding="utf-8"))
    dataset = json.loads((root / "src/data/dataset.json").read_text(encoding="utf-8"))["name"]
    return tables["recipes"][name or tables["datasets"][dataset]]
