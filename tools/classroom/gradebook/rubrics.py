"""`rubrics --into FOLDER`: writes what graders enter into Gradescope for each written question.

These are the rubric and the common wrong answers in solutions/written/: as QUESTION.csv (points and
Markdown, with mathematics between $$ as in Gradescope), and as QUESTION.html to read while grading.
"""

from __future__ import annotations

import argparse
import html
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.description import REPO
from grading.errors import UsageError
from grading.results import write_atomically
from grading.verdicts import ExitCode

from ..parsers import Commands, add_command
from . import cells
from .cells import Number, shown
from .policy import count

if TYPE_CHECKING:
    from ...handout.sheet import Slot

CRITERION, MISTAKE = "criterion", "wrong answer"
SOLUTION = re.compile(
    r"\\renewcommand\{\\solutionof\}\{([^}]*)\}(.*?)(?=\\renewcommand\{\\solutionof\}|\Z)",
    re.DOTALL,
)
SECTION = r"\\begin\{%s\}(.*?)\\end\{%s\}"
CREDIT = re.compile(r"\\credit\{([^}]*)\}\{([^}]*)\}")
MARK = "RUBRICSITEM"  # a paragraph between texts that are converted together
HOW = (
    "Use positive scoring. Select the criteria that an answer meets. If it is one of the common "
    "wrong answers that have points, select only that item."
)
STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 50rem; margin: 0 auto; padding: 1rem; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid GrayText; padding: .4rem; text-align: left;
  vertical-align: top; }
