"""What the commands' parsers have in common."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

Commands = argparse._SubParsersAction
USUAL = "exit codes: 0 done, 2 wrong usage or bad input, 3 DIR can't be written, 130 interrupted"


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
    """Add a command and return its parser.

    Args:
        run: takes the arguments and returns the exit code.
        summary: the line about the command in the list of commands.
        description: what the command's own help begins with; by default, `summary`.
        exit_codes: what its help ends with.
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
    if option == "--into":
        words["help"] = "the class's folder, or a new one, outside the repository"
    if option:
        command.add_argument(option, dest="folder", required=True, **words)
    else:
        command.add_argument("folder", **words)


def count(number: int, word: str) -> str:
    """Return a number with its noun: `1 day`, `2 days`."""
    return f"{number} {word}{'s' * (number != 1)}"
