"""An assignment's questions, data and judges, which its description does not contain.

An assignment is a package of folders, one per topic, with `tests*.py` and `probe.py`. This class
finds them. A subclass adds what an assignment needs besides its tests: files that every submission
gets, a data set.
"""

from __future__ import annotations

import importlib
import inspect
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Protocol

from .cases import GradedTestCase
from .edition import Assignment, Edition
from .errors import UsageError
from .staging import Provided

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

    def _modules(self) -> Iterator[ModuleType]:
        package = importlib.import_module(self.package)
        folder = Path(package.__file__ or "").parent
        for path in sorted(folder.glob("*/tests*.py")):
            try:
                yield importlib.import_module(f"{self.package}.{path.parent.name}.{path.stem}")
            except Exception as error:
                place = f"src/{self.package}/{path.parent.name}/{path.name}"
                raise UsageError(f"{place} can't be imported: {place_of(error)}") from error


def _cases_of(module: ModuleType) -> list[type[GradedTestCase]]:
    """Return the classes that a module itself defines and that name a topic, in order."""
    kinds = [kind for kind in vars(module).values() if inspect.isclass(kind)]
    own = [kind for kind in kinds if kind.__module__ == module.__name__]
    return [kind for kind in own if issubclass(kind, GradedTestCase) and kind.topic]


def place_of(error: Exception) -> str:
    """Return one line on where and how importing one of our modules failed."""
    if isinstance(error, SyntaxError) and error.filename:
        place = f"{Path(error.filename).name}:{error.lineno}"
        return f"{place}: {type(error).__name__}: {error.msg}"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}: {type(error).__name__}: {error}"
