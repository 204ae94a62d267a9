"""Answers to questions that ask for none to be handed in, of which students get some.

An answer in handout/answers/ is for students, too, unless an edition gives its question points: on
the web it is folded up below the question, in print it stands at the end, where the question links
to it. What lies in solutions/written/ is for staff alone.
"""

import re
from pathlib import Path

from ..described import Question
from .description import shown_number
from .templates import tex

FOLDER = Path("handout/answers")
BEGINS, ENDS = "ANSWERBEGINS", "ANSWERENDS"  # paragraphs before and after an answer on the web


def is_for_students(repo: Path, name: str) -> bool:
    """Return whether students may have an answer, if no points depend on it."""
    return (repo / FOLDER / f"{name}.tex.j2").is_file()


def template(repo: Path, name: str) -> str:
    """Return how templates call the answer to a question or a part (`attention_two_heads-i`)."""
    folder = f"{FOLDER.name}/" if is_for_students(repo, name) else ""
    return f"{folder}{name}.tex.j2"


def is_students(template: str) -> bool:
    """Return whether a template is an answer that students may have."""
    return template.startswith(f"{FOLDER.name}/")


def of_staff(text: str) -> str:
    """Return students' answer as it stands among the solutions."""
    return f"\\begin{{solution}}\n{text}\\end{{solution}}"


def to_fold(question: Question, text: str) -> str:
    """Return an answer for the web, to be folded up once it is HTML."""
    return f"{BEGINS} {shown_number(question.number)}\n\n{text}\n\n{ENDS}"


def folded(body: str) -> str:
    """Fold up the answers of a page."""
    summary = r"<details>\n<summary>Answer to \1</summary>"
    body = re.sub(rf"<p>{BEGINS} (\S+)</p>", summary, body)
    return body.replace(f"<p>{ENDS}</p>", "</details>")


def link(question: Question) -> str:
    """Return where the answer is in print."""
    return rf"\answerlink{{{question.number}}}"


def at_the_end(question: Question, text: str) -> str:
    """Return an answer for the end of the printed sheet, below its heading."""
    number, shown, title = question.number, shown_number(question.number), tex(question.title)
    return f"\\practiceanswer{{{number}}}{{{shown}}}{{{title}}}\n{text}"
