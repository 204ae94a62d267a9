"""`python grader.py --where 1e-8-hidden`: the lines of a test, its probes and its judge."""

from __future__ import annotations

import importlib.util
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import paths
from .cases import BoundTest
from .runner import Runner

METHOD = re.compile(r"\b(?:self|case|apart)\.(\w+)")  # of the topic, with which a test asks probes
PROBE = re.compile(r'"(\w+\.\w+)"')
STAFFS = re.compile(r"\bhidden\.(\w+)")  # a function of staff's that a basic test calls


def lines(runner: Runner, test: BoundTest) -> list[str]:
    """Return a line for the test, for each of its probes, and for its judge, if it is here."""
    judging, methods = runner.judging, _methods(test)
    source = "".join(map(inspect.getsource, methods))
    judges: list[Callable[..., Any]] = []
    if judging is not None:
        judges = [getattr(judging.hidden, name) for name in dict.fromkeys(STAFFS.findall(source))]
        if test.spec.is_hidden:
            judge = judging.judge(f"{test.spec.topic}_{test.spec.name}")
            judges.append(getattr(judge, "func", judge))  # some are partial
    source += "".join(map(inspect.getsource, judges))
    probes = [_probe(runner.questions.probe(name)) for name in dict.fromkeys(PROBE.findall(source))]
    found = [f"test   {_place(test.method)}"]
    found += [f"probe  {place}" for place in probes if place]
    found += [f"judge  {_place(judge)}" for judge in judges]
    if test.spec.is_hidden and judging is None:
        found.append("judge  staff's: solutions/hidden/ is not on this computer")
    return found


def _methods(test: BoundTest) -> list[Callable[..., Any]]:
    """Return the test's method, and those of its topic on which it relies."""
    methods: list[Callable[..., Any]] = [test.method]
    for method in methods:
        for name in METHOD.findall(inspect.getsource(method)):
            other = inspect.getattr_static(test.case, name, None)
            is_topics = inspect.isfunction(other) and other.__module__ != BoundTest.__module__
            if is_topics and other not in methods:
                methods.append(other)
    return methods


def _probe(name: str) -> str:
    """Return the place of "module:function", or "" for no probe, without importing torch."""
    module, _, function = name.partition(":")
    try:
        spec = importlib.util.find_spec(module)
    except ModuleNotFoundError:  # some other text with a dot
        return ""
    path = Path(spec.origin) if spec is not None and spec.origin else None
    texts = [] if path is None else path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(texts, 1):
        if path is not None and line.startswith(f"def {function}("):
            return f"{_shown(path)}:{number}  {function}"
    return ""


def _place(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{_shown(Path(code.co_filename))}:{code.co_firstlineno}  {function.__qualname__}"


def _shown(path: Path) -> str:
    inside = path.is_relative_to(paths.ROOT)
    return (path.relative_to(paths.ROOT) if inside else path).as_posix()
