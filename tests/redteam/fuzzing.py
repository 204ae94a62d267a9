"""Answers that no honest worker gives, and a grader to read them, for `test_fuzz.py`.

The reference's answer to each probe is computed once. In the submission's place, a `Fuzzed` pool
then gives a test's version of that.
"""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import torch

from autograder.isolation.pool import finished
from grading.cases import BoundTest, Run
from grading.pool import Ending, Finished, InProcessPool, Job
from grading.runner import judge
from grading.staging import stage
from grading.verdicts import Results, TestResult
from grading.worker import READY
from questions.course import Course
from questions.provided import CourseData
from tests import benches, laid_out, pinned

from .odd_answers import WELL

SEED = 7
ASSIGNMENT = pinned.load()
ALL = {f"{t.spec.topic}.{t.spec.name}": t for t in benches.every_test(ASSIGNMENT)}
Answer = Callable[[str, Finished], Finished]


class Fuzzed(benches.RememberingPool):
    """A pool that passes the reference's answer through `answer`, for the submission.

    Attributes:
        answer: maps a probe's name and an honest worker's answer to the one to send.
        asked: how often the submission was asked.
        mistake: of these tests, of which the grader would make a verdict.
    """

    roles = ("reference", "submission")

    def __init__(self) -> None:
        super().__init__(InProcessPool())
        self.set(None)

    def set(self, answer: Answer | None) -> None:
        self.answer, self.asked, self.mistake = answer, 0, None

    def run(self, job: Job) -> Finished:
        right = super().run(job)
        torch.set_flush_denormal(False)  # as before the reference's code: hypothesis draws floats
        if self.answer is None or job.role == "reference":
            return right
        self.asked += 1
        try:
            topic, function = job.request["probe"].split(".probe:")
            return self.answer(f"{topic.removeprefix('questions.')}.{function}", right)
        except Exception as error:
            self.mistake = error
            raise


class Grader(benches.Bench):
    """A bench for single tests of the reference, which has files of an untrained model."""

    def __init__(self, work: Path, course: Path) -> None:
        """
        Args:
            work: an empty folder.
            course: a folder with src/data, solutions/data and, in src, the submission.
        """
        self.answers = Fuzzed()
        super().__init__(work, self.answers)
        self._data = CourseData(self._assignment, course / "src/data", course / "solutions/data")
        (work / "staged").mkdir()
        self._submission = stage(course / "src", work / "staged", Course().provided)
        Course().prepare(ASSIGNMENT, self._submission.root)

    def file(self, name: str) -> Path:
        """Return a staged file's path, to be overwritten."""
        return self._submission.root / name

    def run_of(self, test: BoundTest) -> Run:
        """Return a run of an edition that has this test."""
        run = self.run(self._submission, self._work, SEED)
        run.edition = next(e for e in ASSIGNMENT.editions.values() if test.spec in e.tests)
        return run

    def grade(
        self, test: BoundTest, answer: Answer | None = None, hidden: bool = True
    ) -> TestResult:
        """Return how a test ends if the submission's workers answer like this."""
        run = self.run_of(test)
        if not hidden:  # on a student's computer
            run.judging = run.staged.reference = None
        self.answers.set(answer)
        result = judge(run, test, TestResult(spec=test.spec, description=test.description))
        if self.answers.mistake is not None:
            raise self.answers.mistake
        # It can be encoded, whatever it contains.
        whole = Results(run.edition, SEED, [result]).as_dict(staff=True)
        json.dumps(whole, allow_nan=False).encode("utf-8")
        return result


def answering(frame: bytes | None, ending: Ending = WELL, output: str = "") -> Finished:
    """Return what the pool gets from a worker that sent these bytes after READY."""
    sent = SimpleNamespace(data=bytearray(READY + (frame or b"")))
    return finished(ending, sent, SimpleNamespace(data=output.encode("utf-8", "replace")))


PREDICTED = ["vanilla.nopretrain", "vanilla.pretrain", "synthesizer.pretrain", "rope.pretrain"]


def lay_out(course: Path) -> Path:
    """Fill a folder: a smoke world, the reference, untrained parameters, right predictions."""
    source = laid_out.lay_out(course) / "src"
    corpus = (source / "data" / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    with laid_out.imports_from(source):
        from submission import helper, model

        for variant in ASSIGNMENT.variants:
            fields = ASSIGNMENT.settings("smoke", "model", variant)
            config = model.GPTConfig(**fields, vocab_size=len(set(corpus)) + 2)
            made = getattr(helper, f"initialize_{variant}_model")(config)
            for stage in ("model", "pretrain", "finetune"):
                torch.save(made.state_dict(), source / f"{variant}.{stage}.params")
    answers = {
        "dev": source / "data" / "birth_dev.tsv",
        "test": course / "solutions" / "data" / "birth_test.tsv",
    }
    for split, path in answers.items():
        places = [row.split("\t")[1] for row in path.read_text(encoding="utf-8").splitlines()]
        text = "".join(f"{place}\n" for place in places)
        for name in PREDICTED:
            (source / f"{name}.{split}.predictions").write_text(text, encoding="utf-8")
    return course
