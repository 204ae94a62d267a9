"""Command lines of the tools: every complaint is one line that lists what would have been right."""

import argparse
from collections.abc import Callable, Collection
from typing import Any, NoReturn

PAPERS = ("letter", "a4")


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints are one line; exit code 2, as argparse has it.

    Its help shows the description as it is laid out.
    """

    def __init__(self, prog: str, description: str | None = None, **keywords: Any) -> None:
        defaults: dict[str, Any] = {
            "formatter_class": argparse.RawDescriptionHelpFormatter,
            "allow_abbrev": False,
        }
        super().__init__(prog=prog, description=description, **defaults | keywords)

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def whole_number(text: str) -> int:
    """Read a command line's number: digits only, so nothing negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number of 0 or more")
    return int(text)


def one_of(known: Collection[str]) -> Callable[[str], str]:
    """Return a reader of a text that is one of these."""

    def read(text: str) -> str:
        if text not in known:
            raise argparse.ArgumentTypeError(f"got {text!r}, expected one of {', '.join(known)}")
        return text

    return read


def add_paper(parser: argparse.ArgumentParser) -> None:
    """Add --paper, the size of the sheet's pages."""
    parser.add_argument(
        "--paper",
        type=one_of(PAPERS),
        default=PAPERS[0],
        metavar="|".join(PAPERS),
        help="the size of the sheet's pages (default: letter)",
    )


def add_editions(parser: argparse.ArgumentParser) -> None:
    """Add --edition to a command that by default works on all of them."""
    parser.add_argument("--edition", help="default: every edition of assignment.toml")


def add_recipe(parser: argparse.ArgumentParser) -> None:
    """Add --recipe, by which the reference trains."""
    parser.add_argument("--recipe", help="of trainings; default: the installed data set's")
