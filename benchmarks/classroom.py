"""Measures how fast a class is graded, compared with a loop over the grader's own command.

    python -m benchmarks.classroom --submissions 40            compare both
    python -m benchmarks.classroom --submissions 1000 --no-loop
    python -m benchmarks.classroom --dispatch 10000            measure only the dispatching
    python -m benchmarks.classroom --reckon 100000 --submissions 20    estimate a large class

Costs are CPU seconds of all processes. They are also given in units of importing torch once, so
that machines can be compared. Run it as root on an idle machine, from the root of the repository,
with a data set installed. `--trained build/reference` adds trained files to submissions that would
be right with them.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from distributed import Worker, WorkerPlugin

from benchmarks.grading import ROOT, measure
from tests.classroom.make_class import make_class
from tools.classroom import cluster, dispatch, shipping
from tools.classroom.roster import read_class
from tools.classroom.submissions import Submission

SUBMISSION_BYTES = 20_000  # size of an upload that has code but no parameters


@dataclass(frozen=True)
class Cost:
    """What grading cost."""

    wall_s: float
    cpu_s: float
    peak_bytes: int  # of the largest process, as counted by the kernel

    def line(self, name: str, count: int, unit_s: float, cores: int) -> str:
        each = self.cpu_s / count
        busy = self.cpu_s / (self.wall_s * cores)
        per_hour = 3600 / each
        return (
            f"{name:<28}{self.wall_s / count:>8.2f} s{each:>8.2f} s{each / unit_s:>8.2f}"
            f"{busy:>8.0%}{per_hour:>12.0f}"
        )


def graded(command: list[str]) -> Cost:
    """Run a command, and return what it and its descendants cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    ran = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command[1:4])} ended with exit code {ran.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started, cpu_s, after.ru_maxrss * 1024)


def processor() -> str:
    """Return the kind of processor, as in records."""
    from autograder import provenance  # can be imported once `tools` has been

    return provenance.processor()


def compare(count: int, slots: int, loop: bool, trained: Path | None) -> None:
    """Grade a generated class both ways, and print a table."""
    unit_s = min(measure([sys.executable, "-c", "import torch"])[1] for _ in range(3))
    print(f"{processor()}; {slots} slots, {os.cpu_count()} CPUs; {count} submissions")
    print(f"importing torch: {unit_s:.2f} s of CPU")
    print(f"{'per submission':<28}{'wall':>10}{'CPU':>10}{'torch':>8}{'busy':>8}{'per core-h':>12}")
    with tempfile.TemporaryDirectory() as place:
        source = make_class(Path(place) / "class", count, trained=trained).source
        into = Path(place) / "graded"
        command = [sys.executable, "-m", "tools.classroom", "grade", source, "--into", into]
        cost = graded([*map(str, command), "--slots", str(slots)])
        print(cost.line("tools.classroom", count, unit_s, len(cluster.cores())))
        print(f"largest process: {cost.peak_bytes / 2**20:.0f} MiB")
        if loop:
            cost = one_by_one(source, Path(place))
            print(cost.line("for f in *; grader.py", count, unit_s, 1))


