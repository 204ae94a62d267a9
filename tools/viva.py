"""Write three questions to ask a student about their own work, on one page for staff.

    python -m tools.viva UPLOAD [--into PAGE] [--edition NAME]

Five minutes for each tell who understood what they handed in: a line of their span corruption, a
wrong answer of their model, and the head whose loss costs it most; each with what to expect in an
answer. Where something is missing, a line says so in place of the question. The page is
UPLOAD.viva.html in the present folder, unless you name another one.

No code of the student's runs: lines are read as text, and the reference's model answers with the
uploaded parameters, in confined workers. Exit codes: 0 written; 2 wrong usage, or nothing that can
be staged; 3 the grader failed.
"""

import argparse
import ast
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from grading.errors import GradingError, safe_line
from grading.report import render
from grading.verdicts import TestEnd, write_atomically
from questions.shared.models import OutputsCase

from .experiments import ask, command, opened, uploaded

FILE, CLASS, METHOD = "submission/dataset.py", "CharCorruptionDataset", "__getitem__"
MOST_BYTES = 100_000  # of code: parsing takes a thousand times as much memory
AROUND = 4  # lines before and after the one that is asked about
# Parts of the names of functions that draw: random.randint, rng.integers, torch.rand, ...
DRAWS = ("rand", "choice", "uniform", "integers", "sample", "normal", "gauss", "variate", "binom")
MOST_LINES = 4  # of the corpus, about a person
WORST = "Worst by the people"  # how the lines of `ablate` on heads begin


@dataclass(frozen=True)
class Question:
    """A question about a student's work, or why there is none.

    Attributes:
        shown: what it is about.
        expected: what a good answer says.
        more: what the student doesn't see.
    """

    missing: str = ""
    shown: str = ""
    question: str = ""
    expected: tuple[str, ...] = ()
    more: str = ""


class Missing(Exception):
    """There is nothing to ask about; `str()` is the reason."""


def about_code(case: OutputsCase) -> Question:
    """Ask about the line that draws the span's length, as far as one can tell."""
    path = case.staged.path(FILE)
    if path is None:
        raise Missing(f"{FILE} is missing")
    content = path.read_bytes()
    if len(content) > MOST_BYTES:
        raise Missing(f"{FILE} has {len(content)} bytes")
    try:
        text = content.decode("utf-8-sig")
        tree = ast.parse(text)
    except SyntaxError as error:
        raise Missing(f"{FILE}:{error.lineno or 1} doesn't parse") from None
    except (ValueError, RecursionError, MemoryError):
        raise Missing(f"{FILE} doesn't parse") from None
    drawing = draws(tree)
    if not drawing:
        raise Missing(f"{CLASS}.{METHOD} in {FILE} draws nothing")
    line = drawing[:2][-1]  # the first draw is usually that of the length of the prefix
    lines = enumerate(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"), start=1)
    near = [(n, row) for n, row in lines if abs(n - line) <= AROUND]
    return Question(
        shown="\n".join(f"{'>' if n == line else ' '} {n:>4}  {row}" for n, row in near),
        question=f"What does line {line} decide? Between which values, and what is it on average? "
        "What would the model learn worse if it were always the same?",
        expected=(
            "What is drawn, and its smallest and largest value from the line as it stands, also "
            "for a document of 4 characters and for one longer than the block.",
            "The prefix may have any length from 4 to seven eighths of the block or the document; "
            "the span is a quarter of the truncated document on average, not of the block; its "
            "place is free.",
            "If it were fixed, the model could count positions in place of reading, or would never "
            "see spans as long as the names and places that it is asked for.",
            "Not an answer: reading the line aloud, or that the tests passed.",
        ),
    )


def draws(tree: ast.Module) -> list[int]:
    """Return the lines of the method that call a function that draws random numbers, in order."""
    classes = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == CLASS]
    inner = [node for each in classes[-1:] for node in each.body]
    methods = [n for n in inner if isinstance(n, ast.FunctionDef) and n.name == METHOD]
    lines = set()
    for node in (node for method in methods[-1:] for node in ast.walk(method)):
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            lines |= {node.lineno} if any(part in name for part in DRAWS) else set()
    return sorted(lines)


