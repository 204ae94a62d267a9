"""Generate solutions that are not copied: each step, name and comment is drawn independently.

    solution(seed) -> {"submission/dataset.py": b"...", ...}

A solution is drawn from a grammar, `independent.txt`: each question is a list of steps, and each
step can be written in several ways. Similar solutions arise only by chance, as among students.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable
from functools import cache
from pathlib import Path

import grading
from grading.release import END, START

# How an author names a variable, the same in all steps: `$doc` in a step becomes `new_doc`.
FORMS = "{0} {0}s the_{0} new_{0} {0}_val {0}_0 cur_{0} {0}_t tmp_{0} {0}2".split()
WORDS = """compute get make take now first then here next prefix of the doc random length span to
hide mask padding up block ids lookup heads reshape scores softmax causal sum merge bias""".split()
USE = re.compile(r"\$(\w+)")
GRAMMAR = Path(__file__).with_suffix(".txt")


@cache
def grammar() -> dict[tuple[str, str], list[list[str]]]:
    """Return the ways to write each step of each question, by its file and topic."""
    questions: dict[tuple[str, str], list[list[str]]] = {}
    for line in GRAMMAR.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            file, topic = line[3:].split(", ")
            steps = questions.setdefault((file, topic), [])
        elif line == "--":
            steps.append([])
        elif line and not line.startswith("#"):
            steps[-1].append(line.replace("\\n", "\n"))
    return questions


def solution(
    seed: int, prefix: str = "", change: Callable[[list[str]], list[str]] = list
) -> dict[str, bytes]:
    """Return an author's submission: the modules by name.

    Args:
        prefix: of all names of variables, for a copy.
        change: what happens to the lines of each body, for a copy.
    """
    draw = random.Random(f"independent {seed}")
    share_commented = draw.choice([0.0, 0.0, 0.2, 0.5, 0.8])
    names: dict[str, str] = {}

    def name(match: re.Match[str]) -> str:
        if match[1] not in names:
            names[match[1]] = prefix + draw.choice(FORMS).format(match[1])
        return names[match[1]]

    starter = sorted((grading.SRC / "submission").glob("*.py"))
    files = {path.name: path.read_text(encoding="utf-8") for path in starter}
    for (file, topic), steps in grammar().items():
        lines = []
        for ways in steps:
            if draw.random() < share_commented:
                lines.append(f"# {' '.join(draw.choices(WORDS, k=6))}")
            lines += USE.sub(name, draw.choice(ways)).split("\n")
        body = "\n".join(change(lines)) + "\n"
        files[file] = re.sub(
            rf"(# \[{topic}\]\n( *){START}\n).*?(?= *{END})",
            lambda match: match[1] + textwrap.indent(body, match[2]),  # noqa: B023
            files[file],
            count=1,
            flags=re.DOTALL,
        )
    return {f"submission/{file}": text.encode("utf-8") for file, text in files.items()}
