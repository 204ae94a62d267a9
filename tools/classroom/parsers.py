"""What the commands have in common: their parsers, frequent arguments, and exit codes."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

Commands = argparse._SubParsersAction
USUAL = "exit codes: 0 done, 2 wrong usage or bad input, 130 interrupted"
GRADING = (
    "exit codes: 0 done, 1 some submissions have no result because of a staff fault, 2 wrong usage "
    "or bad input, 3 no cluster can grade, or DIR can't be written, 130 interrupted. Whatever "
    "ended the command, run it again to continue."
)


def add_command(
    commands: Commands,
    name: str,
    run: Callable[[argparse.Namespace], int],
    words: str,
    description: str = "",
    epilog: str = USUAL,
) -> argparse.ArgumentParser:
    """Add a command and return its parser.

    Args:
        run: takes the arguments and returns the exit code.
        words: the line about the command in the list of commands.
        description: what the command's own help begins with; by default, `words`.
        epilog: what its help ends with.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=words,
        description=description or f"{words[0].upper()}{words[1:]}.",
        epilog=epilog,
        formatter_class=argparse.HelpFormatter,  # unlike the main parser's, it wraps lines
    )
    command.set_defaults(run=run)
    return command


def add_folder(command: argparse.ArgumentParser) -> None:
    """Add DIR, as the first argument."""
    command.add_argument("folder", type=Path, metavar="DIR", help="the class's folder")


def add_in(command: argparse.ArgumentParser) -> None:
    """Add --in DIR."""
    command.add_argument(
        "--in", dest="folder", type=Path, required=True, metavar="DIR", help="the class's folder"
    )


def add_into(command: argparse.ArgumentParser) -> None:
    """Add --into DIR, which may be created."""
    command.add_argument(
        "--into",
        type=Path,
        required=True,
        metavar="DIR",
        help="the class's folder, or a new one, outside the repository",
    )


def add_release(command: argparse.ArgumentParser) -> None:
    """Add --release, which chooses the release whose records are used."""
    command.add_argument(
        "--release",
        metavar="RELEASE",
        help="whose results to use; default: those that were graded or applied last",
    )
