"""Parse the tools' command lines: each error is one line that says what was expected."""

import argparse
import functools
import sys
from collections.abc import Callable, Collection
from typing import Any, NoReturn

from autograder.description import UsageError

PAPERS = ("letter", "a4")


class Failed(Exception):
    """The work failed, with exit code 1; `str()` is what to print."""


def with_one_line_errors(main: Callable[..., int]) -> Callable[..., int]:
    """Let a command print an error of ours, and return 2 for a UsageError, 1 for a Failed."""

    @functools.wraps(main)
    def run(*arguments: Any, **keywords: Any) -> int:
        try:
            return main(*arguments, **keywords)
        except (UsageError, Failed) as error:
            print(f"error: {error}", file=sys.stderr)
            return 2 if isinstance(error, UsageError) else 1

    return run


class OneLineParser(argparse.ArgumentParser):
    """A parser that reports an error in one line and exits with code 2, as argparse does.

    Its help shows the description with its line breaks.
    """

    def __init__(self, prog: str, description: str | None) -> None:
        lines = argparse.RawDescriptionHelpFormatter
        super().__init__(prog, description=description, formatter_class=lines, allow_abbrev=False)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def whole_number(text: str) -> int:
    """Read an integer of 0 or more."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected an integer of 0 or more")
    return int(text)


def text_that(holds: Callable[[str], object], expected: str) -> Callable[[str], str]:
    """Return a function that reads an argument for which `holds` must be true."""

    def read(text: str) -> str:
        if not holds(text):
            raise argparse.ArgumentTypeError(f"got {text!r}, expected {expected}")
        return text

    return read


def one_of(known: Collection[str]) -> Callable[[str], str]:
    """Return a function that reads one of these names."""
    return text_that(known.__contains__, f"one of {', '.join(known)}")


def printable(expected: str) -> Callable[[str], str]:
    """Return a function that reads visible words, such as a term's name."""
    return text_that(lambda text: text.strip() and text.isprintable(), expected)


def add_paper(parser: argparse.ArgumentParser) -> None:
    """Add --paper, the sheet's paper size."""
    parser.add_argument(
        "--paper",
        type=one_of(PAPERS),
        default=PAPERS[0],
        metavar="|".join(PAPERS),
        help="the sheet's paper size (default: letter)",
    )


def add_editions(parser: argparse.ArgumentParser) -> None:
    """Add --edition to a command that by default builds every edition."""
    parser.add_argument("--edition", help="what to build (default: every edition)")


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add --recipe, with which models are trained."""
    parser.add_argument("--recipe", help="the training recipe (default: the data set's)")
