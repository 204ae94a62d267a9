"""`repeat DIR N`: run a release several times with fresh seeds, and find verdicts that vary."""

from __future__ import annotations

import argparse
import contextlib
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]

from grading import paths
from grading.edition import load_assignment
from grading.errors import UsageError
from grading.runner import Runner
from grading.verdicts import ExitCode
from questions.course import Course

from ..choosing import chosen
from ..class_run import Asked, ClassRun
from ..dispatching import (
    CONTINUE,
    Cluster,
    add_cluster,
    check_cluster,
    cut_short,
    report_failure,
    teller,
)
from ..folder import ClassFolder, read_json, write_json
from ..handed_files import add_files, submissions_of
from ..parsers import GRADING, Commands, add_command, add_folder
from ..records import Record
from ..table import newest_release
from .difference import cause, verdict
from .other_release import describe
from .regrade import Before, add_scope

REPEATS = "repeats"  # a folder beside a submission's records, and a file with the seeds
MOST = 100
KEPT = ("test_id", "outcome", "score", "max_score", "credit", "cause")


def add_to(commands: Commands) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "repeat",
        run,
        "grade a class N times with fresh seeds, and list the verdicts that vary",
        "Grade the class N times with this checkout, each time with a fresh seed, and list every "
        "verdict that varies. None of the results count.",
        GRADING,
    )
    add_folder(command)
    command.add_argument("times", type=int, metavar="N", help="how many times to grade it")
    add_scope(command)
    add_files(command)
    add_cluster(command)


def run(asked: argparse.Namespace) -> int:
    """Run a release N times, and list what varies."""
    check_cluster(asked)
    if not 2 <= asked.times <= MOST:
        raise UsageError(f"N = {asked.times} should be a number from 2 to {MOST}")
    folder = ClassFolder.existing(asked.folder)
    with folder.locked(), tqdm(unit="submission", disable=None) as bar:
        say = teller(bar)
        before = Before.read(folder, newest_release(folder))
        release = before.release_of(paths.ROOT)
        described = describe(paths.ROOT, before.edition)
        wanted = tuple(sorted(described.scope(asked.only))) if asked.only else ()
        ids = chosen(folder, asked.students)
        found = submissions_of(folder, asked, say)
        submissions = tuple(s for s in found if ids is None or s.submission_id in ids)
        name = release.digest[:16]
        seeds = seeds_of(folder, name, asked.times)
        runner = Runner(load_assignment(paths.ROOT), Course())
        kind = Asked(before.edition, before.counts)
        given = (kind, folder, submissions, release, runner, say, bar.update)
        bar.reset(total=len(submissions) * len(seeds))
        with contextlib.closing(Cluster(asked, release, before.counts, say)) as cluster:

            def work() -> None:
                for seed in seeds:
                    made = RepeatRun(seed, wanted, *given)
                    if made.plan():
                        made.run(cluster.dispatcher())

            failed = cut_short(work, folder)
        return _show(folder, name, len(seeds), [s.submission_id for s in submissions], failed)


class RepeatRun(ClassRun):
    """A run with one seed; only its verdicts are kept."""

    def __init__(self, seed: str, tests: tuple[str, ...], *given: Any) -> None:
        """
        Args:
            tests: the ids of the tests to run; () for all.
            given: the arguments of ClassRun.
        """
        super().__init__(*given)
        self._repeated, self._tests = seed, tests

    def _seed(self, submission_id: str) -> str:
        return self._repeated

    def _wanted(self, submission_id: str) -> tuple[str, ...]:
        return self._tests

    def _path(self, submission_id: str) -> Path:
        name = f"{self.release}-{self._repeated}.json"
        return self._folder.submission(submission_id) / REPEATS / name

    def _read(self, submission_id: str) -> Record | None:
        path = self._path(submission_id)
        record = read_json(path) if path.is_file() else None
        if record is None or record["results"] is None:
            return record
        has = {test["test_id"] for test in record["results"]["tests"]}
        return record if has >= set(self._tests) and (self._tests or record["whole"]) else None

    def _write(self, submission_id: str, record: Record) -> None:
        path = self._path(submission_id)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        results = record["results"]
        if results is not None:
            tests = [t for t in results["tests"] if not self._tests or t["test_id"] in self._tests]
            short = [{key: test[key] for key in KEPT if key in test} for test in tests]
            record = record | {"results": {"tests": short, "facts": {}}}
        write_json(path, record | {"whole": not self._tests})


def seeds_of(folder: ClassFolder, release: str, times: int) -> list[str]:
    """Return fresh seeds; those with which a release was already repeated come first."""
    path = folder.path / f"{REPEATS}.json"
    known: dict[str, list[str]] = read_json(path) if path.is_file() else {}
    seeds = known.get(release, [])
    seeds += [str(secrets.randbits(63)) for _ in range(times - len(seeds))]
    write_json(path, known | {release: seeds})
    return seeds[:times]


def repeated(folder: ClassFolder, submission_id: str, release: str) -> dict[str, Counter[str]]:
    """Return how often each test of a submission ended in each way when a release was repeated."""
    ends: dict[str, Counter[str]] = {}
    for path in sorted((folder.submission(submission_id) / REPEATS).glob(f"{release}-*.json")):
        results = read_json(path)["results"]
        for test in results["tests"] if results else ():
            _, credit = verdict(test)
            word = cause(test) + (f" ({credit})" if 0 < credit < 1 else "")
            ends.setdefault(test["test_id"], Counter())[word] += 1
    return ends


def releases(folder: ClassFolder) -> list[str]:
    """Return the releases that were repeated."""
    path = folder.path / f"{REPEATS}.json"
    return list(read_json(path)) if path.is_file() else []


def varied(
    folder: ClassFolder, release: str, submission_ids: Iterable[str]
) -> Iterator[tuple[str, str, Counter[str]]]:
    """Yield (submission, test, how often it ended in each way) for each verdict that varies."""
    for submission_id in submission_ids:
        for test_id, ends in repeated(folder, submission_id, release).items():
            if len(ends) > 1:
                yield submission_id, test_id, ends


def _show(folder: ClassFolder, name: str, times: int, ids: list[str], failed: str) -> int:
    found = list(varied(folder, name, ids))
    for submission_id, test_id, ends in found:
        words = ", ".join(f"{word} {count}" for word, count in ends.most_common())
        print(f"{submission_id}  {test_id}: {words}")
    tests = Counter(test_id for _, test_id, _ in found)
    by_test = ", ".join(f"{test_id}: {n}" for test_id, n in sorted(tests.items()))
    total = f"{len(found)} verdict{' varies' if len(found) == 1 else 's vary'} ({by_test})"
    print(
        f"release {name}, {times} seeds, {len(ids)} submissions: "
        + (total if found else "no verdict varies")
    )
    if failed:
        return report_failure(failed)
    done = [list((folder.submission(i) / REPEATS).glob(f"{name}-*.json")) for i in ids]
    lost = sum(bool(read_json(path)["fault"]) for paths_ in done for path in paths_)
    if lost:
        print(f"Runs without a result because of a staff fault: {lost}. {CONTINUE.capitalize()}.")
    return ExitCode.FAILED if lost else ExitCode.OK
