"""Answers that no honest worker gives, and a grader to read them, for `test_fuzz.py`.

A `Fuzzed` pool takes the place of workers. The reference's answer to each probe is recorded once,
by a real worker; in the submission's place, the pool then answers with a test's version of that.
"""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from autograder.gradescope import document
from autograder.isolation import sandbox
from autograder.isolation.pool import finished
from autograder.judging import Judging, course_runner
from grading import wire
from grading.cases import BoundTest, Run, bind
from grading.pool import Ending, Finished, Job, Pool
from grading.runner import Runner, case_of, judge
from grading.staging import stage
from grading.verdicts import Outcome, Results, TestResult
from grading.worker import READY
from questions.course import Course
from questions.provided import CourseData
from questions.shared import trained_files
from tests import laid_out, pinned
from tools import reference

from .odd_answers import WELL

SEED = 7
KEPT_BYTES = 200 << 20  # of recorded answers; the largest is of 25 MB
UNCONFINED = sandbox.Layers(root=False, landlock_abi=0, seccomp=False)  # only the reference runs
ASSIGNMENT = pinned.load()
CASES = Course().cases()


def every_test() -> list[BoundTest]:
    """Return the tests of all editions, each once."""
    found: dict[tuple, BoundTest] = {}
    for edition in ASSIGNMENT.editions.values():
        for test in bind(edition.tests, CASES):
            found.setdefault((test.spec.topic, test.spec.name, test.spec.kind), test)
    return list(found.values())


class Fuzzed:
    """A pool that passes the reference's answer through `answer`, for the submission.

    Attributes:
        answer: maps a probe's name and an honest worker's bytes to the bytes to send.
    """

    def __init__(self, real: Pool, staged: Path) -> None:
        self._real, self._staged = real, str(staged)
        self._recorded: dict[bytes, Finished] = {}
        self.answer: Callable[[str, Finished], Finished] | None = None
        self.asked = 0  # of the submission
        self.mistake: Exception | None = None

    def run(self, job: Job) -> Finished:
        right = self._right(job)
        if self.answer is None or job.request["submission"] != self._staged:
            return right
        self.asked += 1
        try:
            topic, function = job.request["probe"].split(".probe:")
            return self.answer(f"{topic.removeprefix('questions.')}.{function}", right)
        except Exception as error:
            self.mistake = error  # of these tests: the grader would make a verdict of it
            raise

    def _right(self, job: Job) -> Finished:
        key = hashlib.sha256(wire.encode(job.request)).digest()
        done = self._recorded.pop(key, None) or self._real.run(job)
        self._recorded[key] = done  # the latest
        while sum(len(each.frame or b"") for each in self._recorded.values()) > KEPT_BYTES:
            del self._recorded[next(iter(self._recorded))]  # the oldest
        return done


