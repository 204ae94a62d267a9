"""The gradebook: calculates grades from everything that is known, in steps that can be explained.

book = read_book(store, load_course())
for grade in book.grades(): ...
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction

from autograder.description import Course, Edition, Grading, load_assignment
from grading.errors import UsageError

from ..arguments import count
from ..cells import shown
from ..store import Store
from . import decisions
from .decisions import (
    DAYS_LATE,
    EXCUSE,
    EXTENSION,
    OVERRIDE,
    USED,
    Decided,
    Decision,
    IsExtra,
    uniformly_extra,
)
from .people import CODING, WRITTEN, Mention, Person, join
from .policy import ZERO, Earned, Settled, days_late, settle

# In the order of the table `students`; what these columns are called in `people.Mention.ids`.
IDS = {"key": "key", "sid": "sid", "email": "email", "canvas_id": "canvas", "moodle_id": "moodle",
       "login": "login"}  # fmt: skip
SUBMITTED = """
SELECT students.*, s.id AS submission, s.submitted, s.late, r.id AS record, r.release,
  coalesce(r.outcome, (SELECT max(outcome) FROM records WHERE submission = s.id AND kind = 'grade'
    AND outcome = 'staff fault'), 'not graded') AS outcome
FROM authors JOIN students ON students.id = authors.student
  JOIN submissions s ON s.id = authors.submission
  LEFT JOIN counted ON counted.submission = s.id LEFT JOIN records r ON r.id = counted.record
