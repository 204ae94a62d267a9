"""Judges of hidden tests, and the reference whose answers they compare with.

The judges are functions named TOPIC_TEST in any module of the package `solutions/hidden`, bound
when the assignment loads. Only staff have it: on a student's computer, hidden tests only run.
"""

import hashlib
import importlib
import importlib.util
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import grading
from grading.cases import QuestionSet, place_of
from grading.edition import Assignment, TestSpec, to_json
from grading.errors import GradingError, UsageError
from grading.runner import Runner
from grading.staging import Provided, complete

from . import solutions

Judge = Callable[..., None]
DESCRIPTION = grading.ROOT / "autograder" / "description.py"  # only in a checkout


@dataclass
class Judging:
    """What judges an assignment's hidden tests (see `grading.cases.Judging`)."""

    hidden: ModuleType
    judges: dict[str, Judge]
    answers: Path = field(default_factory=lambda: solutions.ANSWERS)
    _judged_by: str = ""

    def judge(self, name: str) -> Judge:
        return self.judges[name]

    def judged_by(self, assignment: Assignment, provided: Provided) -> str:
        """Hash all that decides a verdict: description, tests, harness, data, reference, answers.

        The hash is the same in a checkout and in the release that was built from it.
        """
        if not self._judged_by:
            digest = hashlib.sha256(to_json(assignment))
            for path in sorted(_files(provided)):
                name = Path(os.path.relpath(path, grading.ROOT)).as_posix()
                digest.update(f"\0{name}\0".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
            self._judged_by = digest.hexdigest()
        return self._judged_by

    @staticmethod
    def stage_reference(target: Path, provided: Provided) -> list[Path]:
        """Copy the reference to a new folder: the complete code, and what is given with it.

        Students' workers can't open it: Landlock doesn't allow it, and other users can't enter it.
        Returns the folder, and everything in it. GradingError: there is no reference.
        """
        target.mkdir(mode=0o700)
        package, folder = target / "submission", grading.SOLUTIONS / "submission"
        package.mkdir()
        reference = sorted(folder.glob("*.py"))
        if not reference:
            place = folder.relative_to(grading.ROOT).as_posix()
            raise GradingError(f"{place}/ contains no reference, which judges need")
        for path in reference:
            shutil.copyfile(path, package / path.name)
        complete(target, provided)
        return [target, *sorted(target.rglob("*"))]


def _files(provided: Provided) -> Iterator[Path]:
    yield grading.SRC / "grader.py"
    for folder in (grading.SRC / "grading", grading.QUESTIONS, grading.ROOT / "autograder"):
        found = (p for p in folder.rglob("*") if p.suffix in (".py", ".json", ".toml"))
        yield from (p for p in found if p != DESCRIPTION)
    yield from (p for p in grading.DATA.glob("*") if p.is_file())
    for name in provided.packages:
        yield from (grading.SRC / name).glob("*.py")
    given = (grading.SRC / "submission" / name for name in provided.given)
    yield from (path for path in given if path.is_file())
    yield from (grading.SOLUTIONS / "submission").glob("*.py")
    yield from solutions.HIDDEN.glob("*.py")
    yield from solutions.ANSWERS.glob("*.tsv")


def course_runner(assignment: Assignment, questions: QuestionSet) -> Runner:
    """Return a runner with this checkout's judges, if it has any.

    UsageError: tests, judges and the description disagree, in any edition.
    """
    runner = Runner(assignment, questions)  # before the judges, which import the tests
    hidden = load_hidden(solutions.HIDDEN)
    if hidden is not None:
        specs = [spec for edition in assignment.editions.values() for spec in edition.tests]
        runner.judging = Judging(hidden, bind_judges(hidden, specs))
    return runner


def load_hidden(folder: Path) -> ModuleType | None:
    """Import the package that judges hidden tests; return None on a student's computer.

    UsageError: it is incomplete, or one of its modules can't be imported.
    """
    path = folder / "__init__.py"
    solutions.refuse_closed()
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


def bind_judges(package: ModuleType, specs: Iterable[TestSpec]) -> dict[str, Judge]:
    """Return the judge of each hidden test of all editions by its name, TOPIC_TEST.

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
