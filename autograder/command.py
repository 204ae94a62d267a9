"""The command `python grader.py` for staff: workers are confined, and hidden tests are judged."""

import argparse
import contextlib
import secrets
from pathlib import Path

import grading
from grading.cli import Command, print_machine
from grading.edition import load_assignment
from grading.errors import UsageError
from grading.pool import Pool
from grading.runner import ResultsFile, Runner
from grading.staging import Staged
from grading.verdicts import TestResult, exit_code

from . import authoritative, console, isolation, judging, pages, replay


class StaffCommand(Command):
    """Staff's command; on a computer without confinement, each job has a process of its own."""

    def runner(self) -> Runner:
        return judging.course_runner(load_assignment(grading.ROOT), self.questions)

    def run(self, asked: argparse.Namespace) -> int:
        isolation.hide_memory()
        if asked.gradescope and not (asked.doctor or asked.list or asked.where):
            from .gradescope import session  # needs a package that only Gradescope's grading needs

            self.refuse_contradictions(asked)
            runner, files, counts = self.runner(), self._pages(asked), not asked.preview
            return session.grade(runner, asked.gradescope, asked.edition, counts, files, asked.json)
        return super().run(asked)

    def examine(self) -> None:
        """Print what works on this computer, and how workers are confined here."""
        print_machine()
        forks = isolation.is_available()
        forked = "forked from a process that has imported torch once"
        print(f"Workers      {forked if forks else 'started from scratch'}")
        layers = isolation.detect()
        print(f"Layers       {', '.join(layers.names())}")
        if layers.missing():
            print(f"Missing      {', '.join(layers.missing())}")
        if not forks:
            print("Authority    no: a run here is only for your own information")
            return
        faults = isolation.obstacles(layers)
        unjudged = " (there are no solutions here, so hidden tests aren't judged)"
        hidden = "" if grading.SOLUTIONS.is_dir() else unjudged
        print(f"Authority    {'no' if faults else 'yes'}{hidden}")
        for fault in faults:
            print(f"             {fault}")

    def open_pool(self, asked: argparse.Namespace, seed: int) -> Pool:
        if asked.in_process:
            return super().open_pool(asked, seed)
        return authoritative.open_pool(seed, asked.authoritative)

    def grade(self, runner: Runner, asked: argparse.Namespace) -> int:
        record = replay.read(asked.replay) if asked.replay else None
        seed = secrets.randbits(63) if asked.seed is None else asked.seed
        if asked.authoritative and asked.seed is not None:
            seed = authoritative.large_seed(seed)
        if record:
            seed, asked.edition = record.seed, record.edition
            judges, provided = runner.judging, runner.questions.provided
            here = "" if judges is None else judges.judged_by(runner.assignment, provided)
            for warning in replay.warnings(record, here):
                print(f"Replay: {warning}")
        console.show_release(runner.assignment.edition(asked.edition))
        observer = Console(asked.json)
        jobs = 1 if asked.in_process else asked.jobs
        with contextlib.closing(self.open_pool(asked, seed)) as pool:
            results = self.run_tests(
                runner, asked, seed, observer, pool, jobs=jobs, counts=asked.authoritative
            )
        observer.finish()
        if asked.hint:
            self.show_hints(runner, results, asked.hint)
        is_judged = runner.judging is not None
        for path, page in pages.of_run(results, self._pages(asked), is_judged).items():
            self.write_page(path, page)
        if record:
            lines = replay.compare(record, results) or ["every test ended as it did originally"]
            if record.digest not in ("", results.facts["digest"]):
                words = "the submission's files differ from those that were graded originally"
                lines = [words, *lines]
            for line in lines:
                print(f"Replay: {line}")
        return exit_code(results.outcomes)

    def parser(self) -> argparse.ArgumentParser:
        parser = super().parser()
        words = "refuse to run unless the result can count"
        parser.add_argument("--authoritative", action="store_true", help=words)
        words = "number of tests to run in parallel (default: 1)"
        parser.add_argument("--jobs", type=int, default=1, metavar="N", help=words)
        staff = parser.add_argument_group("for staff")
        for option, kind, words in (
            ("--staff-html", "FILE", "also write a report with staff's details"),
            ("--replay", "FILE", "run an earlier result again and compare"),
            ("--gradescope", "DIR", "grade in Gradescope's folders, below /autograder"),
        ):
            staff.add_argument(option, type=Path, metavar=kind, help=words)
        words = "with --gradescope, without root: show what the result would be"
        staff.add_argument("--preview", action="store_true", help=words)
        return parser

    def outputs(self, asked: argparse.Namespace) -> dict[str, Path | None]:
        return super().outputs(asked) | {"--staff-html": asked.staff_html}

    def refuse_contradictions(self, asked: argparse.Namespace) -> None:
        if asked.watch:
            raise UsageError("--watch is for a student's copy, without autograder/ beside it")
        if asked.in_process and asked.authoritative:
            raise UsageError("--in-process can't be authoritative, because nothing protects it")
        super().refuse_contradictions(asked)
        if not 1 <= asked.jobs <= 64:
            raise UsageError(f"--jobs {asked.jobs} should be a number from 1 to 64")
        if asked.replay and (asked.seed is not None or asked.edition):
            raise UsageError(
                "--replay reads seed and edition from the file: remove --seed and --edition"
            )
        if asked.gradescope and not (asked.gradescope / "results").is_dir():
            raise UsageError(
                f"--gradescope {asked.gradescope}: there is no folder results/ in it, as on "
                "Gradescope below /autograder"
            )

    def _pages(self, asked: argparse.Namespace) -> dict[Path, bool]:
        """Return the requested reports, each with whether it is for staff."""
        files = ((asked.html, False), (asked.staff_html, True))
        return {path: for_staff for path, for_staff in files if path}


class Console(ResultsFile):
    """Prints each result for staff, who have the judges of hidden tests."""

    staff = True

    def staged(self, staged: Staged) -> None:
        console.show_staged(staged)

    def present(self, result: TestResult) -> None:
        assert self._results is not None  # the run has started
        console.show_next(self._results, result)

    def finish(self) -> None:
        if self._results is not None:
            console.show_summary(self._results)
