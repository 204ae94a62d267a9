"""The command `python grader.py`: arguments in, text and an exit code out."""

from __future__ import annotations

import argparse
import contextlib
import os
import secrets
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from . import (
    authoritative,
    doctor,
    paths,
    printable,
    provenance,
    replay,
    report,
    sandbox,
    terminal,
    where,
)
from .cases import select
from .edition import Edition, load_assignment
from .errors import GradingError, UsageError
from .question_set import QuestionSet
from .results import Results, TestResult, write_atomically
from .runner import CourseTestRunner, Observer, Options
from .staging import Staged
from .verdicts import ExitCode, exit_code

PATIENCE = 2  # time-outs in a question, on a student's computer
MAX_TRACEBACK = 20_000  # characters


def main(questions: QuestionSet, arguments: list[str] | None = None) -> int:
    """Run the command; return an ExitCode."""
    _fill_standard_descriptors()
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None: closed by the shell
        stream.reconfigure(encoding="utf-8", errors="replace")
    asked = _parser().parse_args(arguments)
    if threading.current_thread() is threading.main_thread():
        signal.signal(
            signal.SIGTERM, signal.default_int_handler
        )  # so that `timeout` and CI also clean up
    try:
        code = _run(questions, asked)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a closed pipe causes no traceback
        return code
    except UsageError as error:
        print(f"grader.py: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except GradingError as error:
        text = printable.lines(str(error), MAX_TRACEBACK)  # it may quote a worker
        print(f"grader.py: the grader failed: {text}", file=sys.stderr)
        return ExitCode.GRADER_ERROR
    except BrokenPipeError:  # the reader of the output has left, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INTERRUPTED
    except Exception:
        print(printable.lines(traceback.format_exc(), MAX_TRACEBACK), file=sys.stderr)
        print("grader.py: the grader failed, see above", file=sys.stderr)
        return ExitCode.GRADER_ERROR
    except KeyboardInterrupt:
        print("\ngrader.py: interrupted; unfinished tests have no result")
        return ExitCode.INTERRUPTED


def _run(questions: QuestionSet, asked: argparse.Namespace) -> int:
    """Run the command that the arguments describe."""
    sandbox.hide_memory()
    if asked.doctor:
        doctor.examine()
        return ExitCode.OK
    runner = CourseTestRunner(load_assignment(paths.ROOT), questions)
    if asked.list:
        _list(runner, runner.assignment.edition(asked.edition))
        return ExitCode.OK
    if asked.where:
        _show_where(runner, asked)
        return ExitCode.OK
    if asked.gradescope:
        from .gradescope import session  # needs staff's packages, which students lack

        _refuse_contradictions(asked)
        pages = {path: staff for path, staff in _pages(asked) if path}
        authoritative = not asked.preview
        return session.grade(
            runner, asked.gradescope, asked.edition, authoritative, pages, asked.json
        )
    return _grade(runner, asked)


def _fill_standard_descriptors() -> None:
    """Open descriptors 0, 1 and 2 if a shell has closed them.

    Otherwise one of our pipes would get such a number.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="grader.py",
        description="Grade a submission.",
        epilog="exit codes: 0 all selected tests passed, 1 some did not pass or were not run (no "
        "data set, no time left), 2 usage or bad input, 3 the grader failed, 130 interrupted",
    )
    parser.add_argument(
        "tests", nargs="*", help="tests (1e-0-basic) or questions (1e) to run (default: all)"
    )
    parser.add_argument(
        "--where",
        action="store_true",
        help="print which lines decide the tests, without running them",
    )
    parser.add_argument("--list", action="store_true", help="print all tests and their points")
    parser.add_argument(
        "--submission",
        type=Path,
        default=paths.ROOT,
        metavar="DIR",
        help="the folder or zip to grade (default: this assignment)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the results as JSON")
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write a report as a web page"
    )
    parser.add_argument(
        "--authoritative", action="store_true", help="refuse to run unless the result can count"
    )
    parser.add_argument(
        "--doctor", action="store_true", help="print which protections work on this computer"
    )
    parser.add_argument("--edition", help="use a different edition of assignment.toml")
    parser.add_argument(
        "--seed", type=int, help="seed of the random inputs, to repeat an earlier run"
    )
    parser.add_argument(
        "--jobs",
        type=int,
        default=1,
        metavar="N",
        help="number of tests to run in parallel (default: 1)",
    )
    parser.add_argument(
        "--in-process", action="store_true", help="for a debugger: run without isolation or limits"
    )
    staff = parser.add_argument_group("for staff")
    staff.add_argument(
        "--staff-html", type=Path, metavar="FILE", help="also write a report with staff's details"
    )
    staff.add_argument(
        "--replay", type=Path, metavar="FILE", help="run an earlier result again and compare"
    )
    staff.add_argument(
        "--gradescope",
        type=Path,
        metavar="DIR",
        help="grade in Gradescope's folders, below /autograder",
    )
    staff.add_argument(
        "--preview",
        action="store_true",
        help="with --gradescope, without root: show what the result would be",
    )
    return parser


def _list(runner: CourseTestRunner, edition: Edition) -> None:
    print(f"{edition.title} ({edition.name})")
    for test in runner.tests(edition):
        print(
            f"  {test.spec.test_id:<13}{report.points(test.spec.max_score):>5}  {test.description}"
        )


def _show_where(runner: CourseTestRunner, asked: argparse.Namespace) -> None:
    bound = runner.tests(runner.assignment.edition(asked.edition))
    for test in select(bound, tuple(asked.tests)):
        print(f"{test.spec.test_id}  {test.description}")
        for line in where.lines(runner, test):
            print(f"  {line}")


def _grade(runner: CourseTestRunner, asked: argparse.Namespace) -> int:
    _refuse_contradictions(asked)
    record = replay.read(asked.replay) if asked.replay else None
    seed = secrets.randbits(63) if asked.seed is None else asked.seed
    if asked.in_process:
        print("In-process: no isolation and no limits; this result does not count.\n")
    if asked.authoritative and asked.seed is not None:
        seed = authoritative.large_seed(seed)
    if record:
        seed, asked.edition = record.seed, record.edition
        judged_by = provenance.judged_by(runner.questions.provided)
        for warning in replay.warnings(record, judged_by):
            print(f"Replay: {warning}")
    written = [path for path in _outputs(asked).values() if path]
    options = Options(
        submission=asked.submission,
        edition=asked.edition,
        wanted=tuple(asked.tests),
        jobs=1 if asked.in_process else asked.jobs,
        in_process=asked.in_process,
        # A complete run, for a score or a replay, skips nothing.
        patience=None if runner.hidden is not None or record else PATIENCE,
        authoritative=asked.authoritative,
        private=tuple(written),
    )
    staff = runner.hidden is not None
    heard = _Console(asked.json) if staff else _StudentConsole(asked.json)
    try:
        results = runner.run(options, seed, heard)
    except KeyboardInterrupt:
        if not staff:  # who have read the results as they came
            heard.finish()
        raise
    heard.finish()
    for path, for_staff in _pages(asked):
        if path:
            with _refusing_to_write(path):
                write_atomically(path, report.page(results, for_staff, is_judged=staff))
    if record:
        if record.digest not in ("", results.facts["digest"]):
            print("Replay: the submission's files differ from those that were graded originally")
        for line in replay.compare(record, results) or ["every test ended as it did originally"]:
            print(f"Replay: {line}")
    return exit_code(results.outcomes)


def _pages(asked: argparse.Namespace) -> list[tuple[Path | None, bool]]:
    """Return the requested reports, each with whether it is for staff."""
    return [(asked.html, False), (asked.staff_html, True)]


def _outputs(asked: argparse.Namespace) -> dict[str, Path | None]:
    return {"--json": asked.json, "--html": asked.html, "--staff-html": asked.staff_html}


def _refuse_contradictions(asked: argparse.Namespace) -> None:
    """Raise a UsageError for options that contradict each other, before anything runs."""
    outputs = {flag: path for flag, path in _outputs(asked).items() if path}
    if asked.in_process and outputs:
        raise UsageError("--in-process can't write a result, because nothing protects it")
    if asked.in_process and asked.authoritative:
        raise UsageError("--in-process can't be authoritative, because nothing protects it")
    for flag, path in outputs.items():
        if not path.resolve().parent.is_dir():
            raise UsageError(f"{flag} {path}: there is no folder {path.resolve().parent}")
        if path.is_dir() or not os.access(path.resolve().parent, os.W_OK):
            raise UsageError(f"{flag} {path}: can't be written")
    if (asked.html or asked.staff_html) and find_spec("jinja2") is None:
        raise UsageError(
            "web pages need jinja2, which is not installed: leave out --html, or install it"
        )
    if not 1 <= asked.jobs <= 64:
        raise UsageError(f"--jobs {asked.jobs} should be a number from 1 to 64")
    if asked.seed is not None and asked.seed < 0:
        raise UsageError(f"--seed {asked.seed} should not be negative")
    if asked.replay and (asked.seed is not None or asked.edition):
        raise UsageError(
            "--replay reads seed and edition from the file: remove --seed and --edition"
        )


@contextlib.contextmanager
def _refusing_to_write(path: Path) -> Iterator[None]:
    """Turn a failure to write into a UsageError: the folder may be read-only, the disk full."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{path}: can't be written: {error.strerror or error}") from None