td:first-child { white-space: nowrap; }
p { margin: 0 0 .5rem; }
"""


@dataclass(frozen=True)
class RubricItem:
    """An item of a rubric.

    Attributes:
        points: its points; None if they depend on what the text says.
        latex: its text.
    """

    kind: str
    points: Fraction | None
    latex: str


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "rubrics",
        run,
        "write the rubric and common wrong answers of each written question",
        "For each written question with points, write QUESTION.csv, to enter into Gradescope, and "
        "QUESTION.html, to read. They contain solutions, so they are for staff only.",
    )
    command.add_argument(
        "--into", type=Path, required=True, metavar="FOLDER", help="where to write them"
    )
    command.add_argument(
        "--edition", metavar="EDITION", help="default: the default edition in assignment.toml"
    )


def run(asked: argparse.Namespace) -> int:
    """Write the sheets."""
    try:
        asked.into.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{asked.into} can't be created: {error.strerror}") from None
    found = rubrics(REPO, asked.edition)
    if not found:
        raise UsageError("the edition has no written question with points")
    for slot, items, markdown, pages in _converted(found):
        write_atomically(asked.into / f"{slot.id}.csv", _csv(items, markdown))
        write_atomically(asked.into / f"{slot.id}.html", _page(slot, items, pages))
    print(f"{asked.into}: a CSV file and a page for each of {count(len(found), 'question')}")
    return ExitCode.OK


def rubrics(repo: Path, edition: str | None) -> list[tuple[Slot, list[RubricItem]]]:
    """Return the items of each written question with points, in the sheet's order.

    Raises:
        UsageError: if a template has a mistake.
    """
    from ...handout.build import compute_numbers
    from ...handout.description import describe
    from ...handout.sheet import Sheet
    from ...handout.templates import HandoutError

    try:
        described = describe(repo, edition)
        with tempfile.TemporaryDirectory() as folder:
            sheet = Sheet(repo, described, "letter", compute_numbers(repo, Path(folder)))
        texts = dict(SOLUTION.findall(sheet.render("solutions")))
        slots = [slot for slot in sheet.slots if slot.points]
        return [(slot, list(items_of(texts[slot.shown], Fraction(slot.points)))) for slot in slots]
    except HandoutError as error:
        raise UsageError(str(error)) from None


def items_of(text: str, points: Fraction) -> Iterator[RubricItem]:
    r"""Yield the items of a rendered solution.

    Args:
        text: contains `\begin{rubric}` with `\criterion{1}{...}`, and `\begin{mistakes}` with
            `\credit{1/2}{...}` where a share of the points applies to the whole answer.
        points: the question's points.
    """
    rubric, mistakes = (
        "".join(re.findall(SECTION % (name, name), text, re.DOTALL))
        for name in ("rubric", "mistakes")
    )
    for found in re.finditer(r"\\criterion", rubric):
        worth, end = _braced(rubric, found.end())
        yield RubricItem(CRITERION, Fraction(worth), _braced(rubric, end)[0])
    for latex in re.split(r"\\item\b", mistakes)[1:]:
        credit = CREDIT.search(latex)
        share = Fraction(credit[1]) * points if credit else None
        yield RubricItem(MISTAKE, share, CREDIT.sub(r"\2", latex).strip())


def _braced(text: str, start: int) -> tuple[str, int]:
    """Return the text between the braces that begin at `start`, and where they end."""
    depth, place = 0, start
    while True:
        if text[place] == "\\":
            place += 1  # \{ opens nothing
        elif text[place] in "{}":
            depth += 1 if text[place] == "{" else -1
            if not depth:
                return text[start + 1 : place], place + 1
        place += 1


def _converted(
    found: list[tuple[Slot, list[RubricItem]]],
) -> Iterator[tuple[Slot, list[RubricItem], list[str], list[str]]]:
    """Yield each question with its items as Markdown and as HTML."""
    texts = [item.latex for _, items in found for item in items]
    markdown = _pandoc(texts, "markdown_strict+tex_math_double_backslash", MARK + r"(\d+)X\s*")
    # \\( begins an inline formula, and \\[ a displayed one: Gradescope uses $$ for both.
    markdown = [
        " ".join(re.sub(r"\\\\[()\[\]]", lambda _: "$$", text).split()) for text in markdown
    ]
    pages = _pandoc(texts, "html5", rf"<p>{MARK}(\d+)X</p>\s*")
    for slot, items in found:
        yield slot, items, markdown[: len(items)], pages[: len(items)]
        del markdown[: len(items)], pages[: len(items)]


def _pandoc(texts: list[str], to: str, mark: str) -> list[str]:
    """Convert texts in a single run of pandoc."""
    import pypandoc  # type: ignore[import-untyped]  # it has no annotations

    from ...handout.web import prepare

    source = prepare("".join(f"\n\n{MARK}{n}X\n\n{text}\n" for n, text in enumerate(texts)))
    try:
        made = pypandoc.convert_text(
            source, to, format="latex", extra_args=["--mathml", "--wrap=none"]
        )
    except RuntimeError as error:
        raise UsageError(f"pandoc: {str(error).strip()[-300:]}") from None
    parts = re.split(mark, made)
    assert [int(number) for number in parts[1::2]] == list(range(len(texts)))
    return [part.strip() for part in parts[2::2]]


def _csv(items: list[RubricItem], markdown: list[str]) -> str:
    rows: list[list[str | Number]] = [["points", "description", "kind"]]
    for item, text in zip(items, markdown, strict=True):
        points = Number(shown(item.points)) if item.points is not None else ""
        rows.append([points, text, item.kind])
    return cells.write(rows)


def _page(slot: Slot, items: list[RubricItem], pages: list[str]) -> str:
    title = html.escape(f"{slot.shown}: {slot.what}")
    points = Fraction(slot.points)
    worth = f"{shown(points)} point{'s' * (points != 1)}"
    sections = [
        _section(heading, [(i, p) for i, p in zip(items, pages, strict=True) if i.kind == kind])
        for heading, kind in (("Criteria", CRITERION), ("Common wrong answers", MISTAKE))
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{title} ({worth})</h1>
<p>{HOW}</p>
{"".join(sections)}</main>
</body>
</html>
"""


def _section(heading: str, items: list[tuple[RubricItem, str]]) -> str:
    rows = "".join(
        f"<tr><td>{shown(item.points) if item.points is not None else 'see text'}</td>"
        f"<td>{page}</td></tr>\n"
        for item, page in items
    )
    head = '<tr><th scope="col">Points</th><th scope="col">The answer</th></tr>'
    return (
        f"<h2>{heading}</h2>\n<table>\n<thead>{head}</thead>\n<tbody>\n{rows}</tbody>\n</table>\n"
    )
