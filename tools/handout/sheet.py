"""Render an edition's sheet and its practice as LaTeX: for print, for the web, or as solutions.

An answer in handout/answers/ is for students, too, unless an edition gives points for its question.
On the practice's web page, it is collapsed below the question; in print, it is at the end, and the
question links to it. Answers in solutions/written/ are for staff only.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import RootModel

from autograder.description import Question, graded_topics

from .. import commands
from ..regions import END, START
from . import description, first_page
from .description import ROMAN, Description, letter_of, points, shown_number
from .templates import HandoutError, Templates, percent, plain, tex

ANSWERS = "handout/answers"
FOLDERS = ("handout", ANSWERS, "solutions/written")
COMMANDS = {  # by topic, or by what is asked; a sheet adds those of the variants
    "no_pretraining": commands.PIPELINES["vanilla without pretraining"],
    "unseen": [commands.PREDICT_UNSEEN],
    "compare": [commands.COMPARE],
}
VARIANT = "MODEL"  # in the table of commands
STARTER = Path("src/submission")
SHEET, PRACTICE = "sheet", "practice"  # the two documents that students get
NO_POINTS = "no points"  # of a space for an answer; src/check_written.py reads it
NUMBERS = "numbers"  # the slot for the numbers that a coding question asks to report
HEIGHT = "4cm"  # of the space to write by hand
NUMBERED = r"\setlength{\answerheight}{1.2cm}"  # for numbers


@dataclass(frozen=True)
class Slot:
    """A place for an answer.

    Attributes:
        id: `3c-ii`, or `1d` where a question has one.
        topic, part: the question, and which of its parts: NUMBERS, 0 for the whole, or 1, 2...
        shown: `3(c)-ii`.
        what: what is asked, in a few words.
        points: written points.
        answer: the template of the staff's answer.
    """

    id: str
    topic: str
    part: int | str
    shown: str
    what: str
    points: Decimal
    answer: str


class Sheet:
    """Renders one edition; after `render`, `slots` are the places for answers, in order."""

    def __init__(
        self,
        repo: Path,
        described: Description,
        paper: str = "letter",
        numbers: dict | None = None,
    ) -> None:
        """
        Args:
            paper: "a4" or "letter".
            numbers: what the solutions quote (see build.compute_numbers); other targets need none.
        """
        self._repo, self._described, self._paper = repo, described, paper
        self._numbers = numbers
        self._templates = Templates(repo, FOLDERS)
        self._begin("print", SHEET)
        variants = described.assignment.variants.values()
        trained = {v.topic: commands.pipeline(v.name, pretrained=True) for v in variants}
        self._commands = COMMANDS | trained

    def render(self, target: str = "print", document: str = SHEET) -> str:
        """Render a document as LaTeX.

        Args:
            target: "print", with space for answers; "web", for web.py; or "solutions".
            document: SHEET, or PRACTICE for what carries no points; the solutions have both in one.

        Raises:
            HandoutError: a template or a table has a mistake.
        """
        self._begin(target, document)
        return self.page(f"{document}.tex.j2")

    def submission(self) -> str:
        """Render submission.tex, with a place for each answer of the sheet that was rendered."""
        return self.page("submission.tex.j2", slots=self.slots)

    def page(self, name: str, **more: Any) -> str:
        """Render another template of handout/ with the same values."""
        return self._templates.render(name, self._values() | more)

    def _begin(self, target: str, document: str) -> None:
        self._target, self._document = target, document
        self.slots: list[Slot] = []
        self._cited: list[str] = []
        self._interactive: set[str] = set()
        self._answered: list[Question] = []  # their answers follow at the end
        self._rendered: Question | None = None

    def _values(self) -> dict[str, Any]:
        """Return what templates may use besides methods; texts are plain, not LaTeX."""
        d, parts = self._described, self._parts(self._is_here)
        questions, example = d.edition.questions, first_page.example(d.edition)
        written = [q for q in questions if q.written]
        trained = [q for q in questions if q.topic in self._commands]
        methods = {name: getattr(self, name) for name in dir(self) if not name.startswith("_")}
        return methods | {
            "training_time": partial(first_page.training_time, d),
            "usual_accuracy": partial(first_page.usual_accuracy, d),
            "assignment": d.assignment,
            "course": d.course,
            "due": d.due_plain,
            "kind": "Solutions, for staff only: " if self._target == "solutions" else "",
            "edition": d.edition,
            "parts": parts,
            "answered": self._answered,
            "scored_parts": self._parts(lambda question: not description.is_unscored(question)),
            "questions": questions,
            "topics": d.assignment.tables.topics,
            "shown_number": shown_number,
            "total": first_page.total,
            "scores": first_page.scores,
            "tests_in_words": first_page.tests_in_words,
            "hours": partial(first_page.hours, d),
            "target": self._target,
            "paper": self._paper,
            "data": d.data,
            "numbers": self._numbers,
            "written_questions": written,
            "pdf_is_required": any(not q.is_extra_credit for q in written),
            "has_extra": any(q.is_extra_credit for q in written),
            "most_important": first_page.most_important(d, [q for p in parts for q in p.questions]),
            "worth": first_page.totals(questions),
            "time_in_all": partial(first_page.time_in_all, d, {q.topic for q in trained}),
            "work_in_all": partial(first_page.work_in_all, d),
            "ai_policy": d.course.policies.ai_tools,
            "coding_questions": trained,
            "example_test": example.tests[0].test_id,
            "example_question": example,
            "markers": {"start": START, "end": END},
            "percent": percent,
        }

    # What templates call: public methods -----------------------------------------------------
    def has(self, topic: str) -> bool:
        """Return whether the edition has this question."""
        return topic in self._described.questions

    def graded(self, topic: str) -> bool:
        """Return whether any edition gives points for this question."""
        return topic in graded_topics(self._described.assignment)

    def ref(self, topic: str, part: int = 0) -> str:
        """Return a question's or part's number, linked if it is here; or raise HandoutError."""
        question = self._described.questions.get(topic)
        if question is None:
            raise HandoutError(
                f"the edition {self._described.edition.name} has no question {topic!r}: put what "
                f'refers to it between <% if has("{topic}") %> and <% endif %>'
            )
        shown = shown_number(question.number) + _suffix(part)
        if not self._is_here(question):
            return shown
        return rf"\hyperref[{_label(question.number, part)}]{{{shown}}}"

    def refs(self, questions: list[Question]) -> str:
        """Return links to several questions: `1(d), 1(f) and 1(g)`."""
        return _listed([self.ref(question.topic) for question in questions])

    def render_question(self, question: Question) -> str:
        """Render a question: its heading and its template."""
        self._rendered = question
        number = f"{{{description.part_of(question.number)}}}{{{letter_of(question.number)}}}"
        title, worth = tex(question.title), description.worth(question)
        heading = rf"\question{number}{{{title}}}{{{worth}}}{{{_label(question.number)}}}"
        body = self.page(f"topics/{question.topic}.tex.j2", question=question)
        # A question with one answer is kept on the same page as the space for it.
        whole = rf"\answerspace{{{question.number}}}" in body and NUMBERED not in body
        keep = r"\keepon" if whole else r"\keepoff"
        return f"{heading}\n{keep}\n{body}"

    def subpart(self, part: int, kind: str = "written") -> str:
        """Return the heading of a part of the question.

        Args:
            kind: "written", "coding", or "practice", which has no points unless the edition's list
                `written` has an entry for it.

        Raises:
            HandoutError: the part has no points, or no number.
        """
        question, parts = self._question, self._question.written_parts
        roman = _suffix(part, least=1).removeprefix("-")
        if kind == "practice" and not self._graded_part(part):
            worth = "Practice"
        elif kind == "coding":
            worth = points(question.coding)
        elif 1 < len(parts) >= part:
            worth = points(parts[part - 1])
        elif question.coding and question.written and kind == "written":
            worth = points(question.written)
        else:
            raise HandoutError(
                f"part {roman} of {question.topic} has no points in assignment.toml: "
                f"question {question.number}, written = {plain(question.written)}, "
                "expected a list with a number for each part"
            )
        return rf"\subquestion{{{roman}}}{{{worth}}}{{{_label(question.number, part)}}}"

    def _graded_part(self, part: int) -> bool:
        """Return whether the edition gives a part points of its own."""
        parts = self._question.written_parts
        return 1 < len(parts) >= part and parts[part - 1] > 0

    def answer(self, part: int | str = 0, what: str = "") -> str:
        """Return the place for an answer; in the solutions, the answer."""
        question, suffix, worth = self._question, "", Decimal(0)
        if part != NUMBERS:
            suffix, parts = _suffix(part), question.written_parts
            worth = parts[int(part) - 1] if part and len(parts) > 1 else question.written
        slot = Slot(
            question.number + suffix,
            question.topic,
            part,
            shown_number(question.number) + suffix,
            what or question.title + (f", part {suffix[1:]}" if suffix else ""),
            worth,
            f"{question.topic}{suffix}.tex.j2",
        )
        self.slots.append(slot)
        if self._target == "solutions":
            return self._solution(suffix, slot=slot, points=partial(_share_of, worth))
        height = NUMBERED if part == NUMBERS else rf"\setlength{{\answerheight}}{{{HEIGHT}}}"
        unscored = "" if worth else f"[{NO_POINTS}]"
        return f"{height}\n\\answerspace{unscored}{{{slot.id}}}"

    def worked_answer(self, part: int = 0) -> str:
        """Return the answer to a question, or to a part, for which nothing is handed in.

        If the edition gives it written points, return the place for the student's answer instead.
        """
        question, suffix = self._question, _suffix(part)
        if self._graded_part(part) if part else question.written:
            return self.answer(part)
        if self._target == "solutions":
            return self._solution(suffix)
        if self.graded(question.topic) or not self._is_for_students(question.topic + suffix):
            return ""
        if self._target == "web":  # page.lua collapses what is between these paragraphs
            shown = shown_number(question.number)
            return f"ANSWERBEGINS {shown}\n\n{self.answer_to(question)}\n\nANSWERENDS"
        self._answered.append(question)
        return rf"\answerlink{{{question.number}}}"

    def answer_to(self, question: Question) -> str:
        """Return the answer to a question of practice."""
        return self.page(f"{question.topic}.tex.j2", question=question)

    def dots(self, count: int) -> str:
        """Return a rating as dots: `●●○` for 2 of 3."""
        return "●" * count + "○" * (3 - count) if self._target == "web" else rf"\rating{{{count}}}"

    def pads(self, count: int) -> str:
        """Return `count` padding characters."""
        return r"\padchar" * count

    def marker(self, topic: str = "") -> str:
        """Return the comment that marks a topic's code (by default, this question's)."""
        words = (topic or self._question.topic).replace("_", " ")
        return rf"\mbox{{\code{{\# [{words}]}}}}"

    def hint(self) -> str:
        """Return the question's hint, which the grader prints, too; `code` in it is marked."""
        topic = self._question.topic
        for file in self._repo.glob("src/questions/*/hints.toml"):
            hints = description.table_of(file, RootModel[dict[str, dict[str, str]]]).root
            if words := hints.get(topic, {}).get("pointer"):
                return re.sub("`(.+?)`", r"\\code{\1}", tex(words))
        raise HandoutError(f"no src/questions/*/hints.toml has a pointer for {topic}")

    def practice(self, *functions: str) -> str:
        """Return a sentence that says which functions answer the question in code."""
        listed = _listed([rf"\code{{{tex(name)}}}" for name in functions])
        them, file = "it" if len(functions) == 1 else "them", tex(self._starter_file())
        return (
            rf"\incode{{Write {listed} in \file{{{file}}} and test {them} with "
            rf"\command{{python src/grader.py {self._question.number}}}.}}"
        )

    def command_rows(self) -> list[tuple[str, ...]]:
        """Return the commands of all trainings once, as rows of a table, if the edition has one."""
        if not self._has_command_table:
            return []
        variants = [v for v in self._described.assignment.variants.values() if self.has(v.topic)]
        pipelines = {}
        if self.has("no_pretraining"):
            pipelines[self.ref("no_pretraining")] = self._commands["no_pretraining"]
        if topics := ", ".join(self.ref(variant.topic) for variant in variants):
            pipelines[topics] = commands.pipeline(VARIANT, pretrained=True)
        return [(topics, *command.row) for topics, todo in pipelines.items() for command in todo]

    @property
    def _has_command_table(self) -> bool:
        edition = self._described.edition.name
        return self._described.assignment.tables.editions[edition].command_table

    def shell(self, kind: str) -> str:
        """Return the commands of a question, or where they are if the edition has a table."""
        names = [v.name for v in self._described.assignment.variants.values() if v.topic == kind]
        if self._has_command_table and (names or kind == "no_pretraining"):
            named = rf", with \code{{{names[0]}}} for \emph{{{VARIANT}}}" if names else ""
            return f"the commands are in the table at the beginning of this section{named}."
        shown = [
            "\n".join(["\\begin{shell}", f"# {c.purpose}", *c.lines, "\\end{shell}"])
            for c in (self._commands | commands.EXPERIMENTS)[kind]
        ]
        return "\n\\mayendpage\n".join(shown)

    def cite(self, key: str) -> str:
        """Return a citation such as `[2]`, numbered in the order of the first citations."""
        if key not in self._described.references:
            raise HandoutError(f"{key!r} is not in handout/references.toml")
        if key not in self._cited:
            self._cited.append(key)
        return rf"\hyperref[ref:{key}]{{[{self._cited.index(key) + 1}]}}"

    def cited(self) -> list[dict[str, str]]:
        """Return the cited works, in order."""
        references = self._described.references
        return [{"key": key, "text": references[key].text} for key in self._cited]

    def figure(self, name: str) -> str:
        """Return a figure with its caption."""
        if name not in self._described.figures:
            raise HandoutError(f"{name!r} is not in handout/figures.toml")
        figure = self._described.figures[name]
        drawn = rf"\input{{figures/{name}.tex}}"
        if self._target == "web":
            drawn = rf"\includegraphics{{figures/{name}.svg}}"
        return (
            f"\\begin{{figure}}[H]\n\\centering\n{drawn}\n\\caption{{{figure.caption}}}"
            f"\\label{{{figure.label}}}\n\\end{{figure}}"
        )

    def interactive(self, name: str) -> str:
        """Return an interactive figure, once per document; in print, say that the web page has it.

        The web page's filter inserts handout/web/NAME.html.
        """
        if not (self._repo / f"handout/web/{name}.html").is_file():
            raise HandoutError(f"the interactive figure handout/web/{name}.html is missing")
        if name in self._interactive or self._target == "solutions":
            return ""
        self._interactive.add(name)
        if self._target == "web":
            return f"@interactive:{name}@"
        return (
            "\\glued{\\emph{The web page} \\file{handout.html} \\emph{has an interactive figure at "
            "this place.}}"
        )

    def points(self, share: str) -> str:
        """Raise HandoutError: only solutions distribute points; see `answer`."""
        raise HandoutError(f"points({share!r}) is outside a solution")

    # Helpers ------------------------------------------------------------------------------------
    def _parts(self, has: Callable[[Question], bool]) -> list[description.Part]:
        """Return the sections that have such questions, with these alone."""
        parts = [
            replace(part, questions=tuple(filter(has, part.questions)))
            for part in self._described.parts
        ]
        return [part for part in parts if part.questions]

    def _is_here(self, question: Question) -> bool:
        """Return whether the question is in the document that is being rendered."""
        is_in = PRACTICE if description.is_unscored(question) else SHEET
        return self._target == "solutions" or is_in == self._document

    @property
    def _question(self) -> Question:
        """The question whose template is being rendered."""
        if self._rendered is None:
            raise HandoutError("the sheet has a question's answer or points before any question")
        return self._rendered

    def _starter_file(self) -> str:
        """Return the file that students complete for the question: the one with its marker."""
        marker = f"# [{self._question.topic.replace('_', ' ')}]"
        for path in sorted((self._repo / STARTER).glob("*.py")):
            if marker in path.read_text(encoding="utf-8"):
                return (STARTER / path.name).as_posix()
        raise HandoutError(
            f"no file of {STARTER.as_posix()} has the marker {marker!r}, expected above the "
            f"code for question {self._question.number}; run make starter"
        )

    def _is_for_students(self, name: str) -> bool:
        return (self._repo / ANSWERS / f"{name}.tex.j2").is_file()

    def _solution(self, suffix: str, **values: Any) -> str:
        """Return an answer under the number of its question; it may continue on the next page."""
        question = self._question
        name, shown = question.topic + suffix, shown_number(question.number) + suffix
        text = self.page(f"{name}.tex.j2", question=question, **values)
        if self._is_for_students(name):
            text = f"\\begin{{solution}}\n{text}\\end{{solution}}"
        return f"\\renewcommand{{\\solutionof}}{{{shown}}}\\keepoff\n{text}"


def _suffix(part: object, least: int = 0) -> str:
    """Return what a part adds to its number, `-ii`, or nothing for 0; or raise HandoutError."""
    if type(part) is not int or not least <= part <= len(ROMAN):
        raise HandoutError(f"the part {part!r} should be a number from {least} to {len(ROMAN)}")
    return f"-{ROMAN[part - 1]}" if part else ""


def _label(number: str, part: int = 0) -> str:
    return f"q:{number}{_suffix(part)}"


def _share_of(worth: Decimal, share: str) -> str:
    return f"{float(Fraction(share) * Fraction(worth)):.4g}"


def _listed(words: list[str]) -> str:
    """Return `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
