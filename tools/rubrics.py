"""Write what graders enter into Gradescope for each written question.

    python -m tools.rubrics --into FOLDER

These are the rubric and the common wrong answers in solutions/written/, as QUESTION.csv: points,
and a description in Markdown, with mathematics between $$ as in Gradescope. Use positive scoring:
an answer has the criteria that it meets; a common wrong answer with points has only that item.
The files contain solutions, so they are for staff only.

Exit codes: 0 done, 2 wrong usage or bad input.
"""

import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from autograder.description import REPO
from classroom.arguments import count
from classroom.cells import Number, shown, write
from grading.errors import UsageError
from grading.verdicts import write_atomically

from .arguments import OneLineParser, with_one_line_errors
from .handout.build import compute_numbers
from .handout.description import describe
from .handout.sheet import Sheet, Slot
from .handout.templates import HandoutError
from .handout.web import prepare

CRITERION, MISTAKE = "criterion", "wrong answer"
SOLUTION = re.compile(
    r"\\renewcommand\{\\solutionof\}\{([^}]*)\}(.*?)(?=\\renewcommand\{\\solutionof\}|\Z)",
    re.DOTALL,
)
SECTION = r"\\begin\{%s\}(.*?)\\end\{%s\}"
CREDIT = re.compile(r"\\credit\{([^}]*)\}\{([^}]*)\}")
MARK = "RUBRICSITEM"  # a paragraph between texts that are converted together


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


def rubrics(repo: Path, edition: str | None) -> list[tuple[Slot, list[RubricItem]]]:
    """Return the items of each written question with points, in the sheet's order.

    Raises:
        UsageError: if a template has a mistake.
    """
    try:
        described = describe(repo, edition)
        with tempfile.TemporaryDirectory() as folder:
            sheet = Sheet(repo, described, numbers=compute_numbers(repo, Path(folder)))
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


def _in_markdown(texts: list[str]) -> list[str]:
    """Convert texts in a single run of pandoc."""
    import pypandoc  # type: ignore[import-untyped]  # it has no annotations

    source = prepare("".join(f"\n\n{MARK}{n}X\n\n{text}\n" for n, text in enumerate(texts)))
    to = "markdown_strict+tex_math_double_backslash"
    try:
        made = pypandoc.convert_text(source, to, format="latex", extra_args=["--wrap=none"])
    except RuntimeError as error:
        raise UsageError(f"pandoc: {str(error).strip()[-300:]}") from None
    parts = re.split(MARK + r"(\d+)X\s*", made)
    assert [int(number) for number in parts[1::2]] == list(range(len(texts)))
    # \\( begins an inline formula, and \\[ a displayed one: Gradescope uses $$ for both.
    return [" ".join(re.sub(r"\\\\[()\[\]]", "$$", text).split()) for text in parts[2::2]]


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.rubrics", __doc__)
    parser.add_argument("--into", type=Path, required=True, metavar="FOLDER", help="where to write")
    parser.add_argument("--edition", help="default: the default edition in assignment.toml")
    options = parser.parse_args(arguments)
    questions = rubrics(REPO, options.edition)
    if not questions:
        raise UsageError("the edition has no written question with points")
    texts = iter(_in_markdown([item.latex for _, items in questions for item in items]))
    try:
        options.into.mkdir(parents=True, exist_ok=True)
        for slot, items in questions:
            rows: list[list[str | Number]] = [["points", "description", "kind"]]
            for item in items:
                points = Number(shown(item.points)) if item.points is not None else ""
                rows.append([points, next(texts), item.kind])
            write_atomically(options.into / f"{slot.id}.csv", write(rows))
    except OSError as error:
        raise UsageError(f"{options.into} can't be written: {error.strerror}") from None
    print(f"{options.into}: a CSV file for each of {count(len(questions), 'question')}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
