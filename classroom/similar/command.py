"""`similar SOURCE --into DIR`: show which submissions share something that few others have.

It writes `index.html` with lists of pairs and groups, and pages of pairs with both texts, in which
submissions are named by their ids; `list --names` says whose they are.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from datetime import tzinfo
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped]

import grading
from autograder import isolation, solutions
from grading.errors import SubmissionError, UsageError, safe_line
from grading.report import render
from grading.staging import MAX_OUTPUT_BYTES
from grading.upload import Folder
from grading.verdicts import ExitCode, write_atomically

from .. import times
from ..arguments import USUAL, Commands, add_command, add_folder
from ..exports import add_source, read_export, read_source, show_notes
from ..store import Store, replacing
from ..submissions import Submission, same
from . import parameters
from .ranking import ANSWERS, TENSORS, Entry, Ranking, authors_of, comparable, weigh
from .texts import GRAM, MOST_TOKENS, NAMES, SHAPE, VIEWS, Known, Text, Token, grams

HERE = Path(__file__).parent
PAIRS = "pairs"  # the folder of their pages
CODE, PARAMETERS, PREDICTIONS = ".py", ".params", ".predictions"
MOST_BYTES = {CODE: 1 << 20, PARAMETERS: MAX_OUTPUT_BYTES, PREDICTIONS: 1 << 20}  # of a file
MOST_FILES = 400  # of one submission
RESULTS = grading.ROOT / "build" / "reference"  # what `make reference` trains
RAREST = 12  # wrong predictions that a page lists
RARE = 2  # what at most so many authors, or a tenth of the class, have is rare
TRAINED = "trained parameters"
# What is compared: how many features, which two authors have, a score is at least divided by
# (`ranking.py`), and what it means.
KINDS: dict[str, tuple[int, str]] = {
    NAMES: (
        30,
        "Code and comments as they are, except for layout and quotes; shared are runs of five "
        "words or signs.",
    ),
    SHAPE: (30, "Code without comments, and without the names that its author chose."),
    TENSORS: (0, "Tensors with the same name and the same values, in whatever file."),
    TRAINED: (
        0,
        "How alike the matrices are, whatever was permuted, scaled or rounded: close to 1 if they "
        "come from the same pretraining.",
    ),
    ANSWERS: (20, "Wrong predictions that are the same."),
}


class Reading:
    """Reads one entry after the other; `close` ends the workers that read parameters.

    It works in an empty folder, and calls `note` with a line about everything that isn't compared.
    """

    def __init__(self, work: Path, note: Callable[[str], None]) -> None:
        self._note, self._known = note, Known()
        self._reader = parameters.Reader(work) if isolation.is_available() else None
        self._places: dict[str, list[str]] = {}  # the right answers of each split
        for split, folder in (("dev", grading.DATA), ("test", solutions.ANSWERS)):
            path = folder / f"birth_{split}.tsv"
            if path.is_file():
                rows = path.read_text(encoding="utf-8").splitlines()
                self._places[split] = [row.rpartition("\t")[2] for row in rows]
            else:
                note(f"predictions for {split} are not compared: the answers are missing")
        self._ours = Entry("reference")
        for path in (*RESULTS.glob("*.params"), *RESULTS.glob("*.predictions")):
            self._add(self._ours, path.name, path.read_bytes())
        if self._reader is None:
            note("parameters are not compared: their files can only be read on Linux")
        elif not self._ours.signatures:
            note(
                "build/reference/ has no parameters, so copies of the reference's are not "
                "recognized; train them with `make reference`"
            )

    def close(self) -> None:
        """End the workers."""
        if self._reader is not None:
            self._reader.close()

    def read(self, entry: Entry, submission: Submission) -> Entry:
        """Add what is compared of a submission to its entry; return the entry."""
        try:
            with submission.upload.tree() as top:
                self._add_all(entry, top)
        except SubmissionError as error:
            self._note(f"{entry.name}: not everything is compared: {error}")
        if not any(entry.features.values()):
            self._note(f"{entry.name}: nothing to compare")
        return entry

    def _add_all(self, entry: Entry, top: Folder) -> None:
        number = 0
        for folder, names in top.walk():
            for file in names:
                most = MOST_BYTES.get(Path(file).suffix)
                if most is None or folder.entries[file].kind != "file":
                    continue
                number += 1
                if number > MOST_FILES:
                    self._note(f"{entry.name}: only the first {MOST_FILES} files are compared")
                    return
                with folder.file(file) as reader:
                    content = reader.read(most + 1)
                if len(content) <= most:
                    self._add(entry, file, content)
                else:
                    self._leave_out(entry, file, f"more than {most} bytes")

    def _leave_out(self, entry: Entry, file: str, why: object) -> None:
        shown = safe_line(file, 80)
        self._note(safe_line(f"{entry.name}: {shown} is not compared: {why}"))

    def _add(self, entry: Entry, file: str, content: bytes) -> None:
        """Add what a file contains, except for what the reference's own file contains, too."""
        if file.endswith(PARAMETERS):
            self._add_parameters(entry, file, content)
            return
        text = content.decode("utf-8-sig", "replace")
        if file.endswith(CODE):
            self._add_code(entry, file, text)
            return
        lines = [line.strip() for line in text.removesuffix("\n").split("\n")]
        places = self._places.get(Path(Path(file).stem).suffix.removeprefix("."), [])
        if len(places) == len(lines) and len(set(lines)) > 1:  # an answer for each question
            answers = enumerate(zip(lines, places, strict=True), start=1)
            wrong = {(file, n, said) for n, (said, place) in answers if said != place}
            if wrong != {answer for answer in self._ours.features[ANSWERS] if answer[0] == file}:
                entry.features[ANSWERS] |= wrong

    def _add_code(self, entry: Entry, file: str, content: str) -> None:
        text = Text(file, content, self._known)
        most = MOST_TOKENS - sum(len(text.tokens) for text in entry.texts)
        if text.is_cut or len(text.tokens) > most:
            self._leave_out(entry, f"a part of {file}", f"more than {MOST_TOKENS} words and signs")
            del text.tokens[most:]
        if text.tokens:
            entry.add(text, self._known)

    def _add_parameters(self, entry: Entry, file: str, content: bytes) -> None:
        if self._reader is None:
            return
        try:
            tensors = self._reader.read(content)
        except parameters.Unreadable as error:
            return self._leave_out(entry, file, error)
        hashes, ours = parameters.hashes_of(tensors), self._ours.features[TENSORS]
        if 2 * len(hashes & ours) <= len(hashes):  # otherwise it is one of ours
            entry.features[TENSORS] |= hashes - ours
            entry.signatures.append(parameters.signature_of(tensors))


