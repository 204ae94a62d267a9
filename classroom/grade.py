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
import sqlite3
import sys
import zipfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped]

import grading
from autograder.authoritative import SECRET, seed_of
from autograder.description import load_assignment
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
from .submissions import PREVIEW, Record, Submission, is_named, with_tests

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
# Outcomes that another submission on the same machine may have caused.
KILLED = (Outcome.KILLED.value,)
LIMITS = (*KILLED, Outcome.TIMED_OUT.value, Outcome.OUT_OF_MEMORY.value, Outcome.NOT_RUN.value)
# How many are graded at once, and after which outcomes tests run again. What killed a test may have
# come from outside, and may come twice.
ROUNDS = ((MOST_SLOTS, LIMITS), (1, KILLED), (1, KILLED), (1, ()))
ARCHIVED = "autograder.zip"  # in the archive of a release
EDITION_OF = re.compile(r"--edition (\S+)")  # in run_autograder


@dataclass(frozen=True)
class Release:
    """A packed autograder, as `make autograder` builds it for one edition; an archive has one, too.

    Attributes:
        secret: from which the seeds of its submissions are derived.
        description: its `src/edition.json`, with all editions.
    """

    digest: str
    edition: str
    title: str
    description: str
    secret: bytes
    content: bytes

    @property
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
                edition = EDITION_OF.findall(packed.read("run_autograder").decode("utf-8"))[0]
                title = json.loads(description)["editions"][edition]["title"]
        except FileNotFoundError:
            raise UsageError(
                f"{path}: there is no such file; `make autograder` builds it, and `--release FILE` "
                "names another one"
            ) from None
        except (OSError, LookupError, ValueError, zipfile.BadZipFile) as error:
            raise UsageError(f"{path} is not a packed autograder: {error}") from None
        digest = hashlib.sha256(content).hexdigest()
        return cls(digest, edition, title, description, secret, content)

    def seed(self, submission: str) -> str:
        """Return the seed of a submission, which is the one that Gradescope would have used."""
        return str(seed_of(self.secret, submission.removeprefix("submission_")))


@dataclass(frozen=True)
class Job:
    """A submission to grade.

    Attributes:
        tests: the ids of the tests to run; empty: all.
        earlier: the answer in which only these tests run again.
    """

    submission: Submission
    seed: str
    tests: tuple[str, ...] = ()
    earlier: Answer | None = None


def grade_all(store: Store, jobs: Sequence[Job], release: Release, kind: str, where: Where) -> None:
    """Grade submissions that have no record of this release and kind yet, or another upload's.

    Records of staff faults are replaced. Those of the kind "grade" count when they are kept.
    Tests that ended in a limit run again when nothing else does, and that result is kept; those
    that were killed run again twice more. Progress and problems are shown on standard error,
    without names.

    Args:
        store: opened for writing.
        kind: of the records: "grade", "preview" or "regrade-N".

    Raises:
        ClusterFailed: no workers are left. What was graded before is kept.
        GradingError, OSError: a record can't be kept. What was graded before is kept.
    """
    with tqdm(total=len(jobs), unit="submission", disable=not jobs) as bar:
        todo = [job for job in jobs if not _is_done(store, job, release, kind)]
        bar.update(len(jobs) - len(todo))
        if not todo:
            return
        from .cluster import connected  # takes a second to import
        from .worker import Grader

        say, counts = partial(bar.write, file=sys.stderr), kind != PREVIEW
        name = f"grader-{release.digest[:16]}{'' if counts else f'-{PREVIEW}'}"
        with connected(where, Grader(name, release.content, counts), say) as cluster:
            for most, limits in ROUNDS:
                again = []
                for (job, digest), answer in cluster.run(_tasks(todo, release), most):
                    if "lost" not in answer and not answer["refused"]:
                        answer = _completed(job, answer)
                        if tests := _limited(job, answer, limits):
                            again.append(replace(job, tests=tests, earlier=answer))
                            continue
                    record = _record_of(job, digest, answer, release, kind)
                    if record.reason:
                        why = f"{record.outcome}: {record.reason.splitlines()[0]:.300}"
                        say(f"{record.submission}: {why}")
                    _keep(store, record, release)
                    bar.update()
                todo = again


def _is_done(store: Store, job: Job, release: Release, kind: str) -> bool:
    record = store.record(job.submission.id, release.id, kind)
    if record is None or record["outcome"] == FAULT or record["seed"] != job.seed:
        return False
    return bool(record["upload"] == _packed(job.submission)[1])


def _tasks(
    jobs: Sequence[Job], release: Release
) -> Iterator[tuple[tuple[Job, str], bytes, dict[str, Any]]]:
    """Yield each job with the digest of its upload, and what is sent to a worker.

    Submissions are packed only now, to save memory.
    """
    for job in jobs:
        upload, digest, refused = _packed(job.submission)
        request = {"name": job.submission.id, "seed": job.seed, "edition": release.edition}
        yield (job, digest), upload, request | {"tests": [*job.tests], "refused": refused}


def _completed(job: Job, answer: Answer) -> Answer:
    """Return an answer in which all tests that didn't run again are the earlier answer's."""
    if job.earlier is None:
        return answer
    later = {t["test_id"]: t for t in answer["results"]["tests"] if t["test_id"] in job.tests}
    results = job.earlier["results"]
    results = with_tests(results, [later.get(t["test_id"], t) for t in results["tests"]])
    return answer | {"results": results, "took_s": job.earlier["took_s"] + answer["took_s"]}


