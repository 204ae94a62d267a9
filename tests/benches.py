"""Benches, on which the grader's tests are run on variants (see variants.py) without workers.

Each variant changes a line or two of the same reference, and is asked the same questions. So what
depends on neither is made once: the reference's files are composed and compiled once, and where
several processes share the variants, each question is put to the reference once.
"""

from __future__ import annotations

import multiprocessing
import os
import py_compile
import shutil
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import cache_from_source
from pathlib import Path

from .variants import ROOT, Variant, lay_out

from grading import worker  # isort: skip
from grading.edition import Assignment, TestSpec, load_assignment  # isort: skip
from grading.cases import BoundTest, bind  # isort: skip
from grading.pool import InProcessPool, Pool  # isort: skip
from tools.classroom.remembered import Remembered, RememberingPool  # isort: skip
from grading.results import TestResult  # isort: skip
from grading.runner import Run  # isort: skip
from grading.staging import Staged, stage  # isort: skip
from autograder.judging import Judging, course_runner, stage_reference  # isort: skip
from questions.course import Course  # isort: skip
from questions.shared.data_set import CourseData  # isort: skip
from tests import pinned  # isort: skip


class Bench:
    """Runs the grader's tests on variants, in this process.

    Workers would protect us from variants that exit or hang, of which there are none, and take
    five times as long.
    """

    def __init__(self, work: Path, remembered: Path | None = None) -> None:
        """
        Args:
            work: an empty folder.
            remembered: a folder of the reference's answers, which other benches may share.
        """
        self._assignment = _with_every_topic()
        self._pool: Pool = InProcessPool()
        self._work = work
        data = work / "data"
        data.mkdir()
        (data / "dataset.json").write_text('{"name": "world"}\n', encoding="utf-8")
        self._data = CourseData(self._assignment, data, None)
        self._runner = course_runner(self._assignment, Course())
        judging = self._runner.judging
        assert isinstance(judging, Judging)
        if remembered is not None:
            kept = Remembered(remembered, Course())
            self._pool = RememberingPool(self._pool, kept)
            judging.remember = kept.finding
        self.hidden, self.judges = judging.hidden, judging.judges
        self.tests = bind(self._every_test(), Course().cases())
        self._complete = lay_out(None, work / "complete")
        compile_packages(self._complete)
        self._reference = work / "reference"
        stage_reference(self._reference, Course().provided)
        self._finish(self._reference)

    def _every_test(self) -> tuple[TestSpec, ...]:
        """The tests of each topic, as the first edition that has it gives them."""
        found: dict[str, tuple[TestSpec, ...]] = {}
        for edition in self._assignment.editions.values():
            for question in edition.questions:
                found.setdefault(question.topic, question.tests)
        return tuple(test for tests in found.values() for test in tests)

    def verdicts(
        self, variant: Variant | None, tests: list[BoundTest], seed: int
    ) -> dict[tuple[str, str], TestResult]:
        """Run `tests` on a variant, or on the reference (None); by topic and name."""
        with self._staged(variant) as (staged, work):
            run = Run(
                runner=self._runner,
                edition=self._assignment.edition(None),
                staged=staged,
                work=work,
                pool=self._pool,
                data=self._data,
                seed=seed,
                deadline=time.monotonic() + 3600,
            )
            run.reference = self._reference
            results = [run.run_test(t, TestResult(t.spec, t.description)) for t in tests]
        return {(r.spec.topic, r.spec.name): r for r in results}

    @contextmanager
    def _staged(self, variant: Variant | None) -> Iterator[tuple[Staged, Path]]:
        name = variant.name.replace("/", ".") if variant else "reference"
        work = self._work / f"{name}.{time.monotonic_ns()}"
        try:
            lay_out(variant, work / "source", self._complete)
            (work / "staged").mkdir()
            staged = stage(work / "source", work / "staged", Course().provided)
            self._finish(staged.root)
            yield staged, work
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _finish(self, root: Path) -> None:
        """Add recipes, and the bytecode of the reference's modules, to a staged submission.

        Each probe imports all modules anew. Python takes a file's bytecode only where it is that of
        its source, so that what a variant changes is compiled.
        """
        recipes = Path("pretraining", "recipes.json")
        shutil.copyfile(self._complete / recipes, root / recipes)
        for compiled in self._complete.glob("*/__pycache__"):
            target = root / compiled.relative_to(self._complete)
            shutil.rmtree(target, ignore_errors=True)  # staging compiled the given modules
            shutil.copytree(compiled, target, copy_function=os.link)


def _with_every_topic() -> Assignment:
    """The editions that tests know by heart, and the shipped ones, which may have other topics."""
    known, shipped = pinned.load(), load_assignment(ROOT)
    others = {f"shipped {name}": edition for name, edition in shipped.editions.items()}
    return replace(known, editions=known.editions | others)


def compile_packages(root: Path) -> None:
    """Compile the modules of packages below `root`, for sources that are the same to the byte."""
    for path in root.glob("*/*.py"):
        by_content = py_compile.PycInvalidationMode.CHECKED_HASH
        py_compile.compile(
            str(path), cache_from_source(str(path)), doraise=True, invalidation_mode=by_content
        )


_bench: Bench | None = None  # of a process of `open_executor`


@contextmanager
def open_executor(count: int = 0) -> Iterator[Executor]:
    """Open processes whose functions have a bench: `here()`.

    Args:
        count: how many; by default one for each processor, at most four.
    """
    count = count or min(os.cpu_count() or 1, 4)
    context = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="golden-") as work:
        (Path(work) / "remembered").mkdir(mode=0o700)
        with ProcessPoolExecutor(count, context, _begin, (work,)) as executor:
            yield executor


def _begin(work: str) -> None:
    global _bench
    own = Path(tempfile.mkdtemp(dir=work))
    _bench = Bench(own, Path(work) / "remembered")


def here() -> Bench:
    """Return the bench of this process, which is one of `open_executor`."""
    assert _bench is not None
    return _bench


def use_threads(count: int) -> None:
    """Let torch use so many threads here, where the grader's workers use one."""
    import torch

    worker.preload(True)
    torch.set_num_threads(count)
    worker.preload = lambda with_torch: None
