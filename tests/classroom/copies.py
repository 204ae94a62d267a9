"""Disguise copies, as somebody might change another student's solution before submitting it.

    disguised(texts, "renamed", seed) -> the same modules, with the code between the markers changed

Comments are removed as well. Python's own parser, which reorders statements, also loses the layout.
"""

from __future__ import annotations

import ast
import builtins
import random
import re
import textwrap
from collections.abc import Callable

from classroom.similar.texts import PATTERN
from grading import release

SPARED = {"self", "B", "T", "C", *dir(builtins)}
NEW_NAMES = [
    f"{a}_{b}"
    for a in "my cur tmp new the one".split()
    for b in "val arr thing res obj item buf seq info elem".split()
]
SHARE_SWAPPED = 0.8


def disguised(texts: dict[str, str], kind: str, seed: int) -> dict[str, str]:
    """Return copies of a solution's modules.

    Args:
        texts: the modules' texts by name.
        kind: one of KINDS.
        seed: seed for all random choices.
    """
    draw = random.Random(f"{kind} {seed}")
    return {name: _module(text, KINDS[kind], draw) for name, text in texts.items()}


def _module(text: str, change: Callable[[str, random.Random], str], draw: random.Random) -> str:
    lines = text.split("\n")
    for start, end in reversed(release.find_regions(text)[0]):
        body = "\n".join(lines[start : end - 1])
        if body.strip() and "NotImplementedError" not in body:
            indent = " " * (len(lines[start - 1]) - len(lines[start - 1].lstrip()))
            changed = change(textwrap.dedent(body), draw)
            lines[start : end - 1] = textwrap.indent(changed, indent).split("\n")
    changed = "\n".join(lines)
    ast.parse(changed)
    return changed


def without_comments(body: str, draw: random.Random) -> str:
    """Remove the comments; nothing else changes."""
    kept = PATTERN.sub(lambda m: "" if m.group().startswith("#") else m.group(), body)
    return "\n".join(line.rstrip() for line in kept.split("\n") if line.strip())


def renamed(body: str, draw: random.Random) -> str:
    """Rename the variables that the code assigns, and remove comments."""
    body = without_comments(body, draw)
    own = sorted(_names(ast.parse(body), ast.Store) - SPARED)
    new = dict(zip(own, draw.sample(NEW_NAMES, len(own)), strict=True))
    before = ""

    def replaced(match: re.Match) -> str:
        nonlocal before
        text, previous = match.group(), before
        before = text
        if match.lastgroup == "name" and previous != "." and text in new:
            after = body[match.end() :].lstrip()
            is_keyword = after.startswith("=") and not after.startswith("==")
            return text if is_keyword and previous in ("(", ",") else new[text]
        if match.lastgroup == "string" and text[0] in "fF":
            return re.sub(r"(?<=\{)\w+", lambda m: new.get(m.group(), m.group()), text)
        return text

    return PATTERN.sub(replaced, body)


def reordered(body: str, draw: random.Random) -> str:
    """Swap neighbouring statements that don't depend on each other, in several passes."""
    statements = ast.parse(body).body
    for _ in range(4):
        for i in range(len(statements) - 1):
            one, two = statements[i : i + 2]
            if _independent(one, two) and draw.random() < SHARE_SWAPPED:
                statements[i : i + 2] = [two, one]
    return ast.unparse(ast.fix_missing_locations(ast.Module(statements, type_ignores=[])))


def _names(node: ast.AST, context: type) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


def _independent(one: ast.stmt, two: ast.stmt) -> bool:
    """Return whether two statements can be swapped: plain assignments without common names."""
    if not all(isinstance(statement, ast.Assign) for statement in (one, two)):
        return False
    writes, others = _names(one, ast.Store), _names(two, ast.Store)
    return not (writes & (_names(two, ast.Load) | others) or others & _names(one, ast.Load))


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "comments stripped": without_comments,
    "renamed": renamed,
    "reordered": reordered,
}
