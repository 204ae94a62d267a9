"""Which modules a submission imports that are not there where it is graded.

lacking("import pandas", installed(Path("requirements.txt")))  ->  [(1, "pandas")]
"""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Collection, Iterator
from importlib import metadata
from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}


def complaints(where: str, text: str, requirements: Path) -> list[str]:
    """Return a sentence for each module that a file imports and the autograder doesn't have.

    Args:
        where: how to call the file.
        requirements: the list of the autograder's packages; where there is none, nobody can tell.
    """
    if not requirements.is_file():
        return []
    return [
        f"{where}:{line}: imports {name}, which the autograder doesn't have; it has Python's own "
        f"modules and those of {requirements.name}"
        for line, name in lacking(text, installed(requirements))
    ]


@functools.cache
def installed(requirements: Path) -> frozenset[str]:
    """Return the modules that a list of requirements brings, with those that its packages require.

    What packages require is known of those that are installed for this Python. Of others, the
    package's own name is taken for that of its module.
    """
    lines = requirements.read_text(encoding="utf-8").splitlines()
    waiting = [found[0] for line in lines if (found := NAME.match(line))]
    packages: set[str] = set()
    while waiting:
        name = _normal(waiting.pop())
        if name not in packages:
            packages.add(name)
            waiting += _required(name)
    modules = {
        module
        for module, names in metadata.packages_distributions().items()
        if packages & set(map(_normal, names))
    }
    return frozenset(modules | {name.replace("-", "_") for name in packages})


def _required(package: str) -> list[str]:
    """Return the packages that one requires, whatever the platform; none if it isn't installed."""
    try:
        listed = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        return []
    return [found[0] for line in listed if "extra ==" not in line and (found := NAME.match(line))]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lacking(text: str, known: Collection[str]) -> list[tuple[int, str]]:
    """Return line and name of each module that a module of a submission imports in vain.

    Args:
        text: Python, or not.
        known: modules that are there besides Python's own and the submission's.
    """
    try:
        imports = list(_imports(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # nobody can tell: a sum of a thousand terms is nested too deeply, too
    there = {*known, *sys.stdlib_module_names, "submission", "pretraining"}
    found: dict[str, int] = {}
    for line, module in imports:
        name = module.partition(".")[0]
        if name not in there:
            found.setdefault(name, line)
    return [(line, name) for name, line in found.items()]


def _imports(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of the imports below a node that nothing catches."""
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.lineno, node.module
    for child in ast.iter_child_nodes(node):
        if not _is_guarded(node, child):
            yield from _imports(child)


def _is_guarded(node: ast.AST, child: ast.AST) -> bool:
    """Return whether an import that fails in `child` does no harm, or is for type checkers."""
    if isinstance(node, ast.If) and child in node.body:
        return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    if isinstance(node, ast.Try) and child in node.body:
        caught = {ast.unparse(name) for handler in node.handlers for name in _names(handler)}
        return bool(caught & CAUGHT) or any(handler.type is None for handler in node.handlers)
    return False


def _names(handler: ast.ExceptHandler) -> list[ast.expr]:
    kinds = handler.type
    return kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds else []
