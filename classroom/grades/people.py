"""Matches the people in the sources of grades.

Two mentions belong to the same person if they share a platform's ID, a student ID, a login or an
e-mail address, or if people.csv says so. A contradiction, such as one address with two student IDs,
is an error that names both. Everybody else is matched by login and address (`ada` and `ada@x.edu`,
if x.edu is most students' domain), then by name, provided that only one person in each source comes
into question and that no ID speaks against it. Both kinds of matches are noted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from grading.errors import UsageError, safe_line

from ..submissions import same

# Canvas exports a name that begins with = as a formula that shows it.
AS_FORMULA = re.compile(r'="(.*)"', re.DOTALL)
SOURCES = CODING, WRITTEN, CANVAS, MOODLE = "coding", "written", "canvas", "moodle"
# What identifies a person. In most courses, Canvas's SIS User ID is the student ID; a login may be
# an address or a student ID.
STRONG = {"sis": ("sid",), "login": ("email", "sid")}


@dataclass(frozen=True)
class Mention:
    """What a source says about somebody."""

    source: str  # one of SOURCES
    where: str  # the place, for messages: "canvas.csv, line 7"
    name: str
    ids: dict[str, str]  # by kind: "key", "canvas", "moodle", "sid", "sis", "email", "login"
    said: Any = None  # what else the source says: a `Work`, or a roster's row

    def value(self, *kinds: str) -> str:
        """Return the first ID of these kinds, or ""."""
        return next((value for kind, value in self.ids.items() if kind in kinds), "")

    @cached_property
    def keys(self) -> set[tuple[str, str]]:
        """The IDs, each with its kind, in a normal form for comparisons."""
        kinds = ((k, text) for kind, text in self.ids.items() for k in STRONG.get(kind, (kind,)))
        return {(kind, same(text)) for kind, text in kinds}

    @cached_property
    def plain_name(self) -> str:
        """The name in a normal form, in which `Byron, Ada` is `Ada Byron`."""
        formula = AS_FORMULA.fullmatch(self.name.strip())
        name = formula[1] if formula else self.name
        last, comma, first = name.partition(",")
        return same(f"{first} {last}" if comma and "," not in first else name)

    @property
    def names(self) -> set[str]:
        """The full name in normal forms."""
        return {same(self.name), self.plain_name} - {""}

    @cached_property
    def submissions(self) -> set[str]:
        """The submission; Gradescope's pages show only its number."""
        text = same(self.said.submission) if self.source in (CODING, WRITTEN) else ""
        return {text, text.removeprefix("submission_")} - {""}


@dataclass(eq=False)
class Person:
    """Somebody whom at least one source mentions."""

    mentions: list[Mention] = field(default_factory=list)
    preferred: list[Mention] = field(default_factory=list)  # what counts, by people.csv

    @property
    def name(self) -> str:
        """The name in the first source that has one."""
        return next(filter(None, (mention.name for mention in self.mentions)), "")

    @property
    def sid(self) -> str:
        return self._first("sid", "sis")

    @property
    def email(self) -> str:
        return self._first("email", "login")

    def _first(self, *kinds: str) -> str:
        return next((m.ids[kind] for kind in kinds for m in self.mentions if kind in m.ids), "")

    @property
    def sources(self) -> set[str]:
        return {mention.source for mention in self.mentions}

    @property
    def keys(self) -> set[tuple[str, str]]:
        return set().union(*(mention.keys for mention in self.mentions))

    @property
    def label(self) -> str:
        """The person's name, address and ID, to be shown to people."""
        known = [f"<{self.email}>" if self.email else "", f"({self.sid})" if self.sid else ""]
        return safe_line(" ".join(filter(None, [self.name or "(no name)", *known])), 200)

    def of(self, source: str) -> list[Mention]:
        return [mention for mention in self.mentions if mention.source == source]

    def values(self, *kinds: str) -> dict[str, Mention]:
        """Return the normal forms of all mentions' IDs of these kinds, each with its mention."""
        return {same(m.value(*kinds)): m for m in self.mentions if m.value(*kinds)}


def find(people: Iterable[Person], text: str, where: str, is_one: bool = False) -> list[Person]:
    """Return the person that an ID means, or the members of the group whose submission it is.

    Args:
        where: what a message begins with.
        is_one: whether it has to mean one person, and may be a full name.

    Raises:
        UsageError: it means nobody, or may mean other people, whatever kinds of IDs these are.
    """
    key = same(text)
    group, single = list[Person](), list[Person]()
    stripped: list[Person] = []  # people with an ID that is this one with leading zeros
    for person in people:
        ids = {value for _, value in person.keys}
        if any(key in mention.submissions for mention in person.mentions):
            group.append(person)
        if key in ids or (is_one and any(key in mention.names for mention in person.mentions)):
            single.append(person)
        elif any(value.lstrip("0") == key for value in ids if value.isdecimal()):
            stripped.append(person)
    everybody = list(dict.fromkeys([*group, *single, *stripped]))
    labels = ", ".join(person.label for person in everybody)
    differ = any(0 < len(members) < len(everybody) for members in (group, single, stripped))
    if differ or len(single) > 1 or (is_one and len(group) > 1):
        raise UsageError(f"{where}{text!r:.60} may mean any of {labels}: use another ID")
    if stripped and not group and not single:
        raise UsageError(
            f"{where}{text!r:.60} matches nobody, but {labels} would match with leading zeros: did "
            "a spreadsheet remove them?"
        )
    if not everybody:
        kinds = ", e-mail address or full name" if is_one else " or e-mail address"
        raise UsageError(f"{where}{text!r:.60} matches no submission, student ID{kinds}")
    return everybody


