"""The gradebook: calculates grades from everything that is known, in steps that can be explained.

book = read_book(store, load_course())
for grade in book.grades(): ...
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from typing import Any

from autograder.description import Course, Grading, load_assignment
from grading.errors import UsageError

from ..arguments import count
from ..cells import shown
from ..store import Store
from . import decisions
from .decisions import DAYS_LATE, SAME_AS, Decided, Decision, is_extra
from .people import CODING, WRITTEN, Mention, Person, join
from .policy import ZERO, Item, Work, days_late, settle, total

# A row for each person and test, and one without a test for what has no result.
CODED = """
SELECT s.id AS place, s.id AS submission, students.*, canvas_id AS canvas, moodle_id AS moodle,
  s.submitted, s.late, tests.test_id AS item, tests.question AS "group", '' AS title, tests.score,
  tests.max_score, tests.extra, s.id || ', release ' || r.release AS source,
  iif(r.outcome IN ('graded', 'nothing to grade'), '', coalesce(r.outcome,
    (SELECT max(outcome) FROM records WHERE submission = s.id AND kind = 'grade'
      AND outcome = 'staff fault'), 'not graded')) AS status
FROM authors JOIN students ON students.id = authors.student
  JOIN submissions s ON s.id = authors.submission
  LEFT JOIN counted ON counted.submission = s.id LEFT JOIN records r ON r.id = counted.record
  LEFT JOIN tests ON tests.record = r.id
WHERE authors.latest ORDER BY s.id, students.id"""
ANSWERED = """
SELECT *, place AS id, 0 AS late, question AS item, '' AS "group", place AS source
FROM written ORDER BY rowid"""
IDS = ("key", "sid", "email", "canvas", "moodle", "login")  # kinds in `people.Mention.ids`
STATES = GRADED, EXCUSED, WITHHELD, INCOMPLETE = "graded", "excused", "withheld", "incomplete"
Worth = tuple[Fraction, Fraction]  # maximum points without extra credit, and those of extra credit


@dataclass(frozen=True)
class Grade:
    """A student's grade."""

    person: Person
    state: str  # one of STATES
    why: str = ""  # why there is no grade, in words
    work: dict[str, Work] = field(default_factory=dict)  # what was handed in, by part
    charged: int = 0  # late days
    lost: list[Item] | None = None  # None if something is missing
    remarks: tuple[str, ...] = ()  # lines of an explanation that have no points

    @property
    def total(self) -> Fraction | None:
        """The exact points; None if there is no grade to show."""
        if self.lost is None or self.state != GRADED:
            return None
        return total([*self.lost, *(item for one in self.work.values() for item in one.items)])


@dataclass(frozen=True)
class Book:
    """Everything that grades are made from."""

    grading: Grading
    due: datetime
    people: tuple[Person, ...]
    parts: dict[str, Worth]  # of coding, and of written answers if there are scores of them
    decided: dict[Person, Decided]
    notes: tuple[str, ...] = ()  # a line about everything unusual

    @property
    def most(self) -> Fraction:
        """The maximum points, without extra credit."""
        return sum((regular for regular, _ in self.parts.values()), ZERO)

    def grades(self) -> list[Grade]:
        """Return everybody's grade, in the order of `people`."""
        return [self.grade(person) for person in self.people]

    def grade(self, person: Person) -> Grade:
        """Return a person's grade.

        Raises:
            UsageError: an override doesn't fit, or it is unknown which submission is the latest.
        """
        decided = self.decided.get(person, {})
        overrides = {q: one for (kind, q), one in decided.items() if kind == decisions.OVERRIDE}
        extension = decided.get((decisions.EXTENSION, ""))
        due = extension.due if extension else self.due
        remarks = [f"due {self._shown(due)}" + (f", extended: {extension}" if extension else "")]
        work, gaps = dict[str, Work](), list[str]()
        for part, worth in self.parts.items():
            mentions = person.of(part)
            if not mentions and part not in overrides and self.grading.missing != "zero":
                gaps.append(f"no {part} submission")
                continue
            one = _counting(person, mentions) if mentions else Work(part)
            one = _overridden(one, person, overrides, worth)
            days, remark = self._days(one, due, overrides.get(DAYS_LATE))
            work[part] = replace(one, days=days)
            gaps += filter(None, (one.gap, remark if days is None else ""))
            remarks += [f"{part}: {remark}"] if days is not None else []
        _refuse_unused(person, overrides, work)
        used = decided.get((decisions.USED, ""))
        before = int(used.points) if used else 0
        charged, lost = (0, None) if gaps else settle(self.grading, work.values(), before)
        if used and not gaps:
            remarks.append(f"{count(before, 'late day')} used before: {used}")
        if charged:
            left = max(0, self.grading.late_days - before) - charged
            remarks.append(f"{count(charged, 'late day')} charged for this assignment, {left} left")
        state, why = (INCOMPLETE, "; ".join(gaps)) if gaps else (GRADED, "")
        for kind, other in ((decisions.EXCUSE, EXCUSED), (decisions.WITHHELD, WITHHELD)):
            if (kind, "") in decided:
                state, why = other, str(decided[kind, ""])
        return Grade(person, state, why, work, charged, lost, tuple(remarks))

    def _days(self, one: Work, due: datetime, override: Decision | None) -> tuple[int | None, str]:
        """Return how many days late something is and how we know; or None and why we don't."""
        if override is not None:
            days = int(override.points)
            return days, f"{count(days, 'day')} late, by override: {override}"
        if one.is_late:
            return None, (
                f"{one.submission}: late, but the platform doesn't say by how much; enter an "
                f"override of {DAYS_LATE}"
            )
        if one.time is None:
            unknown = "the time is unknown: counts as on time"
            return 0, unknown if one.submission else "nothing handed in"
        # In UTC, because datetimes in one zone are subtracted as wall-clock times.
        days = days_late(one.time.astimezone(UTC) - due.astimezone(UTC), self.grading)
        late = f"{count(days, 'day')} late" if days else "on time"
        return days, f"handed in {self._shown(one.time)}: {late}"

    def _shown(self, time: datetime) -> str:
        """Return a time in the course's time zone."""
        return time.astimezone(self.due.tzinfo).isoformat(" ", "seconds")


