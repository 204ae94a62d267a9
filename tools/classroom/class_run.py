"""Grades all submissions on a roll, and writes a record of each to the class's folder.

Submissions that have a final record are skipped. A run that was cut short, wherever and by whatever
means, is therefore completed by running the same command again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.isolation import leftovers
from grading.errors import SubmissionError
from grading.runner import Runner
from tools.classroom import host

from . import findings, records, shipping
from .dispatching import Say
from .folder import ClassFolder
from .records import Record
from .shipping import Job
from .submissions import Submission

if TYPE_CHECKING:
    from .dispatch import Answer, Dispatcher

MOST_LOSSES = 2  # attempts without a result; the second, with nothing beside it, is the last
PACKING = "packing-"  # prefix of temporary folders in which submissions are packed
UNREADABLE = "unreadable"  # used in place of a digest
Done = Callable[[], object]


@dataclass(frozen=True)
class Asked:
    """What a run of a class was asked for."""

    edition: str
    counts: bool  # False for a preview


class ClassRun:
    """A run over the submissions of a class."""

    def __init__(
        self,
        asked: Asked,
        folder: ClassFolder,
        submissions: tuple[Submission, ...],
        release: shipping.Release,
        runner: Runner,
        say: Say,
        done: Done,
    ) -> None:
        """
        Args:
            say: called with a line about each problem when it occurs; the line contains no names.
            done: called once for each submission that is finished.
        """
        self._asked, self._folder, self._release = asked, folder, release
        self._submissions = {one.submission_id: one for one in submissions}
        self._runner, self._say, self._done = runner, say, done
        self._digests: dict[str, str] = {}
        self._losses: dict[str, list[str]] = {}
        self._todo: list[str] = []
        self._alone: list[str] = []  # to be graded again, one at a time

    @property
    def release(self) -> str:
        """The release's name in the folder."""
        return self._release.digest[:16]

    def plan(self) -> bool:
        """Find the submissions without a final record; return whether there are any."""
        for place in self._folder.path.glob(f"{PACKING}*"):
            leftovers.remove_tree(place)  # left by a run that was killed
        for submission_id, submission in self._submissions.items():
            if not self._is_to_do(submission_id):
                self._done()
                continue
            digest = self._digest(submission)
            record = self._read(submission_id)
            if records.is_final(record, digest, self._asked.counts):
                self._done()
            elif record is not None and self._is_unfinished(record, digest):
                self._alone.append(submission_id)
            else:
                self._todo.append(submission_id)
        return bool(self._todo or self._alone)

    def run(self, dispatcher: Dispatcher) -> None:
        """Grade what `plan` has found.

        Raises:
            ClusterFailed: if no workers are left; what was graded before is kept.
            OSError: if a record can't be written; what was graded before is kept.
        """
        for job, answer in dispatcher.run(self._jobs(self._todo), self._say):
            self._take(job, answer)
        while self._alone:
            turn, self._alone = self._alone, []
            for job, answer in dispatcher.run(self._jobs(turn), self._say, alone=True):
                self._take_alone(job, answer)

    def records(self) -> Iterator[tuple[str, Record]]:
        """Yield the record of each submission that has one."""
        for submission_id in self._submissions:
            record = self._read(submission_id)
            if record is not None:
                yield submission_id, record

    def _digest(self, submission: Submission) -> str:
        """Return the hash of what was handed in."""
        if submission.submission_id not in self._digests:
            try:
                self._digests[submission.submission_id] = submission.upload.digest()
            except SubmissionError:
                self._digests[submission.submission_id] = UNREADABLE
        return self._digests[submission.submission_id]

    def _is_to_do(self, submission_id: str) -> bool:
        """Return whether a submission should be graded at all."""
        return True

    def _wanted(self, submission_id: str) -> tuple[str, ...]:
        """Return the ids of the tests to run; () for all."""
        return ()

    def _seed(self, submission_id: str) -> str:
        return str(self._release.seed)

    def _read(self, submission_id: str) -> Record | None:
        return self._folder.read_record(submission_id, self.release)

    def _write(self, submission_id: str, record: Record) -> None:
        self._folder.write_record(submission_id, self.release, record)

    def _jobs(self, submission_ids: list[str]) -> Iterator[Job]:
        """Yield a job for each submission; it is packed only now, to save memory.

        If only some tests of a submission have to be run again, the job names these.
        """
        for submission_id in submission_ids:
            record = self._read(submission_id)
            wanted = list(self._wanted(submission_id))
            if record is not None and self._is_unfinished(record, self._digests[submission_id]):
                wanted = record["again"]
            if (job := self._job(submission_id, wanted)) is not None:
                yield job

    def _is_unfinished(self, record: Record, digest: str) -> bool:
        """Return whether a record only lacks the second run of some tests."""
        same_kind = record["upload"] == digest and record["counts"] == self._asked.counts
        return same_kind and bool(record["again"]) and not record["fault"]

    def _job(self, submission_id: str, wanted: list[str]) -> Job | None:
        """Pack a submission; if there is nothing to grade, record that and return None."""
        request = {
            "name": submission_id,
            "seed": self._seed(submission_id),
            "edition": self._asked.edition,
            "wanted": wanted,
            "counts": self._asked.counts,
            findings.KEY: findings.known(self._folder, submission_id),
        }
        try:
            # In the class's own folder: if this process is killed, no copy is left elsewhere.
            with tempfile.TemporaryDirectory(prefix=PACKING, dir=self._folder.path) as place:
                upload = self._submissions[submission_id].upload
                provided = self._runner.questions.provided
                packed = shipping.pack(upload, Path(place), provided, self._required())
        except SubmissionError as error:
            self._finish(submission_id, self._nothing(submission_id, str(error)))
            self._say(f"{submission_id}: nothing to grade: {error}")
            return None
        return Job(submission_id, packed.content, packed.facts, request)

    def _required(self) -> tuple[str, ...]:
        """Return the files that count; another release may have editions that are unknown here."""
        edition = self._runner.assignment.editions.get(self._asked.edition)
        return self._runner.questions.required_files(edition) if edition else ()

    def _nothing(self, submission_id: str, why: str) -> Record:
        """Return the record of an upload that can't be graded at all."""
        seed, edition = self._release.seed, self._asked.edition
        results = host.nothing_to_grade(self._runner, edition, seed, submission_id)
        results.facts["authoritative"] = self._asked.counts
        answer = {"results": results.as_dict(staff=True), "refused": why}
        return records.graded(self._digests[submission_id], answer, alone=True)

    def _take(self, job: Job, answer: Answer) -> None:
        """Handle an answer from the first pass."""
        if self._is_lost(job, answer):
            self._alone.append(job.submission_id)
            return
        record = self._graded(job, answer, alone=False)
        self._write(job.submission_id, record)
        if record["again"]:
            self._alone.append(job.submission_id)
        else:
            self._done()

    def _take_alone(self, job: Job, answer: Answer) -> None:
        """Handle an answer from a machine that did nothing else meanwhile."""
        submission_id = job.submission_id
        if self._is_lost(job, answer):
            losses = self._losses[submission_id]
            if len(losses) < MOST_LOSSES:
                self._alone.append(submission_id)
                return
            self._finish(submission_id, self._fault(submission_id, losses))
            self._say(f"{submission_id}: staff fault: {losses[-1].splitlines()[0]}")
            return
        record = self._read(submission_id)
        if record is not None and self._is_unfinished(record, self._digests[submission_id]):
            kept = {findings.KEY: findings.of(record) | findings.of(answer)}
            self._finish(submission_id, self._rerun(record, answer) | kept)
        else:
            self._finish(submission_id, self._graded(job, answer, alone=True))

    def _graded(self, job: Job, answer: Answer, alone: bool) -> Record:
        answer["results"]["facts"] |= job.facts
        record = records.graded(self._digests[job.submission_id], answer, alone)
        wanted = job.request["wanted"]  # other tests were not run, as nobody asked for them
        again = [test for test in record["again"] if not wanted or test in wanted]
        return record | {"again": again, findings.KEY: findings.of(answer)}

    def _fault(self, submission_id: str, losses: list[str]) -> Record:
        return records.staff_fault(self._digests[submission_id], losses, self._asked.counts)

    def _rerun(self, record: Record, answer: Answer) -> Record:
        return records.with_rerun(record, answer)

    def _is_lost(self, job: Job, answer: dict[str, Any]) -> bool:
        why = records.ours(answer, self._asked.counts)
        if why:
            self._losses.setdefault(job.submission_id, []).append(why)
            first = why.splitlines()[0]
            self._say(f"{job.submission_id}: no result: {first:.300}")
        return bool(why)

    def _finish(self, submission_id: str, record: Record) -> None:
        self._write(submission_id, record)
        self._done()
