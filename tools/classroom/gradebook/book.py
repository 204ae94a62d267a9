"""The gradebook: calculates grades from everything that is known, in steps that can be explained.

book = read_sources(ClassFolder.existing(path), course).book
for grade in book.grades(): ...
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction

from autograder.description import Grading
from grading.errors import UsageError

from .cells import shown
from .decisions import DAYS_LATE, Decisions, Override
from .handed import Handed, Item
from .people import Person
from .policy import Earned, Settled, count, days_late, settle

GRADED, EXCUSED, WITHHELD, INCOMPLETE = "graded", "excused", "withheld", "incomplete"


@dataclass(frozen=True)
class Step:
    """A line of an explanation: points and their source. All steps add up to the total."""

    what: str
    points: Fraction
    source: str


@dataclass(frozen=True)
class Grade:
    """A student's grade.

    Attributes:
        state: "graded", "excused", "withheld" or "incomplete".
        why: why there is no grade, in words.
        handed: what was handed in, by part.
        steps: how the total is calculated; empty if there is none.
        due: the student's own due date.
        days: how many days late each part is.
        settled: None if there is no grade.
        remarks: lines of an explanation that have no points.
    """

    person: Person
    state: str
    why: str = ""
    handed: dict[str, Handed] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    due: datetime | None = None
    days: dict[str, int] = field(default_factory=dict)
    settled: Settled | None = None
    remarks: tuple[str, ...] = ()

    @property
    def total(self) -> Fraction | None:
        """The exact points; None if there is no grade to show."""
        return self.settled.total if self.settled and self.state == GRADED else None

    def points_of(self, part: str) -> Fraction | None:
        """Return the points of a part before deductions for lateness."""
        if self.total is None:
            return None
        return sum((s.points for s in self.steps if s.what.startswith(part + " ")), Fraction(0))


@dataclass(frozen=True)
class Book:
    """Everything that grades are made from.

    Attributes:
        parts: which parts the grade has: coding, and written if there are written scores.
        worth: by part, the maximum points without extra credit, and those of extra credit.
        notes: a line about everything unusual.
    """

    grading: Grading
    due: datetime
    people: tuple[Person, ...]
    parts: tuple[str, ...]
    decisions: Decisions
    worth: dict[str, tuple[Fraction, Fraction]]
    latest: bool = False
    notes: tuple[str, ...] = ()

    @property
    def most(self) -> Fraction:
        """The maximum points, without extra credit."""
        return sum((regular for regular, _ in self.worth.values()), Fraction(0))

    def grades(self) -> list[Grade]:
        """Return everybody's grade, in the order of `people`."""
        return [self.grade(person) for person in self.people]

    def grade(self, person: Person) -> Grade:
        """Return a person's grade.

        Raises:
            UsageError: if an override doesn't apply to anything, or there are several submissions.
        """
        theirs = self.decisions.overrides.get(id(person), {})
        handed = {}
        for part in self.parts:
            one = self._handed(person, part, theirs)
            if one is not None:
                handed[part] = _overridden(one, person, theirs, self.worth[part])
        _refuse_unused(person, theirs, handed)
        made = self._made(person, handed, theirs)
        if why := self.decisions.withheld.get(id(person)):
            return replace(made, state=WITHHELD, why=str(why))
        if why := self.decisions.excuses.get(id(person)):
            return replace(made, state=EXCUSED, why=str(why))
        return made

    def _handed(self, person: Person, part: str, theirs: dict[str, Override]) -> Handed | None:
        several = [mention.said for mention in person.of(part)]
        if not several:
            if part in theirs or self.grading.missing == "zero":
                return Handed(part, "", "nothing handed in")
            return None
        if len(several) > 1:
            if not self.latest or len({one.time for one in several}) < len(several):
                ids = " and ".join(one.submission for one in several)
                hint = "--latest uses the latest" if all(one.time for one in several) else (
                    "their times don't tell which is the latest: remove one with `forget`"
                )  # fmt: skip
                raise UsageError(f"two records for one person: {person.label} has {ids}; {hint}")
            several.sort(key=lambda one: one.time.timestamp() if one.time else 0.0)
        return several[-1]

    def _made(
        self, person: Person, handed: dict[str, Handed], theirs: dict[str, Override]
    ) -> Grade:
        due, extension = self.decisions.extensions.get(id(person), (self.due, None))
        remarks = [f"due {due.isoformat(' ')}" + (f", extended: {extension}" if extension else "")]
        gaps = [one.gap for one in handed.values() if one.gap]
        gaps += [f"no {part} submission" for part in self.parts if part not in handed]
        days: dict[str, int] = {}
        for part, one in handed.items():
            late, remark = self._days(one, due, theirs.get(DAYS_LATE))
            if late is None:
                gaps.append(remark)
            else:
                days[part] = late
                remarks.append(f"{part}: {remark}")
        grade = Grade(person, INCOMPLETE, "; ".join(gaps), handed, (), due, days, None, (*remarks,))
        if gaps:
            return grade
        used, why = self.decisions.used.get(id(person), (0, None))
        earned = tuple(_earned(one, days[part]) for part, one in handed.items())
        settled = settle(self.grading, earned, used)
        if why:
            remarks.append(f"{count(used, 'late day')} used before: {why}")
        if settled.charged:
            left = max(0, self.grading.late_days - used) - settled.charged
            remarks.append(
                f"{count(settled.charged, 'late day')} charged for this assignment, {left} left"
            )
        steps = tuple(_steps(handed, settled, self.grading))
        return replace(grade, state=GRADED, steps=steps, settled=settled, remarks=(*remarks,))

    def _days(
        self, one: Handed, due: datetime, override: Override | None
    ) -> tuple[int | None, str]:
        """Return how many days late something is, and how we know."""
        if override is not None:
            days = int(override.points)
            return days, f"{count(days, 'day')} late, by override: {override.why}"
        if one.is_late:
            return None, (
                f"{one.submission}: late, but the platform doesn't say by how much; enter an "
                f"override of {DAYS_LATE}"
            )
        if one.time is None and not one.submission:
            return 0, "nothing handed in"
        if one.time is None and one.late_by is None:
            return 0, "the time is unknown: counts as on time"
        if one.time is not None:
            # In UTC, because datetimes in one zone are subtracted as wall-clock times.
            late_by = timedelta(seconds=one.time.timestamp() - due.timestamp())
            when = f"handed in {one.time.isoformat(' ')}"
        else:
            # Gradescope measures from its own due date, which an extension moves as well.
            late_by = (one.late_by or timedelta(0)) - (due - self.due)
            when = f"{one.late_by} late according to Gradescope"
        days = days_late(late_by, self.grading)
        clocks = self._clocks(one.time, due, days)
        return days, f"{when}: {_late(days)}{clocks}"

    def _clocks(self, time: datetime | None, due: datetime, days: int) -> str:
        """Return a remark where clocks changed after the due date, and this changes the days."""
        if time is None or time.utcoffset() == due.utcoffset():
            return ""
        by_the_clock = time.replace(tzinfo=None) - due.replace(tzinfo=None)
        there = days_late(by_the_clock, self.grading)
        changed = abs((time.utcoffset() or timedelta(0)) - (due.utcoffset() or timedelta(0)))
        if changed != timedelta(hours=1) or there == days:
            return ""
        zones = " and then at ".join(each.isoformat()[-6:] for each in (due, time))
        return f" (days have 24 hours; by the clock, at {zones}, it would be {_late(there)})"


