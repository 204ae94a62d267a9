"""Shared by the tools that create data sets: file names, the form of a question, atomic writing.

Used by `python -m tools.world` and `python -m tools.install_data`.
"""

import datetime
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from autograder.description import REPO, DataSetTable, UsageError, load_assignment
from tools.exchange import exchange

# Paths of the files, relative to the root that a command writes to.
WIKI = "src/data/wiki.txt"
TRAIN = "src/data/birth_places_train.tsv"
DEV = "src/data/birth_dev.tsv"
TEST_INPUTS = "src/data/birth_test_inputs.tsv"
UNSEEN_INPUTS = "src/data/birth_unseen_inputs.tsv"
DATASET = "src/data/dataset.json"
TEST_ANSWERS = "solutions/data/birth_test.tsv"
SEED = "solutions/data/seed.txt"
GRADING_SECRET = "solutions/data/grading_secret"
ARCHIVE = "solutions/data/archive"

SHIPPED = (WIKI, TRAIN, DEV, TEST_INPUTS, UNSEEN_INPUTS, DATASET)  # what students get

UNSEEN_PEOPLE = 50
OUT_HELP = "the folder with src/data and solutions/data (default: the project)"
MASK_CHAR, PAD_CHAR = "\u2047", "\u25a1"  # reserved by the datasets of `submission`


def require_data_set(root: Path) -> None:
    """Check that a data set is installed.

    Raises:
        UsageError: one of its files is missing.
    """
    missing = [name for name in SHIPPED if not (root / name).is_file()]
    if missing:
        what = "no data set" if len(missing) == len(SHIPPED) else f"no {' and no '.join(missing)}"
        raise UsageError(f"there is {what} in {root}: `make world` generates a data set")


def dataset_settings(name: str) -> DataSetTable:
    """Return the table [datasets.NAME] of the project's assignment.toml."""
    datasets = load_assignment(REPO).tables.datasets
    if name not in datasets:
        raise UsageError(f"assignment.toml: expected a table [datasets.{name}], found none")
    return datasets[name]


def question(name: str) -> str:
    """Return the question about one person, as it is in all tables."""
    return f"Where was {name} born?"


def dataset_json(name: str) -> str:
    """Return the text of dataset.json: which [datasets.NAME] is installed, never the seed."""
    return json.dumps({"name": name}) + "\n"


def as_lines(rows: list[str]) -> str:
    """Join `rows` with a newline at the end of each, the last included."""
    return "".join(f"{row}\n" for row in rows)


def archived(
    root: Path, texts: Mapping[str, str | None], lost: Sequence[str] | None = None
) -> dict[str, str]:
    """Return which of a term's secrets have to be archived before new files are written.

    The answers and the seed of a data set exist nowhere else, and the grading secret is needed to
    repeat an earlier run, so none of the three is ever overwritten.

    Args:
        root: folder that the paths are relative to.
        texts: the new files, as for `write_all`.
        lost: other files to archive; by default the answers and the seed, if they change.

    Returns:
        Old path to path in the archive; empty if nothing is lost.
    """
    if lost is None:
        present = [
            name for name in (TEST_ANSWERS, SEED) if name in texts and (root / name).is_file()
        ]
        lost = [name for name in present if _differs(root / name, texts[name])]
    if not lost:
        return {}
    folder = day = f"{ARCHIVE}/{datetime.date.today().isoformat()}"
    number = 1
    while (root / folder).exists():
        number += 1
        folder = f"{day}-{number}"
    names = dict.fromkeys((*lost, TEST_ANSWERS, SEED, GRADING_SECRET))
    present = [name for name in names if (root / name).is_file()]
    return {name: f"{folder}/{Path(name).name}" for name in present}


def _differs(path: Path, text: str | None) -> bool:
    return text is None or path.read_bytes() != text.encode("utf-8")


def told(moves: Mapping[str, str]) -> list[str]:
    """Return a line for each file that was archived."""
    return [f"kept: {old} is now {new}" for old, new in moves.items()]


def write_all(
    root: Path, texts: Mapping[str, str | None], moves: Mapping[str, str] | None = None
) -> None:
    """Write every file of `texts` below `root`, or none.

    All are first written to temporary files, then renamed. On any failure, Ctrl-C included, the
    previous files are restored.

    Args:
        root: folder that the paths are relative to.
        texts: path to text (written as UTF-8 with plain newlines), or None to remove the file.
        moves: files to move away first; see `archived`.

    Raises:
        UsageError: the files can't be written.
    """
    fresh: dict[Path, Path | None] = {}
    away = {root / old: root / new for old, new in (moves or {}).items()}
    folders = {target.parent for target in away.values()}
    try:
        for relative, text in texts.items():
            path = root / relative
            if path.is_dir():
                raise UsageError(f"{path} is a folder; a file should be written there: remove it")
            fresh[path] = None
            if text is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                draft = fresh[path] = path.with_name(f".{path.name}.{os.getpid()}.tmp")
                draft.touch(0o600 if relative == GRADING_SECRET else 0o666)
                draft.write_bytes(text.encode("utf-8"))
        for folder in folders:
            folder.mkdir(parents=True, mode=0o700)
        exchange(fresh, away)
    except OSError as error:
        raise UsageError(f"nothing was changed: {error.strerror}: {error.filename}") from error
    finally:
        for temporary in filter(None, fresh.values()):
            temporary.unlink(missing_ok=True)
        for folder in folders:  # empty if nothing was moved there
            with suppress(OSError):
                folder.rmdir()
