"""Measures how a class is graded, compared with a loop over the grader's own command.

    python -m benchmarks.classroom --submissions 40            compare both, in turn
    python -m benchmarks.classroom --submissions 1000 --no-loop

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
from dataclasses import dataclass
from pathlib import Path

from dask.system import CPU_COUNT

from autograder import single
from autograder.description import REPO
from classroom.exports import read_export
from grading.errors import SubmissionError
from tests.classroom.make_class import make_class
from tools import archive, autograder

EDITION = "xcs224n"


@dataclass(frozen=True)
class Cost:
    """What grading cost."""

    wall_s: float
    cpu_s: float
    peak_bytes: int  # of the largest process so far, as counted by the kernel

    def line(self, name: str, count: int, unit_s: float) -> str:
        """Return a row of the table, per submission."""
        each = self.cpu_s / count
        return (
            f"{name:<28}{self.wall_s / count:>8.2f} s{each:>8.2f} s{each / unit_s:>8.2f}"
            f"{3600 / each:>12.0f}{self.peak_bytes / 2**20:>8.0f} MiB"
        )


def cost_of(*commands: list[str]) -> Cost:
    """Run commands in turn, and return what they and their descendants cost."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in commands:
        ran = subprocess.run(
            command, cwd=REPO, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        if ran.returncode not in (0, 1, 2):  # 2: there is nothing to grade
            raise SystemExit(f"{' '.join(command[1:4])} ended with exit code {ran.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(time.monotonic() - started, cpu_s, after.ru_maxrss * 1024)


def compare(count: int, slots: int, loop: bool, trained: Path | None, place: Path) -> None:
    """Grade a generated class both ways, and print a table."""
    unit_s = min(cost_of([sys.executable, "-c", "import torch"]).cpu_s for _ in range(3))
    print(f"{single.processor()}; {slots} slots, {os.cpu_count()} CPUs; {count} submissions")
    print(f"importing torch: {unit_s:.2f} s of CPU")
    columns = f"{'wall':>10}{'CPU':>10}{'torch':>8}{'per core-h':>12}{'largest':>12}"
    print(f"{'per submission':<28}{columns}")
    release = place / "autograder.zip"
    autograder.keep_secret(REPO)
    archive.write(release, autograder.contents(REPO, EDITION), autograder.SCRIPTS)
    source, _ = make_class(place / "class", count, trained=trained)
    command = [sys.executable, "-m", "classroom", "grade", str(source), "--into"]
    command += [str(place / "graded"), "--release", str(release), "--slots", str(slots)]
    print(cost_of(command).line("classroom", count, unit_s), flush=True)
    if loop:
        alone = [sys.executable, "src/grader.py", "--authoritative", "--edition", EDITION]
        uploads = packed(source, place)
        cost = cost_of(*([*alone, "--submission", str(path)] for path in uploads))
        print(cost.line("for f in *; grader.py", count, unit_s))


def packed(source: Path, place: Path) -> list[Path]:
    """Write what is sent of each submission to a file."""
    paths = []
    for number, submission in enumerate(read_export(source).submissions):
        paths.append(place / f"{number}.zip")
        try:
            paths[-1].write_bytes(submission.upload.pack())
        except SubmissionError:
            paths[-1].write_bytes(b"")  # there is nothing to grade
    return paths


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--submissions", type=int, default=40, metavar="N", help="size of the class; default: 40"
    )
    parser.add_argument(
        "--slots",
        type=int,
        default=CPU_COUNT,
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
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        compare(asked.submissions, asked.slots, not asked.no_loop, asked.trained, Path(place))


if __name__ == "__main__":
    main()
