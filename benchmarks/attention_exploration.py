"""How long the attention exploration takes to grade, as a share of importing torch.

    python benchmarks/attention_exploration.py              the questions of the default edition
    python benchmarks/attention_exploration.py --runs 20

Runs both commands by turns; the ratio is the median over these pairs, since what else runs on the
machine slows both of a pair. Wanted: less than one half.
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
    """Wall time of one run.

    Raises:
        subprocess.CalledProcessError: it failed; a grader that fails early would be fast.
    """
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> int:
    """Print times and the ratio; 1 when it is too large."""
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
        print(f"{name:14} {min(measured):.2f} s at best, {median:.2f} s in the middle")
    torch, grader = times.values()
    ratio = statistics.median(g / t for t, g in zip(torch, grader, strict=True))
    print(f"ratio          {ratio:.2f}, wanted: below {WANTED}")
    return int(ratio >= WANTED)


if __name__ == "__main__":
    sys.exit(main())
