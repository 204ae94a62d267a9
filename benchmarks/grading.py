"""Measure the time and memory of grading, as ratios to one `python -c "import torch"`.

    python benchmarks/grading.py [--submission DIR] [--repeat 5]

Prints medians over repeats. Each repeat runs all commands in turn, so that a machine that slows
down affects all of them. The submission should be complete: build/reference after `make reference`.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--submission", type=Path, default=ROOT / "build" / "reference")
    parser.add_argument("--repeat", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="grading-") as work:
        report(asked.submission, without_trained_files(asked.submission, Path(work)), asked.repeat)
    return 0


def without_trained_files(submission: Path, work: Path) -> Path:
    """Return a copy without parameters and predictions, for which evidence takes no time."""
    ignored = shutil.ignore_patterns("*.params", "*.predictions")
    return Path(shutil.copytree(submission, work / "code", ignore=ignored))


def report(submission: Path, code: Path, repeat: int) -> None:
    """Measure and print a table."""
    grader = [sys.executable, "src/grader.py", "--submission"]
    grade = [*grader, str(submission)]
    things = {
        "import torch": [sys.executable, "-c", "import torch"],
        "a basic test that needs torch (1g-1-basic)": [*grade, "1g-1-basic"],
        "a basic test that needs none (3a-0-basic)": [*grade, "3a-0-basic"],
        "everything, without trained files": [*grader, str(code)],
        "everything": grade,
    }
    walls: dict[str, list[float]] = {name: [] for name in things}
    cpus: dict[str, list[float]] = {name: [] for name in things}
    for _ in range(repeat):
        for name, command in things.items():
            wall_s, cpu_s = measure(command)
            walls[name].append(wall_s)
            cpus[name].append(cpu_s)
    peak = peak_memory(grade)
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    print(f"medians of {repeat}, as ratios to importing torch once")
    wall_unit, cpu_unit = (statistics.median(t["import torch"]) for t in (walls, cpus))
    print(f"{'':<46}{'wall':>8}{'CPU':>8}")
    for name in things:
        wall = statistics.median(walls[name]) / wall_unit
        cpu = statistics.median(cpus[name]) / cpu_unit
        print(f"{name:<46}{wall:>8.2f}{cpu:>8.2f}")
    print(f"peak memory of all processes together (PSS): {peak / MIB:.0f} MiB")
    print(f"(importing torch: {wall_unit:.2f} s wall, {cpu_unit:.2f} s CPU)")


def measure(command: list[str], folder: Path = ROOT) -> tuple[float, float]:
    """Return the wall and CPU seconds of a command, including all children that it waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, check=False)
    wall_s = time.monotonic() - started
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall_s, cpu_s


def peak_memory(command: list[str]) -> int:
    """Return the peak memory (PSS) of a command and all its descendants together, in bytes."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    peak = 0

    def watch() -> None:
        nonlocal peak
        while process.poll() is None:
            peak = max(peak, sum(pss(pid) for pid in family(process.pid)))
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    watcher.join()
    return peak


def family(pid: int) -> list[int]:
    """Return the ids of a process and all its descendants."""
    found, waiting = [], [pid]
    while waiting:
        each = waiting.pop()
        found.append(each)
        waiting += _children(each)
    return found


def pss(pid: int) -> int:
    """Return the proportional set size in bytes, which divides shared pages among processes."""

    def read() -> int:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    return _or_nothing(read, 0)


def _children(pid: int) -> list[int]:
    def read() -> list[int]:
        tasks = Path(f"/proc/{pid}/task").iterdir()
        texts = [(task / "children").read_text(encoding="utf-8") for task in tasks]
        return [int(word) for text in texts for word in text.split()]

    return _or_nothing(read, [])


def _or_nothing(read: Callable, nothing):
    """Return the result of `read`, or `nothing` if the process has just ended."""
    try:
        return read()
    except (OSError, ValueError):
        return nothing


if __name__ == "__main__":
    sys.exit(main())