def _counting(person: Person, mentions: list[Mention]) -> Work:
    """Return the latest submission; if times don't tell, the one that people.csv prefers."""
    several: list[Work] = [mention.said for mention in mentions]
    times = {one.time: one for one in several if one.time}
    if len(times) == len(several):
        return times[max(times)]
    if len(several) > 1 and len(person.preferred) == 1:
        several = [person.preferred[0].said]
    if len(several) == 1:
        return several[0]
    ids = " and ".join(one.submission for one in several)
    raise UsageError(
        f"two records for one person: {person.label} has {ids}, and their times don't tell which "
        "is the latest; add to people.csv a row with the one that counts as `student` and the "
        "other as `same_as`"
    )


# Overrides ----------------------------------------------------------------------------------------


def _overridden(one: Work, person: Person, overrides: dict[str, Decision], worth: Worth) -> Work:
    """Return a part, which has this worth, with overrides in place of points."""
    items = [*one.items]
    applied: dict[str, Decision] = {}  # by the ID of an item
    for name, override in overrides.items():
        theirs = [item for item in one.items if name in (one.part, item.group, item.id)]
        for item in theirs:
            earlier = applied.setdefault(item.id, override)
            if earlier is not override:
                places = f"{earlier.place} and {override.place}"
                raise UsageError(f"{places} both override {name} of {person.label}")
        if theirs and name != one.part:
            items = [item for item in items if item not in theirs]
            items.append(_by_override(override, theirs))
    if whole := overrides.get(one.part):
        # Points above the regular maximum are extra credit.
        regular, extra = worth
        item = _by_override(whole, [Item("", ZERO, regular + extra)])
        above = max(ZERO, item.points - regular)
        split = (
            replace(item, points=item.points - above, most=regular),
            replace(item, points=above, most=extra, is_extra=True),
        )
        return replace(one, items=tuple(each for each in split if each.most), gap="")
    return replace(one, items=tuple(sorted(items, key=lambda item: natural(item.id))))


def _by_override(override: Decision, items: list[Item]) -> Item:
    """Return what an override puts in place of a question's tests, or of one item."""
    most = sum((item.most or ZERO for item in items), ZERO)
    # Gradescope's outlines may have bonus questions that are worth 0 points.
    if most and override.points > most:
        raise UsageError(
            f"{override.place}: points = {shown(override.points)}, but {override.question} is "
            f"worth {shown(most)}"
        )
    return replace(
        items[0],
        id=override.question,
        points=override.points,
        most=most or items[0].most,
        is_extra=all(item.is_extra for item in items),
        source=f"override: {override}",
    )


def _refuse_unused(person: Person, overrides: dict[str, Decision], work: dict[str, Work]) -> None:
    """Refuse an override that applies to nothing: a misspelt question, or a missing result."""
    items = [item for one in work.values() for item in one.items]
    there = {DAYS_LATE, *(name for item in items for name in (item.id, item.group))}
    for question, override in overrides.items():
        if question not in there:
            known = ", ".join(sorted({i.group or i.id for i in items}))
            raise UsageError(
                f"{override.place}: question = {question!r:.60}, but {person.label} has points for "
                f"{known or 'nothing'}; expected one of them, a test, coding, written or "
                f"{DAYS_LATE}"
            )


