"""A run on Gradescope: from the upload and its metadata to results.json.

results.json exists from the beginning, with every test at zero, and is rewritten completely after
each test. If the grader fails, it is removed: Gradescope then shows that the autograder failed and
records no grade, whereas it would record any valid file, whatever the exit code.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import console, paths, printable, replay, report
from ..assignment import Edition
from ..console import Teller
from ..errors import GradingError, SubmissionError
from ..observer import Observer
from ..outcomes import ExitCode, Outcome, exit_code
from ..results import Results, TestResult, write_atomically
from ..runner import CourseTestRunner, Options, Run
from ..staging import Staged
from . import document, metadata
from .document import without_others_fields as ours
from .feedback import shortened
from .metadata import Metadata, Previous

SECRET = "grading_secret"  # in solutions/data: determines a submission's seed, with its id
UPLOAD, METADATA = "submission", "submission_metadata.json"
RESULTS = Path("results") / "results.json"


def grade(
    runner: CourseTestRunner,
    root: Path,
    edition: str | None,
    authoritative: bool = True,
    pages: Mapping[Path, bool] | None = None,
) -> ExitCode:
    """Grade the upload in Gradescope's folders and write results.json.

    Args:
        root: the folder /autograder.
        authoritative: False for a preview by an ordinary user, whose score can't count.
        pages: files for reports as HTML, each with whether it is for staff.

    Raises:
        GradingError: the grader failed; there is then no results.json.
    """
    code = ExitCode.GRADER_ERROR
    try:
        session = Session(runner, root, edition, authoritative)
        code = session.run()
        for path, for_staff in (pages or {}).items():
            write_atomically(path, report.page(session.results, for_staff))
    finally:
        if code not in (ExitCode.OK, ExitCode.FAILED):
            (root / RESULTS).unlink(missing_ok=True)
    return code


class Session(Observer):
    """One submission's run."""

    def __init__(
        self, runner: CourseTestRunner, root: Path, edition: str | None, authoritative: bool
    ) -> None:
        self._runner, self._root, self._authoritative = runner, root, authoritative
        self._started = time.monotonic()
        self._edition = runner.assignment.edition(edition)
        self._about = metadata.read(root / METADATA)
        self._kept = limited(self._about, self._edition)
        self._notes = [metadata.arrival(self._about), earlier(self._about, self._edition)]
        number = self._about.submission_id
        self._name = "upload" if number is None else f"submission {number}"
        self._leaderboard: list[dict[str, Any]] = []
        self._in_full = self._kept is None  # whether this one's hidden tests run
        self.results: Results
        self._teller: Teller

    def run(self) -> ExitCode:
        self._protect()
        for problem in self._about.problems:
            print(f"metadata: {printable.line(problem)}")
        tests = self._runner.tests(self._edition)
        basic = tuple(t.spec.test_id for t in tests if not t.spec.is_hidden)
        options = Options(
            submission=self._root / UPLOAD,
            name=self._name,
            edition=self._edition.name,
            wanted=basic if self._kept else (),
            authoritative=self._authoritative,
            complete=True,  # a preview, too
            private=(self._root / METADATA, self._root / RESULTS, *paths.ANSWERS.glob(SECRET)),
        )
        seed = seed_of(self._about)
        self.results = self._runner.blank(self._edition, seed, self._name)
        self._write()  # from the beginning, so that the canary can try to read it
        try:
            self._runner.run(options, seed, self)
        except SubmissionError as error:
            self._refuse(str(error))
        console.show_summary(self.results, staff=True)
        print(replay.line(self.results))
        return exit_code(self.results.outcomes)

    def _protect(self) -> None:
        """Close what was unpacked readable for everybody; workers need only src/."""
        closed = [(paths.SOLUTIONS, 0o700), (self._root / RESULTS.parent, 0o700)]
        closed += [(self._root / UPLOAD, 0o700), (self._root / METADATA, 0o600)]
        for path, mode in closed:
            if path.exists():
                os.chmod(path, mode)

    def staged(self, staged: Staged) -> None:
        console.show_staged(staged, self._edition.required_files)
        missing = [n for n in self._edition.required_files if n not in staged.taken]
        self._note("Missing files: ", missing)
        self._note("Files that were left out: ", staged.left)

    def started(self, results: Results) -> None:
        self.results, self._teller = results, Teller(results, staff=True)
        self._write()

    def ended(self, result: TestResult) -> None:
        self._write()

    def told(self, result: TestResult) -> None:
        self._teller.tell(result)

    def graded(self, run: Run) -> None:
        if self._edition.gradescope.leaderboard:
            tests = self._runner.tests(self._edition)
            self._leaderboard = self._runner.questions.leaderboard(run, self.results, tests)
        self._write()

    def _note(self, words: str, names: list[str]) -> None:
        if names:
            shown = [shortened(name, 60) for name in names[:8]]
            more = f", and {len(names) - 8} more" if len(names) > 8 else ""
            self._notes.append(words + ", ".join(shown) + more + ".")

    def _refuse(self, problem: str) -> None:
        """Give every test zero points, because there is nothing to grade, and say why."""
        print(f"nothing to grade: {problem}")
        self._in_full = False
        why = "not run: nothing to grade was found"
        self.results.tests = [
            replace(test, outcome=Outcome.MISSING_FILE, message=why) for test in self.results.tests
        ]
        where = str(self._root / UPLOAD)
        self._notes.append("Nothing was graded: " + problem.replace(where, "your upload") + ".")
        self._write()

    def _write(self) -> None:
        facts = self.results.facts
        extra = {
            **{key: facts[key] for key in ("submission", "graded", "judged_by", "versions")},
            "digest": facts.get("digest", ""),  # none if there was nothing to grade
            "layers": facts.get("layers", []),
            "missing": facts.get("missing", []),
            "authoritative": facts.get("authoritative", False),
            "hidden_feedback": self._in_full,
        }
        execution_s = time.monotonic() - self._started
        content = document.document(self.results, self._notes, extra, execution_s)
        if self._leaderboard:
            content["leaderboard"] = self._leaderboard
        if self._kept is not None:
            content |= self._what_was_kept(self._kept)
        write_atomically(self._root / RESULTS, document.serialize(content))

    def _what_was_kept(self, kept: Previous) -> dict[str, Any]:
        """Return the points of the submission that counts, and this one's basic tests."""
        limit = self._edition.gradescope.hidden_feedback_a_day
        note = (
            f"Hidden tests run for at most {limit} submissions in 24 hours; you have used them "
            "all. The points are those of your last submission that was graded in full; the "
            "messages of basic tests are about this one."
        )
        asked = [t for t in self.results.tests if t.asked]
        lines = [f"{t.spec.test_id:<14}{t.outcome.value:<16}{t.description}" for t in asked]
        output = document.overview([*self._notes, note], lines)
        return {"tests": kept.tests, "output": output}


