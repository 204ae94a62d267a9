"""Facts that answer a graded written question: students' files must not state them in any words.

solutions/written/facts.toml lists them by the answers' slots (`attention_single_head-ii` has its
answer in solutions/written/attention_single_head-ii.tex.j2). A fact counts if an edition gives
its question written points.

    [[attention_averaging]]
    says = "which keys the query is made of"     # for the reader of the message
    patterns = ['k a \\+ k b']                    # each matches texts that state the fact
    examples = ["q = s (k_a + k_b)"]             # each must be matched; tests plant them

Patterns are regular expressions with re.VERBOSE: white space in them is for the reader. They are
matched against texts in the form `forms.flat`: in lower case, without white space, underscores,
commas, braces and TeX's backslashes; so `\\mu_a`, `mu_a` and the printed Greek letter become `mua`.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.description import Edition, UsageError, load_assignment

from ..datafiles import REPO
from ..handout.description import ROMAN, read_toml
from ..handout.templates import HandoutError
from .forms import flat

FACTS = Path("solutions/written/facts.toml")
KEYS = {"says": str, "patterns": list, "examples": list}


@dataclass(frozen=True)
class Fact:
    """Part of the answer to a graded question.

    Attributes:
        slot: the answer's file without `.tex.j2`.
        says: what it says, in a few words.
        pattern: matches every text in the form `flat` that states the fact.
        examples: texts that state it.
    """

    slot: str
    says: str
    pattern: re.Pattern[str]
    examples: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        """Return whether a text in the form `flat` states the fact."""
        return bool(self.pattern.search(text))

    def __str__(self) -> str:
        return f"answers a graded question, {self.slot}: {self.says}"


def facts_of(repo: Path = REPO, edition: str | None = None) -> list[Fact]:
    """Return the facts that no file for an edition's students may state.

    Args:
        edition: its name; None for those of all editions together.

    Raises:
        UsageError: facts.toml is missing or has a mistake; or assignment.toml has one, or lacks
            such an edition.
    """
    assignment = load_assignment(repo)
    editions = [assignment.edition(edition)] if edition else list(assignment.editions.values())
    return [fact for fact in read(repo) if any(is_graded(fact.slot, e) for e in editions)]


def is_graded(slot: str, edition: Edition) -> bool:
    """Return whether an edition gives the answer in a slot written points."""
    topic, _, roman = slot.partition("-")
    for question in edition.questions:
        if question.topic == topic and question.written:
            parts = question.written_parts
            if not roman or len(parts) == 1:
                return True
            place = ROMAN.index(roman)
            return place < len(parts) and parts[place] > 0
    return False


def read(repo: Path) -> list[Fact]:
    """Return all facts of a repository, whether or not they are graded.

    Raises:
        UsageError: facts.toml is missing or has a mistake; the message is one line.
    """
    try:
        tables = read_toml(repo / FACTS)
    except HandoutError as error:
        raise UsageError(f"{FACTS.parent.as_posix()}/{error}") from None
    found = []
    for slot, rows in tables.items():
        answer = repo / FACTS.parent / f"{slot}.tex.j2"
        if not answer.is_file() or slot.partition("-")[2] not in ("", *ROMAN):
            raise _fault(slot, f"there is no {answer.name} beside it; expected an answer's name")
        if not isinstance(rows, list):
            raise _fault(slot, f"got one table, expected [[{slot}]] above each fact")
        found += [_fact(slot, number, row) for number, row in enumerate(rows, 1)]
    return found


def _fact(slot: str, number: int, row: dict[str, Any]) -> Fact:
    """Check a row of the file, and that its patterns find its examples."""
    for key, kind in KEYS.items():
        value = row.get(key, "missing")
        texts = value if isinstance(value, list) else [value]
        if not isinstance(row.get(key), kind) or not texts or not all(_is_text(t) for t in texts):
            words = "a text" if kind is str else "a list of texts"
            raise _fault(slot, f"{key} is {value!r}, expected {words}", number)
    if unknown := set(row) - set(KEYS):
        raise _fault(slot, f"unknown key {min(unknown)!r}, expected {', '.join(KEYS)}", number)
    try:
        patterns = {text: re.compile(text, re.VERBOSE) for text in row["patterns"]}
        whole = re.compile("|".join(f"(?:{p})" for p in row["patterns"]), re.VERBOSE)
    except re.error as error:
        raise _fault(slot, f"patterns: {error}", number) from None
    fact = Fact(slot, row["says"], whole, tuple(row["examples"]))
    for example in fact.examples:
        if not fact.is_in(flat(example)):
            raise _fault(slot, f"no pattern finds the example {example!r}", number)
    for text, pattern in patterns.items():
        if not any(pattern.search(flat(example)) for example in fact.examples):
            raise _fault(slot, f"the pattern {text!r} finds none of the examples", number)
    return fact


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value)


def _fault(slot: str, words: str, number: int = 0) -> UsageError:
    return UsageError(f"{FACTS.as_posix()}, {slot}{f', fact {number}' if number else ''}: {words}")
