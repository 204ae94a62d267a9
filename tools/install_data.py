"""Check the real course's data files and install them in place of a generated world.

    python -m tools.install_data FOLDER                             (make data SOURCE=FOLDER)

Copies wiki.txt and the birth tables of FOLDER to src/data/, and birth_test.tsv, the answers of the
test split, to solutions/data/. Data that would break training or grading are rejected, with file
and line; flaws that do no harm (the real files have some) are counted and reported.

Exit codes: 0 done; 2 bad input, and nothing was changed.
"""

import itertools
import re
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from autograder.description import UsageError
from tools import datafiles
from tools.arguments import OneLineParser, with_one_line_errors
from tools.datafiles import MASK_CHAR, PAD_CHAR, question
from tools.world import Draws, load_words, unseen_table

REQUIRED = (datafiles.WIKI, datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS)
OPTIONAL = (datafiles.UNSEEN_INPUTS, datafiles.TEST_ANSWERS)
ANSWERED = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_ANSWERS)
SPLITS = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS)
NAME = "real"  # of the data set
QUESTION = re.compile(r"Where was (.+) born\?")
EXAMPLES = 3


class Row(NamedTuple):
    """One line of a table; `place` is None where the table has no answers."""

    name: str
    place: str | None


def read_source(path: Path, notes: list[str]) -> str:
    """Return a UTF-8 file's text, without a byte-order mark and with plain newlines.

    `notes` gets a sentence for each repair.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: can't be read: {error.strerror}") from error
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        number = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(
            f"{path}:{number}: byte {raw[error.start]:#04x} is not UTF-8: probably saved in "
            "another encoding; save the file as UTF-8"
        ) from error
    if text.startswith("\ufeff"):
        notes.append(f"{path.name}: removed the byte-order mark at its start")
        text = text[1:]
    if "\r\n" in text:
        notes.append(f"{path.name}: converted Windows line endings to plain newlines")
        text = text.replace("\r\n", "\n")
    if not text.strip():
        raise UsageError(f"{path}: expected text, found an empty file")
    return text


def check_table(text: str, path: Path, answered: bool, vocabulary: set[str]) -> list[Row]:
    """Check and parse a table; UsageError names the first line that is wrong.

    Args:
        text: the whole table, a newline at its end.
        path: for messages.
        answered: whether each line must have a place after a tab; otherwise, it must have none.
        vocabulary: the corpus's characters; a model knows no others.
    """
    rows = []
    form = question("NAME") + ("<TAB>PLACE" if answered else "")
    for number, line in enumerate(text[:-1].split("\n"), 1):
        where = f"{path}:{number}"
        fields = line.split("\t")
        if len(fields) != 1 + answered:
            raise UsageError(f"{where}: got {len(fields)} columns ({line!r}), expected {form!r}")
        match = QUESTION.fullmatch(fields[0])
        if not match or any(part != part.strip() or not part for part in (match[1], *fields)):
            raise UsageError(f"{where}: got {line!r}, expected {form!r}")
        unknown = set("".join(fields)) - vocabulary
        if unknown:
            raise UsageError(
                f"{where}: {min(unknown)!r} does not occur in wiki.txt, so no model will know it: "
                "does the corpus belong to this table, in the same encoding?"
            )
        rows.append(Row(match[1], fields[1] if answered else None))
    return rows


def check_answers(answers: list[Row], inputs: list[Row], path: Path) -> None:
    """Check that the answers belong to the test questions, line by line."""
    if len(answers) != len(inputs):
        raise UsageError(
            f"{path}: got {len(answers)} answers, expected {len(inputs)}, as many as test "
            "questions: the two files belong to different data sets"
        )
    for number, (answer, asked) in enumerate(zip(answers, inputs, strict=True), 1):
        if answer.name != asked.name:
            raise UsageError(
                f"{path}:{number}: got {answer.name!r}, expected {asked.name!r} as in "
                "birth_test_inputs.tsv: the order of the lines must be the same"
            )


def find_oddities(tables: dict[str, list[Row]], corpus: str) -> list[str]:
    """Return notes on flaws of the data that break nothing, with counts.

    The public course's files have people with two birth places ("China" and "Beijing") and three
    namesakes in two splits, so none of these can be rejected.
    """
    cases: dict[str, list[str]] = {}  # whose names show what is odd
    people = {path: Counter(row.name for row in tables[path]) for path in SPLITS}
    for path, names in people.items():
        file = Path(path).name
        twice = [name for name, count in names.items() if count > 1]
        places = Counter(row.name for row in {*tables[path]})
        differing = [name for name in twice if places[name] > 1]
        missing = [name for name in names if name not in corpus]
        cases |= {
            f"{file}: people who occur more than once": twice,
            f"{file}: of these, people with different birth places": differing,
            f"{file}: people missing from the corpus, whose places can only be guessed": missing,
        }
    for one, other in itertools.combinations(SPLITS, 2):
        shared = [name for name in people[other] if name in people[one]]
        cases[f"people both in {Path(one).name} and in {Path(other).name}"] = shared
    seen = set().union(*people.values())
    unseen = [row.name for row in tables.get(datafiles.UNSEEN_INPUTS, ())]
    known = [name for name in unseen if name in seen or name in corpus]
    cases["birth_unseen_inputs.tsv: people who do occur elsewhere"] = known
    return [
        f"{what}: {len(names)} ({', '.join(names[:EXAMPLES])}{', ...' * (len(names) > EXAMPLES)})"
        for what, names in cases.items()
        if names
    ]


def prepare(source: Path, root: Path) -> tuple[dict[str, str | None], list[str]]:
    """Read and check the course's files in `source`, to be installed in `root`.

    Returns:
        The texts by their paths below `root` (None: remove the file), and notes for staff.

    Raises:
        UsageError: a file is missing, or would break training or grading.
    """
    if not source.is_dir():
        raise UsageError(f"{source}: expected a folder with the course's data files, found none")
    paths = {name: source / Path(name).name for name in (*REQUIRED, *OPTIONAL)}
    for name in REQUIRED:
        if not paths[name].is_file():
            expected = ", ".join(Path(required).name for required in REQUIRED)
            raise UsageError(f"{paths[name]}: no such file; expected {expected} in this folder")
    notes: list[str] = []
    corpus = read_corpus(paths.pop(datafiles.WIKI), notes)
    texts: dict[str, str | None] = {datafiles.WIKI: corpus}
    tables: dict[str, list[Row]] = {}
    for name, path in paths.items():
        if path.is_file():
            text = read_source(path, notes)
            if not text.endswith("\n"):
                notes.append(f"{path.name}: added the newline missing at the end of its last line")
                text += "\n"
            texts[name] = text
            tables[name] = check_table(text, path, name in ANSWERED, set(corpus))
    if datafiles.TEST_ANSWERS in tables:
        answers, inputs = tables[datafiles.TEST_ANSWERS], tables[datafiles.TEST_INPUTS]
        check_answers(answers, inputs, paths[datafiles.TEST_ANSWERS])
    notes += find_oddities(tables, corpus)
    if datafiles.UNSEEN_INPUTS not in texts:
        # No secret, and never scored: the same corpus always gives the same people.
        names = Draws(0, "unseen").shuffled(load_words().full_names)
        known = [row.name for rows in tables.values() for row in rows]
        unseen = unseen_table(names, corpus, known, "is it the whole corpus?")
        texts[datafiles.UNSEEN_INPUTS] = unseen
        notes.append(f"birth_unseen_inputs.tsv: invented {datafiles.UNSEEN_PEOPLE} names")
    drop_outdated(texts, root, notes)
    return texts | {datafiles.DATASET: datafiles.dataset_json(NAME)}, notes


def read_corpus(path: Path, notes: list[str]) -> str:
    """Return the corpus; reject the two characters that the datasets of `submission` reserve."""
    corpus = read_source(path, notes)
    for number, line in enumerate(corpus.split("\n"), 1):
        if MASK_CHAR in line or PAD_CHAR in line:
            raise UsageError(
                f"{path}:{number}: contains {MASK_CHAR!r} or {PAD_CHAR!r}, which stand for the "
                "mask and the padding: remove the character"
            )
    missing = set(question("")) - set(corpus)
    if missing:
        raise UsageError(
            f"{path}: lacks {''.join(sorted(missing))!r}, characters of every question: is it the "
            "whole corpus?"
        )
    return corpus


def drop_outdated(texts: dict[str, str | None], root: Path, notes: list[str]) -> None:
    """Mark another data set's files in solutions/data for removal: its answers and its seed.

    Earlier answers are kept if their questions are those of the new files, line by line.
    """
    asked = questions(texts[datafiles.TEST_INPUTS] or "")
    answers, seed = root / datafiles.TEST_ANSWERS, root / datafiles.SEED
    if datafiles.TEST_ANSWERS not in texts:
        if not answers.is_file():
            notes.append("there are no answers to the test questions, so test can't be scored")
        elif questions(answers.read_bytes().decode("utf-8", "replace")) == asked:
            notes.append(f"{datafiles.TEST_ANSWERS}: kept, because it answers these test questions")
            return
        else:
            texts[datafiles.TEST_ANSWERS] = None
            notes.append(
                f"{datafiles.TEST_ANSWERS} belonged to another data set; now there are no answers "
                "to the test questions, and test can't be scored"
            )
    if seed.is_file():
        texts[datafiles.SEED] = None  # it belongs to another data set


def questions(table: str) -> list[str]:
    """Return the first column of a table."""
    return [line.split("\t")[0] for line in table.split("\n")]


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit code (0, or 2 for files that can't be used)."""
    parser = OneLineParser("python -m tools.install_data", __doc__)
    parser.add_argument("source", type=Path, metavar="FOLDER", help="where the course's files are")
    parser.add_argument(
        "--out", type=Path, default=datafiles.REPO, metavar="ROOT", help=datafiles.OUT_HELP
    )
    options = parser.parse_args(arguments)
    texts, notes = prepare(options.source, options.out)
    print("\n".join(datafiles.install(options.out, NAME, texts, notes)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
