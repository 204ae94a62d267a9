"""Runs a regrade's tests, and writes its records beside those that they are compared with."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from grading.runner import Runner
from tools.classroom import host

from .. import records, shipping
from ..class_run import Asked, ClassRun, Done, Say
from ..folder import ClassFolder
from ..records import Record
from ..shipping import Job
from ..submissions import Submission
from . import plan
from .plan import Plan, Rules


@dataclass(frozen=True)
class Regrading:
    """What a regrade should do: its rules, the name of its records, and the seed.

    Attributes:
        chosen: the submissions that may change; all others keep their records.
    """

    rules: Rules
    name: str
    chosen: frozenset[str]
    seed: str


class RegradeRun(ClassRun):
    """A run over the submissions that have a record.

    Submissions that can't be run, because their files are gone or something else was handed in
    since, are in `missing` and keep their records.
    """

    def __init__(
        self,
        regrading: Regrading,
        counts: bool,
        folder: ClassFolder,
        submissions: Iterable[Submission],
        release: shipping.Release,
        runner: Runner,
        say: Say,
        done: Done,
    ) -> None:
        self._regrading = regrading
        self._before = {
            each.submission_id: read
            for each in folder.records(regrading.rules.baseline)
            if (read := folder.read_record(each.submission_id, each.release)) is not None
        }
        self._plans = {key: regrading.rules.plan(record) for key, record in self._before.items()}
        self.missing: dict[str, str] = {}
        of_record = [one for one in submissions if one.submission_id in self._before]
        asked = Asked(regrading.rules.described.edition, counts)
        super().__init__(asked, folder, tuple(of_record), release, runner, say, done)

    @property
    def release(self) -> str:
        return self._regrading.name

    @property
    def to_run(self) -> int:
        """How many submissions have tests to run."""
        return sum(bool(self._plans[key].wanted) for key in self._regrading.chosen)

    def plan(self) -> bool:
        """Write the records that need no run; return whether there is anything to run."""
        for submission_id, before in self._before.items():
            if self._is_done(submission_id, before):
                continue
            if submission_id not in self._regrading.chosen:
                self._write(submission_id, before | {"base": plan.identity(before)})
            elif not self._plans[submission_id].wanted:
                self._write(submission_id, self._record(submission_id, None))
            else:
                self._find(submission_id, before)
        return super().plan()

    def _is_done(self, submission_id: str, before: Record) -> bool:
        """Return whether there is a record already, made from the present earlier one."""
        record = self._read(submission_id)
        if record is None:
            return False
        is_of_now = record.get("base") == plan.identity(before)
        if is_of_now and not record.get("kept") and not record["fault"]:
            return True
        if submission_id in self._regrading.chosen:
            (self._folder.submission(submission_id) / f"{self.release}.json").unlink()
        return False

    def _find(self, submission_id: str, before: Record) -> None:
        submission = self._submissions.get(submission_id)
        if submission is None:
            self.missing[submission_id] = "its files are no longer there"
        elif self._digest(submission) != before["upload"]:
            self.missing[submission_id] = "something else was handed in since"
        if why := self.missing.get(submission_id):
            kept = {"base": plan.identity(before), "kept": why}
            self._write(submission_id, before | kept)

    def _is_to_do(self, submission_id: str) -> bool:
        if submission_id in self.missing or submission_id not in self._regrading.chosen:
            return False
        return bool(self._plans[submission_id].wanted)

    def _wanted(self, submission_id: str) -> tuple[str, ...]:
        return self._plans[submission_id].wanted

    def _seed(self, submission_id: str) -> str:
        return self._plans[submission_id].seed or self._regrading.seed

    def _graded(self, job: Job, answer: dict[str, Any], alone: bool) -> Record:
        return self._record(job.submission_id, super()._graded(job, answer, alone))

    def _nothing(self, submission_id: str, why: str) -> Record:
        planned = self._plans[submission_id]
        tests = plan.refused_tests(planned, self._regrading.rules, host.NOTHING)
        facts = {"authoritative": self._asked.counts}
        results = {"tests": tests, "seed": self._seed(submission_id), "facts": facts}
        answer = {"results": results, "refused": why}
        digest = self._digests[submission_id]
        return self._record(submission_id, records.graded(digest, answer, alone=True))

    def _fault(self, submission_id: str, losses: list[str]) -> Record:
        """Return the earlier record with the fault: it can't be applied, and isn't a zero."""
        before = self._before[submission_id]
        return before | {"fault": "\n".join(losses), "base": plan.identity(before)}

    def _rerun(self, record: Record, answer: dict[str, Any]) -> Record:
        results = answer["results"]
        release = {"release": self._release.digest[:16]}
        marked = results | {"tests": [test | release for test in results["tests"]]}
        return super()._rerun(record, answer | {"results": marked})

    def _record(self, submission_id: str, partial: Record | None) -> Record:
        planned: Plan = self._plans[submission_id]
        before, name = self._before[submission_id], self._release.digest[:16]
        return plan.record_of(planned, before, name, partial, self._regrading.rules)
