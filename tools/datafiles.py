"""A data set's files: their names, the form of a question, and writing all of them or none."""

import datetime
import itertools
import json
import os
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from autograder.description import REPO as REPO
from autograder.description import UsageError

from .exchange import exchange

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
    """Raise UsageError unless a data set is installed, with all of its files."""
    missing = [name for name in SHIPPED if not (root / name).is_file()]
    if missing:
        what = "no data set" if len(missing) == len(SHIPPED) else f"no {' and no '.join(missing)}"
        raise UsageError(f"there is {what} in {root}: `make world` generates a data set")


def installed(repo: Path) -> str | None:
    """Return the name of the installed data set, or None; UsageError: dataset.json has none."""
    path = repo / DATASET
    if not path.is_file():
        return None
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["name"])
    except (OSError, ValueError, KeyError, TypeError):
        raise UsageError(
            f'{DATASET}: expected {{"name": ...}}, the name of a data set: run make world or make '
            "data again"
        ) from None


def question(name: str) -> str:
    """Return the question about one person, as it is in all tables."""
    return f"Where was {name} born?"


def dataset_json(name: str) -> str:
    """Return the text of dataset.json: which [datasets.NAME] is installed, never the seed."""
    return json.dumps({"name": name}) + "\n"


def as_lines(rows: list[str]) -> str:
    """Join `rows` with a newline at the end of each, the last included."""
    return "".join(f"{row}\n" for row in rows)


def install(
    root: Path, name: str, texts: Mapping[str, str | None], notes: Sequence[str] = ()
) -> list[str]:
    """Install a data set in place of the present one, whose secrets move to the archive.

    Returns what to print: the files, what was moved, the notes, and a summary.
    """
    secrets = {root / path: path for path in (TEST_ANSWERS, SEED) if path in texts}
    present = {file: path for file, path in secrets.items() if file.is_file()}
    lost = [path for file, path in present.items() if file.read_bytes() != _encoded(texts[path])]
    moves = write_all(root, texts, lost)
    files = [f"  {path}" for path, text in texts.items() if text is not None]
    head = f"installed the data set {name!r} below {root}:"
    return [head, *files, *moves, *(f"note: {note}" for note in notes), *_summary(texts)]


def _summary(texts: Mapping[str, str | None]) -> list[str]:
    """Return a summary of a data set in three lines."""
    rows = {path: (text or "").removesuffix("\n").split("\n") for path, text in texts.items()}
    sizes = {"train": len(rows[TRAIN]), "dev": len(rows[DEV]), "test": len(rows[TEST_INPUTS])}
    each = ", ".join(f"{size} {split}" for split, size in sizes.items())
    answered = {"train": TRAIN, "dev": DEV, "test": TEST_ANSWERS}
    places = {
        split: [row.partition("\t")[2] for row in rows[path]]
        for split, path in answered.items()
        if texts.get(path)
    }
    shares = [f"{all.count('London') / len(all):.1%} of {split}" for split, all in places.items()]
    corpus = [row for row in rows[WIKI] if row]
    return [
        f"people   {sum(sizes.values())} ({each}), and {len(rows[UNSEEN_INPUTS])} unseen",
        f"corpus   {len(corpus)} lines, {sum(map(len, corpus)) / len(corpus):.1f} characters per "
        f"line on average, {len(set(texts[WIKI] or ''))} different characters",
        f"cities   {len(set().union(*places.values()))}; London is {', '.join(shares)}",
    ]


def write_all(root: Path, texts: Mapping[str, str | None], lost: Collection[str] = ()) -> list[str]:
    """Write all files below a folder, or none; return a line for each archived file.

    The answers and the seed of a data set exist nowhere else, and the grading secret is needed to
    repeat an earlier run, so where any file would be lost, all three move to the archive as well.

    Args:
        texts: path to text, written as UTF-8 with plain newlines; None removes the file.
        lost: the files whose present content has to be archived first.

    Raises:
        UsageError: the files can't be written; nothing was changed.
    """
    moves = _places_in_archive(root, lost) if lost else {}
    folders = {(root / place).parent for place in moves.values()}
    drafts: dict[Path, Path | None] = {}
    try:
        for name, text in texts.items():
            path = root / name
            if path.is_dir():
                raise UsageError(f"{path} is a folder; a file should be written there: remove it")
            drafts[path] = None
            if (content := _encoded(text)) is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                draft = drafts[path] = path.with_name(f".{path.name}.{os.getpid()}.tmp")
                draft.touch(0o600 if name == GRADING_SECRET else 0o666)
                draft.write_bytes(content)
        for folder in folders:
            folder.mkdir(parents=True, mode=0o700)
        exchange(drafts, {root / old: root / new for old, new in moves.items()})
    except OSError as error:
        raise UsageError(f"nothing was changed: {error.strerror}: {error.filename}") from error
    finally:
        for draft in filter(None, drafts.values()):
            draft.unlink(missing_ok=True)
        for folder in folders:  # empty if nothing was moved there
            with suppress(OSError):
                folder.rmdir()
    return [f"kept: {old} is now {new}" for old, new in moves.items()]


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else text.encode("utf-8")


def _places_in_archive(root: Path, lost: Collection[str]) -> dict[str, str]:
    """Return where to move these files and a term's secrets: to a new folder with today's date."""
    day = f"{ARCHIVE}/{datetime.date.today().isoformat()}"
    folders = (day if number == 1 else f"{day}-{number}" for number in itertools.count(1))
    folder = next(folder for folder in folders if not (root / folder).exists())
    names = dict.fromkeys((*lost, TEST_ANSWERS, SEED, GRADING_SECRET))
    return {name: f"{folder}/{Path(name).name}" for name in names if (root / name).is_file()}
