"""`grade SOURCE --into DIR`: grade a class on the cores of this machine, or on a cluster.

`grade_all` grades any list of submissions, each with its own seed and tests, and keeps a record of
each in one transaction when it arrives. Whatever ends it, calling it again completes what is left.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import re
import sys
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]

from autograder.authoritative import SECRET, seed_of
from autograder.description import load_assignment
from grading import paths
from grading.cases import in_scope
from grading.edition import EDITION
from grading.errors import SubmissionError, UsageError
from grading.verdicts import ExitCode, Outcome

from . import times
from .arguments import (
    CONTINUE,
    MOST_SLOTS,
    Commands,
    Where,
    add_cluster,
    add_command,
    add_folder,
    count,
    where_of,
)
from .exports import add_source, read_source, show_notes
from .store import Store
from .submissions import PREVIEW, Record, Submission

Say = Callable[[str], None]
Answer = dict[str, Any]  # a worker's: `autograder/single.py`, or {"lost": why}
GRADE = "grade"  # the kind of records that count as soon as they are there
GRADING = (
    "exit codes: 0 done, 1 some submissions have no result, 2 wrong usage or bad input, 3 the "
    f"cluster or a disk failed ({CONTINUE}), 130 interrupted"
)
SAME_INPUTS = (
    "all submissions get the same inputs: scores can be compared test by test, but a student who "
    "learns what one submission was tested with can prepare another one for it"
)
FAULT = "staff fault"
IS_PREVIEW = "these results are a preview, and don't count"
# Outcomes that another submission on the same machine may have caused.
KILLED = (Outcome.KILLED.value,)
LIMITS = (*KILLED, Outcome.TIMED_OUT.value, Outcome.OUT_OF_MEMORY.value, Outcome.NOT_RUN.value)
# How many are graded at once, and after which outcomes tests run again. Whatever killed a test may
# also have been somebody on the machine, and may come twice.
ROUNDS = ((MOST_SLOTS, LIMITS), (1, KILLED), (1, KILLED), (1, ()))
ARCHIVED = "autograder.zip"  # in the archive of a release
EDITION_OF = re.compile(rb"--edition (\S+)")  # in run_autograder


@dataclass(frozen=True)
class Release:
    """A packed autograder, as `make autograder` builds it for one edition; an archive has one, too.

    Attributes:
        secret: from which the seeds of its submissions are derived.
        description: all editions, as JSON.
    """

    digest: str
    edition: str
    title: str
    description: str
    secret: bytes
    content: bytes

    @cached_property
    def id(self) -> str:
        """Its name in a class: the release's name, if it has one, with digits of its digest."""
        name = json.loads(self.description)["editions"][self.edition].get("release")
        return f"{name}-{self.digest[:12]}" if name else self.digest[:16]

    @classmethod
    def read(cls, path: Path) -> Release:
        """Read a packed autograder, or that of a release's archive.

        Raises:
            UsageError: it is missing, or isn't one.
        """
        try:
            content = path.read_bytes()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                if ARCHIVED in archive.namelist():
                    content = archive.read(ARCHIVED)
            with zipfile.ZipFile(io.BytesIO(content)) as packed:
                description = packed.read(EDITION.as_posix()).decode("utf-8")
                secret = packed.read(f"solutions/data/{SECRET}")
                found = EDITION_OF.search(packed.read("run_autograder"))
        except FileNotFoundError:
            raise UsageError(
                f"{path}: there is no such file; `make autograder` builds it, and `--release FILE` "
                "names another one"
            ) from None
        except (OSError, KeyError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path} is not a packed autograder: {error}") from None
        edition = found[1].decode("utf-8") if found else ""
        title = json.loads(description)["editions"][edition]["title"]
        digest = hashlib.sha256(content).hexdigest()
        return cls(digest, edition, title, description, secret, content)

    def seed(self, submission: str) -> str:
        """Return the seed of a submission, which is the one that Gradescope would have used."""
        return str(seed_of(self.secret, submission.removeprefix("submission_")))

    def keep(self, store: Store) -> None:
        """Let a class know it."""
        store.db.execute(
            "INSERT OR IGNORE INTO releases VALUES (?, ?, ?, ?, ?, ?)",
            (self.id, self.edition, self.digest, self.title, times.now(), self.description),
        )


