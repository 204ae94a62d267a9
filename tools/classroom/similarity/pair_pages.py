"""Writes the pages: `index.html` with the lists, and a page for each pair in them.

Submissions are named by their ids; the roll says whose they are. References have the names of their
folders.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from grading.report import render
from grading.results import write_atomically

from ..submissions import RollEntry
from . import marked
from .comparison import OF_TOPIC, Comparison, Listed, Ranking
from .index import MIN_LINES, Entry
from .matches import Match, matches_of
from .parameters import Alike
from .tokens import View

HERE = Path(__file__).parent
INDEX = "index.html"
PAIRS = "pairs"
LISTED = 60  # matches that a page lists; all matches are marked
RARE = 2  # what at most so many authors, or a tenth of the class, have is rare


@dataclass(frozen=True)
class Row:
    """A line in a list of pairs."""

    rank: int
    names: tuple[str, str]
    page: str
    score: float
    other: int
    note: str


@dataclass(frozen=True)
class TopicRow:
    """What a pair has in one question; ranks are None if it isn't ranked by that question."""

    topic: str
    lines: tuple[int, int]
    scores: dict[View, float]
    ranks: dict[View, int | None]


def write(target: Path, found: Comparison, roll: dict[str, RollEntry]) -> None:
    """Write all pages to an empty folder.

    Raises:
        OSError: if they can't be written.
    """
    (target / PAIRS).mkdir(mode=0o700)
    write_atomically(target / INDEX, render(HERE / "similar_index.html.j2", **_index(found)))
    for one, two in found.pairs():
        first, second = _in_order(found.entries, one, two, roll)
        values = _pair(found, one, two, first, second, roll)
        path = target / PAIRS / f"{_page(one, two)}.html"
        write_atomically(path, render(HERE / "similar_pair.html.j2", **values))


def _page(one: int, two: int) -> str:
    return f"{one + 1}-{two + 1}"


def _index(found: Comparison) -> dict[str, Any]:
    by_topic = {
        topic: {view: found.topics[topic, view] for view in View}
        for topic in sorted({topic for topic, _ in found.topics})
    }
    return {
        "title": "Similarity in this class",
        "views": list(View),
        "size": found.class_size,
        "submissions": sum(not entry.is_reference for entry in found.entries),
        "references": sum(entry.is_reference for entry in found.entries),
        "usual": {view: found.within[view].usual for view in View},
        "within": {view: _rows(found, view, found.within) for view in View},
        "against": {view: _rows(found, view, found.against) for view in View},
        "topics": {
            topic: {view: [_row(found, each) for each in r.listed] for view, r in of.items()}
            for topic, of in by_topic.items()
        },
        "of_topic": OF_TOPIC,
        "least": MIN_LINES,
        "tensors": [
            (_row(found, Listed(0, *pair, 0.0)), _most(found, pair)) for pair in found.tensors
        ],
        "pretrained": [
            (_row(found, each), found.alike[each.one, each.two].files)
            for each in found.pretrained.listed
        ],
        "pretrained_usual": found.pretrained.usual,
        "wrong": [
            (_row(found, each), found.answers.of_pair(each.one, each.two, each.score))
            for each in found.wrong.listed
        ],
        "wrong_usual": found.wrong.usual,
        "notes": found.notes,
    }


def _rows(found: Comparison, view: View, rankings: dict[View, Ranking]) -> list[Row]:
    other = next(each for each in View if each is not view)
    return [
        _row(found, each, rankings[other].rank(found.scores[other][each.one, each.two]))
        for each in rankings[view].listed
    ]


def _row(found: Comparison, listed: Listed, other: int = 0) -> Row:
    names = (found.entries[listed.one].name, found.entries[listed.two].name)
    page = f"{PAIRS}/{_page(listed.one, listed.two)}.html"
    return Row(listed.rank, names, page, listed.score, other, "")


def _most(found: Comparison, pair: tuple[int, int]) -> tuple[str, str, int, int]:
    """Return the two files with the most identical tensors."""
    return max(found.alike[pair].same, key=lambda each: (each[2] / each[3], each[2]))


