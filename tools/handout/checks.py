"""Check an edition's sheet, before it is typeset, for mistakes that TeX can't see."""

import re
from itertools import combinations
from pathlib import Path

from autograder.description import Question

from .description import Reference, describe
from .origins import check_characters
from .sheet import ANSWERS, PRACTICE, SHEET, Sheet, Slot
from .templates import HandoutError, plain
from .typeset import require

OF_STAFF = "solutions/written"


def check(repo: Path, edition: str, dataset: str | None = None) -> None:
    """Check that an edition's sheet and its solutions are complete and consistent.

    Raises:
        UsageError: a file of the course has a mistake, or a letter that LaTeX can't print.
        HandoutError: a template or a table has one, a question's points have no place for an
            answer, an answer is missing, a work has two keys, or a tool is missing.
    """
    described = describe(repo, edition, dataset)
    sheet = Sheet(repo, described)
    for document in (PRACTICE, SHEET):
        sheet.render("web", document)
        check_characters(repo, sheet.render(document=document))
    for question in described.edition.questions:
        slots = [slot for slot in sheet.slots if slot.topic == question.topic]
        check_places(edition, question, slots)
        check_answers(repo, question, slots)
    check_references(described.references)
    for tool in ("latexmk", "pdftocairo"):
        require(tool)


def check_places(edition: str, question: Question, slots: list[Slot]) -> None:
    """Raise HandoutError unless each of the written points has exactly one place for an answer."""
    scored = [slot for slot in slots if slot.points]
    several = len(question.written_parts) > 1
    if several:
        right = [i for i, value in enumerate(question.written_parts, 1) if value]
        fits = [slot.part for slot in scored] == right
    else:
        fits = len(scored) == bool(question.written)
    if fits and len({slot.id for slot in slots}) == len(slots):
        return
    given = " and ".join(f"{slot.shown} ({plain(slot.points)})" for slot in slots)
    places = f"places for the answers {given}" if slots else "no place for an answer"
    calls = [f"<< answer({i}) >>" for i in right] if several else ["<< answer() >>"]
    expected = " and ".join(calls) if question.written else "each of them"
    raise HandoutError(
        f"handout/topics/{question.topic}.tex.j2: has {places}, but question {question.number} of "
        f"edition {edition} has {plain(question.written)} written points: expected {expected}, "
        "once each"
    )


def check_answers(repo: Path, question: Question, slots: list[Slot]) -> None:
    """Raise HandoutError unless staff have an answer for each place for one."""
    template = f"handout/topics/{question.topic}.tex.j2"
    expected = [slot.answer for slot in slots]
    if not expected and "worked_answer()" in (repo / template).read_text(encoding="utf-8"):
        expected = [f"{question.topic}.tex.j2"]
    for name in expected:
        if not any((repo / folder / name).is_file() for folder in (ANSWERS, OF_STAFF)):
            raise HandoutError(
                f"{template}: has a place for the answer to {question.number}, but "
                f"{OF_STAFF}/{name}, the answer, is missing"
            )


def check_references(references: dict[str, Reference]) -> None:
    """Raise HandoutError if a work has two keys in references.toml: it would get two numbers.

    Works are compared by letters alone, so differences in volume, year or punctuation don't count.
    """
    works = {key: re.sub(r"[\W\d_]", "", work.text).lower() for key, work in references.items()}
    for (one, first), (two, second) in combinations(works.items(), 2):
        if first.startswith(second) or second.startswith(first):
            raise HandoutError(
                f"handout/references.toml: {one} and {two} are the same work: keep one of "
                "them, and cite it everywhere"
            )