@dataclass(frozen=True)
class Job:
    """A submission to grade.

    Attributes:
        tests: the ids of the tests to run; empty: all.
    """

    submission: Submission
    seed: str
    tests: tuple[str, ...] = ()


def grade_all(
    store: Store,
    jobs: Sequence[Job],
    release: Release,
    kind: str,
    where: Where,
    say: Say,
    done: Callable[[], object] = lambda: None,
) -> None:
    """Grade submissions that have no record of this release and kind yet, or another upload's.

    Records of staff faults are replaced. Those of the kind "grade" count when they are kept.
    Tests that ended in a limit run again when nothing else does, and that result is kept; those
    that were killed run again twice more.

    Args:
        store: opened for writing.
        kind: of the records: "grade", "preview" or "regrade-N".
        say: called with a line about each problem when it occurs; the line contains no names.
        done: called once for each job that has its record.

    Raises:
        ClusterFailed: no workers are left. What was graded before is kept.
        GradingError, OSError: a record can't be kept. What was graded before is kept.
    """
    run = _Run(store, release, kind, say, done)
    todo = [job for job in jobs if not run.is_done(job)]
    if not todo:
        return
    from .cluster import Cluster  # takes a second to import

    name = f"grader-{release.digest[:16]}{'' if run.counts else f'-{PREVIEW}'}"
    with Cluster(where, name, release.content, run.counts, say) as cluster:
        for most, limits in ROUNDS:
            for job, answer in cluster.run(run.tasks(todo), most):
                run.take(job, answer, limits)
            todo, run.again = run.again, []


class _Run:
    """One run over some submissions.

    Attributes:
        again: what has to run again alone; the answer so far is in `_first`.
    """

    def __init__(
        self, store: Store, release: Release, kind: str, say: Say, done: Callable[[], object]
    ) -> None:
        self._store, self._release, self._kind = store, release, kind
        self._say, self._done = say, done
        self.counts = kind != PREVIEW
        self.again: list[Job] = []
        self._first: dict[str, Answer] = {}
        self._digests: dict[str, str] = {}

    def is_done(self, job: Job) -> bool:
        """Return whether a job has its record."""
        key = job.submission.id
        record = self._store.record(key, self._release.id, self._kind)
        if record is None or record["outcome"] == FAULT or record["seed"] != job.seed:
            return False
        if record["upload"] != _digest(_packed(job.submission)[0]):
            return False
        self._done()
        return True

    def tasks(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, bytes, dict[str, Any]]]:
        """Yield what is sent to workers; submissions are packed only now, to save memory."""
        for job in jobs:
            upload, refused = _packed(job.submission)
            self._digests[job.submission.id] = _digest(upload)
            request = {
                "name": job.submission.id,
                "seed": job.seed,
                "edition": self._release.edition,
                "tests": list(job.tests),
                "refused": refused,
            }
            yield job, upload, request

    def take(self, job: Job, answer: Answer, limits: Collection[str]) -> None:
        """Keep an answer, unless some of its tests have to run again, because of these outcomes."""
        first = self._first.pop(job.submission.id, None)
        if "lost" in answer or answer["refused"]:
            self._keep(job, answer)
            return
        if first is not None:
            results = merged(first["results"], answer["results"], job.tests)
            answer = answer | {"results": results, "took_s": first["took_s"] + answer["took_s"]}
        if again := limited(answer["results"], job, limits):
            self._first[job.submission.id] = answer
            self.again.append(Job(job.submission, job.seed, again))
        else:
            self._keep(job, answer)

    def _keep(self, job: Job, answer: Answer) -> None:
        key, outcome = job.submission.id, "graded"
        if "lost" in answer:
            outcome = FAULT
            self._say(f"{key}: staff fault: {answer['lost'].splitlines()[0]:.300}")
        elif answer["refused"]:
            outcome = "nothing to grade"
            self._say(f"{key}: nothing to grade: {answer['refused']}")
        record = Record(
            submission=key,
            release=self._release.id,
            kind=self._kind,
            outcome=outcome,
            seed=job.seed,
            upload=self._digests[key],
            results=json.dumps(answer["results"]) if "results" in answer else None,
            reason=answer.get("lost") or answer["refused"],
            took_s=answer.get("took_s", 0.0),
            processor=answer.get("processor", ""),
        )
        with self._store.transaction():
            self._release.keep(self._store)
            number = self._store.add_record(record)
            if self._kind == GRADE and outcome != FAULT:
                self._count(number)
        self._done()

    def _count(self, record: int) -> None:
        """Let a record count; the first one decides which edition and release do."""
        if self._store.setting("release") is None:
            self._store.set("edition", self._release.edition)
            self._store.set("release", self._release.id)
            self._store.note(f"edition {self._release.edition} counts", self._release.id)
        self._store.count(record)


