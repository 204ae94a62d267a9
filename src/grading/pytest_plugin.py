"""pytest as a front end of the grader: `pytest`, `pytest 1e`, `pytest -k hidden`, `pytest --co`.

A student's pyproject.toml loads this plugin and names the assignment's questions:

    addopts = ["-pgrading.pytest_plugin"]
    questions = "questions.course:Course"

Each test of the edition is an item called by its id, in the file that defines it, so that editors
show it and run it. All items of a session share one copy of the submission and one worker, and say
what grader.py says. Collecting reads none of a student's files, and imports no torch.
"""

# ruff: noqa: E402
from __future__ import annotations

import environment

environment.check("numpy", wanted="torch")

import contextlib
import inspect
import os
import pkgutil
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import grading

from . import runner
from .cases import BoundTest, QuestionSet, derive_seed, select
from .cli import PATIENCE, STAFF
from .edition import load_assignment
from .errors import GradingError, UsageError
from .pool import InProcessPool, LocalPool, in_process_line, is_debugged
from .report import Cause, Report, StudentConsole
from .verdicts import ExitCode, Outcome, Results, State, TestResult

ELSEWHERE = "tests of submissions run in pytest only in a student's copy; here, run src/grader.py"
ONE_WORKER = "-n can't be used: all tests share one worker, in which torch is imported only once"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the setting that names the assignment's questions."""
    parser.addini("questions", "the assignment's questions, as MODULE:CLASS")


def pytest_configure(config: pytest.Config) -> None:
    """Find the tests, and translate test ids and questions on the command line.

    Raises:
        pytest.UsageError: a word names nothing, or tests can't run like this or here.
    """
    if config.getoption("numprocesses", None):  # pytest-xdist's
        raise pytest.UsageError(ONE_WORKER)
    if (grading.ROOT / STAFF).is_dir() or grading.SOLUTIONS.is_dir():
        raise pytest.UsageError(ELSEWHERE)  # code would run unconfined next to the solutions
    with in_one_line():
        tests = Grading(pkgutil.resolve_name(config.getini("questions"))())
        config.args[:] = [node for word in config.args for node in tests.nodes(word)]
    config.addinivalue_line("python_files", "tests*.py")
    config.pluginmanager.register(tests, "grading")


@contextlib.contextmanager
def in_one_line() -> Iterator[None]:
    """End pytest with one line, and an exit code, in place of a traceback."""
    try:
        yield
    except UsageError as error:
        raise pytest.UsageError(str(error)) from None
    except GradingError as error:
        pytest.exit(f"the grader failed: {error}", ExitCode.GRADER_ERROR)


class Grading:
    """The tests of the edition, by file, and what all items of a session share, as a plugin."""

    def __init__(self, questions: QuestionSet) -> None:
        self._runner = runner.Runner(load_assignment(grading.ROOT), questions)
        self._tests = self._runner.tests(self._runner.assignment.edition(None))
        # Also files without a test in this edition: they are no test modules of pytest's own kind.
        self._files: dict[Path, list[BoundTest]] = {
            _file(case).resolve(): [] for case in questions.cases()
        }
        for test in self._tests:
            self._files[_file(test.case).resolve()].append(test)
        self._stack = contextlib.ExitStack()
        self._run: runner.Run
        self._console: StudentConsole
        self._results: Results | None = None

    def nodes(self, word: str) -> list[str]:
        """Return what pytest calls the tests that a word on its command line names."""
        if os.path.exists(word) or any(part in word for part in ("::", "/", os.sep, ".py")):
            return [word]
        return [f"{_file(t.case)}::{t.spec.test_id}" for t in select(self._tests, (word,))]

    def judge(self, test: BoundTest) -> TestResult:
        """Run a test and return what a student may read of its result."""
        assert self._results is not None  # pytest_runtestloop has begun the run
        tests, place = self._results.tests, self._tests.index(test)
        tests[place] = runner.judge(self._run, test, tests[place])
        return tests[place].for_student()

    # Hooks of pytest

    def pytest_pycollect_makemodule(
        self, module_path: Path, parent: pytest.Collector
    ) -> pytest.File | None:
        """Return the tests in a file, if it is one of the questions'."""
        tests = self._files.get(module_path.resolve())
        if tests is None:
            return None
        return TopicFile.from_parent(parent, path=module_path, grading=self, tests=tests)

    @pytest.hookimpl(tryfirst=True)  # --failed-first comes later
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Put tests into the edition's order, before those that a student has written."""
        places = {test.spec.test_id: place for place, test in enumerate(self._tests)}
        items.sort(key=lambda item: places.get(item.name, len(places)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> None:
        """Copy the submission and start a worker, if there is anything to run."""
        selection = tuple(item.name for item in session.items if isinstance(item, GradedItem))
        if not selection or session.config.option.collectonly:
            return
        seed, in_process = secrets.randbits(63), is_debugged()
        if in_process:
            print(in_process_line())
        options = runner.Options(
            submission=grading.ROOT, selection=selection, in_process=in_process, patience=PATIENCE
        )
        with in_one_line():
            pool = InProcessPool() if in_process else LocalPool(derive_seed(seed, "hash"))
            self._stack.callback(pool.close)
            self._console = StudentConsole(None, counts=not in_process)
            begun = self._runner.begin(options, seed, self._console, pool)
            self._run, self._results = self._stack.enter_context(begun)
            self._stack.callback(pool.abandon)  # before its folder is removed

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._stack.close()
        if self._results is not None and Outcome.GRADER_ERROR in self._results.outcomes:
            session.exitstatus = ExitCode.GRADER_ERROR

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the lines of grader.py's report that are about the whole run."""
        if self._results is None:
            return
        lines = [Report.of(self._results, staff=False, is_judged=False).headline]
        lines += self._console.notes()
        lines += [f"Warning: {text}" for text in self._results.facts.get("warnings", [])]
        for line in [*lines, f"seed {self._results.seed}"]:
            terminalreporter.write_line(line)


class TopicFile(pytest.File):
    """A file in a topic's folder, with the tests in it that the edition has."""

    def __init__(self, grading: Grading, tests: list[BoundTest], **more: Any) -> None:
        super().__init__(**more)
        self.grading, self.tests = grading, tests

    def collect(self) -> Iterator[pytest.Item]:
        for test in self.tests:
            yield GradedItem.from_parent(self, name=test.spec.test_id, test=test)


class GradedItem(pytest.Item):
    """A test of the edition.

    One that was dropped counts as skipped, and so does one that is graded only when it is
    submitted: if it counted as passed, an editor would show that it earns its points. One that
    could not run counts as failed, as in grader.py: with everything skipped, pytest would report
    success.
    """

    parent: TopicFile

    def __init__(self, test: BoundTest, **more: Any) -> None:
        super().__init__(**more)
        self.test = test

    def runtest(self) -> None:
        result = self.parent.grading.judge(self.test)
        self.add_report_section("call", "output of your code", result.output)
        if result.state in (State.GRADED_LATER, State.DROPPED):
            pytest.skip(result.message)
        if result.state is not State.PASSED:
            pytest.fail(Cause(result, (result,)).in_short, pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the test's file, its line in it, counted from 0, and its title."""
        code = self.test.method.__code__
        if Path(code.co_filename) == _file(self.test.case):
            line = code.co_firstlineno
        else:  # what several topics share
            line = inspect.getsourcelines(self.test.case)[1]
        return self.path, line - 1, f"{self.name}: {self.test.description}"


def _file(case: type) -> Path:
    """Return the file that defines a class of tests."""
    return Path(sys.modules[case.__module__].__file__ or "")
