"""Mutants of the judge: with an assertion of the grader disabled, a wrong solution passes.

    python -m tests.mutants --write    find a wrong variant that only this assertion catches
    python -m tests.mutants --write rope    the same for those with "rope" in their names

The table, tests/golden/killers.toml, names a variant and a test for each assertion; one without
them is dead, and should be deleted. tests/test_end_to_end.py has those about trained files.
tests/test_mutants.py disables each assertion in turn, according to the table.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType
from unittest.mock import patch

from grading.verdicts import MALFORMED, TestEnd
from questions.span_corruption import items

from .benches import here, open_executor
from .golden_verdicts import SEED
from .variants import GOLDEN, ROOT, Variant, all_variants

TABLE = GOLDEN / "killers.toml"
READS_FILES = "trained_files.py"  # tests/harness/test_trained_files.py has a test for each way
JUDGES = [
    path.relative_to(ROOT).as_posix()
    for folder in ("src/questions", "solutions/hidden")
    for path in sorted((ROOT / folder).rglob("[a-z]*.py"))
    if path.name != READS_FILES
]
TRIED = 12  # wrong variants for each assertion, until one passes
HEADING = """\
# For each assertion of the grader (file, function, id of its failure), a wrong variant and a test
# that it passes once the assertion is disabled. Written by `python -m tests.mutants --write`.
"""


@dataclass(frozen=True)
class Site:
    """An assertion: its file, its function, and the id of its failure, as the source has it."""

    file: str
    function: str
    id: str
    first_line: int
    last_line: int

    @property
    def key(self) -> str:
        return f"{self.file}:{self.function}: {self.id}"


@dataclass(frozen=True)
class Killed:
    """A test that a wrong variant fails because of an assertion."""

    variant: str
    test: str


def is_assertion(node: ast.AST) -> bool:
    """Return whether a statement is expect(), fail(), or raises failure() or Malformed()."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return getattr(node.value.func, "attr", None) in ("expect", "fail")
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return getattr(node.exc.func, "id", None) in ("failure", "Malformed")
    return False


def functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Return a module's functions and its classes' methods, by qualified name."""
    for node in tree.body:
        members = node.body if isinstance(node, ast.ClassDef) else [node]
        prefix = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for member in members:
            if isinstance(member, ast.FunctionDef):
                yield prefix + member.name, member


@cache
def sites() -> tuple[Site, ...]:
    """Return every assertion of the judges."""
    found = []
    for file in JUDGES:
        tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
        for name, function in functions(tree):
            if name.endswith(".expect"):  # passes an assertion on
                continue
            nodes = [node for node in ast.walk(function) if is_assertion(node)]
            nodes.sort(key=lambda node: node.lineno)
            seen: Counter[str] = Counter()
            for node in nodes:
                id = id_of(node)
                seen[id] += 1
                if seen[id] > 1:
                    id += f" ({seen[id]})"
                found.append(Site(file, name, id, node.lineno, node.end_lineno))
    return tuple(found)


def id_of(node: ast.AST) -> str:
    """Return the id that an assertion gives a failure; its source text, unless it is a constant."""
    call = node.value if isinstance(node, ast.Expr) else node.exc
    (given,) = (keyword.value for keyword in call.keywords if keyword.arg == "id")
    return given.value if isinstance(given, ast.Constant) else ast.unparse(given)


@contextmanager
def disabled(site: Site) -> Iterator[None]:
    """Disable an assertion until the end of the block; the names in it stay known."""
    path = ROOT / site.file
    lines = path.read_text(encoding="utf-8").split("\n")
    statement = lines[site.first_line - 1]
    indent = len(statement) - len(statement.lstrip())
    lines[site.first_line - 1] = f"{statement[:indent]}if False: {statement[indent:]}"
    code = compile("\n".join(lines), str(path), "exec", dont_inherit=True)
    for name in site.function.split("."):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    function = _function(site)
    before, function.__code__ = function.__code__, code
    try:
        yield
    finally:
        function.__code__ = before


def _function(site: Site) -> FunctionType:
    name = re.sub(r"^(src|solutions)/|\.py$", "", site.file).replace("/", ".")
    owner = sys.modules[name]
    for name in site.function.split("."):
        owner = inspect.unwrap(vars(owner)[name])  # @contextmanager, for example
    return owner


def _site_of(frame) -> Site | None:
    """Return the innermost assertion on the stack."""
    while frame is not None:
        for site in sites():
            if frame.f_code.co_filename == str(ROOT / site.file):
                if site.first_line <= frame.f_lineno <= site.last_line:
                    return site
        frame = frame.f_back
    return None


def caught(variant: Variant) -> dict[str, list[str]]:
    """Return, for each test that a wrong variant fails, the keys of the assertions that failed."""
    bench, found = here("in process"), {}
    keys: set[str] = set()

    def noting(init: Callable) -> Callable:
        def __init__(self, *arguments, **keywords) -> None:
            init(self, *arguments, **keywords)
            if site := _site_of(sys._getframe(1)):
                keys.add(site.key)

        return __init__

    with ExitStack() as patches:
        for kind in (TestEnd, items.Malformed):
            patches.enter_context(patch.object(kind, "__init__", noting(kind.__init__)))
        for test in variant.tests(bench.tests):
            keys.clear()
            bench.verdicts(variant, [test], SEED)
            if keys:
                found[f"{test.spec.topic}.{test.spec.name}"] = sorted(keys)
    return found


def passes_without(key: str, killed: Killed) -> bool:
    """Return whether, without the assertion, the variant passes the test or breaks the judge."""
    site = next(site for site in sites() if site.key == key)
    variant = next(v for v in all_variants() if v.name == killed.variant)
    bench = here("in process")
    topic, name = killed.test.split(".")
    test = next(t for t in bench.tests if (t.spec.topic, t.spec.name) == (topic, name))
    with disabled(site):
        (result,) = bench.verdicts(variant, [test], SEED).values()
    broken = result.message == MALFORMED and "Traceback" in result.detail
    return broken or result.outcome.value in ("passed", "grader error")


def read_table() -> dict[str, Killed]:
    """Return the table, by the key of the assertion."""
    entries = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    return {key: Killed(**entry) for key, entry in entries.items()}


def killer(key: str, candidates: list[Killed]) -> Killed | None:
    """Return the first of TRIED candidates that passes without the assertion.

    Other variants are tried before other tests of the same variant.
    """
    firsts = {each.variant: each for each in reversed(candidates)}
    tried = dict.fromkeys([*reversed(firsts.values()), *candidates])
    return next((each for each in [*tried][:TRIED] if passes_without(key, each)), None)


def write_table(executor: Executor, pattern: str = "") -> list[str]:
    """Find a killer for each assertion and write the table; return the keys of those without one.

    Args:
        pattern: part of variants' names and assertions' keys; others are left unchanged.
    """
    wrong = [v for v in all_variants() if not v.is_right and pattern in v.name]
    candidates: dict[str, list[Killed]] = {}
    for variant, found in zip(wrong, executor.map(caught, wrong), strict=True):
        for test, keys in found.items():
            for key in keys:
                candidates.setdefault(key, []).append(Killed(variant.name, test))
    known = {site.key for site in sites() if pattern not in site.key}
    table = {key: killed for key, killed in read_table().items() if key in known}
    candidates = {key: found for key, found in candidates.items() if key not in table}
    killers = executor.map(killer, candidates, candidates.values())
    table |= {key: found for key, found in zip(candidates, killers, strict=True) if found}
    lines = [
        f"[{json.dumps(key, ensure_ascii=False)}]\n"
        f'variant = "{killed.variant}"\ntest = "{killed.test}"\n'
        for key, killed in sorted(table.items())
    ]
    TABLE.write_text("\n".join([HEADING, *lines]), encoding="utf-8", newline="\n")
    return [site.key for site in sites() if pattern in site.key and site.key not in table]


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 if an assertion has no wrong variant that only it catches."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    parser.add_argument("pattern", nargs="?", default="", help="part of variants' names; all")
    parser.add_argument("--write", action="store_true", required=True, help="write the table anew")
    asked = parser.parse_args(arguments)
    names = [v.name for v in all_variants() if not v.is_right]
    if not any(asked.pattern in name for name in names):  # assertions would lose their killers
        parser.error(f"got {asked.pattern!r}, expected a folder of tests/golden, such as helper")
    with open_executor() as executor:
        dead = write_table(executor, asked.pattern)
    print("\n".join(dead))
    print(f"{len(sites())} assertions, {len(dead)} without a wrong variant that they alone catch")
    return int(bool(dead))


if __name__ == "__main__":
    sys.exit(main())