WHERE authors.latest ORDER BY s.id, students.id"""


@dataclass(frozen=True)
class Item:
    """Points for a test, or for a written question.

    Attributes:
        id: its name in overrides: "1e-0-basic", or "1.2" as Gradescope numbers a question.
        group: the question that a test belongs to, "1e"; "" for a written question.
        most: the maximum points; None if the source doesn't contain them.
        title: what a written question is called.
        source: where the points come from.
        override: the place of the override that they come from, if they do.
    """

    id: str
    points: Fraction
    most: Fraction | None
    is_extra: bool = False
    group: str = ""
    title: str = ""
    source: str = ""
    override: str = ""


@dataclass(frozen=True)
class Work:
    """What one person handed in for one part.

    Attributes:
        part: "coding" or "written".
        submission: its ID on the platform; "" if there is none.
        items: what the points are for.
        time: when it was handed in; None if the platform doesn't say.
        is_late: whether the platform marks it as late without saying by how much.
        gap: why there are no points that count; "" if there are.
    """

    part: str
    submission: str
    items: tuple[Item, ...] = ()
    time: datetime | None = None
    is_late: bool = False
    gap: str = ""


def natural(text: str) -> list[tuple[int, str]]:
    """Return a key for sorting in which 1e-2 is before 1e-10."""
    return [(int(part or 0), other) for part, other in re.findall(r"(\d*)(\D*)", text)]


def coding(store: Store) -> list[Mention]:
    """Return everybody who handed in code, each member of a group, with the points that count."""
    tests = defaultdict(list)
    for test in store.rows("SELECT tests.* FROM tests JOIN counted USING (record)"):
        tests[test["record"]].append(test)
    mentions = []
    for row in store.rows(SUBMITTED):
        counts = row["outcome"] in ("graded", "nothing to grade")
        source = f"{row['submission']}, release {row['release']}"
        items = [
            Item(
                test["test_id"],
                Fraction(test["score"]),
                Fraction(test["max_score"]),
                bool(test["extra"]),
                test["question"],
                source=source,
            )
            for test in (tests[row["record"]] if counts else ())
        ]
        time = datetime.fromisoformat(row["submitted"]) if row["submitted"] else None
        work = Work(
            CODING,
            row["submission"],
            tuple(sorted(items, key=lambda item: natural(item.id))),
            time,
            is_late=bool(row["late"]) and time is None,
            gap="" if counts else f"{row['submission']}: {row['outcome']}",
        )
        ids = ((kind, (row[column] or "").strip()) for column, kind in IDS.items())
        mentions.append(
            Mention(CODING, row["submission"], row["name"], tuple(i for i in ids if i[1]), work)
        )
    return mentions


def written(store: Store, is_extra: IsExtra) -> list[Mention]:
    """Return everybody in Gradescope's scores of the written answers, with the points.

    Args:
        is_extra: tells whether a question with this title is extra credit.
    """
    rows = defaultdict(list)
    for row in store.rows("SELECT * FROM written ORDER BY rowid"):
        rows[row["place"]].append(row)
    mentions = []
    for place, several in rows.items():
        first = several[0]
        items = [
            Item(
                row["question"],
                Fraction(row["score"]),
                Fraction(row["max_score"]) if row["max_score"] is not None else None,
                is_extra(row["title"]),
                title=row["title"],
                source=place,
            )
            for row in several
            if row["score"] is not None
        ]
        work = Work(
            WRITTEN,
            first["submission"],
            tuple(items),
            datetime.fromisoformat(first["submitted"]) if first["submitted"] else None,
            gap=f"{place}: {first['status']}" if first["status"] else "",
        )
        ids = (("sid", first["sid"]), ("email", first["email"]))
        mentions.append(Mention(WRITTEN, place, first["name"], tuple(i for i in ids if i[1]), work))
    return mentions


# Grades -------------------------------------------------------------------------------------------

STATES = GRADED, EXCUSED, WITHHELD, INCOMPLETE = "graded", "excused", "withheld", "incomplete"
Worth = tuple[Fraction, Fraction]  # maximum points without extra credit, and those of extra credit


@dataclass(frozen=True)
class Grade:
    """A student's grade.

    Attributes:
        state: one of STATES.
        why: why there is no grade, in words.
        work: what was handed in, by part.
        days: how many days late each part is.
        settled: None if there is no grade.
        remarks: lines of an explanation that have no points.
    """

    person: Person
    state: str
    why: str = ""
    work: dict[str, Work] = field(default_factory=dict)
    days: dict[str, int] = field(default_factory=dict)
    settled: Settled | None = None
    remarks: tuple[str, ...] = ()

    @property
    def total(self) -> Fraction | None:
        """The exact points; None if there is no grade to show."""
        return self.settled.total if self.settled and self.state == GRADED else None

    def points_of(self, part: str, question: str = "") -> Fraction | None:
        """Return the points of a part, or of one question, before deductions for lateness."""
        if self.total is None or part not in self.work:
            return None
        items = self.work[part].items
        items = tuple(i for i in items if not question or question in (i.group, i.id))
        return sum((i.points for i in items), ZERO) if items or not question else None


@dataclass(frozen=True)
class Book:
    """Everything that grades are made from.

    Attributes:
        parts: which parts the grade has: coding, and written if there are written scores.
        worth: what each part is worth.
        decided: the decisions about each person, by `id(person)`.
        notes: a line about everything unusual.
    """

    grading: Grading
    due: datetime
    people: tuple[Person, ...]
    parts: tuple[str, ...]
    worth: dict[str, Worth]
    decided: dict[int, Decided]
    notes: tuple[str, ...] = ()

    @property
    def most(self) -> Fraction:
        """The maximum points, without extra credit."""
        return sum((regular for regular, _ in self.worth.values()), ZERO)

    def grades(self) -> list[Grade]:
        """Return everybody's grade, in the order of `people`."""
        return [self.grade(person) for person in self.people]

    def grade(self, person: Person) -> Grade:
        """Return a person's grade.

        Raises:
            UsageError: if an override doesn't apply to anything, or there are several submissions.
        """
        decided = self.decided.get(id(person), {})
        overrides = {q: one for (kind, q), one in decided.items() if kind == OVERRIDE}
        work = {}
        for part in self.parts:
            mentions = person.of(part)
            if mentions:
                one = _counting(person, mentions)
            elif part in overrides or self.grading.missing == "zero":
                one = Work(part, "")
            else:
                continue
            work[part] = _overridden(one, person, overrides, self.worth[part])
        _refuse_unused(person, overrides, work)
        made = self._made(person, work, decided)
        for kind, state in ((decisions.WITHHELD, WITHHELD), (EXCUSE, EXCUSED)):
            if why := decided.get((kind, "")):
                return replace(made, state=state, why=str(why))
        return made

    def _made(self, person: Person, work: dict[str, Work], decided: Decided) -> Grade:
        extension, used_before = decided.get((EXTENSION, "")), decided.get((USED, ""))
        due = extension.due if extension else self.due
        remarks = [f"due {self._shown(due)}" + (f", extended: {extension}" if extension else "")]
        gaps = [one.gap for one in work.values() if one.gap]
        gaps += [f"no {part} submission" for part in self.parts if part not in work]
        days: dict[str, int] = {}
        for part, one in work.items():
            late, remark = self._days(one, due, decided.get((OVERRIDE, DAYS_LATE)))
            if late is None:
                gaps.append(remark)
            else:
                days[part] = late
                remarks.append(f"{part}: {remark}")
        grade = Grade(person, INCOMPLETE, "; ".join(gaps), work, days, None, (*remarks,))
        if gaps:
            return grade
        used = int(used_before.points) if used_before else 0
        settled = settle(
            self.grading, tuple(_earned(one, days[part]) for part, one in work.items()), used
        )
        if used_before:
            remarks.append(f"{count(used, 'late day')} used before: {used_before}")
        if settled.charged:
            left = max(0, self.grading.late_days - used) - settled.charged
            remarks.append(
                f"{count(settled.charged, 'late day')} charged for this assignment, {left} left"
            )
        return replace(grade, state=GRADED, settled=settled, remarks=(*remarks,))

    def _days(self, one: Work, due: datetime, override: Decision | None) -> tuple[int | None, str]:
        """Return how many days late something is, and how we know."""
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
    """Return what counts if one person has several submissions: the latest.

    Raises:
        UsageError: if their times don't tell, and people.csv doesn't either.
    """
    several: list[Work] = [mention.said for mention in mentions]
    times = [one.time for one in several if one.time]
    if len(set(times)) == len(several):
        return several[times.index(max(times))]
    if len(several) == 1:
        return several[0]
    preferred: list[Work] = [mention.said for mention in person.preferred]
    if len(preferred) == 1:
        return preferred[0]
    ids = " and ".join(one.submission for one in several)
    raise UsageError(
        f"two records for one person: {person.label} has {ids}, and their times don't tell which "
        "is the latest; add to people.csv a row with the one that counts as `student` and the "
        "other as `same_as`"
    )