def limited(results: dict[str, Any], job: Job, limits: Collection[str]) -> tuple[str, ...]:
    """Return the ids of tests with these outcomes, of those that the job asked for."""
    return tuple(
        test["test_id"]
        for test in results["tests"]
        if test["outcome"] in limits
        and (not job.tests or any(in_scope(word, test["test_id"]) for word in job.tests))
    )


def merged(
    results: dict[str, Any], partial: dict[str, Any], test_ids: Collection[str]
) -> dict[str, Any]:
    """Return results in which some tests are replaced by those of a run that was asked for them.

    All other tests stay as they are: a test that nobody asked for doesn't become a zero.
    """
    later = {test["test_id"]: test for test in partial["tests"] if test["test_id"] in test_ids}
    tests = [later.get(test["test_id"], test) for test in results["tests"]]
    paid = [test for test in tests if not test["is_extra_credit"]]
    if results["asked"]:
        paid = [t for t in paid if any(in_scope(word, t["test_id"]) for word in results["asked"])]
    return results | {
        "tests": tests,
        "score": float(sum((Decimal(str(test["score"])) for test in tests), Decimal(0))),
        "max_score": float(sum((Decimal(str(test["max_score"])) for test in paid), Decimal(0))),
    }


def _packed(submission: Submission) -> tuple[bytes, str]:
    """Return what is sent of a submission, and why there is nothing to grade, or ""."""
    try:
        return submission.upload.pack(), ""
    except SubmissionError as error:
        return b"", str(error)


def _digest(upload: bytes) -> str:
    return hashlib.sha256(upload).hexdigest()


# The commands -------------------------------------------------------------------------------------


def add_to(commands: Commands) -> None:
    """Add the commands."""
    command = add_command(
        commands,
        "grade",
        run,
        "grade a class, and keep a record of each submission",
        "Grade what a class handed in, and keep a record of each submission in DIR. Submissions "
        "that have a result that counts are skipped. The first result decides which edition and "
        "release count; `regrade` and `apply` change that.",
        GRADING,
    )
    add_source(command)
    add_folder(command, "--into")
    add_release(command)
    add_cluster(command)
    command.add_argument(
        "--preview",
        action="store_true",
        help="also grade on workers that aren't root; the results don't count",
    )
    command.add_argument("--same-inputs", action="store_true", help=SAME_INPUTS)
    made = add_command(
        commands,
        "certificates",
        make_certificates,
        "make the certificates with which a cluster's machines authenticate each other",
    )
    made.add_argument("folder", type=Path, metavar="DIR", help="a new folder")


def add_release(command: argparse.ArgumentParser) -> None:
    """Add the arguments that `release_of` takes."""
    command.add_argument(
        "--edition",
        metavar="EDITION",
        help="default: the class's, or the default edition in assignment.toml",
    )
    command.add_argument(
        "--release",
        type=Path,
        metavar="FILE",
        help="a packed autograder, or the archive of a release; default: "
        "dist/autograder-EDITION.zip, from `make autograder`",
    )


