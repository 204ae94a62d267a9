"""What a student reads about a test on Gradescope, in Markdown: points first, at most a screenful.

The grader's sentences are text; everything that may contain a student's characters (pictures, got
and expected, prints) is in a fenced block, which Markdown shows unchanged in a monospaced font.
"""

import re

from grading.errors import safe_line, safe_lines
from grading.report import Group, share
from grading.verdicts import State, TestResult

# Of a test's message: at most 6 for its sentence, the others for values and pictures.
MAX_LINES = 24
MAX_COLUMNS = 100
MAX_SENTENCE = 600  # characters
# Of tests without points: the causes shown, the characters of a sentence, the lines of its values.
CAUSES, MAX_CAUSE, CAUSE_LINES = 5, 250, 8
PRINTED_LINES = 8  # of what the student's code printed


def of_test(test: TestResult) -> str:
    """Return what Gradescope shows as a test's output, in Markdown."""
    worth = "No points"
    if test.spec.max_score:
        worth = f"{share(test.score, test.spec.max_score)} points"
    sentence, _, rest = test.message.partition("\n")
    parts = [f"**{worth}: {test.outcome.value}**"]
    if test.state is not State.PASSED and sentence:
        parts.append(plain(shortened(sentence)))
        if rest.strip():
            parts.append(fenced(rest))
    if test.output.strip():
        parts += ["Your code printed:", fenced(test.output, PRINTED_LINES)]
    return "\n\n".join(parts)


def of_practice(group: Group) -> str:
    """Return what Gradescope shows for a question's tests without points, in Markdown.

    Tests that failed for the same reason share a paragraph, and got and expected values.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for test in (test for test in group.tests if test.state is not State.PASSED):
        alike.setdefault((test.outcome.value, test.message), []).append(test.spec.test_id)
    parts = [f"**No points: {group.in_tests}**"]
    for (outcome, message), test_ids in list(alike.items())[:CAUSES]:
        sentence, _, rest = message.partition("\n")
        parts.append(plain(shortened(f"{', '.join(test_ids)}: {outcome}: {sentence}", MAX_CAUSE)))
        if rest.strip():
            parts.append(fenced(rest, CAUSE_LINES))
    more = sum(map(len, list(alike.values())[CAUSES:]))
    if more:
        parts.append(f"{more} more did not pass.")
    if alike:
        number = group.tests[0].spec.number
        parts.append(f"On your computer, `python src/grader.py {number}` tells you more.")
    return "\n\n".join(parts)


def shortened(text: str, most: int = MAX_SENTENCE) -> str:
    """Cut a text to `most` characters."""
    return text if len(text) <= most else text[: most - 4] + " ..."


def plain(text: str) -> str:
    """Escape a text for Markdown, so that it is shown unchanged, in one paragraph.

    This uses entities, since every dialect of Markdown supports them, unlike backslashes.
    """
    shown = safe_line(" ".join(text.split()))
    shown = re.sub(r"[\\`*_{}\[\]#|~$<>&]", lambda found: f"&#{ord(found[0])};", shown)
    return re.sub(r"^([-+]|\d+[.)])", lambda found: f"&#{ord(found[0][0])};{found[0][1:]}", shown)


def fenced(text: str, most: int = MAX_LINES - 6) -> str:
    """Put a text into a block that Markdown leaves alone; wrap long lines, and cut a long text."""
    shown = safe_lines(text.strip("\n"), len(text))
    lines = [part for line in shown.split("\n") for part in _wrapped(line)]
    if len(lines) > most:
        lines = [*lines[:most], f"[... {len(lines) - most} more lines]"]
    body = "\n".join(lines)
    # Longer than any run of backticks inside, so that nothing in it ends the block.
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{body}\n{fence}"


def _wrapped(line: str) -> list[str]:
    """Wrap a line at a screen's width, with later lines indented; blanks are kept."""
    line = line.expandtabs(4)
    first, rest = line[:MAX_COLUMNS], line[MAX_COLUMNS:]
    width = MAX_COLUMNS - 8
    return [first, *(" " * 8 + rest[i : i + width] for i in range(0, len(rest), width))]
