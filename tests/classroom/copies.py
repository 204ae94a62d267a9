"""Disguise copies, as somebody might change another student's solution before submitting it.

    disguised(texts, "renamed", seed) -> the same modules, with the code between the markers changed

Each disguise works on the code between a pair of markers, and also removes comments. Those that
rewrite statements use Python's own parser and lose the layout, too.
"""

from __future__ import annotations

import ast
import builtins
import random
import re
import textwrap
from collections.abc import Callable

from classroom.similar.texts import PATTERN
from grading import markers

# The statements of a region.
Body = list[ast.stmt]
SPARED = {"self", "B", "T", "C", "tconf", "trainer_obj", "attention_model", *dir(builtins)}
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


def _module(text: str, change: Callable[[str, random.Random], tuple[str, str]], draw) -> str:
    lines = text.split("\n")
    helpers = []
    for start, end in reversed(markers.find_regions(text)[0]):
        body = "\n".join(lines[start : end - 1])
        if not body.strip() or "NotImplementedError" in body:
            continue
        indent = " " * (len(lines[start - 1]) - len(lines[start - 1].lstrip()))
        changed, helper = change(textwrap.dedent(body), draw)
        lines[start : end - 1] = textwrap.indent(changed, indent).split("\n")
        helpers.append(helper)
    found = "\n".join(lines)
    helper_text = "\n\n".join(filter(None, helpers))
    if helper_text:  # above the first class or function, where all functions can call them
        first = re.search(r"^(?:class|def|@|# <)", found, re.MULTILINE)
        found = f"{found[: first.start()]}{helper_text}\n\n\n{found[first.start() :]}"
    ast.parse(found)
    return found


def without_comments(body: str, draw: random.Random) -> tuple[str, str]:
    """Remove the comments; nothing else changes."""
    kept = PATTERN.sub(lambda m: "" if m.group().startswith("#") else m.group(), body)
    return "\n".join(line.rstrip() for line in kept.split("\n") if line.strip()), ""


def renamed(body: str, draw: random.Random, share: float = 1.0) -> tuple[str, str]:
    """Rename the variables that the code assigns, and remove comments."""
    body, _ = without_comments(body, draw)
    own = sorted(
        {
            n.id
            for n in ast.walk(_parsed(body))
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
        }
        - SPARED
    )
    chosen = own if share == 1.0 else draw.sample(own, round(share * len(own)))
    new = dict(zip(chosen, draw.sample(NEW_NAMES, len(chosen)), strict=True))
    before = ""

    def replaced(match: re.Match) -> str:
        nonlocal before
        found = match.group()
        if match.lastgroup == "name" and before != "." and found in new:
            after = body[match.end() :].lstrip()
            keyword = after.startswith("=") and not after.startswith("==") and before in ("(", ",")
            before = found
            return found if keyword else new[found]
        if match.lastgroup == "string" and found[0] in "fF":
            found = re.sub(r"(?<=\{)\w+", lambda m: new.get(m.group(), m.group()), found)
        before = found
        return found

    return PATTERN.sub(replaced, body), ""


def half_renamed(body: str, draw: random.Random) -> tuple[str, str]:
    """Rename half of the variables that the code assigns, and remove comments."""
    return renamed(body, draw, 0.5)


def reordered(body: str, draw: random.Random) -> tuple[str, str]:
    """Swap neighbouring statements that don't depend on each other, in several passes."""
    statements = _parsed(body).body
    for _ in range(4):
        for i in range(len(statements) - 1):
            one, two = statements[i : i + 2]
            if _independent(one, two) and draw.random() < SHARE_SWAPPED:
                statements[i : i + 2] = [two, one]
    return _written(statements), ""


def in_helpers(body: str, draw: random.Random) -> tuple[str, str]:
    """Move runs of two to four statements to functions outside the markers."""
    statements, helpers = _parsed(body).body, []
    position = 0
    while position + 2 < len(statements):
        size = draw.randint(2, min(4, len(statements) - position - 1))
        run = statements[position : position + size]
        if all(isinstance(s, ast.Assign | ast.AugAssign) for s in run):
            later = {n for s in statements[position + size :] for n in _names(s, ast.Load)}
            before = {n for s in statements[:position] for n in _names(s, ast.Store)}
            gives = sorted({n for s in run for n in _names(s, ast.Store)} & later)
            takes = sorted({n for s in run for n in _names(s, ast.Load)} & (before | ARGUMENTS))
            name = f"_{draw.choice(['do', 'make', 'run', 'prep'])}_{draw.randrange(10**6)}"
            if gives:
                inner = textwrap.indent(_written(run), "    ")
                helpers.append(
                    f"def {name}({', '.join(takes)}):\n{inner}\n    return {', '.join(gives)}"
                )
                call = f"{', '.join(gives)} = {name}({', '.join(takes)})"
                statements[position : position + size] = ast.parse(call).body
        position += 1
    return _written(statements), "\n\n".join(helpers)


def other_products(body: str, draw: random.Random) -> tuple[str, str]:
    """Write matrix products as einsum, and einsum as matrix products."""
    tree = _Products().visit(_parsed(body))
    return _written(tree.body), ""


def everything(body: str, draw: random.Random) -> tuple[str, str]:
    """Rename, reorder, translate products, and move code to helper functions."""
    for change in (renamed, reordered, other_products):
        body, _ = change(body, draw)
    return in_helpers(body, draw)


class _Products(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.MatMult):
            return node
        return _call(f"torch.einsum('...ij,...jk->...ik', {_of(node.left)}, {_of(node.right)})")

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = _of(node.func)
        if called == "torch.matmul":
            return _call(f"torch.einsum('...ij,...jk->...ik', {', '.join(map(_of, node.args))})")
        if called == "torch.einsum" and len(node.args) == 3 and "..." not in _of(node.args[0]):
            return _call(f"{_of(node.args[1])} @ {_of(node.args[2])}")
        return node


def _call(text: str) -> ast.AST:
    return ast.parse(text, mode="eval").body


def _of(node: ast.AST) -> str:
    return f"({ast.unparse(node)})" if isinstance(node, ast.BinOp) else ast.unparse(node)


def _parsed(body: str) -> ast.Module:
    return ast.parse(body)


def _written(statements: Body) -> str:
    module = ast.fix_missing_locations(ast.Module(body=statements, type_ignores=[]))
    return ast.unparse(module)


def _names(node: ast.AST, context: type) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, context)}


ARGUMENTS = {
    "self",
    "x",
    "idx",
    "model",
    "mconf",
    "recipe",
    "writer",
    "block_size",
    "pretrain_dataset",
    "reading_params_path",
    "finetune_corpus_path",
    "finetune_lr",
    "pretrain_lr",
    "eval_corpus_path",
}


def _independent(one: ast.stmt, two: ast.stmt) -> bool:
    """Return whether two statements can be swapped: plain assignments without common names."""
    if not all(isinstance(s, ast.Assign) for s in (one, two)):
        return False
    writes, others = _names(one, ast.Store), _names(two, ast.Store)
    return not (writes & (_names(two, ast.Load) | others) or others & _names(one, ast.Load))


KINDS: dict[str, Callable[[str, random.Random], tuple[str, str]]] = {
    "comments stripped": without_comments,
    "half renamed": half_renamed,
    "renamed": renamed,
    "reordered": reordered,
    "split into helper functions": in_helpers,
    "einsum and matmul exchanged": other_products,
    "all of these": everything,
}
