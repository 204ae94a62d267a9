"""The sheet of an edition as LaTeX: for print, for the web, and with the staff's solutions."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from .. import commands
from ..described import graded_topics
from ..regions import END, START
from . import answers, description
from .description import ROMAN, Description, letter_of, points, shown_number
from .templates import HandoutError, Templates, percent, tex

FOLDERS = ("handout", "solutions/written")
COMMANDS = {  # by topic; and those of the variants
    "no_pretraining": commands.PIPELINES["vanilla without pretraining"],
    "unseen": [commands.predict_unseen("vanilla")],
}
STARTER = Path("src/submission")
NUMBERS = "numbers"  # the slot of a coding question for what it asks to report
HEIGHTS = {NUMBERS: "1.2cm"}  # of the space to write by hand; else:
HEIGHT = "4cm"


@dataclass(frozen=True)
class Slot:
    """A place for an answer.

    Attributes:
        id: `3c-ii`, or `1d` where a question has one.
        topic, part: which question; which of its sub-parts: "numbers", or 0 for the whole, or 1...
        shown: `3(c)-ii`.
        what: what is asked, in a few words.
        points: written points.
    """

    id: str
    topic: str
    part: int | str
    shown: str
    what: str
    points: Decimal


class Sheet:
    """Renders one edition; after `render`, `slots` are the places for answers, in order."""

    def __init__(
        self, repo: Path, described: Description, paper: str, numbers: dict | None = None
    ) -> None:
        """
        Args:
            paper: "a4" or "letter".
            numbers: what solutions quote (see build.compute_numbers); None without solutions.
        """
        self._repo, self._described, self._paper = repo, described, paper
        self._numbers = numbers
        self._templates = Templates(repo, FOLDERS)
        self._target = "print"
        self.slots: list[Slot] = []
        self._cited: list[str] = []
        self._answered: list[description.Question] = []  # whose answers are to follow
        self._rendered: description.Question | None = None
        variants = described.assignment.variants.values()
        trained = {v.topic: commands.pipeline(v.name, pretrained=True) for v in variants}
        self._commands = COMMANDS | trained

    def render(self, target: str = "print") -> str:
        """Render the sheet as LaTeX.

        Args:
            target: "print", with space for answers; "web", for web.py; or "solutions".

        Raises:
            HandoutError: a template or a table has a mistake.
        """
        self.slots, self._cited, self._answered, self._target = [], [], [], target
        return self._templates.render("sheet.tex.j2", self._values())

    def submission(self) -> str:
        """Render submission.tex, with a place for each answer of the sheet that was rendered."""
        values = self._values() | {"slots": self.slots}
        return self._templates.render("submission.tex.j2", values)

    def page(self, name: str, **more: Any) -> str:
        """Render another template of handout/ with the same values."""
        return self._templates.render(name, self._values() | more)

    def _values(self) -> dict[str, Any]:
        d = self._described
        written = [q for q in d.edition.questions if q.written]
        coding = [q for q in d.edition.questions if q.topic in self._commands]
        tested = [q for q in d.edition.questions if q.tests]
        quick = [q for q in tested if not any(test.torch for test in q.tests)]
        example = (quick or tested)[0]
        functions: dict[str, Callable] = {
            name: getattr(self, name)
            for name in (
                "answer", "begin_document", "cite", "cited", "collaborators", "figure", "graded",
                "has", "marker", "pads", "points", "practice", "practice_answers",
                "render_question", "ref", "refs", "shell", "subpart", "time_in_all",
                "training_time", "worked_answer",
            )
        }  # fmt: skip
        return functions | {
            "assignment": {
                "title": tex(d.assignment.title),
                "gradescope_python": d.assignment.gradescope_python,
            },
            "course": description.texts(d.course),
            "due": tex(d.due_plain),
            "kind": "Solutions, for staff only: " if self._target == "solutions" else "",
            "edition": {
                "name": d.edition.name,
                "title": tex(d.edition.title),
                "required_files": d.edition.required_files,
            },
            "parts": d.parts,
            "target": self._target,
            "data": d.data,
            "recipe": d.assignment.recipes[d.data.recipe],
            "numbers": self._numbers,
            "written_questions": written,
            "written_is_extra": all(q.is_extra_credit for q in written),
            "coding_questions": coding,
            "example_test": example.tests[0].test_id,
            "example_question": example,
            "markers": {"start": START, "end": END},
            "percent": percent,
        }

    # What templates call ------------------------------------------------------------------------
    def begin_document(self) -> str:
        """Return the preamble."""
        if self._target == "web":
            return "\\begin{document}"
        made = [f"\\documentclass[11pt,{self._paper}paper]{{article}}", "\\usepackage{handout}"]
        return "\n".join([*made, "\\begin{document}"])

    def has(self, topic: str) -> bool:
        """Return whether the edition has this question."""
        return topic in self._described.questions

    def graded(self, topic: str) -> bool:
        """Return whether any edition gives points for this question."""
        return topic in graded_topics(self._described.assignment)

    def ref(self, topic: str, part: int = 0) -> str:
        """Return a link to a question or one of its sub-parts, by its number in this edition."""
        question = self._find(topic)
        shown = shown_number(question.number) + (f"-{ROMAN[part - 1]}" if part else "")
        return rf"\hyperref[{_label(question.number, part)}]{{{shown}}}"

    def refs(self, questions: list) -> str:
        """Return links to several questions: `1(d), 1(f) and 1(g)`."""
        links = [self.ref(question.topic) for question in questions]
        return " and ".join(filter(None, [", ".join(links[:-1]), links[-1]]))

    def render_question(self, question: description.Question) -> str:
        """Render a question: its heading and its template."""
        self._rendered = question
        worth = description.worth(question)
        number = f"{{{description.part_of(question.number)}}}{{{letter_of(question.number)}}}"
        title, label = tex(question.title), _label(question.number)
        heading = rf"\question{number}{{{title}}}{{{worth}}}{{{label}}}"
        body = self._templates.render(f"topics/{question.topic}.tex.j2", self._own_values())
        return f"{heading}\n{body}"

    def subpart(self, part: int, kind: str = "written") -> str:
        """Return the heading of a sub-part."""
        question = self._question
        if kind == "coding":
            value = question.coding
        elif part <= len(question.written_parts) and len(question.written_parts) > 1:
            value = question.written_parts[part - 1]
        elif question.coding and question.written:
            value = question.written
        else:
            raise HandoutError(
                f"sub-part {ROMAN[part - 1]} of {question.topic} has no points in assignment.toml: "
                f"question {question.number}, written = {description.plain(question.written)}, "
                "expected a list with a number for each sub-part"
            )
        label = _label(question.number, part)
        return rf"\subquestion{{{ROMAN[part - 1]}}}{{{points(value)}}}{{{label}}}"

    def answer(self, part: int | str = 0, what: str = "") -> str:
        """Return the place for an answer; in the solutions, the answer."""
        question = self._question
        roman = ROMAN[part - 1] if isinstance(part, int) and part else ""
        suffix = f"-{roman}" if roman else ""
        if part == NUMBERS or not question.written:
            value = Decimal(0)
        elif isinstance(part, int) and part and len(question.written_parts) > 1:
            value = question.written_parts[part - 1]
        else:
            value = question.written
        shown = shown_number(question.number) + suffix
        what = what or question.title + (f", sub-part {roman}" if roman else "")
        slot = Slot(question.number + suffix, question.topic, part, shown, what, value)
        self.slots.append(slot)
        if self._target == "solutions":
            values = self._own_values() | {"slot": slot, "points": self._share_of(slot)}
            return _solution(slot.shown, self._staffs_answer(f"{slot.topic}{suffix}", values))
        height = HEIGHTS.get(str(part), HEIGHT)
        return f"\\setlength{{\\answerheight}}{{{height}}}\n\\answerspace{{{slot.id}}}"

    def worked_answer(self) -> str:
        """Return the answer to a question that asks for none to be handed in; see answers.py.

        There is a place for students' own where an edition gives the question written points.
        """
        question = self._question
        if question.written:
            return self.answer()
        if self._target == "solutions":
            text = self._staffs_answer(question.topic, self._own_values())
            return _solution(shown_number(question.number), text)
        if self.graded(question.topic) or not answers.is_for_students(self._repo, question.topic):
            return ""
        if self._target == "web":
            return answers.to_fold(question, self._students_answer(question))
        self._answered.append(question)
        return answers.link(question)

    def practice_answers(self) -> str:
        """Return the answers for the end of the printed sheet, of the questions that link to them.

        Call it behind the last question, and before the references: answers cite, too.
        """
        return "\n".join(
            answers.at_the_end(question, self._students_answer(question))
            for question in self._answered
        )

    def collaborators(self) -> str:
        """Return the place to name collaborators and AI tools."""
        return "" if self._target == "solutions" else "\\handinhead"

    def cite(self, key: str) -> str:
        """Return a citation such as `[2]`, numbered in the order of the first citations."""
        if key not in self._described.references:
            raise HandoutError(f"{key!r} is not in handout/references.toml")
        if key not in self._cited:
            self._cited.append(key)
        return rf"\hyperref[ref:{key}]{{[{self._cited.index(key) + 1}]}}"

    def cited(self) -> list[dict[str, str]]:
        """Return what was cited, in order."""
        return [{"key": key, "text": self._described.references[key]} for key in self._cited]

    def figure(self, name: str) -> str:
        """Return a figure with its caption."""
        if name not in self._described.figures:
            raise HandoutError(f"{name!r} is not in handout/figures.toml")
        figure = self._described.figures[name]
        drawn = rf"\input{{figures/{name}.tex}}"
        if self._target == "web":
            drawn = rf"\includegraphics{{figures/{name}.svg}}"
        return (
            f"\\begin{{figure}}[H]\n\\centering\n{drawn}\n\\caption{{{figure['caption']}}}"
            f"\\label{{{figure['label']}}}\n\\end{{figure}}"
        )

    def pads(self, count: int) -> str:
        """Return so many padding characters."""
        return r"\padchar" * count

    def marker(self, topic: str = "") -> str:
        """Return the comment in the code above what a topic (by default, this one) asks for."""
        words = (topic or self._question.topic).replace("_", " ")
        return rf"\code{{\# [{words}]}}"

    def practice(self, *functions: str) -> str:
        """Say which functions are answers in code to the question."""
        names = [rf"\code{{{tex(name)}}}" for name in functions]
        listed = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        them = "it" if len(names) == 1 else "them"
        return (
            rf"\paragraph{{In code.}} Write {listed} in \file{{{tex(self._starter_file())}}}; "
            rf"\code{{python src/grader.py {self._question.number}}} tests {them}."
        )

    def shell(self, kind: str) -> str:
        """Return the commands of a question."""
        blocks = ["\n".join([f"# {c.purpose}", *c.lines]) for c in self._commands[kind]]
        return "\n".join(f"\\begin{{shell}}\n{block}\n\\end{{shell}}" for block in blocks)

    def training_time(self, kind: str) -> str:
        """Say how long a question's commands take with the data set's recipe."""
        minutes = (self._described.minutes or {}).get(kind)
        if minutes is None:
            return "Before it starts, each training says how long it will take on your computer."
        return (
            f"On two cores of a computer of today this takes about {_duration(minutes)}; before it "
            "starts, each training says how long it will take on yours."
        )

    def time_in_all(self) -> str:
        """Say how long all trainings together take."""
        minutes = self._described.minutes
        recipe = rf"with the recipe \code{{{tex(self._described.data.recipe)}}}"
        if minutes is None:
            return (
                f"Models are trained several times, {recipe}; each training says how long it takes."
            )
        total = sum(value for topic, value in minutes.items() if self.has(topic))
        words = (
            f"Models are trained several times, {recipe}: about {_duration(total)} of computing on "
            "two cores, all in all"
        )
        if total < 60:
            return words + ". Nothing needs a GPU."
        return words + ", or a few hours of a GPU. Plan your time accordingly, and start early."

    # Helpers ------------------------------------------------------------------------------------
    @property
    def _question(self) -> description.Question:
        """The question whose template is being rendered."""
        if self._rendered is None:
            raise HandoutError("the sheet has a question's answer or points before any question")
        return self._rendered

    def _find(self, topic: str) -> description.Question:
        if topic not in self._described.questions:
            raise HandoutError(
                f"the edition {self._described.edition.name} has no question {topic!r}: put what "
                f'refers to it between <% if has("{topic}") %> and <% endif %>'
            )
        return self._described.questions[topic]

    def _starter_file(self) -> str:
        """Return the file that students complete for the question: its marker is in there."""
        marker = f"# [{self._question.topic.replace('_', ' ')}]"
        for path in sorted((self._repo / STARTER).glob("*.py")):
            if marker in path.read_text(encoding="utf-8"):
                return (STARTER / path.name).as_posix()
        raise HandoutError(
            f"no file of {STARTER.as_posix()} has the marker {marker!r}, expected above what "
            f"question {self._question.number} asks for: make starter"
        )

    def _students_answer(self, question: description.Question) -> str:
        values = self._values() | {"question": question}
        return self._templates.render(answers.template(question.topic), values)

    def _staffs_answer(self, name: str, values: dict[str, Any]) -> str:
        if answers.is_for_students(self._repo, name):
            return answers.of_staff(self._templates.render(answers.template(name), values))
        return self._templates.render(f"{name}.tex.j2", values)

    def _own_values(self) -> dict[str, Any]:
        return self._values() | {"question": self._question}

    def points(self, share: str) -> str:
        """Refuse: only the solutions have points to share; see `_share_of`."""
        raise HandoutError(f"points({share!r}) stands outside of a solution")

    @staticmethod
    def _share_of(slot: Slot) -> Callable[[str], str]:
        def share_of(share: str) -> str:
            value = Fraction(share) * Fraction(slot.points)
            return f"{float(value):.4g} point{'' if value == 1 else 's'}"

        return share_of


def _label(number: str, part: int = 0) -> str:
    return f"q:{number}" + (f"-{ROMAN[part - 1]}" if part else "")


def _solution(shown: str, text: str) -> str:
    """Return a solution under the number of its question."""
    return f"\\renewcommand{{\\solutionof}}{{{shown}}}\n{text}"


def _duration(minutes: int) -> str:
    if minutes < 90:
        return f"{minutes} minute{'' if minutes == 1 else 's'}"
    return f"{round(minutes / 60)} hours"