# Sources ------------------------------------------------------------------------------------------


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key for sorting in which 1e-2 is before 1e-10."""
    return [(int(part or 0), other) for part, other in re.findall(r"(\d*)(\D*)", text)]


def read_book(store: Store, course: Course, rosters: Iterable[Mention] = ()) -> Book:
    """Read everything that grades are made from, with the people in Canvas's or Moodle's files.

    Raises:
        UsageError: there is a mistake in a decision, or sources contradict each other.
    """
    name = store.setting("edition")
    edition = load_assignment().edition(name) if name else None
    questions = [q for q in edition.questions if q.written] if edition else []
    extra = {q.number: q.is_extra_credit for q in questions}
    coded = list(_mentions(CODING, store.rows(CODED), lambda row: bool(row["extra"])))
    answered = list(_mentions(WRITTEN, store.rows(ANSWERED), lambda r: is_extra(r["title"], extra)))
    # What the code is worth, the same in all records that count.
    worths = sorted({_worth(mention.said.items) for mention in coded if mention.said.items})
    if len(worths) > 1:
        amounts = " and ".join(shown(regular) for regular, _ in worths)
        raise UsageError(
            f"the results that count are worth {amounts} points: regrade the whole class"
        )
    parts = {CODING: worths[0] if worths else (ZERO, ZERO)}
    notes = [
        f"{store.names(key)}: {key} has no result yet, so an earlier submission counts: run `grade`"
        for key in store.waiting()
    ]
    if answered:
        items = [Item(q.number, ZERO, Fraction(q.written), extra[q.number]) for q in questions]
        parts[WRITTEN] = _worth(items)
        ours = sum(parts[WRITTEN], ZERO)
        there = next(filter(None, (sum(_worth(m.said.items), ZERO) for m in answered)), ours)
        if edition is not None and there != ours:
            notes.append(
                f"the written answers are worth {shown(there)} points on Gradescope, but "
                f"{shown(ours)} in assignment.toml: the outlines differ"
            )
    elif questions:
        notes.append("no written scores: only coding is graded; `decide` reads Gradescope's CSV")
    rosters, decided = list(rosters), decisions.stored(store)
    aliases = [(one.place, one.student, one.value) for one in decided if one.kind == SAME_AS]
    people, more = join([*coded, *answered, *rosters], aliases)
    people.sort(key=lambda person: (person.name.casefold(), person.sid, person.email))
    sources = dict.fromkeys((*parts, *(mention.source for mention in rosters)))
    for person in people:
        if missing := [source for source in sources if source not in person.sources]:
            places = ", ".join(dict.fromkeys(mention.where for mention in person.mentions))
            more.append(f"not in {' or '.join(missing)}: {person.label}: {places}")
    return Book(
        grading=course.grading,
        due=course.dates.due,
        people=tuple(people),
        parts=parts,
        decided=decisions.decided(decided, people),
        notes=(*notes, *more),
    )


def _worth(items: Collection[Item]) -> Worth:
    whole = sum((item.most or ZERO for item in items), ZERO)
    extra = sum((item.most or ZERO for item in items if item.is_extra), ZERO)
    return whole - extra, extra


def _mentions(
    part: str, rows: Iterable[sqlite3.Row], is_extra: Callable[[Any], bool]
) -> Iterator[Mention]:
    """Yield everybody who handed in a part, each member of a group, with the points that count."""
    for _, group in groupby(rows, key=lambda row: (row["place"], row["id"])):
        first, *more = map(dict, group)
        items = [
            Item(
                row["item"],
                Fraction(row["score"]),
                None if row["max_score"] is None else Fraction(row["max_score"]),
                is_extra(row),
                *(row["group"], row["title"], row["source"]),
            )
            for row in (first, *more)
            if row["score"] is not None
        ]
        time = datetime.fromisoformat(first["submitted"]) if first["submitted"] else None
        work = Work(
            part,
            first["submission"],
            tuple(sorted(items, key=lambda item: natural(item.id))),
            time,
            is_late=bool(first["late"]) and time is None,
            gap=f"{first['place']}: {first['status']}" if first["status"] else "",
        )
        ids = {kind: text for kind in IDS if (text := (first.get(kind) or "").strip())}
        yield Mention(part, first["place"], first["name"], ids, work)