# Overrides ----------------------------------------------------------------------------------------


def _overridden(one: Work, person: Person, overrides: dict[str, Decision], worth: Worth) -> Work:
    """Return what was handed in, with overrides in place of points.

    Args:
        worth: what the part is worth.
    """
    items: dict[str, Item] = {}
    for item in one.items:
        names = dict.fromkeys((one.part, item.group, item.id))
        theirs = [overrides[name] for name in names if name in overrides]
        if len(theirs) > 1:
            places = f"{theirs[0].place} and {theirs[1].place}"
            raise UsageError(f"{places} both override {theirs[1].question} of {person.label}")
        if not theirs:
            items[item.id] = item
            continue
        new = _by_override(item, theirs[0])
        before = items.get(new.id)  # another test of a question that was overridden
        if before is not None:
            most = (before.most or ZERO) + (item.most or ZERO)
            new = replace(new, most=most, is_extra=before.is_extra and item.is_extra)
        items[new.id] = new
    if whole := overrides.get(one.part):
        return replace(one, items=_whole(whole, *worth), gap="")
    return replace(one, items=tuple(map(_checked, items.values())))


def _whole(override: Decision, regular: Fraction, extra: Fraction) -> tuple[Item, ...]:
    """Return an overridden part: points above the regular maximum are extra credit."""
    item = _checked(_by_override(Item("", ZERO, regular + extra), override))
    above = max(ZERO, item.points - regular)
    split = (
        replace(item, points=item.points - above, most=regular),
        replace(item, points=above, most=extra, is_extra=True),
    )
    return tuple(each for each in split if each.most)


def _by_override(item: Item, override: Decision) -> Item:
    return replace(
        item,
        id=override.question,
        points=override.points,
        source=f"override: {override}",
        override=override.place,
    )


def _checked(item: Item) -> Item:
    """Refuse an override with more points than the maximum.

    Raises:
        UsageError: if it has.
    """
    # An outline may have bonus questions worth 0 points.
    if item.override and item.most and item.points > item.most:
        raise UsageError(
            f"{item.override}: points = {shown(item.points)}, but {item.id} is worth "
            f"{shown(item.most)}"
        )
    return item


