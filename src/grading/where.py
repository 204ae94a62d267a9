"""`python grader.py --where 1e-8-hidden`: which lines decide a test."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from . import paths
from .cases import BoundTest, GradedTestCase
from .question_set import QuestionSet
from .runner import Runner


def lines(runner: Runner, test: BoundTest) -> list[str]:
    """Return a line for the test, each function that it calls, its probes and its judge, if here.

    Calls are found by name in the source of functions: `self.x` and `case.x`, and functions of
    staff's modules.
    """
    judging = runner.judging
    hidden = None if judging is None else judging.hidden
    name = f"{test.spec.topic}_{test.spec.name}"
    judge = judging.judge(name) if judging and test.spec.is_hidden else None
    called = list(_called(test.case, [test.method]))
    staff = [] if judge is None else [_plain(judge)]
    staff += [f for own in (test.method, *called) for f in _asked_of_staff(own, hidden)]
    staff = _with_shared(staff)
    called += [f for f in _called(test.case, staff) if f not in called]
    names = [n for f in (test.method, *called, *staff) for n in _strings(f)]
    probes = (_probe(runner.questions, name) for name in dict.fromkeys(names))
    found = [("test", _place(test.method))]
    found += [("calls", _place(function)) for function in called]
    found += [("probe", place) for place in probes if place]
    found += [("judge", _place(function)) for function in staff]
    if test.spec.is_hidden and not staff:
        found.append(("judge", "staff's: solutions/hidden/ is not on this computer"))
    return [f"{role:<6} {place}" for role, place in dict.fromkeys(found)]


def _asked_of_staff(function: Callable, hidden: ModuleType | None) -> Iterator[Callable]:
    """Yield the functions that a basic test calls by `self.attempt.judging.hidden.NAME`."""
    for node in ast.walk(_tree(function)) if hidden is not None else ():
        match node:
            case ast.Attribute(value=ast.Attribute(attr="hidden"), attr=name):
                yield getattr(hidden, name)


def _with_shared(staff: list[Callable]) -> list[Callable]:
    """Return staff's functions and those of staff's modules that they call, nearest first."""
    found = list(dict.fromkeys(staff))
    for function in found:
        for node in ast.walk(_tree(function)):
            match node:
                case ast.Call(func=ast.Name(id=name)):
                    other = function.__globals__.get(name)
                case _:
                    continue
            if not inspect.isfunction(other) or not other.__module__.startswith("hidden."):
                continue
            if other not in found:
                found.append(other)
    return found


def _plain(judge: Any) -> Callable[..., Any]:
    """Return the function behind a partial, or the judge itself."""
    return judge.func if isinstance(judge, functools.partial) else judge


def _place(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{_shown(Path(code.co_filename))}:{code.co_firstlineno}  {function.__qualname__}"


def _shown(path: Path) -> str:
    inside = path.is_relative_to(paths.ROOT)
    return (path.relative_to(paths.ROOT) if inside else path).as_posix()


def _called(case: type[GradedTestCase], own: list[Callable]) -> Iterator[Callable]:
    """Yield the topic's methods that a test and its judge call, nearest first."""
    seen, open_ = set(own), list(own)
    while open_:
        function = open_.pop(0)
        for node in ast.walk(_tree(function)):
            match node:
                case ast.Attribute(value=ast.Name(id="self" | "case" | "apart"), attr=name):
                    found = inspect.getattr_static(case, name, None)
                case _:
                    continue
            if inspect.isfunction(found) and found not in seen and not _is_harness(found):
                seen.add(found)
                open_.append(found)
                yield found


def _is_harness(function: Callable) -> bool:
    return function.__module__.startswith(f"{__package__}.")


def _strings(function: Callable) -> Iterator[str]:
    for node in ast.walk(_tree(function)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def _tree(function: Callable) -> ast.AST:
    return ast.parse(textwrap.dedent(inspect.getsource(function)))


def _probe(questions: QuestionSet, name: str) -> str:
    """Return the place of a probe, or "" for no probe, without importing it (and torch)."""
    topic, dot, function = name.partition(".")
    if not (dot and topic.isidentifier() and function.isidentifier()):
        return ""
    module, _, function = questions.probe(name).partition(":")
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:
        return ""
    if spec is None or spec.origin is None:
        return ""
    path = Path(spec.origin)
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name == function:
            return f"{_shown(path)}:{node.lineno}  {function}"
    return ""
