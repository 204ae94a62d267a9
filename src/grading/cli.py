"""The command `python grader.py`: arguments in, text and an exit code out."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import inspect
import os
import platform
import re
import secrets
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import grading

from . import report
from .cases import HINTS, BoundTest, QuestionSet, derive_seed
from .edition import Edition, load_assignment
from .errors import GradingError, UsageError, safe_lines
from .pool import (
    InProcessPool,
    LocalPool,
    Pool,
    clean_environment,
    command,
    in_process_line,
    is_debugged,
)
from .report import StudentConsole
from .runner import Observer, Options, Runner
from .staging import OUTPUT_SUFFIXES
from .upload import is_litter
from .verdicts import ExitCode, Results, exit_code, refusing_to_write, write_atomically

STAFF = "autograder"  # the folder of staff's part, which students don't have
# What the source of a test names: methods of its topic, probes, functions of staff's.
METHOD = re.compile(r"\b(?:self|case|apart)\.(\w+)")
PROBE = re.compile(r'"(\w+\.\w+)"')
STAFFS = re.compile(r"\bhidden\.(\w+)")
PATIENCE = 2  # time-outs in a question, on a student's computer
MORE_HINTS = "Hints: --hint 2 prints where to look, and in practice --hint 3 prints the formula"
MAX_TRACEBACK = 20_000  # characters
TICK_S = 0.3  # between two looks; files that don't change for so long are completely written
USUAL = ("", "src", "submission", "src/submission")  # folders of a submission with files to grade
WAITING = "{}: watching for the next save; Ctrl-C ends the watch"
LIBRARIES = (
    "import numpy; import torch; "
    "print('numpy', numpy.__version__ + ', torch', torch.__version__ + ',', "
    "torch.backends.cpu.get_cpu_capability())"
)


def main(questions: QuestionSet, arguments: list[str] | None = None) -> int:
    """Run staff's command where `autograder` stands beside src/, elsewhere the student's."""
    return _reported(lambda: _command(questions).main(arguments))


def _reported(run: Callable[[], int]) -> int:
    """Run a command; turn what it raises into a message and an ExitCode."""
    try:
        code = run()
        if sys.stdout is not None:
            sys.stdout.flush()  # here, where a closed pipe causes no traceback
        return code
    except UsageError as error:
        print(f"grader.py: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except GradingError as error:
        text = safe_lines(str(error), MAX_TRACEBACK)  # it may quote a worker
        print(f"grader.py: the grader failed: {text}", file=sys.stderr)
        return ExitCode.GRADER_ERROR
    except BrokenPipeError:  # the reader of the output has left, as in `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INTERRUPTED
    except Exception:
        print(safe_lines(traceback.format_exc(), MAX_TRACEBACK), file=sys.stderr)
        print("grader.py: the grader failed, see above", file=sys.stderr)
        return ExitCode.GRADER_ERROR
    except KeyboardInterrupt:
        print("\ngrader.py: interrupted; unfinished tests have no result")
        return ExitCode.INTERRUPTED


def _command(questions: QuestionSet) -> Command:
    """Find the command by its folder: a package of that name may also be installed.

    Raises:
        GradingError: the folder is there, and can't be imported. Nothing is then graded, because
            submissions would run unconfined next to the solutions.
        UsageError: there are solutions, but no autograder.
    """
    folder = grading.ROOT / STAFF
    if folder.is_dir():
        try:
            staff = importlib.util.spec_from_file_location(
                STAFF, folder / "__init__.py", submodule_search_locations=[str(folder)]
            )
            assert staff is not None and staff.loader is not None  # as for every .py
            sys.modules[STAFF] = importlib.util.module_from_spec(staff)
            staff.loader.exec_module(sys.modules[STAFF])
            return importlib.import_module(f"{STAFF}.command").StaffCommand(questions)
        except Exception as error:
            raise GradingError(
                f"{STAFF}/ can't be imported ({type(error).__name__}: {error}), and without it "
                "nothing is graded next to the solutions"
            ) from error
    if grading.SOLUTIONS.is_dir():
        raise UsageError(
            f"there is a folder solutions/, but no {STAFF}/, which confines submissions beside "
            "it: use the complete checkout, or remove solutions/"
        )
    return Command(questions)


class Command:
    """The command on a student's computer; `autograder.command` extends it for staff."""

    def __init__(self, questions: QuestionSet) -> None:
        self.questions = questions

    def main(self, arguments: list[str] | None = None) -> int:
        _fill_standard_descriptors()
        for stream in filter(None, (sys.stdout, sys.stderr)):  # None: closed by the shell
            stream.reconfigure(encoding="utf-8", errors="replace")
        asked = self.parser().parse_args(arguments)
        if threading.current_thread() is threading.main_thread():
            # so that `timeout` and CI also clean up
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        return _reported(lambda: self.run(asked))

    def run(self, asked: argparse.Namespace) -> int:
        if asked.watch and (asked.doctor or asked.list or asked.where or asked.in_process):
            raise UsageError("--watch runs tests in workers: leave out the other option")
        if asked.doctor:
            self.examine()
            return ExitCode.OK
        runner = self.runner()
        edition = runner.assignment.edition(asked.edition)
        if asked.list:
            _list(edition, runner.select(edition, tuple(asked.tests)))
            return ExitCode.OK
        if asked.where:
            for test in runner.select(edition, tuple(asked.tests)):
                _show_where(runner, test)
            return ExitCode.OK
        self.refuse_contradictions(asked)
        return self.grade(runner, asked)

    def runner(self) -> Runner:
        """Return what binds and runs the tests; staff's also judges."""
        return Runner(load_assignment(grading.ROOT), self.questions)

    def examine(self) -> None:
        """Print what works on this computer, and what a run here promises."""
        print_machine()
        print("Promised     a test that crashes or never ends costs no other test its result")
        print("Not promised protection from the code that is graded: run only your own")
        print("Authority    no: hidden tests run here, and are graded when you submit")

    def open_pool(self, asked: argparse.Namespace, seed: int) -> Pool:
        if asked.in_process:
            print(f"{in_process_line()}\n")
            return InProcessPool()
        return LocalPool(derive_seed(seed, "hash"), always_fresh=asked.fresh)

    def parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog="grader.py",
            description="Grade a submission.",
            epilog="exit codes: 0 all selected tests passed, 1 some did not pass or were not run "
            "(no data set, no time left), 2 usage or bad input, 3 the grader failed, "
            "130 interrupted",
        )
        add = parser.add_argument
        add("tests", nargs="*", help="tests (1e-0-basic) or questions (1e) to run (default: all)")
        add("--watch", action="store_true", help="run the tests again whenever a file is saved")
        where = "print which lines decide the tests, without running them"
        add("--where", action="store_true", help=where)
        add("--list", action="store_true", help="print all tests and their points")
        what = "the folder or zip to grade (default: this assignment)"
        add("--submission", type=Path, default=grading.ROOT, metavar="DIR", help=what)
        add("--json", type=Path, metavar="FILE", help="also write the results as JSON")
        add("--html", type=Path, metavar="FILE", help="also write a report as a web page")
        hint = (
            "where a test of the practice part fails: print a question that leads to the cause "
            "(1), where to look (2), or the formula (3)"
        )
        add("--hint", type=int, choices=(1, 2, 3), help=hint)
        add("--doctor", action="store_true", help="print what works on this computer")
        add("--edition", help="use a different edition of assignment.toml")
        add("--seed", type=int, help="seed of the random inputs, to repeat an earlier run")
        fresh = "run each test in a process that has run no other, which takes longer"
        add("--fresh", action="store_true", help=fresh)
        in_process = "for a debugger: run without isolation or limits"
        add("--in-process", action="store_true", help=in_process)
        return parser

    def grade(self, runner: Runner, asked: argparse.Namespace) -> int:
        """Grade once, or after each save; return an ExitCode."""
        if is_debugged() and not asked.in_process:
            flags = ["--watch"] * asked.watch
            flags += [flag for flag, path in self.outputs(asked).items() if path]
            if flags:
                raise UsageError(f"{flags[0]} can't be used under a debugger: tests run in process")
            asked.in_process = True
        seed = secrets.randbits(63) if asked.seed is None else asked.seed
        with contextlib.closing(self.open_pool(asked, seed)) as pool:
            if not asked.watch:
                return self.grade_once(runner, asked, seed, pool)[0]
            # With one seed for all runs, only the code makes a difference.
            _watch(asked.submission, lambda: self.grade_once(runner, asked, seed, pool)[1])
            return ExitCode.INTERRUPTED

    def grade_once(
        self, runner: Runner, asked: argparse.Namespace, seed: int, pool: Pool
    ) -> tuple[int, set[Path]]:
        """Grade, and show a report; return an ExitCode, and the folders of the files."""
        console = StudentConsole(asked.json, counts=not asked.in_process)
        try:
            # In process, a debugger may be reading what somebody types.
            with report.bar(is_shown=not asked.in_process) as console.move:
                results = self.run_tests(runner, asked, seed, console, pool, patience=PATIENCE)
        finally:
            if sys.exc_info()[0] in (None, KeyboardInterrupt):
                if asked.watch and (screen := report.console_on(sys.stdout)):
                    screen.clear()
                console.finish()
        self.show_hints(runner, results, asked.hint)
        if asked.html:
            shown = report.Report.of(results, staff=False, is_judged=False)
            self.write_page(asked.html, report.page(results, shown))
        return exit_code(results.outcomes), console.folders

    def run_tests(
        self,
        runner: Runner,
        asked: argparse.Namespace,
        seed: int,
        observer: Observer,
        pool: Pool,
        **more: Any,
    ) -> Results:
        """Run the selected tests, with `more` options of the run."""
        options = Options(
            submission=asked.submission,
            edition=asked.edition,
            selection=tuple(asked.tests),
            in_process=asked.in_process,
            private=tuple(path for path in self.outputs(asked).values() if path),
            **more,
        )
        return runner.run(options, seed, observer, pool)

    def show_hints(self, runner: Runner, results: Results, level: int | None) -> None:
        """Print hints on what failed, or without a level, how to get those that there are."""
        hints = _hints(runner, results, level or 2)
        lines = [f"Hint on {test_id} ({kind}): {text}" for test_id, (kind, text) in hints.items()]
        if level is None:
            lines = [MORE_HINTS] if any(kind != HINTS[0] for kind, _ in hints.values()) else []
        elif not hints:
            failed = any(not test.is_fine for test in results.selected_tests)
            lines = [
                "There are no hints on what failed." if failed else "No hints: nothing failed."
            ]
        report.show(map(report.Line, lines))

    def write_page(self, path: Path, page: str) -> None:
        with refusing_to_write(path):
            write_atomically(path, page)

    def outputs(self, asked: argparse.Namespace) -> dict[str, Path | None]:
        """Return the files to be written, by the option that asks for each."""
        return {"--json": asked.json, "--html": asked.html}

    def refuse_contradictions(self, asked: argparse.Namespace) -> None:
        """Raise a UsageError for options that contradict each other, before anything runs."""
        outputs = {flag: path for flag, path in self.outputs(asked).items() if path}
        if asked.in_process and outputs:
            raise UsageError("--in-process can't write a result, because nothing protects it")
        for flag, path in outputs.items():
            folder = path.resolve().parent
            if not folder.is_dir():
                raise UsageError(f"{flag} {path}: there is no folder {folder}")
            if path.is_dir() or not os.access(folder, os.W_OK):
                raise UsageError(f"{flag} {path}: can't be written")
        if any("html" in flag for flag in outputs) and find_spec("jinja2") is None:
            raise UsageError(
                "web pages need jinja2, which is not installed: leave out --html, or install it"
            )
        if asked.seed is not None and asked.seed < 0:
            raise UsageError(f"--seed {asked.seed} should not be negative")


