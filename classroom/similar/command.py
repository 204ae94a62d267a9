"""`similar SOURCE --into DIR`: show which submissions share something that few others have.

It writes `index.html` with lists of pairs and groups, and pages of pairs with both texts, in which
submissions are named by their ids; `list --names` says whose they are.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped]

import grading
from autograder import isolation, solutions
from grading.errors import SubmissionError, UsageError, safe_line
from grading.report import render
from grading.staging import MAX_OUTPUT_BYTES
from grading.verdicts import ExitCode, write_atomically

from .. import times
from ..arguments import USUAL, Commands, add_command, add_folder, count
from ..exports import add_source, read_export, read_source, show_notes
from ..store import Store, replacing
from ..submissions import Submission, same
from . import parameters
from .parameters import Unreadable
from .ranking import Entry, Ranking, comparable, weigh
from .texts import NAMES, SHAPE, VIEWS, Known, Text, grams

HERE = Path(__file__).parent
PAIRS = "pairs"  # the folder of their pages
CODE, PARAMETERS, PREDICTIONS = ".py", ".params", ".predictions"
MOST_BYTES = {CODE: 1 << 18, PARAMETERS: MAX_OUTPUT_BYTES, PREDICTIONS: 1 << 20}  # of a file
MOST_FILES = 400  # of one submission
MOST_TOKENS = 50_000  # of what a submission's authors wrote: a few thousand
RESULTS = grading.ROOT / "build" / "reference"  # what `make reference` trains
LOOKS = ("exact", "shape", "usual", "")  # how a page marks what both have
RAREST = 12  # wrong predictions that a page lists
RARE = 2  # what at most so many submissions, or a tenth of the class, have is rare
ANSWERS, TENSORS, TRAINED = "wrong predictions", "identical tensors", "trained parameters"
# What is compared: how many features, which two submissions have, a score is at least divided by
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
    """Reads what is compared, and notes what isn't."""

    def __init__(
        self, notes: list[str], read_parameters: Callable[[bytes], parameters.Tensors] | None
    ) -> None:
        self._notes, self._known, self._read_parameters = notes, Known(), read_parameters
        self._places: dict[str, list[str]] = {}  # the right answers of each split
        for split, folder in (("dev", grading.DATA), ("test", solutions.ANSWERS)):
            path = folder / f"birth_{split}.tsv"
            if path.is_file():
                rows = path.read_text(encoding="utf-8").splitlines()
                self._places[split] = [row.rpartition("\t")[2] for row in rows]
            else:
                notes.append(f"predictions for {split} are not compared: the answers are missing")
        self._ours = Entry("reference")
        for path in (*RESULTS.glob("*.params"), *RESULTS.glob("*.predictions")):
            self._add(self._ours, path.name, path.read_bytes())
        if read_parameters is None:
            notes.append("parameters are not compared: their files can only be read on Linux")
        elif not self._ours.signatures:
            notes.append(
                "build/reference/ has no parameters, so copies of the reference's are not "
                "recognized; train them with `make reference`"
            )

    def read(self, entry: Entry, submission: Submission) -> Entry:
        """Add what is compared of a submission to its entry; return the entry."""
        try:
            with submission.upload.tree() as top:
                files = [
                    (folder, name)
                    for folder, names in top.walk()
                    for name in names
                    if Path(name).suffix in MOST_BYTES and folder.entries[name].kind == "file"
                ]
                for folder, name in files[:MOST_FILES]:
                    with folder.file(name) as file:
                        content = file.read(MOST_BYTES[Path(name).suffix] + 1)
                    self._add(entry, name, content)
                if len(files) > MOST_FILES:
                    raise SubmissionError(f"only the first {MOST_FILES} of {len(files)} files are")
        except SubmissionError as error:
            self._notes.append(f"{entry.name}: not everything is compared: {error}")
        if not any(entry.features.values()):
            self._notes.append(f"{entry.name}: nothing to compare")
        return entry

    def _add(self, entry: Entry, file: str, content: bytes) -> None:
        """Add what a file contains, except for what everybody has, or note why not."""
        suffix = Path(file).suffix
        try:
            if len(content) > MOST_BYTES[suffix]:
                raise Unreadable(f"more than {MOST_BYTES[suffix]} bytes")
            if suffix == PARAMETERS:  # as text, they would take longer than everything else
                if self._read_parameters is not None:
                    self._add_parameters(entry, self._read_parameters(content))
                return
            text = content.decode("utf-8-sig", "replace")
            if suffix == CODE:
                self._add_code(entry, Text(file, text, self._known))
            else:
                self._add_predictions(entry, file, text.removesuffix("\n").split("\n"))
        except Unreadable as error:
            shown = safe_line(file, 80)
            self._notes.append(safe_line(f"{entry.name}: {shown} is not compared: {error}"))

    def _add_code(self, entry: Entry, text: Text) -> None:
        if sum(len(each.tokens) for each in (*entry.texts, text)) > MOST_TOKENS:
            raise Unreadable(f"the submission has more than {MOST_TOKENS} words and signs")
        if text.tokens:
            entry.texts.append(text)
        for view in VIEWS:
            own = {gram for gram, _ in grams(text.tokens, view)}
            entry.features[view] |= own - self._known.grams[view]

    def _add_predictions(self, entry: Entry, file: str, lines: list[str]) -> None:
        said = [line.strip() for line in lines]
        places = self._places.get(Path(Path(file).stem).suffix.removeprefix("."), [])
        if len(places) == len(said) and len(set(said)) > 1:  # an answer for each question
            answers = enumerate(zip(said, places, strict=True), start=1)
            wrong = {(file, n, answer) for n, (answer, place) in answers if answer != place}
            if wrong != {ours for ours in self._ours.features[ANSWERS] if ours[0] == file}:
                entry.features[ANSWERS] |= wrong

    def _add_parameters(self, entry: Entry, tensors: parameters.Tensors) -> None:
        hashes, ours = parameters.hashes_of(tensors), self._ours.features[TENSORS]
        if 2 * len(hashes & ours) <= len(hashes):  # otherwise it is one of ours
            entry.features[TENSORS] |= hashes - ours
            entry.signatures += filter(None, [parameters.signature_of(tensors)])