def one_by_one(source: Path, place: Path) -> Cost:
    """Grade each submission with a command of its own."""
    wall_s = cpu_s = 0.0
    peak = 0
    for number, submission in enumerate(roll(source)):
        path = place / f"one-{number}.zip"
        path.write_bytes(content_of(submission, place / f"packing-{number}"))
        command = [sys.executable, "src/grader.py", "--authoritative", "--submission", str(path)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.monotonic()
        subprocess.run(
            command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall_s += time.monotonic() - started
        cpu_s += after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        peak = max(peak, after.ru_maxrss * 1024)
    return Cost(wall_s, cpu_s, peak)


class Echo(WorkerPlugin):
    """Replaces hosts: every submission is done immediately."""

    name = "echo"
    report = {"obstacles": [], "facts": {}}

    def setup(self, worker: Worker) -> None:
        """Do nothing."""

    def grade(self, upload: bytes, request: dict) -> dict:
        """Return an empty answer."""
        return {}


@dataclass(frozen=True)
class Handing:
    """What dispatching cost per submission."""

    wall_s: float
    here_s: float  # CPU of this process, which runs client and scheduler
    workers_s: float  # CPU of the workers


def dispatched(count: int, slots: int, size: int = SUBMISSION_BYTES) -> Handing:
    """Dispatch submissions that take no time, and return the cost."""

    def jobs() -> Iterator[dispatch.Job]:
        for number in range(count):
            yield shipping.Job(str(number), bytes(size), [], {})

    with cluster.connected(None, None, slots) as client:
        client.register_plugin(Echo(), name="echo")
        dispatcher = dispatch.Dispatcher(client, "echo", cluster.Workers(client, "echo"))
        dispatcher.wait(print)
        workers = [Path(f"/proc/{pid}/stat") for pid in client.run(os.getpid).values()]
        before = time.process_time(), sum(map(cpu_of, workers))
        started = time.monotonic()
        ended = sum(1 for _ in dispatcher.run(jobs(), print))
        took_s = time.monotonic() - started
        here_s = time.process_time() - before[0]
        workers_s = sum(map(cpu_of, workers)) - before[1]
    assert ended == count
    return Handing(took_s / count, here_s / count, workers_s / count)


def cpu_of(stat: Path) -> float:
    """Return the CPU seconds of a running process, without its children."""
    fields = stat.read_bytes().rpartition(b") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def show_dispatch(count: int, slots: int) -> None:
    """Print what dispatching costs."""
    found = dispatched(count, slots)
    print(
        f"{count} empty submissions in {found.wall_s * count:.1f} s: {found.wall_s * 1e3:.1f} ms "
        f"per submission; CPU per submission: {found.here_s * 1e3:.1f} ms for client and "
        f"scheduler, {found.workers_s * 1e3:.1f} ms for the workers"
    )


def reckon(count: int, sample: int, slots: int, trained: Path | None) -> None:
    """Print an estimate of what a class of `count` would cost, from parts measured here."""
    with tempfile.TemporaryDirectory() as place:
        graded_s, kept, packed = measured_sample(sample, slots, trained, Path(place))
    plain = dispatched(500, slots)
    size = 16 << 20
    large = dispatched(20, slots, size)
    byte_s = max(large.here_s - plain.here_s, 0.0) / size
    here_s = plain.here_s + byte_s * packed
    hours, at_most = count * graded_s / 3600, graded_s / here_s
    print(f"{processor()}; measured with {sample} submissions")
    print(f"grading: {graded_s:.1f} s of CPU per submission, without the cluster's start")
    print(f"dispatching: {here_s * 1e3:.1f} ms of CPU per submission for client and scheduler")
    print(f"sent: {packed / 1e6:.2f} MB per submission; kept: {kept / 1e3:.0f} kB per record")
    print(f"a class of {count}:")
    print(f"  workers: {hours:.0f} core-hours, or {hours / 24:.0f} cores for a day")
    print(
        f"  scheduler: {count * here_s / 3600:.1f} hours of one core, which can serve "
        f"{at_most:.0f} cores"
    )
    print(
        f"  network: {count * packed / 1e9:.0f} GB to the scheduler, and the same from it to the "
        "workers"
    )
    print(f"  storage: {count * kept / 1e9:.1f} GB of records, in addition to the submissions")


def measured_sample(
    sample: int, slots: int, trained: Path | None, place: Path
) -> tuple[float, float, float]:
    """Grade a small class; return CPU seconds, bytes kept and bytes sent per submission.

    The cost of the cluster's start is measured with a class of one, and subtracted.
    """
    costs = []
    for count in (1, sample):
        source = make_class(place / f"class-{count}", count, trained=trained).source
        into = place / f"graded-{count}"
        command = [sys.executable, "-m", "tools.classroom", "grade", source, "--into", into]
        costs.append(graded([*map(str, command), "--slots", str(slots)]).cpu_s)
    records = [path.stat().st_size for path in into.glob("records/*/*.json")]
    packed = [len(content_of(one, place / f"packed-{n}")) for n, one in enumerate(roll(source))]
    return (
        (costs[1] - costs[0]) / (sample - 1),
        sum(records) / len(records),
        sum(packed) / len(packed),
    )


def roll(source: Path) -> tuple[Submission, ...]:
    """Return a class's submissions."""
    return read_class(source).submissions


def content_of(submission: Submission, work: Path) -> bytes:
    """Return what is sent to a worker of a submission."""
    from grading.errors import SubmissionError
    from questions.course import Course

    work.mkdir(parents=True)
    try:
        return shipping.pack(submission.upload, work, Course.provided).content
    except SubmissionError:
        return b""  # there is nothing to grade, so nothing to send


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--submissions", type=int, default=40, metavar="N", help="size of the class; default: 40"
    )
    parser.add_argument(
        "--slots",
        type=int,
        default=len(cluster.cores()),
        metavar="N",
        help="how many submissions to grade at once; default: one per core",
    )
    parser.add_argument("--no-loop", action="store_true", help="leave out the slow comparison")
    parser.add_argument(
        "--trained",
        type=Path,
        metavar="DIR",
        help="a folder with trained files, such as build/reference",
    )
    parser.add_argument(
        "--dispatch", type=int, metavar="N", help="only dispatch N empty submissions"
    )
    parser.add_argument(
        "--reckon", type=int, metavar="N", help="estimate the cost of a class of N submissions"
    )
    asked = parser.parse_args()
    if asked.dispatch:
        show_dispatch(asked.dispatch, asked.slots)
    elif asked.reckon:
        if asked.submissions < 2:
            parser.error(f"--reckon needs --submissions of 2 or more, got {asked.submissions}")
        reckon(asked.reckon, asked.submissions, asked.slots, asked.trained)
    else:
        compare(asked.submissions, asked.slots, not asked.no_loop, asked.trained)


if __name__ == "__main__":
    main()
