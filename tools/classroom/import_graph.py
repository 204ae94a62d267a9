"""Which of our files import which, and a hash of modules with everything of ours that they import.

As long as the hash is the same, the code finds the same results, whatever else changes.
"""

from __future__ import annotations

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from grading import paths

REFERENCE, PRETRAINING = "submission", "pretraining"  # what the reference's workers import
HIDDEN = "hidden"  # staff's judges: see autograder.judging.load_hidden


@functools.cache
def digest_of(modules: tuple[str, ...]) -> str:
    """Return one hash for modules and everything of ours that they import, also in functions.

    Args:
        modules: their names in Python: "hidden.evidence", "questions.shared.probe".

    Raises:
        FileNotFoundError: there is no such module.
    """
    digest = hashlib.sha256()
    contents = sorted(
        (path.relative_to(_root(path)).as_posix(), path.read_bytes()) for path in files_of(modules)
    )
    for name, content in contents:
        digest.update(f"\0{name}\0".encode() + hashlib.sha256(content).digest())
    return digest.hexdigest()


def files_of(modules: Iterable[str]) -> list[Path]:
    """Return the files that are hashed.

    Raises:
        FileNotFoundError: see `digest_of`.
    """
    seen: set[Path] = set()
    for name in modules:
        if not (files := set(_files(name))):
            raise FileNotFoundError(f"no module of ours is called {name}")
        seen |= files
    waiting = list(seen)
    while waiting:
        new = imports_of(waiting.pop()) - seen
        seen |= new
        waiting += new
    return sorted(seen)


def imports_of(path: Path) -> set[Path]:
    """Return the files of ours that Python may read for the imports in a file of ours."""
    return {file for name in _imported(path) for file in _files(name)}


def _files(module: str) -> Iterator[Path]:
    """Yield the file of one of our modules, and those of the packages that Python runs for it.

    For the reference, these are all files, since its package imports lazily. The judges' package,
    which imports all judges, is left out.
    """
    parts = module.split(".")
    if parts[0] in (REFERENCE, PRETRAINING):
        yield from (paths.SOLUTIONS / REFERENCE).glob("*.py")
        yield from (paths.SRC / REFERENCE).glob("*.py")
        yield from (paths.SRC / PRETRAINING).glob("*.py")
        return
    root = paths.SOLUTIONS if parts[0] == HIDDEN else paths.SRC
    whole = root.joinpath(*parts)
    files = [whole.with_suffix(".py")]
    if parts[0] != HIDDEN:
        files += [folder / "__init__.py" for folder in (whole, *whole.parents) if folder != root]
    if any(each.is_file() for each in (files[0], whole / "__init__.py")):
        yield from (each for each in files if each.is_file() and each.is_relative_to(root))


def _root(path: Path) -> Path:
    return paths.SOLUTIONS if path.is_relative_to(paths.SOLUTIONS) else paths.SRC


def _imported(path: Path) -> Iterator[str]:
    """Yield the names of modules that a file may import: of `from a import b`, a and a.b."""
    package = path.relative_to(_root(path)).parent.parts
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)
