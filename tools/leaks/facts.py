"""Facts that answer a graded written question: students' files must not state them in any words.

solutions/written/facts.toml lists them, and explains its patterns.
"""

import re
import tomllib
from pathlib import Path
from typing import Annotated

from annotated_types import MinLen
from pydantic import BaseModel, BeforeValidator, TypeAdapter, model_validator

from autograder.description import Edition, UsageError, load_assignment

from ..datafiles import REPO
from ..handout.description import ROMAN
from .texts import flat

FACTS = Path("solutions/written/facts.toml")
Text = Annotated[str, MinLen(1)]
Pattern = Annotated[re.Pattern[str], BeforeValidator(lambda text: "".join(str(text).split()))]


class Fact(BaseModel, extra="forbid", frozen=True):
    """Part of the answer to a graded question; facts.toml explains the attributes."""

    slot: str = ""
    says: Text
    patterns: Annotated[tuple[Pattern, ...], MinLen(1)]
    examples: Annotated[tuple[Text, ...], MinLen(1)]

    @model_validator(mode="after")
    def _fits(self) -> "Fact":
        for example in self.examples:
            if not self.is_in(flat(example)):
                raise ValueError(f"no pattern finds the example {example!r}")
        for pattern in self.patterns:
            if not any(pattern.search(flat(example)) for example in self.examples):
                raise ValueError(f"the pattern {pattern.pattern!r} finds none of the examples")
        return self

    def is_in(self, text: str) -> bool:
        """Return whether a text in the form `flat` states the fact."""
        return any(pattern.search(text) for pattern in self.patterns)


def facts_of(repo: Path = REPO, edition: str | None = None) -> list[Fact]:
    """Return the facts that no file for an edition's students may state; None: any edition's."""
    assignment = load_assignment(repo)
    editions = [assignment.edition(edition)] if edition else list(assignment.editions.values())
    return [fact for fact in read(repo) if any(is_graded(fact.slot, e) for e in editions)]


def is_graded(slot: str, edition: Edition) -> bool:
    """Return whether an edition gives the answer in a slot written points."""
    topic, _, roman = slot.partition("-")
    for question in edition.questions:
        if question.topic == topic and question.written:
            parts = dict(zip(ROMAN, question.written_parts, strict=False))
            return not roman or len(parts) == 1 or parts.get(roman, 0) > 0
    return False


def read(repo: Path) -> list[Fact]:
    """Return all facts of a repository, whether or not they are graded; raise UsageError."""
    path = repo / FACTS
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        slots = TypeAdapter(dict[str, list[Fact]]).validate_python(tables)
    except (OSError, ValueError) as error:
        lines = str(error).splitlines()  # pydantic's: a heading, the place, the mistake
        words = " ".join(" ".join(lines[1:3] or lines).split())
        raise UsageError(f"{FACTS.as_posix()}: {words}") from None
    for slot in slots:
        if not (path.with_name(f"{slot}.tex.j2")).is_file():
            raise UsageError(f"{FACTS.as_posix()}: {slot}: there is no {slot}.tex.j2 beside it")
    return [fact.model_copy(update={"slot": slot}) for slot in slots for fact in slots[slot]]