def _late(days: int) -> str:
    return f"{count(days, 'day')} late" if days else "on time"


def _overridden(
    one: Handed,
    person: Person,
    theirs: dict[str, Override],
    worth: tuple[Fraction, Fraction],
) -> Handed:
    """Return what was handed in, with overrides in place of points.

    Args:
        worth: the part's maximum points without extra credit, and those of extra credit.
    """
    pieces = {i.id for i in one.items} | {i.group for i in one.items if i.group}
    if whole := theirs.get(one.part):
        if several := sorted(pieces & theirs.keys() - {one.part}):
            raise _overlap(person, whole, theirs[several[0]])
        return replace(one, items=_whole(whole, *worth), gap="")
    items: list[Item] = []
    for group, members in _grouped(one.items):
        override = theirs.get(group)
        if override is None or (len(members) == 1 and members[0].id == group):
            items += [_one(item, theirs.get(item.id)) for item in members]
            continue
        if several := sorted({i.id for i in members} & theirs.keys()):
            raise _overlap(person, override, theirs[several[0]])
        new = _replaced(override, _most(tuple(members)), all(i.is_extra for i in members))
        items.append(replace(new, group=group))
    return replace(one, items=tuple(items))


def _whole(override: Override, regular: Fraction, extra: Fraction) -> tuple[Item, ...]:
    """Return an overridden part: points above the regular maximum are extra credit."""
    item = _replaced(override, regular + extra, False)
    split = (
        replace(item, points=min(item.points, regular), most=regular),
        replace(item, points=max(Fraction(0), item.points - regular), most=extra, is_extra=True),
    )
    return tuple(each for each in split if each.most)