# The pages ----------------------------------------------------------------------------------------


class Comparison:
    """Everything that was read, with its rankings by title, each with what it compares."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries
        self.of_the_class = sum(not entry.is_reference for entry in entries)
        self._rare = max(RARE, self.of_the_class // 10)
        self._counts: dict[str, dict[Any, int]] = {}
        self.rankings: dict[str, tuple[str, Ranking]] = {}
        references = np.array([entry.is_reference for entry in entries], dtype=bool)
        outside, may = np.logical_or.outer(references, references), comparable(entries)
        for kind, (least, _) in KINDS.items():
            scores, self._counts[kind] = weigh(entries, kind, least)
            if kind == TRAINED:  # has no features
                scores = parameters.similarities([entry.signatures for entry in entries])
            scores = np.where(may, scores, -1)
            lists = {kind.capitalize(): scores}
            if kind in VIEWS:
                lists = {f"Code of the class, {kind}": np.where(outside, -1, scores)}
                if references.any():
                    lists[f"Code and references, {kind}"] = np.where(outside, scores, -1)
            self.rankings |= {title: (kind, Ranking(own)) for title, own in lists.items()}

    def write(self, target: Path, notes: list[str]) -> int:
        """Write all pages to an empty folder; return how many pairs have one."""
        (target / PAIRS).mkdir(mode=0o700)
        text = render(
            HERE / "similar_index.html.j2",
            title="Similarity in this class",
            submissions=self.of_the_class,
            references=len(self.entries) - self.of_the_class,
            rankings=self.rankings,
            explanations={kind: words for kind, (_, words) in KINDS.items()},
            entries=self.entries,
            page=_page,
            share=self._share,
            plural=count,
            notes=notes,
        )
        write_atomically(target / "index.html", text)
        rows = [row.members for _, ranking in self.rankings.values() for row in ranking.rows]
        pairs = {(min(one, two), max(one, two)) for one, *others in rows for two in others}
        for one, two in pairs:
            write_atomically(target / _page(one, two), self._pair(one, two))
        return len(pairs)

    def _share(self, kind: str, one: int, two: int) -> str:
        """Return how many features two entries share, in words."""
        first, second = (self.entries[n].features[kind] for n in (one, two))
        return "" if kind == TRAINED else f"{len(first & second)} of {min(len(first), len(second))}"

    def _pair(self, one: int, two: int) -> str:
        """Return the page of a pair."""
        sides = [self.entries[one], self.entries[two]]
        both = sides[0].features[ANSWERS] & sides[1].features[ANSWERS]
        return render(
            HERE / "similar_pair.html.j2",
            title=f"{sides[0].name} and {sides[1].name}",
            scores=[
                (title, self._share(kind, one, two), score, ranking.rank(score), ranking)
                for title, (kind, ranking) in self.rankings.items()
                if (score := ranking.score(one, two)) >= 0
            ],
            answers=sorted((self._counts[ANSWERS][answer], *answer) for answer in both)[:RAREST],
            submissions=self.of_the_class,
            rare=self._rare,
            sides=sides,
            lines=lambda text: self._lines(text, sides),
        )

    def _lines(self, text: Text, sides: list[Entry]) -> Iterator[tuple[int, list[Any]]]:
        """Yield the number of each line, and its parts: (how it is marked, submissions, text)."""
        exact, shape, usual, unmarked = range(4)
        marks = dict.fromkeys(text.tokens, (unmarked, 0))
        for look, view in ((exact, NAMES), (shape, SHAPE)):
            shared = sides[0].features[view] & sides[1].features[view]
            for gram, run in grams(text.tokens, view):
                if gram in shared:
                    owners = self._counts[view][gram]
                    mark = (look if owners <= self._rare else usual, owners)
                    marks |= {token: min(mark, marks[token]) for token in run}
        by_line = {number: list(run) for number, run in groupby(text.tokens, text.line_of)}
        for number in sorted(number for number in text.own if number <= max(by_line)):
            line, start, at = text.lines[number - 1], text.starts[number - 1], 0
            parts: list[tuple[str, int, str]] = []
            for look, group in groupby(by_line.get(number, []), lambda token: marks[token][0]):
                tokens = list(group)
                begin, end = tokens[0].start - start, tokens[-1].end - start
                owners = min(marks[token][1] for token in tokens)
                parts += [("", 0, line[at:begin]), (LOOKS[look], owners, line[begin:end])]
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
    export, notes = read_source(asked), list[str]()
    show_notes(export)
    submissions = _without(asked.exclude, export.submissions)
    if without := len(export.submissions) - len(submissions):
        notes.append(f"left out with --exclude: {without}")
    with Store.create(asked.folder) as store:
        store.add_unknown(export.submissions)  # `forget` removes the pages of those that it knows
        with parameters.reader() if isolation.is_available() else nullcontext() as reader:
            entries = list(_entries(asked, submissions, Reading(notes, reader)))
        compared, target = Comparison(entries), store.path / "similar"
        with replacing(target) as draft:
            pages = compared.write(draft, notes)  # those of the export may name students
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
    asked: argparse.Namespace, submissions: list[Submission], reading: Reading
) -> Iterator[Entry]:
    """Read the class, then the references."""
    # Whoever was in a group at any time may know everything that the group handed in.
    attempts = read_export(asked.source, all_attempts=True).submissions
    authors, zone = {one.id: one.students for one in attempts}, times.course_zone()
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
