"""A run on Gradescope: from the upload and its metadata to results.json.

results.json exists from the beginning, with every test at zero, and is rewritten completely after
each test. If the grader fails, it is removed: Gradescope then shows that the autograder failed and
records no grade, whereas it would record any valid file, whatever the exit code.
"""

import secrets
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import grading
from grading import release, report
from grading.cases import Cases
from grading.edition import VISIBILITIES, Edition, Gradescope
from grading.errors import SubmissionError, safe_line
from grading.runner import Observer, Options, Runner, require_judging
from grading.staging import Staged
from grading.verdicts import ExitCode, Results, TestResult, exit_code, write_atomically

from .. import authoritative, console, pages, replay, solutions
from ..authoritative import SECRET, seed_from_secret
from . import document, metadata
from .feedback import shortened
from .metadata import Metadata

UPLOAD, METADATA = "submission", "submission_metadata.json"
RESULTS = Path("results") / "results.json"
# The run's facts for staff. Some are known once there is something to grade; their value before.
FACTS = ("submission", "release", "graded", "judged_by", "versions")
LATER_FACTS = {"copy": {}, "digest": "", "layers": [], "missing": [], "authoritative": False}


def grade(
    runner: Runner,
    root: Path,
    edition: str | None,
    counts: bool = True,
    files: Mapping[Path, bool] | None = None,
    json_file: Path | None = None,
) -> ExitCode:
    """Grade the upload in Gradescope's folders and write results.json.

    Args:
        root: the folder /autograder.
        counts: False for a preview by an ordinary user, whose score can't count.
        files: files for reports as HTML, each with whether it is for staff.
        json_file: where to write the results with staff's details.

    Raises:
        GradingError: the grader failed; there is then no results.json.
    """
    code = ExitCode.GRADER_ERROR
    try:
        session = Session(runner, root, edition)
        code = session.run(counts)
        for path, page in pages.of_run(session.results, files or {}).items():
            write_atomically(path, page)
        if json_file:
            session.results.write(json_file, staff=True)
    finally:
        if code not in (ExitCode.OK, ExitCode.FAILED):
            (root / RESULTS).unlink(missing_ok=True)
    return code


