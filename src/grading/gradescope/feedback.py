"""What a student reads of a test on Gradescope, in Markdown: points first, a screenful at most.

Sentences of ours stand as text, all that may hold a student's characters (pictures, got and
expected, prints) in a fenced block, which Markdown leaves as it is and shows in a monospaced font.
"""

from __future__ import annotations

import re

from ..console import points
from ..outcomes import Outcome
from ..results import TestResult

MAX_LINES = 24
MAX_COLUMNS = 100
PRINTED_LINES = 8  # of these, for what the student's code printed


def of_test(result: TestResult) -> str:
    """A test's output."""
    score, worth = points(result.score), points(result.spec.max_score)
    head = f"**{score} of {worth} points: {result.outcome.value}**"
    if not result.spec.max_score:
        head = f"**No points: {result.outcome.value}**"
    sentence, _, rest = result.message.partition("\n")
    parts = [head]
    if result.outcome is not Outcome.PASSED and sentence:
        parts.append(plain(sentence))
        if rest.strip():
            parts.append(fenced(rest))
    if result.output.strip() and not result.spec.is_hidden:
        parts += ["Your code printed:", fenced(result.output, PRINTED_LINES)]
    return "\n\n".join(parts)


def plain(text: str) -> str:
    """Text as Markdown that shows just this text, in one paragraph.

    Entities, since every dialect of Markdown shows them; which backslashes it obeys differs.
    """
    shown = " ".join(text.split())
    shown = re.sub(r"[\\`*_{}\[\]#|~$<>&]", lambda found: f"&#{ord(found[0])};", shown)
    return re.sub(r"^([-+]|\d+[.)])", lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", shown)


def fenced(text: str, most: int = MAX_LINES - 6) -> str:
    """Text as a block that Markdown leaves alone; long lines and long texts are cut."""
    lines = [_cut(line.expandtabs(4)) for line in text.strip("\n").split("\n")]
    if len(lines) > most:
        lines = [*lines[:most], f"[... {len(lines) - most} more lines]"]
    body = "\n".join(lines)
    # Longer than any run of backticks inside, so that nothing in it ends the block.
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def _cut(line: str) -> str:
    return line if len(line) <= MAX_COLUMNS else line[: MAX_COLUMNS - 4] + " ..."
