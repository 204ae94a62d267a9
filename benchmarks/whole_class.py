"""Grades a large class twice, and compares: on a local cluster, and on workers that are killed.

    python -m benchmarks.whole_class DIR --submissions 1000

The second time, a scheduler and four workers are processes of their own, connected by TLS. Hosts
and dask's processes are killed at random, a worker is killed with everything that restarts it, and
another one takes its place. Both tables of results must be equal in everything but times.

Run it as root on Linux, from the root of the repository, with a data set installed. DIR must not be
in the repository. If the command is cut short, the same command goes on.
Exit codes: 0 the tables are equal, 1 they differ, or a class could not be completed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.classroom import processor
from benchmarks.grading import ROOT
from tests.classroom.clusters import Dask, kill_one_below, programs, records_in
from tests.classroom.make_class import EXPORT, make_class
from tests.classroom.tiny import table

WORKERS = 4
KILL_EVERY = 25  # submissions
REPLACE_EVERY = 10  # kills; then a worker goes for good, and a new one comes
MOST_RUNS = 4  # of one command, since a submission that is lost twice needs another run
SEED = 1
CHILDREN = resource.RUSAGE_CHILDREN


@dataclass
class Graded:
    """What grading a class took, in all runs of its command that were not cut short."""

    submissions: int = 0  # that got their first record in these runs
    wall_s: float = 0.0
    cpu_s: float = 0.0  # of ended descendants of this process
    runs: int = 0
    code: int = -1  # the last run's exit code


def main() -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, metavar="DIR", help="for the class and its results")
    parser.add_argument("--submissions", type=int, default=1000, metavar="N", help="default: 1000")
    asked = parser.parse_args()
    place = asked.folder.resolve()
    source = place / "made" / EXPORT
    if not place.exists():
        make_class(place / "made", asked.submissions)
    print(f"{processor()}; {os.cpu_count()} CPUs; {asked.submissions} submissions", flush=True)
    show("local cluster", local(place, source))
    took, killed = on_killed_workers(place, source)
    show(f"{WORKERS} workers over TLS", took)
    print(f"killed: {dict(killed)}")
    return compare(table(place / "local"), table(place / "tls"), asked.submissions)


def local(place: Path, source: Path) -> Graded:
    """Grade the class on a local cluster."""
    return repeated(place, "local", source, [])


def repeated(
    place: Path, name: str, source: Path, words: Sequence[str | Path], within: Killer | None = None
) -> Graded:
    """Run the grading command until all submissions have a result; keep what it took in a file."""
    notes = place / f"{name}.json"
    took = Graded(**json.loads(notes.read_text("utf-8"))) if notes.is_file() else Graded()
    command = [sys.executable, "-m", "tools.classroom", "grade", source, "--into", place / name]
    for _ in range(MOST_RUNS):
        if took.code == 0:
            break
        before, started = resource.getrusage(CHILDREN), time.monotonic()
        had = records_in(place / name)
        with open(place / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                list(map(str, [*command, *words])), cwd=ROOT, stdout=log, stderr=log
            )
            while process.poll() is None:
                time.sleep(0.5)
                if within is not None:
                    within.look()
        after = resource.getrusage(CHILDREN)
        took.submissions += records_in(place / name) - had
        took.wall_s += time.monotonic() - started
        took.cpu_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        took.runs, took.code = took.runs + 1, process.returncode
        notes.write_text(json.dumps(asdict(took)), encoding="utf-8")
    return took


class Killer:
    """Kills processes of a cluster while a class is graded."""

    def __init__(self, dask: Dask, folder: Path) -> None:
        self._dask, self._folder, self._rng = dask, folder, random.Random(SEED)
        self._workers = [dask.worker() for _ in range(WORKERS)]
        self._next = records_in(folder) + KILL_EVERY
        self.killed: Counter[str] = Counter()

    def look(self) -> None:
        """Kill something if enough submissions have been graded since the last time."""
        if records_in(self._folder) < self._next:
            return
        self._next += KILL_EVERY
        worker = self._rng.choice(self._workers)
        if (self.killed.total() + 1) % REPLACE_EVERY:
            self.killed[kill_one_below(worker, self._rng) or "nothing, as none was left"] += 1
            return
        self._workers.remove(worker)
        worker.kill()
        self._workers.append(self._dask.worker())
        self.killed["worker with its nanny"] += 1


def on_killed_workers(place: Path, source: Path) -> tuple[Graded, Counter[str]]:
    """Grade the class on a scheduler's workers, some of which are killed."""
    certificates = place / "certificates"
    if not certificates.is_dir():
        command = [sys.executable, "-m", "tools.classroom", "certificates", str(certificates)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory(prefix="workers-") as folder:
        temporary = Path(folder)
        temporary.chmod(0o755)  # tests run as other users
        logs = place / "logs"
        logs.mkdir(exist_ok=True)
        before = resource.getrusage(CHILDREN)
        with programs(certificates, temporary, logs) as start:
            dask = Dask(start, certificates)
            dask.scheduler()
            killer = Killer(dask, place / "tls")
            took = repeated(place, "tls", source, dask.words, killer)
        after = resource.getrusage(CHILDREN)
    took.cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, killer.killed


def show(name: str, took: Graded) -> None:
    """Print what grading took."""
    count = max(took.submissions, 1)
    cores = os.cpu_count() or 1
    print(
        f"{name}: {took.submissions} submissions in {took.wall_s / 60:.1f} min; "
        f"{took.wall_s / count:.2f} s and {took.cpu_s / count:.2f} s of CPU per submission; "
        f"cores busy {took.cpu_s / max(took.wall_s * cores, 1):.0%}; {took.runs} run(s), exit code "
        f"{took.code}",
        flush=True,
    )


def compare(one: dict[str, list], other: dict[str, list], count: int) -> int:
    """Print how two tables differ; return the exit code."""
    differing = sorted(key for key in one.keys() | other.keys() if one.get(key) != other.get(key))
    in_points = [key for key in differing if points(one.get(key)) != points(other.get(key))]
    for key in differing:
        print(f"{key}:")
        for first, second in itertools.zip_longest(tests(one.get(key)), tests(other.get(key))):
            if first != second:
                print(f"  {first}\n  but {second}")
    total = sum(len(tests(row)) for row in one.values())
    print(
        f"{len(one)} and {len(other)} of {count} submissions, {total} tests: {len(differing)} "
        f"submissions differ in outcomes, points or messages, {len(in_points)} of them in points"
    )
    return int(bool(differing) or len(one) != count)


def tests(row: list | None) -> list[list]:
    """Return the tests of a table's row: (test_id, outcome, score, message) of each."""
    return row[3] if row else []


def points(row: list | None) -> list[tuple[str, float]]:
    """Return the score of each test."""
    return [(test_id, score) for test_id, _, score, _ in tests(row)]


if __name__ == "__main__":
    sys.exit(main())
