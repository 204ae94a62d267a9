"""The judges of hidden tests: staff's package `solutions/hidden`, bound when the assignment loads.

A judge is a function named TOPIC_TEST in any module of the package. A student's computer does not
have the package, so hidden tests only run there.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

from .assignment import TestSpec
from .errors import UsageError

Judge = Callable[..., None]


def load_hidden(folder: Path) -> ModuleType | None:
    """Import the package that judges hidden tests; return None on a student's computer.

    Raises:
        UsageError: it is incomplete, or one of its modules can't be imported.
    """
    path = folder / "__init__.py"
    refuse_closed(folder.parent)
    if not path.exists():
        if any(folder.glob("*.py")):
            raise UsageError("solutions/hidden/ has no __init__.py, so its modules can't judge")
        return None
    loaded = sys.modules.get("hidden")
    if loaded is not None and list(loaded.__path__) == [str(folder)]:
        return loaded
    spec = importlib.util.spec_from_file_location(
        "hidden", path, submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None  # as for every name that ends in .py
    module = importlib.util.module_from_spec(spec)
    sys.modules["hidden"] = module  # where its modules' relative imports look
    try:
        spec.loader.exec_module(module)
        for other in sorted(folder.glob("*.py")):
            if other.stem != "__init__":
                importlib.import_module(f"hidden.{other.stem}")
    except Exception as error:
        del sys.modules["hidden"]
        raise UsageError(f"solutions/hidden/: {place_of(error)}") from error
    return module


def refuse_closed(solutions: Path) -> None:
    """Refuse to run with a folder of solutions that this user can't enter, and so can't use.

    Raises:
        UsageError: the folder belongs to somebody else.
    """
    if os.path.isdir(solutions) and not os.access(solutions, os.R_OK | os.X_OK):
        raise UsageError(
            f"{solutions.name}/ exists, but this user can't read it: grade as its owner, or in "
            "a copy without it"
        )


def place_of(error: Exception) -> str:
    """Return one line on where and how importing one of our modules failed."""
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno}"
        return f"{place}: {type(error).__name__}: {error.msg}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}"


def bind_judges(package: ModuleType, specs: Iterable[TestSpec]) -> dict[str, Judge]:
    """Return the judge of each hidden test by its name, TOPIC_TEST.

    Args:
        specs: the tests of all editions.

    Raises:
        UsageError: a hidden test has no judge, a judge no hidden test, or two have one name.
    """
    specs = list(specs)
    wanted = {f"{spec.topic}_{spec.name}": spec for spec in specs if spec.is_hidden}
    prefixes = tuple(f"{topic}_" for topic in sorted({spec.topic for spec in specs}))
    found: dict[str, Judge] = {}
    for module in (m for m in vars(package).values() if isinstance(m, ModuleType)):
        for name, value in vars(module).items():
            if not callable(value) or not name.startswith(prefixes):
                continue
            place = f"solutions/hidden/{module.__name__.rpartition('.')[2]}.py"
            if name not in wanted:
                raise UsageError(
                    f"{place}: {name} judges no hidden test of assignment.toml (names that "
                    "begin with a topic are for judges)"
                )
            if name in found:
                raise UsageError(f"{place}: there is another judge {name}")
            found[name] = value
    for name, spec in wanted.items():
        if name not in found:
            raise UsageError(
                f"assignment.toml: [topics.{spec.topic}.tests] {spec.name} is a hidden test, but "
                f"solutions/hidden/ has no judge {name}"
            )
    return found