# The pages ----------------------------------------------------------------------------------------


class Comparison:
    """Rankings of everything that was read, by title, each with what it compares."""

    def __init__(self, entries: list[Entry], notes: list[str]) -> None:
        self.entries, self._notes = entries, notes
        author = authors_of(entries)
        self.authors = len({a for a, e in zip(author, entries, strict=True) if not e.is_reference})
        self._rare = max(RARE, self.authors // 10)
        weighed = {kind: weigh(entries, kind, least) for kind, (least, _) in KINDS.items()}
        scores = {kind: own for kind, (own, _) in weighed.items()}
        self._counts = {kind: counts for kind, (_, counts) in weighed.items()}
        # These have signatures in place of features.
        scores[TRAINED] = parameters.similarities([entry.signatures for entry in entries])
        may = comparable(entries)
        references = np.array([entry.is_reference for entry in entries], dtype=bool)
        outside = np.logical_or.outer(references, references)
        code = {"Code of the class": may & ~outside}
        if references.any():
            code["Code and references"] = may & outside
        compared = [(f"{group}, {view}", view, code[group]) for group in code for view in VIEWS]
        compared += [(kind.capitalize(), kind, may) for kind in (TENSORS, TRAINED, ANSWERS)]
        self.rankings = {title: (kind, Ranking(scores[kind], m)) for title, kind, m in compared}

    def write(self, target: Path) -> int:
        """Write all pages to an empty folder; return how many pairs have one."""
        (target / PAIRS).mkdir(mode=0o700)
        references = sum(entry.is_reference for entry in self.entries)
        text = render(
            HERE / "similar_index.html.j2",
            title="Similarity in this class",
            authors=self.authors,
            submissions=len(self.entries) - references,
            references=references,
            rankings=self.rankings,
            explanations={kind: words for kind, (_, words) in KINDS.items()},
            entries=self.entries,
            page=_page,
            share=self._share,
            notes=self._notes,
        )
        write_atomically(target / "index.html", text)
        rows = [row.members for _, ranking in self.rankings.values() for row in ranking.rows]
        pairs = {(min(one, two), max(one, two)) for one, *others in rows for two in others}
        for one, two in pairs:
            write_atomically(target / _page(one, two), self._pair(one, two))
        return len(pairs)

    def _share(self, kind: str, one: int, two: int) -> str:
        """Return how many features two entries share, in words."""
        if kind == TRAINED:
            return ""
        first, second = (self.entries[n].features[kind] for n in (one, two))
        return f"{len(first & second)} of {min(len(first), len(second))}"

    def _pair(self, one: int, two: int) -> str:
        """Return the page of a pair."""
        sides = [self.entries[one], self.entries[two]]
        counts = self._counts[ANSWERS]
        both = sides[0].features[ANSWERS] & sides[1].features[ANSWERS]
        return render(
            HERE / "similar_pair.html.j2",
            title=f"{sides[0].name} and {sides[1].name}",
            scores=[
                (title, self._share(kind, one, two), score, ranking.rank(score), ranking)
                for title, (kind, ranking) in self.rankings.items()
                if (score := ranking.score(one, two)) >= 0
            ],
            answers=sorted((counts[answer], *answer) for answer in both)[:RAREST],
            authors=self.authors,
            rare=self._rare,
            sides=sides,
            lines=lambda text: self._lines(text, sides),
        )

    def _lines(self, text: Text, sides: list[Entry]) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number of each line, and its parts: (how it is marked, authors, text)."""
        marks: list[tuple[str, int]] = [("", 0)] * len(text.tokens)
        for view, look in ((SHAPE, "shape"), (NAMES, "exact")):
            shared = sides[0].features[view] & sides[1].features[view]
            for gram, start in grams(text.tokens, view):
                if gram in shared:
                    count = self._counts[view][gram]
                    mark = (look if count <= self._rare else "usual", count)
                    for at in range(start, start + GRAM):
                        if marks[at][0] in ("", "usual") or mark[0] == "exact":
                            marks[at] = mark
        by_line: dict[int, list[tuple[Token, tuple[str, int]]]] = defaultdict(list)
        for token, mark in sorted(zip(text.tokens, marks, strict=True), key=lambda m: m[0].start):
            by_line[text.line_of(token)].append((token, mark))
        last = max(by_line)  # what follows isn't compared, or is empty
        for number in sorted(number for number in text.own if number <= last):
            line, start = text.lines[number - 1], text.starts[number - 1]
            parts, at = list[tuple[str, int, str]](), 0
            for look, group in groupby(by_line[number], key=lambda each: each[1][0]):
                run = list(group)
                begin, end = run[0][0].start - start, run[-1][0].end - start
                count = min(mark[1] for _, mark in run)
                parts += [("", 0, line[at:begin]), (look, count, line[begin:end])]
                at = end
            yield number, [*parts, ("", 0, line[at:])]


def _page(one: int, two: int) -> str:
    return f"{PAIRS}/{min(one, two) + 1}-{max(one, two) + 1}.html"


# The command --------------------------------------------------------------------------------------


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "similar",
        run,
        "show which submissions share something that few others have",
        "Rank pairs of submissions by what they share that few others have, and write pages with "
        "both texts to DIR/similar/. Open DIR/similar/index.html in a browser.",
        f"{USUAL}. The pages set no threshold and give no verdict. Before you talk to anybody, "
        "read the section 'Similarity' in docs/grading-a-class.md.",
    )
    add_source(command)
    add_folder(command, "--into")
    command.add_argument(
        "--references",
        type=Path,
        nargs="+",
        default=[],
        metavar="FOLDER",
        help="also compare with the folders and zips in these, such as earlier years or clones of "
        "public repositories",
    )
    command.add_argument(
        "--exclude",
        action="append",
        default=[],
        metavar="STUDENT",
        help="leave out submissions of this student (name, address or ID) or with this id, unless "
        "others are authors, too; can be repeated",
    )


def run(asked: argparse.Namespace) -> int:
    """Compare, write the pages, and say where they are."""
    export, zone = read_source(asked), times.course_zone()
    show_notes(export)
    submissions, notes = _without(asked.exclude, export.submissions), list[str]()
    if without := len(export.submissions) - len(submissions):
        notes.append(f"left out with --exclude: {without}")
    with Store.create(asked.folder) as store:
        store.add_submissions(asked.source, export.kind, export.submissions)
        with (
            TemporaryDirectory() as work,
            contextlib.closing(Reading(Path(work), notes.append)) as reading,
        ):
            entries = list(_entries(asked, submissions, reading, zone))
        compared, target = Comparison(entries, [*export.notes, *notes]), store.path / "similar"
        with replacing(target) as draft:
            pages = compared.write(draft)
    for note in notes:
        print(f"note: {note}")
    _, of_the_class = next(iter(compared.rankings.values()))
    print(f"{of_the_class.pairs} pairs compared, {pages} of them have a page")
    print(f"Open {target / 'index.html'} in a browser")
    return ExitCode.OK


def _without(excluded: list[str], submissions: tuple[Submission, ...]) -> list[Submission]:
    """Return the submissions of which somebody who isn't excluded is an author.

    Raises:
        UsageError: nobody has one of these names.
    """
    words, known, remaining = {*map(same, excluded)}, set[str](), []
    for one in submissions:
        people = [{same(one.id), *map(same, filter(None, vars(s).values()))} for s in one.students]
        known.update(*people)
        if not all(words & names for names in people):
            remaining.append(one)
    for word in excluded:
        if same(word) not in known:
            raise UsageError(f"--exclude {word}: nobody in this class has this name or ID")
    return remaining


def _entries(
    asked: argparse.Namespace, submissions: list[Submission], reading: Reading, zone: tzinfo
) -> Iterator[Entry]:
    """Read the class, then the references."""
    # Whoever was in a group at any time may know everything that the group handed in.
    attempts = read_export(asked.source, all_attempts=True).submissions
    authors = {one.id: one.students for one in attempts}
    for one in tqdm(submissions, unit="submission", disable=not sys.stderr.isatty()):
        keys = {student.key for student in (*authors.get(one.id, ()), *one.students)}
        handed_in = times.shown(one.submitted, zone) if one.submitted else ""
        yield reading.read(Entry(one.id, frozenset(keys), handed_in), one)
    for folder in asked.references:
        export = read_export(folder)
        for one in export.submissions:
            # Platforms' names of files may name students.
            shown = one.upload.location if export.kind == "folder" else one.id
            yield reading.read(Entry(f"{folder.resolve().name}/{shown}"), one)