def _in_order(
    entries: list[Entry], one: int, two: int, roll: dict[str, RollEntry]
) -> tuple[int, int]:
    """Return a pair, with the earlier submission on the left, and a reference on the right."""
    times = [_time(roll.get(entries[i].name)) for i in (one, two)]
    later = times[0] is not None and times[1] is not None and times[1] < times[0]
    return (two, one) if later and not entries[two].is_reference else (one, two)


def _time(entry: RollEntry | None) -> float | None:
    return entry.moment if entry is not None and entry.created_at is not None else None


def _pair(
    found: Comparison, one: int, two: int, first: int, second: int, roll: dict[str, RollEntry]
) -> dict[str, Any]:
    left, right = found.entries[first], found.entries[second]
    rare = max(RARE, found.class_size // 10)
    matches = matches_of(left, right, found.indexes, found.known)
    matches.sort(key=lambda match: match.authors > rare)  # stable
    listed = [match for match in matches if match.authors <= rare]
    anchors: tuple[dict[int, int], dict[int, int]] = ({}, {})
    sides = (_side(left, matches, "one", anchors[0]), _side(right, matches, "two", anchors[1]))
    rankings = found.against if right.is_reference else found.within
    alike = found.alike.get((one, two), Alike())
    topics = sorted({*left.own_lines, *right.own_lines})
    return {
        "title": f"{left.name} and {right.name}",
        "names": (left.name, right.name),
        "facts": (_facts(left, roll), _facts(right, roll)),
        "views": list(View),
        "size": found.class_size,
        "scores": {view: float(found.scores[view][one, two]) for view in View},
        "ranks": {view: rankings[view].rank(found.scores[view][one, two]) for view in View},
        "usual": {view: rankings[view].usual for view in View},
        "is_reference": right.is_reference,
        "topics": [] if right.is_reference else [_topic(found, t, first, second) for t in topics],
        "least": MIN_LINES,
        "same": alike.same,
        "cosine": alike.cosine if alike.files[0] else None,
        "cosine_files": alike.files,
        "cosine_rank": found.pretrained.rank(alike.cosine),
        "cosine_usual": found.pretrained.usual,
        "answers": found.shared_answers(one, two),
        "answers_size": found.answers.authors,
        "matches": marked.shown(listed, left.texts, right.texts, LISTED),
        "more": max(len(listed) - LISTED, 0),
        "looks": [_look(match, rare) for match in matches],
        "usual_at": rare,
        "sides": sides,
        "anchors": {"a": anchors[0], "b": anchors[1]},
    }


def _look(match: Match, rare: int) -> str:
    """Return how a match looks: the name of a class in similar_pair.css."""
    if match.authors > rare:
        return "usual"
    return "exact" if match.view is View.NAMES else "shape"


def _facts(entry: Entry, roll: dict[str, RollEntry]) -> list[str]:
    """Return what is known about an entry, without names."""
    if entry.is_reference:
        return ["a reference"]
    known = roll.get(entry.name)
    facts = []
    if known is not None and known.created_at is not None:
        facts.append(f"handed in {_minute(known.created_at)}")
    if known is not None and len(known.students) > 1:
        facts.append(f"group of {len(known.students)}")
    return facts


def _minute(time: datetime) -> str:
    return time.isoformat(" ", "minutes")


def _topic(found: Comparison, topic: str, one: int, two: int) -> TopicRow:
    lines = tuple(found.entries[i].own_lines.get(topic, 0) for i in (one, two))
    scores = {view: found.indexes[view].score(one, two, topic) for view in View}
    is_ranked = min(lines) >= MIN_LINES
    ranks = {
        view: found.topics[topic, view].rank(scores[view]) if is_ranked else None for view in View
    }
    return TopicRow(topic, (lines[0], lines[1]), scores, ranks)


def _side(
    entry: Entry, matches: list[Match], side: str, anchors: dict[int, int]
) -> list[tuple[str, str, list[marked.Line]]]:
    """Return an entry's marked texts: topic, file, lines."""
    return [
        (
            read.piece.topic,
            read.piece.file,
            marked.marked(read, number, matches, side, anchors),
        )
        for number, read in enumerate(entry.texts)
    ]