class _ResultsFile(Observer):
    """Keeps the results file up to date from the beginning."""

    staff = False

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._results: Results | None = None

    def started(self, results: Results) -> None:
        self._results = results
        self._write()

    def ended(self, result: TestResult) -> None:
        self._write()

    def finish(self) -> None:
        """Print the end of the report, once the run has ended or was interrupted."""

    def _write(self) -> None:
        if self._path is not None and self._results is not None:
            with _refusing_to_write(self._path):
                self._results.write(self._path, self.staff)


class _Console(_ResultsFile):
    """Prints each result for staff, who have the judges of hidden tests."""

    staff = True

    def staged(self, staged: Staged) -> None:
        terminal.show_staged(staged)

    def present(self, result: TestResult) -> None:
        assert self._results is not None  # the run has started
        terminal.show_next(self._results, result)

    def finish(self) -> None:
        if self._results is not None:
            terminal.show_summary(self._results)


class _StudentConsole(_ResultsFile):
    """Prints a report at the end, which begins with a summary."""

    def staged(self, staged: Staged) -> None:
        self._files = terminal.files_line(staged)

    def started(self, results: Results) -> None:
        super().started(results)
        self._progress = terminal.Progress(len(results.asked))

    def ended(self, result: TestResult) -> None:
        super().ended(result)
        self._progress.step()

    def finish(self) -> None:
        if self._results is not None:
            self._progress.show()
            shown = terminal.detect(sys.stdout)
            print("\n".join(terminal.student_lines(self._results, self._files, shown)))