def release_of(asked: argparse.Namespace, store: Store) -> Release:
    """Read the release that was named in a command.

    Raises:
        UsageError: there is none, it is for another edition, or there is no such edition.
    """
    path = asked.release
    if path is None:
        chosen = asked.edition or store.setting("edition")
        edition = load_assignment(paths.ROOT).edition(chosen).name
        path = paths.ROOT / "dist" / f"autograder-{edition}.zip"
    release = Release.read(path)
    if asked.edition not in (None, release.edition):
        raise UsageError(f"{path} is for the edition {release.edition}, not {asked.edition}")
    return release


def run(asked: argparse.Namespace) -> int:
    """Grade a class; return the exit code."""
    on, export = where_of(asked), read_source(asked)
    with Store.create(asked.folder) as store:
        release = release_of(asked, store)
        if not asked.preview:
            refuse_other(store, release)
        show_notes(export)
        store.add_submissions(asked.source, export.kind, export.submissions)
        if asked.same_inputs:
            print(f"note: {SAME_INPUTS}")
        kind = PREVIEW if asked.preview else GRADE
        jobs = [
            Job(one, release.seed("same inputs" if asked.same_inputs else one.id))
            for one in export.submissions
            if asked.preview or not _has_counted(store, one)
        ]
        with progress_bar(len(export.submissions)) as bar:
            bar.update(len(export.submissions) - len(jobs))
            say = teller(bar)
            grade_all(store, jobs, release, kind, on, say, bar.update)
        return show_totals(store, release, kind, [one.id for one in export.submissions])


def _has_counted(store: Store, submission: Submission) -> bool:
    """Return whether a submission has a result that counts; say so if its files have changed."""
    record = store.counted(submission.id)
    if record is None:
        return False
    if record["upload"] not in ("", _digest(_packed(submission)[0])):
        print(
            f"note: {submission.id}: its files have changed since they were graded; the result "
            "that counts stays; `regrade --new-files` shows what would change"
        )
    return True


def refuse_other(store: Store, release: Release) -> None:
    """Refuse to let an edition or release count beside another one.

    Raises:
        UsageError: another one counts.
    """
    counting = store.setting("release")
    if counting not in (None, release.id):
        raise UsageError(
            f"in {store.path}, release {counting} of the edition {store.setting('edition')} "
            f"counts, and this is release {release.id} of {release.edition}: `regrade` shows what "
            "it would change, and `apply` lets it count; --release names a file of the first one"
        )


def progress_bar(submissions: int) -> tqdm:
    """Return a bar on standard error."""
    return tqdm(total=submissions, unit="submission")


def teller(bar: tqdm) -> Say:
    """Return a function that prints a line to standard error, above a progress bar."""
    return lambda line: bar.write(line, file=sys.stderr)


def show_totals(store: Store, release: Release, kind: str, submissions: Sequence[str]) -> int:
    """Print what was graded; return the exit code."""
    found = {key: _record(store, release, kind, key) for key in submissions}
    present = {key: record for key, record in found.items() if record is not None}
    faults = {k: r for k, r in present.items() if r["outcome"] == FAULT}
    refused = sum(record["outcome"] == "nothing to grade" for record in present.values())
    results = len(present) - len(faults)
    print(
        f"{results} of {count(len(submissions), 'submission')} have a result from release "
        f"{release.id} of {release.edition}; {refused} of them had nothing to grade"
    )
    if kind == PREVIEW:
        print(IS_PREVIEW)
    for key, record in faults.items():
        print(f"staff fault: {key}: {record['reason'].splitlines()[0]:.300}")
    if len(present) < len(submissions):
        print(f"{count(len(submissions) - len(present), 'submission')} not graded; {CONTINUE}")
    return ExitCode.OK if results == len(submissions) else ExitCode.FAILED


def _record(store: Store, release: Release, kind: str, submission: str) -> Any:
    counted = store.counted(submission) if kind == GRADE else None
    return counted or store.record(submission, release.id, kind)


def make_certificates(asked: argparse.Namespace) -> int:
    """Write a cluster's certificates."""
    from .cluster import write_certificates

    write_certificates(asked.folder)
    print(
        f"{asked.folder} contains a key: whoever has it can run code on the cluster. Copy the "
        "folder to each machine of the cluster, and nowhere else."
    )
    return ExitCode.OK
