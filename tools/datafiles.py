"""What the makers of data sets share: file names, the form of a question, writing all or nothing.

Used by `python -m tools.world` and `python -m tools.install_data`.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

from tools.described import REPO, DataSet, UsageError, load_assignment

# Places of the files, relative to the root that a command writes to.
WIKI = "src/data/wiki.txt"
TRAIN = "src/data/birth_places_train.tsv"
DEV = "src/data/birth_dev.tsv"
TEST_INPUTS = "src/data/birth_test_inputs.tsv"
UNSEEN_INPUTS = "src/data/birth_unseen_inputs.tsv"
DATASET = "src/data/dataset.json"
TEST_ANSWERS = "solutions/data/birth_test.tsv"
SEED = "solutions/data/seed.txt"

UNSEEN_PEOPLE = 50
OUT_HELP = "the folder that holds src/data and solutions/data (the project)"
MASK_CHAR, PAD_CHAR = "\u2047", "\u25a1"  # reserved by the datasets of `submission`


class DataError(Exception):
    """What was asked for or read can't be used; the message is one line for the user."""


class OneLineParser(argparse.ArgumentParser):
    """A parser whose complaints are one line; exit code 2, as argparse has it."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"error: {message} (see {self.prog} --help)\n")


def run_command(work: Callable[[], None]) -> int:
    """Run `work`; print a DataError as one line on standard error.

    Returns:
        The exit code: 0, or 2 for bad input.
    """
    try:
        work()
    except DataError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def whole_number(text: str) -> int:
    """Read a command line's number: digits only, so nothing negative."""
    if not (text.isascii() and text.isdigit()):
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number of 0 or more")
    return int(text)


def dataset_settings(name: str) -> DataSet:
    """Return the table [datasets.NAME] of the project's assignment.toml."""
    try:
        datasets = load_assignment(REPO).datasets
    except UsageError as error:
        raise DataError(str(error)) from None
    if name not in datasets:
        raise DataError(f"assignment.toml: expected a table [datasets.{name}], found none")
    return datasets[name]


def question(name: str) -> str:
    """Return the question about one person, as all tables have it."""
    return f"Where was {name} born?"


def dataset_json(name: str) -> str:
    """Return the text of dataset.json: which [datasets.NAME] is installed, never the seed."""
    return json.dumps({"name": name}) + "\n"


def as_lines(rows: list[str]) -> str:
    """Join `rows` with a newline at the end of each, the last included."""
    return "".join(f"{row}\n" for row in rows)


def write_all(root: Path, texts: Mapping[str, str | None]) -> None:
    """Write every file of `texts` below `root`, or none.

    All are first written beside their places, then moved there. A failure on the way, Ctrl-C
    included, puts back what stood there before.

    Args:
        root: folder that the paths are relative to.
        texts: path to text (written as UTF-8 with plain newlines), or None to remove the file.

    Raises:
        DataError: the files can't be written.
    """
    mark = f".{os.getpid()}.tmp"
    fresh: dict[Path, Path] = {}
    try:
        for relative, text in texts.items():
            path = root / relative
            if path.is_dir():
                raise DataError(f"{path} is a folder; a file should be written there: remove it")
            if text is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                fresh[path] = path.with_name(f".{path.name}{mark}")
                fresh[path].write_bytes(text.encode("utf-8"))
        _exchange([root / relative for relative in texts], fresh, mark)
    except OSError as error:
        raise DataError(f"nothing was changed: {error.strerror}: {error.filename}") from error
    finally:
        for temporary in fresh.values():
            temporary.unlink(missing_ok=True)


def _exchange(paths: list[Path], fresh: Mapping[Path, Path], mark: str) -> None:
    """Put the `fresh` files in their places; a path without one is removed."""
    kept: dict[Path, Path] = {}
    placed: list[Path] = []
    try:
        for path in paths:
            if path.exists():
                old = path.with_name(f".{path.name}.old{mark}")
                kept[path] = old
                os.replace(path, old)
            if path in fresh:
                placed.append(path)
                os.replace(fresh[path], path)
    except BaseException:
        for path in placed:
            path.unlink(missing_ok=True)
        for path, old in kept.items():
            if old.exists():
                os.replace(old, path)
        raise
    for old in kept.values():
        old.unlink(missing_ok=True)