def _limited(job: Job, answer: Answer, limits: Collection[str]) -> tuple[str, ...]:
    """Return the ids of tests with these outcomes, of those that the job asked for."""
    return tuple(
        test["test_id"]
        for test in answer["results"]["tests"]
        if test["outcome"] in limits and (not job.tests or is_named(test["test_id"], job.tests))
    )


def _record_of(job: Job, digest: str, answer: Answer, release: Release, kind: str) -> Record:
    lost, refused = answer.get("lost", ""), answer.get("refused", "")
    return Record(
        submission=job.submission.id,
        release=release.id,
        kind=kind,
        outcome=FAULT if lost else "nothing to grade" if refused else "graded",
        seed=job.seed,
        upload=digest,
        results=None if lost else json.dumps(answer["results"]),
        reason=lost or refused,
        took_s=answer.get("took_s", 0.0),
        processor=answer.get("processor", ""),
    )


def _keep(store: Store, record: Record, release: Release) -> None:
    """Keep a record; the first one that counts decides which edition and release do."""
    about = (release.id, release.edition, release.digest, release.title, times.now())
    with store.transaction():
        store.db.execute(
            "INSERT OR IGNORE INTO releases VALUES (?, ?, ?, ?, ?, ?)",
            (*about, release.description),
        )
        number = store.add_record(record)
        if record.kind == GRADE and record.outcome != FAULT:
            if store.setting("release") is None:
                store.set("edition", release.edition)
                store.set("release", release.id)
                store.note(f"edition {release.edition} counts", release.id)
            store.count(number)


def _packed(submission: Submission) -> tuple[bytes, str, str]:
    """Return what is sent of a submission, its digest, and why there is nothing to grade, or ""."""
    upload, refused = b"", ""
    try:
        upload = submission.upload.pack()
    except SubmissionError as error:
        refused = str(error)
    return upload, hashlib.sha256(upload).hexdigest(), refused


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
        edition = load_assignment(grading.ROOT).edition(chosen).name
        path = grading.ROOT / "dist" / f"autograder-{edition}.zip"
    release = Release.read(path)
    if asked.edition not in (None, release.edition):
        raise UsageError(f"{path} is for the edition {release.edition}, not {asked.edition}")
    return release


def run(asked: argparse.Namespace) -> int:
    """Grade a class; return the exit code."""
    where, export = where_of(asked), read_source(asked)
    with Store.create(asked.folder) as store:
        release = release_of(asked, store)
        counting = store.setting("release")
        if not asked.preview and counting not in (None, release.id):
            raise UsageError(
                f"in {store.path}, release {counting} of the edition {store.setting('edition')} "
                f"counts, and this is release {release.id} of {release.edition}: `regrade` shows "
                "what it would change, and `apply` lets it count; --release names a file of the "
                "first one"
            )
        show_notes(export)
        if asked.preview:
            store.add_unknown(export.submissions)
        else:
            store.add_submissions(asked.source, export.kind, export.submissions)
        if asked.same_inputs:
            print(f"note: {SAME_INPUTS}")
        kind = PREVIEW if asked.preview else GRADE
        jobs = [
            Job(one, release.seed("same inputs" if asked.same_inputs else one.id))
            for one in export.submissions
            if asked.preview or not _has_counted(store, one)
        ]
        grade_all(store, jobs, release, kind, where)
        return _show_totals(store, release, kind, [one.id for one in export.submissions])


def _has_counted(store: Store, submission: Submission) -> bool:
    """Return whether a submission has a result that counts; say so if its files have changed."""
    record = store.counted(submission.id)
    if record is None:
        return False
    if record["upload"] not in ("", _packed(submission)[1]):
        print(
            f"note: {submission.id}: its files have changed since they were graded; the result "
            "that counts stays; `regrade --new-files` shows what would change"
        )
    return True


def _show_totals(store: Store, release: Release, kind: str, submissions: Sequence[str]) -> int:
    """Print what was graded; return the exit code."""
    records: list[sqlite3.Row] = []
    for key in submissions:
        counted = store.counted(key) if kind == GRADE else None
        records += filter(None, [counted or store.record(key, release.id, kind)])
    faults = [record for record in records if record["outcome"] == FAULT]
    refused = sum(record["outcome"] == "nothing to grade" for record in records)
    results, missing = len(records) - len(faults), len(submissions) - len(records)
    print(
        f"{results} of {count(len(submissions), 'submission')} have a result from release "
        f"{release.id} of {release.edition}; {refused} of them had nothing to grade"
    )
    if kind == PREVIEW:
        print("these results are a preview, and don't count")
    for record in faults:
        print(f"staff fault: {record['submission']}: {record['reason'].splitlines()[0]:.300}")
    if missing:
        print(f"{count(missing, 'submission')} not graded; {CONTINUE}")
    return ExitCode.OK if results == len(submissions) else ExitCode.FAILED


def make_certificates(asked: argparse.Namespace) -> int:
    """Write a cluster's certificates."""
    from .cluster import write_certificates

    write_certificates(asked.folder)
    print(
        f"{asked.folder} contains a key: whoever has it can run code on the cluster. Copy the "
        "folder to each machine of the cluster, and nowhere else."
    )
    return ExitCode.OK