def limited(about: Metadata, edition: Edition) -> Previous | None:
    """Return the submission whose results count if the day's hidden feedback is used up, or None.

    Without an earlier valid result there is nothing to keep, so hidden tests run.
    """
    limit = edition.gradescope.hidden_feedback_a_day
    used = [p for p in about.within_a_day() if p.extra("hidden_feedback") is True]
    if not limit or len(used) < limit:
        return None
    latest_first = reversed(about.before())
    kept = (Previous(p.submitted, ours(p.results)) for p in latest_first)
    return next((p for p in kept if _is_valid(p, edition)), None)


def _is_valid(previous: Previous, edition: Edition) -> bool:
    """Return whether earlier results are complete, and of this grader and the current tests."""
    try:
        document.serialize(previous.results)
    except GradingError:
        return False
    ids = {test_id for test in previous.tests for test_id in test["extra_data"]["outcomes"]}
    in_full = previous.extra("hidden_feedback") is True
    same = previous.extra("edition") == edition.name and ids == {t.test_id for t in edition.tests}
    return in_full and same


def earlier(about: Metadata, edition: Edition) -> str:
    """Return a sentence on earlier submissions, as far as students have seen their points."""
    if not about.previous:
        return ""
    times = len(about.previous)
    best = console.points_of(max(p.points() for p in about.previous))
    seen = (
        ""
        if edition.gradescope.hidden_tests == "visible"
        else " in the tests that are visible at once"
    )
    return (
        f"You submitted {times} time{'s' * (times > 1)} before; best so far: {best} points{seen}."
    )


def seed_of(about: Metadata) -> int:
    """Derive the run's seed from the secret and the submission's id, the same for each grading.

    Raises:
        GradingError: the release has no secret.
    """
    try:
        secret = (paths.ANSWERS / SECRET).read_bytes()
    except OSError as error:
        raise GradingError(f"the release lacks solutions/data/{SECRET}: {error}") from None
    if about.submission_id is None:
        return secrets.randbits(63)  # recorded in extra_data, like any other
    name = about.submission_id.encode("utf-8", errors="surrogatepass")
    digest = hmac.new(secret, name, hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1
