"""Answers to questions for which nothing is handed in; students get some of these answers.

An answer in handout/answers/ is for students, too, unless an edition gives points for its question.
On the practice's web page, it is collapsed below the question; in print, it is at the end, and the
question links to it. Answers in solutions/written/ are for staff only.
"""

from pathlib import Path

from autograder.description import Question

from .description import shown_number
from .templates import tex

FOLDER = Path("handout/answers")
BEGINS, ENDS = "ANSWERBEGINS", "ANSWERENDS"  # paragraphs before and after an answer on the web


def is_for_students(repo: Path, name: str) -> bool:
    """Return whether students may see an answer, provided that no points depend on it."""
    return (repo / FOLDER / f"{name}.tex.j2").is_file()


def template(repo: Path, name: str) -> str:
    """Return the template of the answer to a question or a part (`attention_two_heads-i`)."""
    folder = f"{FOLDER.name}/" if is_for_students(repo, name) else ""
    return f"{folder}{name}.tex.j2"


def is_students(template: str) -> bool:
    """Return whether a template is an answer that students may see."""
    return template.startswith(f"{FOLDER.name}/")


def of_staff(text: str) -> str:
    """Return an answer for students, formatted as one of the solutions."""
    return f"\\begin{{solution}}\n{text}\\end{{solution}}"


def to_fold(question: Question, text: str) -> str:
    """Return an answer for the web page, which its filter collapses."""
    return f"{BEGINS} {shown_number(question.number)}\n\n{text}\n\n{ENDS}"


def link(question: Question) -> str:
    """Return a link to the answer in print."""
    return rf"\answerlink{{{question.number}}}"


def at_the_end(question: Question, text: str) -> str:
    """Return an answer for the end of the printed practice, below its heading."""
    number, shown, title = question.number, shown_number(question.number), tex(question.title)
    return f"\\practiceanswer{{{number}}}{{{shown}}}{{{title}}}\n{text}"
