"""An assignment's questions, data and judges, which its description does not contain.

An assignment is a package of folders, one per topic, with `tests*.py` and `probe.py`. This class
finds them. A subclass adds what an assignment needs besides its tests: files that every submission
gets, a data set, a leaderboard.

The judges of hidden tests are staff's: functions named TOPIC_TEST in any module of the package
`solutions/hidden`, bound when the assignment loads. A student's computer does not have it, so
hidden tests only run there.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from .cases import GradedTestCase
from .edition import Assignment, Edition, TestSpec
from .errors import UsageError
from .results import Results
from .staging import Provided

Judge = Callable[..., None]
Cases = Callable[[str, str], GradedTestCase]  # a test's case, by topic and name


class Data(Protocol):
    """A data set that tests read."""

    def require(self) -> None:
        """Check that everything the tests need is installed, for a run whose score counts.

        Raises:
            DataError: a file is missing or can't be read.
        """


class NoData:
    """The data set of an assignment that has none."""

    def require(self) -> None:
        """Accept: nothing can be missing."""


class QuestionSet:
    """An assignment's questions, found in a package's folders.

    Attributes:
        package: the name of the package with the folders, next to `grading`.
        provided: what every submission gets from the grader.
        seeded_probes: probes that judges run on the reference without any data of a student:
            only with what was drawn from the seed, for shapes that the assignment allows. Their
            answers are remembered while a class is graded.
    """

    package = "questions"
    provided = Provided()
    seeded_probes: frozenset[str] = frozenset()

    def cases(self) -> list[type[GradedTestCase]]:
        """Return the classes of tests of all topics.

        Raises:
            UsageError: one of their modules can't be imported.
        """
        return [case for module in self._modules() for case in _cases_of(module)]

    def probe(self, name: str) -> str:
        """Return "module:function" for the name of a probe, "TOPIC.FUNCTION"."""
        topic, _, function = name.partition(".")
        return f"{self.package}.{topic}.probe:{function}"

    def required_files(self, edition: Edition) -> tuple[str, ...]:
        """Return the names of all files that a complete submission to an edition has."""
        return edition.required_files

    def prepare(self, assignment: Assignment, root: Path) -> None:
        """Add generated files to a staged submission, or to the reference."""

    def open_data(self, assignment: Assignment, data: Path, answers: Path | None) -> Data:
        """Return what tests read besides the submission.

        Args:
            data: the folder of the installed data set.
            answers: the folder of the answers, which only staff have, or None.
        """
        return NoData()

    def leaderboard(
        self, assignment: Assignment, results: Results, case: Cases
    ) -> list[dict[str, Any]]:
        """Return the submission's rows in Gradescope's format, after a run has ended."""
        return []

    def _modules(self) -> Iterator[ModuleType]:
        package = importlib.import_module(self.package)
        folder = Path(package.__file__ or "").parent
        for path in sorted(folder.glob("*/tests*.py")):
            try:
                yield importlib.import_module(f"{self.package}.{path.parent.name}.{path.stem}")
            except Exception as error:
                place = f"src/{self.package}/{path.parent.name}/{path.name}"
                raise UsageError(f"{place} can't be imported: {_place_of(error)}") from error


def _cases_of(module: ModuleType) -> list[type[GradedTestCase]]:
    """Return the classes that a module itself defines and that name a topic, in order."""
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    return [kind for kind in own if issubclass(kind, GradedTestCase) and kind.topic]


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
        raise UsageError(f"solutions/hidden/: {_place_of(error)}") from error
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


def _place_of(error: Exception) -> str:
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
    hidden = {f"{spec.topic}_{spec.name}": spec for spec in specs if spec.is_hidden}
    prefixes = tuple(f"{topic}_" for topic in sorted({spec.topic for spec in specs}))
    judges: dict[str, Judge] = {}
    for module in (m for m in vars(package).values() if isinstance(m, ModuleType)):
        for name, value in vars(module).items():
            if not callable(value) or not name.startswith(prefixes):
                continue
            place = f"solutions/hidden/{module.__name__.rpartition('.')[2]}.py"
            if name not in hidden:
                raise UsageError(
                    f"{place}: {name} judges no hidden test of assignment.toml (names that "
                    "begin with a topic are for judges)"
                )
            if name in judges:
                raise UsageError(f"{place}: there is another judge {name}")
            judges[name] = value
    for name, spec in hidden.items():
        if name not in judges:
            raise UsageError(
                f"assignment.toml: [topics.{spec.topic}.tests] {spec.name} is a hidden test, but "
                f"solutions/hidden/ has no judge {name}"
            )
    return judges