class Grader:
    """Runs single tests on the reference as it was staged, with files of an untrained model."""

    def __init__(self, real: Pool, work: Path, course: Path) -> None:
        """
        Args:
            work: an empty folder.
            course: a folder with src/data, solutions/data and, in src, the submission.
        """
        (work / "staged").mkdir()
        self._staged = stage(course / "src", work / "staged", Course().provided)
        Judging.stage_reference(work / "reference", Course().provided)
        for root in (self._staged.root, work / "reference"):
            Course().prepare(ASSIGNMENT, root)
        self._work, self.course = work, course
        self._data = CourseData(ASSIGNMENT, course / "src" / "data", course / "solutions" / "data")
        self._pool = Fuzzed(real, self._staged.root)
        self._probes: dict[BoundTest, int] = {}

    def file(self, name: str) -> Path:
        """Return a staged file's path, to be overwritten."""
        return self._staged.root / name

    def run(self, test: BoundTest, hidden: bool = True) -> Run:
        """Return a run of an edition that has this test."""
        edition = next(e for e in ASSIGNMENT.editions.values() if test.spec in e.tests)
        make = course_runner if hidden else Runner
        runner = make(ASSIGNMENT, Course())
        reference = self._work / "reference" if hidden else None
        return Run(
            assignment=ASSIGNMENT,
            edition=edition,
            judging=runner.judging,
            find_probe=Course().probe,
            staged=replace(self._staged, reference=reference),
            work=self._work,
            pool=self._pool,
            data=self._data,
            seed=SEED,
            deadline=time.monotonic() + 3600,
        )

    def probes(self, test: BoundTest) -> int:
        """Return how many probes a test runs on an honest submission."""
        if test not in self._probes:
            self.grade(test, lambda _, right: right)
            self._probes[test] = self._pool.asked
        return self._probes[test]

    def leaderboard(self, answer: Callable[[str, Finished], Finished]) -> list[dict[str, Any]]:
        """Return the rows of a leaderboard if the submission's workers answer like this."""
        test = next(test for test in every_test() if test.spec.torch)
        run = self.run(test)
        self._pool.answer = answer
        # All tests pass, or there would be no rows.
        passed = [
            TestResult(spec=t, description="does", outcome=Outcome.PASSED)
            for t in run.edition.tests
        ]
        results = Results(run.edition, SEED, passed)
        case = partial(case_of, run, bind(run.edition.tests, CASES))
        return document.leaderboard(ASSIGNMENT, results, case)

    def grade(
        self,
        test: BoundTest,
        answer: Callable[[str, Finished], Finished] | None = None,
        hidden: bool = True,
    ) -> TestResult:
        """Return how a test ends if the submission's workers answer like this."""
        run = self.run(test, hidden)
        self._pool.answer, self._pool.asked, self._pool.mistake = answer, 0, None
        result = judge(run, test, TestResult(spec=test.spec, description=test.description))
        if self._pool.mistake is not None:
            raise self._pool.mistake
        whole = Results(run.edition, SEED, [result]).as_dict(staff=True)
        json.dumps(whole, allow_nan=False).encode(
            "utf-8"
        )  # it can be encoded, whatever it contains
        return result


def answering(
    frame: bytes | None, ending: Ending = WELL, output: str = "", ready: bytes = READY
) -> Finished:
    """Return what the pool gets from a worker that sent these bytes after READY."""
    sent = SimpleNamespace(data=bytearray(ready + (frame or b"")))
    return finished(ending, sent, SimpleNamespace(data=output.encode("utf-8", "replace")))


# A course ------------------------------------------------------------------------------------

VARIANTS = list(ASSIGNMENT.variants)
STAGES = ["pretrain", "finetune"]
PARAMETERS = ["vanilla.model", *(f"{v}.{stage}" for v in VARIANTS for stage in STAGES)]
PREDICTED = ["vanilla.nopretrain", "vanilla.pretrain", "synthesizer.pretrain", "rope.pretrain"]


def lay_out(course: Path) -> Path:
    """Fill a folder: a smoke world, the reference, untrained parameters, right predictions."""
    source = laid_out.lay_out(course) / "src"
    reference.compose(laid_out.REPOSITORY, source)
    for params in PARAMETERS:
        torch.save(_model(source, params.split(".")[0]).state_dict(), source / f"{params}.params")
    tables = {
        "dev": source / "data" / "birth_dev.tsv",
        "test": course / "solutions" / "data" / "birth_test.tsv",
    }
    for split, path in tables.items():
        places = [row.split("\t")[1] for row in path.read_text(encoding="utf-8").splitlines()]
        text = "".join(f"{place}\n" for place in places)
        for name in PREDICTED:
            (source / f"{name}.{split}.predictions").write_text(text, encoding="utf-8")
    return course


def _model(source: Path, variant: str) -> torch.nn.Module:
    config = trained_files.model_configs(ASSIGNMENT, ASSIGNMENT.datasets["smoke"], variant)["smoke"]
    corpus = (source / "data" / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    with laid_out.imports_from(source):
        from submission import helper, model

        make = getattr(helper, f"initialize_{variant}_model")
        return make(model.GPTConfig(**config, vocab_size=len(set(corpus)) + 2))