def _refuse_unused(person: Person, overrides: dict[str, Decision], work: dict[str, Work]) -> None:
    """Refuse an override that applies to nothing: a misspelt question, or a missing result."""
    items = [item for one in work.values() for item in one.items]
    there = {DAYS_LATE, *(i.id for i in items), *(i.group for i in items)}
    for question, override in overrides.items():
        if question not in there:
            known = ", ".join(sorted({i.group or i.id for i in items}))
            raise UsageError(
                f"{override.place}: question = {question!r:.60}, but {person.label} has points for "
                f"{known or 'nothing'}; expected one of them, a test, coding, written or "
                f"{DAYS_LATE}"
            )


def _earned(one: Work, days: int) -> Earned:
    regular = sum((i.points for i in one.items if not i.is_extra), ZERO)
    extra = sum((i.points for i in one.items if i.is_extra), ZERO)
    return Earned(one.part, regular, extra, days)


# Sources ------------------------------------------------------------------------------------------


def read_book(store: Store, course: Course, rosters: Iterable[Mention] = ()) -> Book:
    """Read everything that grades are made from.

    Args:
        rosters: the people in Canvas's or Moodle's files.

    Raises:
        UsageError: at the first mistake, with a line about it.
    """
    name = store.setting("edition")
    edition = load_assignment().edition(name) if name else None
    questions = [q for q in edition.questions if q.written] if edition else []
    coded = coding(store)
    answers = written(store, uniformly_extra({q.number: q.is_extra_credit for q in questions}))
    worth = {CODING: _coding_worth(coded)}
    notes: list[str] = []
    parts: tuple[str, ...] = (CODING,)
    if answers:
        parts += (WRITTEN,)
        worth[WRITTEN] = _written_worth(answers, edition, notes)
    elif questions:
        notes.append("no written scores: only coding is graded; `decide` reads Gradescope's CSV")
    rosters = list(rosters)
    decided = decisions.stored(store)
    people, more = join([*coded, *answers, *rosters], decisions.aliases(decided))
    people.sort(key=lambda person: (person.name.casefold(), person.sid, person.email))
    sources = [*parts, *dict.fromkeys(mention.source for mention in rosters)]
    return Book(
        grading=course.grading,
        due=course.dates.due,
        people=tuple(people),
        parts=parts,
        worth=worth,
        decided=decisions.decided(decided, people),
        notes=(*notes, *more, *_alone(people, sources)),
    )


def _worth(items: Iterable[Item]) -> Worth:
    items = list(items)
    regular = sum((i.most or ZERO for i in items if not i.is_extra), ZERO)
    return regular, sum((i.most or ZERO for i in items if i.is_extra), ZERO)


def _coding_worth(mentions: list[Mention]) -> Worth:
    """Return what the code is worth, the same in all records that count."""
    found = {_worth(mention.said.items) for mention in mentions if mention.said.items}
    if len(found) > 1:
        amounts = " and ".join(shown(regular) for regular, _ in sorted(found))
        raise UsageError(
            f"the results that count are worth {amounts} points: regrade the whole class"
        )
    return next(iter(found), (ZERO, ZERO))


def _written_worth(mentions: list[Mention], edition: Edition | None, notes: list[str]) -> Worth:
    """Return what assignment.toml says; add a note if Gradescope has other points."""
    questions = edition.questions if edition else ()
    items = [Item(q.number, ZERO, Fraction(q.written), q.is_extra_credit) for q in questions]
    worth = _worth(items)
    graded = [m.said.items for m in mentions if m.said.items and m.said.items[0].most is not None]
    there = sum(_worth(graded[0]), ZERO) if graded else None
    if there is not None and edition is not None and there != sum(worth):
        notes.append(
            f"the written answers are worth {shown(there)} points on Gradescope, but "
            f"{shown(sum(worth, ZERO))} in assignment.toml: the outlines differ"
        )
    return worth


def _alone(people: list[Person], sources: list[str]) -> Iterator[str]:
    """Yield a note on everybody who is missing in a source."""
    for person in people:
        missing = [source for source in sources if source not in person.sources]
        if missing:
            places = ", ".join(dict.fromkeys(mention.where for mention in person.mentions))
            yield f"not in {' or '.join(missing)}: {person.label}: {places}"