def _grouped(items: tuple[Item, ...]) -> Iterator[tuple[str, list[Item]]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        groups.setdefault(item.group or item.id, []).append(item)
    yield from groups.items()


def _most(items: tuple[Item, ...]) -> Fraction | None:
    known = [item.most for item in items if item.most is not None]
    return sum(known, Fraction(0)) if items and len(known) == len(items) else None


def _one(item: Item, override: Override | None) -> Item:
    if override is None:
        return item
    new = _replaced(override, item.most, item.is_extra)
    return replace(new, group=item.group, remark=item.remark)


def _replaced(override: Override, most: Fraction | None, is_extra: bool) -> Item:
    """Return an item with an override's points.

    Raises:
        UsageError: if they are more than the maximum.
    """
    # An outline may have bonus questions worth 0 points.
    if most and override.points > most:
        raise UsageError(
            f"{override.why.where}: points = {shown(override.points)}, but {override.question} is "
            f"worth {shown(most)}"
        )
    source = f"override: {override.why}"
    return Item(override.question, override.points, most, is_extra, source=source)


def _overlap(person: Person, one: Override, other: Override) -> UsageError:
    return UsageError(
        f"{one.why.where} and {other.why.where} both override {other.question} of {person.label}"
    )


def _refuse_unused(person: Person, theirs: dict[str, Override], handed: dict[str, Handed]) -> None:
    """Refuse an override that applies to nothing: a misspelt question, or a missing result."""
    there = {i.id for one in handed.values() for i in one.items} | {DAYS_LATE}
    there |= {i.group for one in handed.values() for i in one.items}
    for question, override in theirs.items():
        if question in there:
            continue
        known = ", ".join(sorted({i.group or i.id for one in handed.values() for i in one.items}))
        raise UsageError(
            f"{override.why.where}: question = {question!r:.60}, but {person.label} has points for "
            f"{known or 'nothing'}; expected one of them, a test, coding, written or {DAYS_LATE}"
        )


def _earned(one: Handed, days: int) -> Earned:
    regular = sum((i.points for i in one.items if not i.is_extra), Fraction(0))
    extra = sum((i.points for i in one.items if i.is_extra), Fraction(0))
    return Earned(one.part, regular, extra, days)


def _steps(handed: dict[str, Handed], settled: Settled, grading: Grading) -> Iterator[Step]:
    for part, one in handed.items():
        for item in one.items:
            if item.most == 0 and not item.points:
                continue  # practice, without points
            of = f" of {shown(item.most)}" if item.most is not None else ""
            extra = ", extra credit" if item.is_extra else ""
            remark = f": {item.remark}" if item.remark else ""
            yield Step(f"{part} {item.id}{of}{extra}{remark}", item.points, item.source)
    for late in settled.late:
        yield Step(f"late {late.part}, {late.why}", -late.points, "course.toml: [grading]")
    if settled.over_cap:
        cap = shown(Fraction(grading.extra_credit_cap or 0))
        yield Step(f"extra credit above {cap}", -settled.over_cap, "course.toml: [grading]")