class Session(Observer):
    """One submission's run."""

    def __init__(self, runner: Runner, root: Path, edition: str | None) -> None:
        self._runner, self._root, self._started = runner, root, time.monotonic()
        self._edition = runner.assignment.edition(edition)
        self._about = metadata.read(root / METADATA)
        self._hidden_tests = hidden_tests(self._about, self._edition)
        self._limited = self._hidden_tests != _settings(self._edition).hidden_tests
        self._notes = [metadata.arrival(self._about), earlier(self._about, self._edition)]
        if self._limited:
            self._notes.append(why_later(self._about, self._edition))
        self._leaderboard: list[dict[str, Any]] = []
        self.results: Results

    def run(self, counts: bool) -> ExitCode:
        """Grade, so that the score counts or doesn't; return how it went."""
        require_judging(self._runner.judging)
        # What was unpacked is readable for everybody; workers need only src/.
        for path in (grading.SOLUTIONS, self._root / RESULTS.parent, self._root / UPLOAD):
            if path.exists():
                path.chmod(0o700)
        if (self._root / METADATA).exists():
            (self._root / METADATA).chmod(0o600)
        console.show_release(self._edition)
        for problem in self._about.problems:
            print(f"metadata: {safe_line(problem)}")
        if self._about.created is None and _settings(self._edition).hidden_feedback_a_day:
            print("metadata: so the daily limit on hidden feedback can't be applied")
        number = self._about.submission_id
        options = Options(
            submission=self._root / UPLOAD,
            alias="your upload",
            name="upload" if number is None else f"submission {number}",
            edition=self._edition.name,
            private=(self._root / METADATA, self._root / RESULTS, *solutions.ANSWERS.glob(SECRET)),
        )
        seed = seed_of(self._about)
        self.results = self._runner.blank(self._edition, seed, options.name)
        self._write()  # from the beginning, so that the canary can try to read it
        try:
            authoritative.grade(self._runner, options, seed, self, counts)
        except SubmissionError as error:  # every test gets zero points, and students read why
            print(f"nothing to grade: {error}")
            authoritative.nothing_to_grade(self.results)
            self._notes.append(f"Nothing was graded: {error}.")
            self._write()
        console.show_summary(self.results)
        print(replay.line(self.results))
        return exit_code(self.results.outcomes)

    def staged(self, staged: Staged) -> None:
        console.show_staged(staged)
        if sentence := release.of_copy(staged, self._edition):
            self._notes.append(f"{sentence[0].upper()}{sentence[1:]}.")
        if staged.place:
            self._notes.append(f"Your code was taken from {shortened(staged.place, 200)}.")
        self._note("Missing files: ", staged.missing)
        hints = [shortened(staged.hint(name), 300) for name in [*staged.renamed][:8]]
        self._notes += [f"{hint[0].upper()}{hint[1:]}." for hint in hints]
        self._note("Files that were left out: ", [*map(str, staged.omissions)])

    def started(self, results: Results) -> None:
        self.results = results
        self._write()

    def ended(self, result: TestResult) -> None:
        self._write()

    def present(self, result: TestResult) -> None:
        console.show_next(self.results, result)

    def graded(self, case: Cases) -> None:
        if _settings(self._edition).leaderboard and not self._limited:
            self._leaderboard = document.leaderboard(self._runner.assignment, self.results, case)
        self._write()

    def _note(self, words: str, names: list[str]) -> None:
        if names:
            shown = [shortened(name, 120) for name in names[:8]]
            more = f", and {len(names) - 8} more" if len(names) > 8 else ""
            self._notes.append(words + ", ".join(shown) + more + ".")

    def _write(self) -> None:
        facts = LATER_FACTS | self.results.facts
        extra = {key: facts[key] for key in (*FACTS, *LATER_FACTS)}
        took_s = time.monotonic() - self._started
        content = document.document(self.results, self._hidden_tests, self._notes, extra, took_s)
        if self._leaderboard:
            content["leaderboard"] = self._leaderboard
        write_atomically(self._root / RESULTS, document.serialize(content))


def _settings(edition: Edition) -> Gradescope:
    assert edition.gradescope is not None  # only a student's copy lacks them
    return edition.gradescope


def hidden_tests(about: Metadata, edition: Edition) -> str:
    """Return when hidden tests become visible; later than usual if the daily limit is reached.

    They are graded all the same: the limit changes no points.
    """
    settings = _settings(edition)
    if not about.until_feedback(settings.hidden_feedback_a_day):
        return settings.hidden_tests
    # What shows after the due date shows at once if that is over.
    later = "after_due_date" if about.is_early() else "after_published"
    return max(settings.hidden_tests, later, key=VISIBILITIES.index)


def why_later(about: Metadata, edition: Edition) -> str:
    """Return a sentence on why hidden tests become visible later, and when they show again."""
    a_day = _settings(edition).hidden_feedback_a_day
    wait = metadata.duration(about.until_feedback(a_day) + timedelta(seconds=59))  # rounded up
    return (
        f"Hidden tests are shown at once for at most {a_day} submission{'s' * (a_day > 1)} in 24 "
        "hours, and earlier ones have used that up. This one is graded in full as well; a "
        f"submission {wait} after it, or later, shows them again."
    )


def earlier(about: Metadata, edition: Edition) -> str:
    """Return a sentence on earlier submissions, with the best score that the student has seen."""
    times = len(about.previous)
    if not times:
        return ""
    before = f"You submitted {times} time{'s' * (times > 1)} before"
    settings = _settings(edition)
    moments = {document.visibility(test, settings.hidden_tests) for test in edition.tests}
    seen = about.with_feedback(settings.hidden_feedback_a_day) if moments == {"visible"} else []
    scores = [each.score for each in seen if each.score is not None]
    if not scores:
        return f"{before}."
    return f"{before}; best so far: {report.points(round(max(scores), 2))} points."


def seed_of(about: Metadata) -> int:
    """Derive the run's seed from the secret and the submission's id, the same for each grading."""
    if about.submission_id is None:
        return secrets.randbits(63)  # recorded in extra_data, like any other
    return seed_from_secret(about.submission_id)
