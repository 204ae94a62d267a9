"""The secrets that no file for students may contain."""

import ast
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from autograder.description import graded_topics, load_assignment

from ..datafiles import GRADING_SECRET, REPO, SEED, TEST_ANSWERS, question
from ..regions import find_regions, parse
from .texts import COMMENT, SPLIT, bare, formulas, letters, printed

# How many characters of a form, at least, are searched for.
CODE = 25  # of a line, or of several in a row
REGION = 16  # of a whole region, and of a judge's constant with its name
PREFIX = 10  # of anything: secrets are looked up by so many
FORMULA = 20  # and of a line of a formula
SENTENCE = 40  # letters; shorter sentences may occur by chance
PLACES = 60  # letters of places in a row: some four in a row might be a list of cities
SCRIPT = 100  # single lines of staff's scripts are everyday code

HIDDEN, TRUTH = Path("solutions/hidden"), Path("solutions/submission")
WRITTEN = Path("solutions/written")
ANSWERS = Path("handout/answers")  # kept from students where an edition gives points for them
Form = Callable[[str], str]
END_OF_SENTENCE = r"[.!?:;]['\"\u201d)]*\s"
# Lines of the solutions that students may read, by reason; a test checks that each is needed.
ALLOWED = {
    "given with CausalSelfAttention, whose layout the synthesizer has": """
        nh, hs = self.n_head, C // self.n_head
        v = self.value(x).view(B, T, nh, hs).transpose(1, 2)  # (B, nh, T, hs)
        scores = scores.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf"))
        weights = self.attn_drop(F.softmax(scores, dim=-1))  # (B, nh, T, T)
        y = y.transpose(1, 2).contiguous().view(B, T, C)  # heads side by side
        return self.resid_drop(self.proj(y))
        """,
    "given with NameDataset": """
        text = text.ljust(self.block_size + 1, self.PAD_CHAR)
        ids = torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
        """,
    "also said and asserted by basic tests": """
        correct = trained_files.count_correct(predicted, places)
        correct >= threshold * len(places),
        expected=f"at least {threshold:.0%}",
        scale, length, n = answer.arguments
        min(len(document), int(block_size*7/8))
        """,
}


class Secret(NamedTuple):
    """A text that is kept from students, in the form `texts.bare` or `.letters`; its source."""

    text: str
    source: str


def secrets_of(repo: Path = REPO, allowed: dict[str, str] = ALLOWED) -> list[Secret]:
    """Return every secret that no artefact for students may contain; raise RegionError."""
    secrets = [*_of_code(repo), *_of_data(repo), *_of_written(repo)]
    lines = [COMMENT.sub("", line) for text in allowed.values() for line in text.splitlines()]
    public = {form(line) for form in (bare, letters) for line in lines}
    return [s for s in secrets if s.text not in public and len(s.text) >= PREFIX]


def _of_code(repo: Path) -> Iterator[Secret]:
    """Yield the lines of regions and of judges, and the constants of judges."""
    for path in sorted((repo / TRUTH).glob("*.py")):
        text, name = _read(path, repo)
        for region in find_regions(text, name):
            yield from _of_lines(text, name, range(region.start + 1, region.end))
    for path in sorted((repo / HIDDEN).glob("*.py")):
        text, name = _read(path, repo)
        yield from _of_lines(text, name, range(1, text.count("\n") + 2))
        for node in parse(text, name).body:
            line = ast.get_source_segment(text, node) or ""
            if re.match("[A-Z_]+ = ", line) and len(bare(line)) >= REGION:
                yield Secret(bare(line), f"{name}, line {node.lineno}")


def _of_lines(text: str, name: str, numbers: range) -> Iterator[Secret]:
    """Yield the secrets in some lines of a Python file; comments apart from the code."""
    common = _common(parse(text, name))
    code = comments = ""
    for number, line in enumerate(text.split("\n"), 1):
        kept = number in numbers
        code += (COMMENT.sub("", line) if kept and number not in common else SPLIT) + "\n"
        comments += (" ".join(COMMENT.findall(line)) if kept else "") + "\n"
    least = max(REGION, min(CODE, len(bare(code))))
    yield from _pieces(code, name, bare, least)
    yield from _pieces(comments, name, bare, CODE)


def _common(tree: ast.Module) -> set[int]:
    """Return the lines of imports, decorators and headers, which any Python file may have."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines |= {*range(node.lineno, (node.end_lineno or 0) + 1)}
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min(n.lineno for n in (node, *node.decorator_list))
            lines |= {*range(first, node.body[0].lineno)}
    return lines


def _of_data(repo: Path) -> Iterator[Secret]:
    """Yield the answers of the test split and the two seeds."""
    if (repo / TEST_ANSWERS).exists():
        text, name = _read(repo / TEST_ANSWERS, repo)
        for number, row in enumerate(text.splitlines(), 1):
            yield Secret(letters(row), f"{name}, line {number}")
        names = re.sub("|".join(question("\t").split("\t")), "", text)
        yield from _pieces(names, name, letters, PLACES)
        yield from _pieces(re.sub(".*\t", "", text), name, letters, PLACES)
    for path in (repo / SEED, repo / GRADING_SECRET):
        if path.exists():
            seed, name = _read(path, repo)
            number = int(seed, 10 if seed.strip().isdecimal() else 16)
            yield from (Secret(text, name) for text in (str(number), f"{number:x}"))


def _of_written(repo: Path) -> Iterator[Secret]:
    """Yield what the written answers, their rubrics, the list of slips and the scripts say."""
    paths = sorted((repo / WRITTEN).rglob("*"))
    if answers := sorted((repo / ANSWERS).glob("*.tex.j2")):
        graded = graded_topics(load_assignment(repo))
        paths += [path for path in answers if path.name.removesuffix(".tex.j2") in graded]
    for path in paths:
        if path.suffix == ".py":
            yield from _pieces(*_read(path, repo), bare, SCRIPT)
        elif path.name.endswith((".tex", ".tex.j2")):
            yield from of_latex(*_read(path, repo))


def of_latex(source: str, name: str) -> Iterator[Secret]:
    """Yield the sentences and formulas of a source, which may be a template."""
    yield from _pieces(printed(source), name, letters, SENTENCE, END_OF_SENTENCE)
    yield from _pieces(formulas(source), name, bare, FORMULA)


def _pieces(text: str, name: str, form: Form, least: int, end_of: str = "\n") -> Iterator[Secret]:
    """Yield each piece of a text, with as many behind it, up to a SPLIT, as make it long enough."""
    line = 1
    for run in text.split(SPLIT):
        cuts = [0, *(end.end() for end in re.finditer(end_of, run)), len(run)]
        pieces = [form(run[start:end]) for start, end in pairwise(cuts)]
        end, size = 0, 0  # of pieces[start:end]
        for start, piece in enumerate(pieces):
            while end < len(pieces) and size < least:
                size, end = size + len(pieces[end]), end + 1
            size -= len(piece)
            if size < least <= size + len(piece):  # else the next one contains enough
                number = line + run.count("\n", 0, len(run) - len(run[cuts[start] :].lstrip()))
                yield Secret("".join(pieces[start:end]), f"{name}, line {number}")
        line += run.count("\n")


def _read(path: Path, repo: Path) -> tuple[str, str]:
    """Return a file's text, and its name in messages."""
    return path.read_text(encoding="utf-8"), path.relative_to(repo).as_posix()
