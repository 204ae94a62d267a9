"""Measure how long grading the attention exploration takes, relative to importing torch.

    python benchmarks/attention_exploration.py
    python benchmarks/attention_exploration.py --runs 20

Grades the questions of the default edition. Both commands run alternately, and the ratio is the
median over these pairs, because other work on the machine slows down both runs of a pair. The
target is a ratio below one half.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WANTED = 0.5
COMMANDS = {
    "import torch": ["-c", "import torch"],
    "grader.py 3": ["src/grader.py", "--submission", "solutions", "3"],
}


def seconds(arguments: list[str]) -> float:
    """Return the wall time of one run, in seconds.

    Raises:
        subprocess.CalledProcessError: if it failed; a grader that fails early would be fast.
    """
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Print the times and the ratio; return 1 if the ratio is too large."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    runs = parser.parse_args().runs
    times = {name: [] for name in COMMANDS}
    for _ in range(runs):
        for name, arguments in COMMANDS.items():
            times[name].append(seconds(arguments))
    for name, measured in times.items():
        median = statistics.median(measured)
        print(f"{name:14} {min(measured):.2f} s minimum, {median:.2f} s median")
    torch, grader = times.values()
    ratio = statistics.median(g / t for t, g in zip(torch, grader, strict=True))
    print(f"ratio          {ratio:.2f}, target: below {WANTED}")
    return int(ratio >= WANTED)


if __name__ == "__main__":
    sys.exit(main())
