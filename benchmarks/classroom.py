"""Measures how fast a class is graded, against a loop over the grader's own command.

    python -m benchmarks.classroom --submissions 40            both, and what they cost
    python -m benchmarks.classroom --submissions 1000 --no-loop
    python -m benchmarks.classroom --dispatch 10000            what handing out alone costs

Costs are CPU seconds of all processes, in units of importing torch once, so that machines compare.
Run it as root on an idle machine, from the root, with a data set installed. `--trained
build/reference` adds trained files to submissions that would be right with them.
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

SUBMISSION_BYTES = 20_000  # of an empty one's upload: code without parameters


@dataclass(frozen=True)
class Cost:
    """What grading took."""

    wall_s: float
    cpu_s: float
    peak_bytes: int  # the largest process's, as the kernel counts it

    def line(self, name: str, count: int, unit_s: float, slots: int) -> str:
        each = self.cpu_s / count
        busy = self.cpu_s / (self.wall_s * slots)
        per_hour = 3600 / each
        return (
            f"{name:<28}{self.wall_s / count:>8.2f} s{each:>8.2f} s{each / unit_s:>8.2f}"
            f"{busy:>8.0%}{per_hour:>10.0f}"
        )


def graded(command: list[str]) -> Cost:
    """Run a command and return what it and all below it cost."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    ran = subprocess.run(command, cwd=ROOT, check=False, stdout=subprocess.DEVNULL)
    if ran.returncode not in (0, 1):
        raise SystemExit(f"{command[1:4]} ended with {ran.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started, cpu_s, after.ru_maxrss * 1024)


def processor() -> str:
    """Return the kind of processor, as records have it."""
    from grading import provenance  # found once `tools` has been imported

    return provenance.processor()


def compare(count: int, slots: int, loop: bool, trained: Path | None) -> None:
    """Grade a generated class both ways, and print a table."""
    unit_s = min(measure([sys.executable, "-c", "import torch"])[1] for _ in range(3))
    print(f"{processor()}; {slots} slots, {os.cpu_count()} CPUs; {count} submissions")
    print(f"importing torch: {unit_s:.2f} s of CPU")
    print(f"{'a submission':<28}{'wall':>10}{'CPU':>10}{'torch':>8}{'busy':>8}{'a core-h':>10}")
    with tempfile.TemporaryDirectory() as place:
        source = make_class(Path(place) / "class", count, trained=trained).source
        into = Path(place) / "graded"
        command = [sys.executable, "-m", "tools.classroom", "grade", source, "--into", into]
        cost = graded([*map(str, command), "--slots", str(slots)])
        print(cost.line("tools.classroom", count, unit_s, slots))
        print(f"largest process: {cost.peak_bytes / 2**20:.0f} MiB")
        if loop:
            cost = one_by_one(source, Path(place))
            print(cost.line("for f in *; grader.py", count, unit_s, 1))


def one_by_one(source: Path, place: Path) -> Cost:
    """Grade each with a command of its own."""
    wall_s = cpu_s = 0.0
    peak = 0
    for number, submission in enumerate(read_class(source).submissions):
        into = place / f"one-{number}"
        into.mkdir()
        path = submission.unpack(into)
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
    """Takes the place of hosts: every submission is graded at once."""

    name = "echo"
    report = {"obstacles": [], "facts": {}}

    def setup(self, worker: Worker) -> None:
        """Have nothing to get ready."""

    def grade(self, upload: bytes, request: dict) -> dict:
        """Return an empty answer."""
        return {}


def dispatched(count: int, slots: int) -> None:
    """Hand out submissions that take no time, and print how long that took."""

    def jobs() -> Iterator[dispatch.Job]:
        for number in range(count):
            yield shipping.Job(str(number), bytes(SUBMISSION_BYTES), [], {})

    with cluster.connected(None, None, slots) as client:
        client.register_plugin(Echo(), name="echo")
        dispatcher = dispatch.Dispatcher(client, "echo", cluster.Workers(client, "echo"))
        dispatcher.wait(print)
        started = time.monotonic()
        ended = sum(1 for _ in dispatcher.run(jobs(), print))
        took_s = time.monotonic() - started
    print(f"{ended} empty submissions in {took_s:.1f} s: {took_s / ended * 1e3:.1f} ms each")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submissions", type=int, default=40)
    parser.add_argument("--slots", type=int, default=cluster.cores())
    parser.add_argument("--no-loop", action="store_true", help="leave out the slow comparison")
    parser.add_argument("--trained", type=Path, metavar="DIR", help="build/reference")
    parser.add_argument("--dispatch", type=int, metavar="N", help="only hand out N that are empty")
    asked = parser.parse_args()
    if asked.dispatch:
        dispatched(asked.dispatch, asked.slots)
    else:
        compare(asked.submissions, asked.slots, not asked.no_loop, asked.trained)


if __name__ == "__main__":
    main()
