"""What the commands' parsers have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from grading.errors import UsageError

Commands = argparse._SubParsersAction
USUAL = "exit codes: 0 done, 2 wrong usage or bad input, 3 DIR can't be written, 130 interrupted"

CONTINUE = "run the same command again to continue"
MOST_SLOTS = 512


class Parser(argparse.ArgumentParser):
    """A parser that reports an error in one line, with exit code 2."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    summary: str,
    description: str = "",
    exit_codes: str = USUAL,
) -> argparse.ArgumentParser:
    """Add a command and return its parser; `run` takes the arguments and returns the exit code.

    The list of commands has its `summary`. Its own help begins with `description`, or else with
    `summary`, and ends with `exit_codes`.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=description or f"{summary[0].upper()}{summary[1:]}.",
        epilog=exit_codes,
        allow_abbrev=False,
    )
    command.set_defaults(run=run)
    return command


def add_folder(command: argparse.ArgumentParser, option: str = "") -> None:
    """Add DIR, as the first argument or as an option such as `--in`; it becomes `folder`."""
    words: dict[str, Any] = {"type": Path, "metavar": "DIR", "help": "the class's folder"}
    if option:
        words |= {"dest": "folder", "required": True}
    if option == "--into":
        words["help"] = "the class's folder, or a new one, outside the repository"
    command.add_argument(option or "folder", **words)


@dataclass(frozen=True)
class Where:
    """Where to grade: on an existing cluster, or on this machine (None: a slot per core)."""

    scheduler: str | None = None
    certificates: Path | None = None
    slots: int | None = None


def add_cluster(command: argparse.ArgumentParser) -> None:
    """Add the arguments that say where to grade."""
    command.add_argument(
        "--slots",
        type=int,
        metavar="N",
        help="how many submissions to grade at once on this machine; default: one per core",
    )
    command.add_argument(
        "--scheduler", metavar="tls://HOST:PORT", help="grade on an existing cluster"
    )
    command.add_argument(
        "--certificates",
        type=Path,
        metavar="DIR",
        help="the folder that `certificates` made, for --scheduler",
    )


def where_of(asked: argparse.Namespace) -> Where:
    """Return what the arguments of `add_cluster` say; refuse what makes no sense."""
    if asked.slots is not None and not 1 <= asked.slots <= MOST_SLOTS:
        raise UsageError(f"--slots {asked.slots} should be a number from 1 to {MOST_SLOTS}")
    if asked.slots is not None and asked.scheduler is not None:
        raise UsageError("--slots is for grading on this machine: leave it out with --scheduler")
    if asked.scheduler is None:
        return Where(slots=asked.slots)
    if not asked.scheduler.startswith("tls://"):
        raise UsageError(
            f"--scheduler {asked.scheduler}: expected tls://HOST:PORT; a scheduler runs what it is "
            "sent, so without TLS anybody could run code on it"
        )
    if asked.certificates is None:
        raise UsageError(
            "--scheduler needs --certificates DIR; make them with `python -m classroom "
            "certificates DIR`"
        )
    return Where(asked.scheduler, asked.certificates)


def count(number: int, word: str) -> str:
    """Return a number with its noun: `1 day`, `2 days`."""
    return f"{number} {word}{'s' * (number != 1)}"