def _watch(submission: Path, run: Callable[[], Iterable[Path]]) -> None:
    """Run now, and after each save until Ctrl-C; `run` returns further folders to watch.

    What is saved during a run is graded after it, because with an editor that saves at every pause,
    no run would reach its end. Files are polled, which works everywhere, also on a network.
    """
    places = {submission, *(submission / folder for folder in USUAL)}
    saved = _saved(places)
    further = {*run()}
    while True:
        saved |= _saved(further - places)
        places |= further
        try:
            print(WAITING.format(time.strftime("%H:%M:%S")), flush=True)
            saved = _next_save(places, saved)
        except KeyboardInterrupt:
            print("\nThe watch has ended.")
            return
        try:
            further = {*run()}
        except (UsageError, OSError) as error:  # a folder may be being renamed
            print(f"grader.py: {error}", file=sys.stderr)


def _next_save(
    places: set[Path], before: dict[Path, tuple[int, int]]
) -> dict[Path, tuple[int, int]]:
    """Wait until the files differ from those before, and don't change any more."""
    last = _saved(places)
    while True:
        time.sleep(TICK_S)
        now = _saved(places)
        if now == last and now != before:
            return now
        last = now


def _saved(places: set[Path]) -> dict[Path, tuple[int, int]]:
    """Return when the files in some folders, or files, were modified, and their sizes."""
    files = {place for place in places if place.is_file()}
    for folder in places - files:
        with contextlib.suppress(OSError):  # there is none at present
            inside = (path for path in folder.iterdir() if not is_litter(path.name))
            files |= {path for path in inside if path.suffix in (".py", *OUTPUT_SUFFIXES)}
    saved = {}
    for file in files:
        with contextlib.suppress(OSError):  # it was deleted just now
            stat = file.stat()
            saved[file] = (stat.st_mtime_ns, stat.st_size)
    return saved


