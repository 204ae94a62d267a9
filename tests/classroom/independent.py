"""Generate solutions that are not copied: each step, name and comment is drawn independently.

    solution(seed) -> {"submission/dataset.py": b"...", ...}

Each step of a question can be written in several made-up ways. Similar solutions arise only by
chance, as among students. Nothing runs them.
"""

from __future__ import annotations

import random
import re
import textwrap
from collections.abc import Callable

import grading
from grading.release import END, START

QUESTIONS = (("dataset.py", "span corruption"), ("attention.py", "synthesizer"))
STEPS, WAYS = 10, 6  # of each question, and of each step
NOUNS = "doc limit length short span start stop prefix middle scores mask heads".split()
# A step adds three of these; `@` stands for what is called, in which ways differ.
PARTS = (
    *("$", "$[:$]", "len($)", "range($)", "($ + 1)", "self.@", "$.@($)", "self.@($)"),
    *("torch.@([$, $])", "random.@(0, $)", "F.@($, dim=-1)"),
)
# How an author names a variable, the same in all steps.
FORMS = "{0} {0}s the_{0} new_{0} {0}_val {0}_0 cur_{0} {0}_t tmp_{0} {0}2".split()


def ways(step: int) -> list[str]:
    """Return the ways to write a step; `$doc` is a variable, which each author names."""
    draw, made = random.Random(step), []
    for _ in range(WAYS):
        way = f"$ = {' + '.join(draw.sample(PARTS, 3))}"
        way = re.sub("@", lambda _: "_".join(draw.sample(NOUNS, 2)), way)
        made.append(re.sub(r"\$", lambda _: f"${draw.choice(NOUNS)}", way))
    return made


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
    names = {noun: prefix + draw.choice(FORMS).format(noun) for noun in NOUNS}
    starter = sorted((grading.SRC / "submission").glob("*.py"))
    files = {path.name: path.read_text(encoding="utf-8") for path in starter}
    for number, (file, topic) in enumerate(QUESTIONS):
        lines = []
        for step in range(number * STEPS, (number + 1) * STEPS):
            if draw.random() < share_commented:
                lines.append(f"# {' '.join(draw.choices(NOUNS, k=6))}")
            lines.append(re.sub(r"\$(\w+)", lambda use: names[use[1]], draw.choice(ways(step))))
        body = "\n".join(change(lines)) + "\n"
        files[file] = re.sub(
            rf"(# \[{topic}\]\n( *){START}\n).*?(?= *{END})",
            lambda match: match[1] + textwrap.indent(body, match[2]),  # noqa: B023
            files[file],
            count=1,
            flags=re.DOTALL,
        )
    return {f"submission/{file}": text.encode("utf-8") for file, text in files.items()}