def find_one(people: Iterable[Person], text: str, where: str = "") -> Person:
    """Return the one person that a submission, an ID or a full name means; see `find`."""
    (one,) = find(people, text, where, is_one=True)
    return one


def join(
    mentions: Iterable[Mention], aliases: Iterable[tuple[str, str, str]] = ()
) -> tuple[list[Person], list[str]]:
    """Return the people, and a line about each who was matched without an ID.

    Each alias is a row of people.csv: its place, and two IDs of one person.

    Raises:
        UsageError: one source has two records for a person, or IDs contradict each other.
    """
    people: dict[Person, None] = {}  # in order
    by_key: dict[tuple[str, str], Person] = {}
    for mention in mentions:
        person = Person([mention])
        known = (by_key[key] for key in sorted(mention.keys) if key in by_key)
        for other in dict.fromkeys(known):
            _merge(other, person)
            del people[other]
        people[person] = None
        by_key |= dict.fromkeys(person.keys, person)
    for place, first, second in aliases:
        one, other = (find_one(people, text, f"{place}: ") for text in (first, second))
        for mention in one.of(CODING):
            words = {value for _, value in mention.keys} | mention.names | mention.submissions
            other.preferred += [mention] if same(first) in words else []
        if one is not other:
            _merge(one, other)
            del people[one]
    # Whether Canvas's SIS User IDs are the student IDs of the other sources.
    one_kind = any(person.values("sis").keys() & person.values("sid").keys() for person in people)
    student_ids = ("sid", "sis") if one_kind else ("sid",)
    unique: list[tuple[str, ...]] = [student_ids, ("canvas",), ("moodle",)]
    notes: list[str] = []
    _join_weakly(people, _locals_of(people), "login and address", unique, notes)
    by_name = {p: {mention.plain_name for mention in p.mentions} - {""} for p in people}
    _join_weakly(people, by_name, "name", [*unique, ("email", "login")], notes)
    for person in people:
        two = [*person.values(*student_ids).values()][:2]
        if len(two) > 1:
            places = " and ".join(mention.where for mention in two)
            ids = " and ".join(f"{mention.value(*student_ids)!r:.40}" for mention in two)
            raise UsageError(
                f"{places} belong to one person, {person.label}, but have two student IDs, {ids}: "
                "did a spreadsheet remove leading zeros?"
            )
    return [*people], notes


def _merge(other: Person, person: Person) -> None:
    """Add the mentions of `other`; refuse it if a source mentions both, except for coding."""
    for twice in sorted(other.sources & person.sources - {CODING}):
        both = (other.of(twice)[0], person.of(twice)[0])
        places = " and ".join(sorted(f"{m.where} ({safe_line(m.name, 60)})" for m in both))
        raise UsageError(
            f"two records for one person: {places} share an ID or an e-mail address; correct or "
            "remove one of them"
        )
    mentions = (*other.mentions, *person.mentions)
    person.mentions = sorted(mentions, key=lambda mention: SOURCES.index(mention.source))


# Matching without an ID in common -----------------------------------------------------------------


def _locals_of(people: Iterable[Person]) -> dict[Person, set[str]]:
    """Return each person's logins, and the part before the @ of addresses in the class's domain.

    That is the domain of most addresses: only there, `ada@domain` may have the login `ada`.
    """
    addresses = sorted({value for p in people for _, value in p.keys if "@" in value})
    domains = Counter(address.partition("@")[2] for address in addresses).most_common(1)
    ours = {"", *(domain for domain, _ in domains)}
    parts = {p: [v.partition("@") for kind, v in p.keys if kind == "email"] for p in people}
    return {p: {local for local, _, at in split if at in ours} for p, split in parts.items()}


def _join_weakly(
    people: dict[Person, None],
    keys: dict[Person, set[str]],
    words: str,
    unique: list[tuple[str, ...]],
    notes: list[str],
) -> None:
    """Join people who share a key, if it can only mean one person; notes call the key `words`.

    One person has at most one ID of the kinds in each tuple of `unique`.
    """
    buckets: dict[str, list[Person]] = defaultdict(list)
    for person in people:
        for key in sorted(keys[person]):
            buckets[key].append(person)
    everywhere = {source for person in people for source in person.sources}
    joined = []
    for several in buckets.values():
        # People who are in all sources are complete, and don't take part.
        several = [p for p in several if p in people and p.sources != everywhere]
        if len(several) < 2:
            continue
        whole = Person([mention for person in several for mention in person.mentions])
        is_twice = len(whole.sources) < sum(len(person.sources) for person in several)
        if is_twice or any(len(whole.values(*kinds)) > 1 for kinds in unique):
            labels = ", ".join(f"{p.label} ({', '.join(sorted(p.sources))})" for p in several)
            notes.append(f"same {words}, but not matched: {labels}")
            continue
        first, *others = several
        for other in others:
            _merge(other, first)
            first.preferred += other.preferred
            del people[other]
        joined.append(first.label)
    if joined:
        notes.append(f"matched only by {words}: {', '.join(joined)}")
