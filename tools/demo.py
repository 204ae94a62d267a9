"""Train the reference, grade it with the students' command, and report scores and accuracies.

    python -m tools.demo [--recipe NAME]

Exit codes: 0 the reference earned every point; 1 it did not, or a training failed; 2 bad input.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from autograder.description import UsageError
from grading import terminal

from . import reference, telling
from .arguments import OneLineParser, add_recipe
from .commands import Command, pipelines_of
from .datafiles import REPO
from .remaining import Clock, Remaining, chosen_recipe

EVERY_S = 20  # seconds between two estimates of the time left
KINDS = {"nopretrain": "without pretraining", "pretrain": "pretrained"}


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 when the reference earned every point."""
    parser = OneLineParser("python -m tools.demo", __doc__)
    add_recipe(parser)
    asked = parser.parse_args(arguments)
    started = time.monotonic()
    try:
        with status_line() as show:
            clock = TimeLeft(Remaining(REPO, chosen_recipe(REPO, asked.recipe)), show)
            trained = reference.train(recipe=asked.recipe, watch=clock)
    except UsageError as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    except reference.TrainingFailed as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    trained_s = time.monotonic() - started

    print("\nGrading what the reference would hand in: python src/grader.py\n", flush=True)
    result_file = REPO / "build" / "demo.json"
    command = ["src/grader.py", "--submission", str(trained), "--json", str(result_file)]
    status = subprocess.run([sys.executable, *command], cwd=REPO, check=False).returncode
    if status not in (0, 1):
        print(f"error: the grader ended with exit code {status}", file=sys.stderr)
        return 1
    result = json.loads(result_file.read_text(encoding="utf-8"))

    print("\nShare of right answers on birth_dev.tsv")
    for name in (c.writes for commands in pipelines_of(REPO).values() for c in commands):
        if name.endswith(".dev.predictions"):
            variant, kind, *_ = name.split(".")
            title = f"{variant}, {KINDS[kind]}"
            print(f"  {title:<30}{accuracy(trained / name):6.1%}")
    print(f"  {'always London':<30}{share_of_london():6.1%}")
    took = time.monotonic() - started
    clock.compare()
    print(f"Score {result['score']:g} of {result['max_score']:g}")
    print(f"Took {took / 60:.1f} minutes, {trained_s / 60:.1f} of them for training")
    return 0 if status == 0 else 1


@contextmanager
def status_line() -> Iterator[Callable[[str], None]]:
    """Yield what shows a line: the last one in a terminal where people see colours, else a new one.

    Other lines are printed above the last one.
    """
    console = terminal.console_on(sys.stdout)
    if console is None or console.is_dumb_terminal:
        yield telling.say
        return
    with console.status("training", refresh_per_second=1) as status:
        yield status.update


class TimeLeft:
    """Shows from time to time, after the first minute, how long the demo will still take."""

    def __init__(
        self,
        remaining: Remaining,
        show: Callable[[str], None] = telling.say,
        clock: Clock = time.monotonic,
    ):
        self._remaining, self._show, self._clock = remaining, show, clock
        self._started = self._printed = clock()
        self._first: tuple[float, float] | None = None  # when it was printed, and the estimate

    def __call__(self, command: Command, share: float) -> None:
        left_s, now = self._remaining.now(command, share), self._clock()
        if now - self._started >= 60 and now - self._printed >= EVERY_S:
            minutes = f"about {max(left_s / 60, 0.5):.1f} minutes until the demo ends"
            self._show(f"  {share:4.0%} of {command.writes}; {minutes}")
            self._printed = now
            self._first = self._first or (now, left_s)

    def compare(self) -> None:
        """Print how accurate the first estimate was."""
        if self._first is not None:
            at, left_s = self._first
            took_s = self._clock() - at
            print(
                f"After the first minute, {left_s / 60:.1f} minutes seemed to be left; it took "
                f"{took_s / 60:.1f}"
            )


def dev_places() -> list[str]:
    """Return the correct places of birth_dev.tsv."""
    rows = (REPO / "src" / "data" / "birth_dev.tsv").read_text(encoding="utf-8")
    return [row.split("\t")[1] for row in rows.removesuffix("\n").split("\n")]


def accuracy(predictions: Path) -> float:
    """Return the share of correct lines in a file of predictions for dev."""
    lines = predictions.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    places = dev_places()
    return sum(a == b for a, b in zip(lines, places, strict=True)) / len(places)


def share_of_london() -> float:
    """Return the accuracy on dev of always answering London."""
    places = dev_places()
    return places.count("London") / len(places)


if __name__ == "__main__":
    sys.exit(main())