def print_machine() -> None:
    """Print the release, the interpreter, the system and the libraries."""
    try:
        release = load_assignment(grading.ROOT).edition(None).release
    except (UsageError, GradingError) as error:
        release = f"UNKNOWN: {error}"
    print(f"Release      {release or 'none'}")
    print(f"Python       {platform.python_version()} at {sys.executable}")
    print(f"System       {platform.system()} {platform.release()}, {platform.machine()}")
    print(f"CPUs         {os.cpu_count()}; workers use one thread each")
    started = time.monotonic()
    ran = subprocess.run(
        command(LIBRARIES),
        env=clean_environment(0),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    found = f"{ran.stdout.strip()}; importing them takes {time.monotonic() - started:.1f} s"
    if ran.returncode:
        last = (ran.stderr.strip().splitlines() or ["?"])[-1]
        found = f"CAN'T BE IMPORTED ({last}): is everything in requirements.txt installed?"
    print(f"Libraries    {found}")


def _hints(runner: Runner, results: Results, level: int) -> dict[str, tuple[str, str]]:
    """Return the kind and text of a hint on each cause of failures, by the test that shows it.

    It is the plainest one up to the level, or else the next one. Formulas are for practice, and
    there are none on parts that aren't written yet.
    """
    cases = {test.spec.test_id: test.case for test in runner.tests(results.edition)}
    scored = {q.number for q in results.edition.questions if q.coding or q.written}
    chosen = {}
    for cause in report.Report.of(results, staff=False).causes:
        if cause.is_unwritten:
            continue
        spec = cause.shown_by.spec
        known = cases[spec.test_id].hints(cause.shown_by.cause.partition(".")[2])
        kinds = [kind for kind in HINTS[: 2 if spec.number in scored else 3] if kind in known]
        upto = [kind for kind in kinds if kind in HINTS[:level]]
        for kind in upto[-1:] or kinds[:1]:
            chosen[spec.test_id] = kind, known[kind]
    return chosen


def _list(edition: Edition, tests: list[BoundTest]) -> None:
    print(f"{edition.title} ({' of '.join(filter(None, (edition.name, edition.release)))})")
    for test in tests:
        spec = test.spec
        dropped = f" (dropped: {spec.dropped})" if spec.dropped else ""
        worth = report.points(spec.max_score)
        print(f"  {spec.test_id:<13}{worth:>5}  {test.description}{dropped}")


def _show_where(runner: Runner, test: BoundTest) -> None:
    """Print a line for the test, for each of its probes, and for its judge, if it is here."""
    judging, source = runner.judging, "".join(map(inspect.getsource, _methods(test)))
    judges: list[Callable[..., Any]] = []
    if judging is not None:
        judges = [getattr(judging.hidden, name) for name in dict.fromkeys(STAFFS.findall(source))]
        if test.spec.is_hidden:
            judge = judging.judge(f"{test.spec.topic}_{test.spec.name}")
            judges.append(getattr(judge, "func", judge))  # some are partial
    source += "".join(map(inspect.getsource, judges))
    members = inspect.getmembers(test.case, lambda value: isinstance(value, str))
    source += "".join(f'"{value}"' for _, value in members)  # a topic's attribute may name a probe
    print(f"{test.spec.test_id}  {test.description}")
    print(f"  test   {_place(test.method)}")
    for name in dict.fromkeys(PROBE.findall(source)):
        if place := _place_of_probe(runner.questions.probe(name)):
            print(f"  probe  {place}")
    for judge in judges:
        print(f"  judge  {_place(judge)}")
    if test.spec.is_hidden and judging is None:
        print("  judge  staff's: solutions/hidden/ is not on this computer")


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


def _place_of_probe(name: str) -> str:
    """Return the place of "module:function", or "" for no probe, without importing torch."""
    module, _, function = name.partition(":")
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # some other text with a dot
        return ""
    if spec is not None and spec.origin:
        path = Path(spec.origin)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith(f"def {function}("):
                return f"{_shown(path)}:{number}  {function}"
    return ""


def _place(function: Callable[..., Any]) -> str:
    code = inspect.unwrap(function).__code__
    return f"{_shown(Path(code.co_filename))}:{code.co_firstlineno}  {function.__qualname__}"


def _shown(path: Path) -> str:
    inside = path.is_relative_to(grading.ROOT)
    return (path.relative_to(grading.ROOT) if inside else path).as_posix()


def _fill_standard_descriptors() -> None:
    """Open descriptors 0 to 2 if a shell has closed them; a pipe of ours would get the number."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)