def finetuned(case: OutputsCase) -> str:
    """Return the name of the uploaded finetuned parameters."""
    names = [name for name in uploaded(case, "finetune") if ".finetune." in name]
    if not names:
        raise Missing("finetuned parameters are missing")
    return names[0]


def about_answer(case: OutputsCase) -> Question:
    """Ask about a wrong answer on dev, if possible one that is a place."""
    params, data = finetuned(case), case.run.data
    asked, places = data.questions("dev"), data.places("dev")
    try:
        answers = case.model_answers(params, params.partition(".")[0], asked)
    except TestEnd as end:
        raise Missing(end.verdict.message) from None
    except GradingError as error:  # it took too long, for example
        raise Missing(f"{params}: {safe_line(str(error), 200)}") from None
    known = Counter(place for _, place in data.train_pairs())
    triples = zip(asked, places, answers, strict=True)
    wrong = [triple for triple in triples if triple[1] != triple[2]]
    if not wrong:
        raise Missing(f"with {params}, all {len(places)} answers on dev are right")
    question, place, answer = max(wrong, key=lambda triple: triple[2] in known)
    name = question.removeprefix("Where was ").removesuffix(" born?")
    about = [line for line in data.corpus().split("\n") if name in line]
    return Question(
        shown=f"{question}\n{params} answers {answer!r}. It was {place!r}.",
        question="From which text could the model know the place? Why may it say this one, and "
        "how would you find out which of your explanations is right?",
        expected=(
            "Only the pretraining text has this person. Finetuning teaches to answer, not the "
            "fact.",
            f"Explanations: a frequent place ({answer!r} is the answer to {known[answer]} of "
            f"{sum(known.values())} training questions, {place!r} to {known[place]}); somebody "
            "with a similar name; a first letter after which the rest follows; a span that rarely "
            "hid this place.",
            "A test that could come out otherwise: the pretrained model on the sentence itself "
            "(cloze), the probability of the answer, people with similar names, another seed.",
            "Not an answer: “it confused something”, or “it needs more training”, without a test.",
        ),
        more="\n".join(
            [f"{len(wrong)} of {len(places)} answers on dev are wrong.", *about[:MOST_LINES]]
        ),
    )


def about_head(case: OutputsCase) -> Question:
    """Ask about the head without which answers cost most, by each half of the people."""
    repeated = ask(case, finetuned(case), "ablate")
    if not repeated.table:
        raise Missing(repeated.note)
    worst = [line for line in repeated.table.splitlines() if line.startswith(WORST)]
    return Question(
        shown="\n".join(worst),
        question="What may this head read, and where would you look to find out? Why is it chosen "
        "by one half of the people and judged on the other? Is it different from the next?",
        expected=(
            "Its attention weights (run.py inspect, and the second table of run.py ablate, below): "
            "often the letter before, in the first block; then names can't be put together.",
            "Of many heads, the worst on some people is partly worst by chance: on the other half, "
            "what was luck is gone.",
            "Whether it stands out is in the sentence; if both halves choose different heads, no "
            "single one is needed most.",
            "Not an answer: that the head “stores” names or places. What it costs to lose a part "
            "doesn't say what the part holds.",
        ),
        more=repeated.table,
    )


TITLES = {
    "A line of your span corruption": about_code,
    "A wrong answer of your model": about_answer,
    "The head that your model needs most": about_head,
}


def write_page(asked: argparse.Namespace) -> str:
    """Write the page; return what to print."""
    questions = {}
    with opened(asked.upload, asked.edition) as case:
        for title, about in TITLES.items():
            try:
                questions[title] = about(case)
            except Missing as reason:
                questions[title] = Question(missing=str(reason))
    page = render(
        Path(__file__).with_name("viva.html.j2"),
        title=f"Questions to ask: {asked.upload.name}",
        questions=questions,
    )
    write_atomically(asked.into, page)
    return f"{asked.into}: {sum(not q.missing for q in questions.values())} of 3 questions"


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    return command("viva", __doc__, arguments, write_page)


if __name__ == "__main__":
    sys.exit(main())
