"""Finds modules that a submission imports and that the autograder lacks.

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


def complaints(where: str, text: str, requirements: Path, own: Collection[str] = ()) -> list[str]:
    """Return a sentence for each module that a file imports and the autograder doesn't have.

    Args:
        where: the file's name in messages.
        requirements: the list of the autograder's packages; without it, nothing is reported.
        own: modules of the submission, which it may import by their bare names.
    """
    if not requirements.is_file():
        return []
    return [
        f"{where}:{line}: imports {name}, which the autograder doesn't have; it has the standard "
        f"library and the packages in {requirements.name}"
        for line, name in lacking(text, installed(requirements) | set(own))
    ]


@functools.cache
def installed(requirements: Path) -> frozenset[str]:
    """Return the modules of a list of requirements, and of the packages that these require.

    Requirements are known for packages that are installed for this Python. For others, the
    package's name is taken as the name of its module.
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
    """Return the packages that one requires on any platform; none if it isn't installed."""
    try:
        listed = metadata.requires(package) or []
    except metadata.PackageNotFoundError:
        return []
    return [found[0] for line in listed if "extra ==" not in line and (found := NAME.match(line))]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def lacking(text: str, known: Collection[str]) -> list[tuple[int, str]]:
    """Return line and name of each module that a submission's module imports but that is missing.

    Args:
        text: the module's source, which need not be valid Python.
        known: available modules besides the standard library and the submission's.
    """
    try:
        imports = list(_imports(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []  # can't be parsed; a sum of a thousand terms is nested too deeply, too
    there = {*known, *sys.stdlib_module_names, "submission", "pretraining"}
    found: dict[str, int] = {}
    for line, module in imports:
        name = module.partition(".")[0]
        if name not in there:
            found.setdefault(name, line)
    return [(line, name) for name, line in found.items()]


def _imports(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of the imports below a node whose failure is not caught."""
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.lineno, node.module
    for child in ast.iter_child_nodes(node):
        if not _is_guarded(node, child):
            yield from _imports(child)


def _is_guarded(node: ast.AST, child: ast.AST) -> bool:
    """Return whether a failing import in `child` does no harm, or is for type checkers."""
    if isinstance(node, ast.If) and child in node.body:
        return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    if isinstance(node, ast.Try) and child in node.body:
        caught = {ast.unparse(name) for handler in node.handlers for name in _names(handler)}
        return bool(caught & CAUGHT) or any(handler.type is None for handler in node.handlers)
    return False


def _names(handler: ast.ExceptHandler) -> list[ast.expr]:
    kinds = handler.type
    return kinds.elts if isinstance(kinds, ast.Tuple) else [kinds] if kinds else []
