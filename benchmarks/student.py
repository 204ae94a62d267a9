"""Measure what a student waits for, in units of one `python -c "import torch"`.

    python -m benchmarks.student [--trained DIR] [--repeat 5] [--only starter,wrong,...]

Grades in a copy of what students have, without solutions: the starter, ten wrong functions, the
reference, and single tests. DIR has trained files of the reference: build/reference. Prints medians
of wall and CPU time; each repeat runs all commands in turn, with `import torch` between them, so
that a machine that slows down affects all of them.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import sys
import tempfile
from pathlib import Path

from benchmarks.grading import ROOT, measure
from tests.variants import GOLDEN, Variant, lay_out
from tools.reference import compose
from tools.starter import edition_file

from grading.edition import EDITION  # isort: skip

WRONG = """span_corruption/wrong/constant_span synthesizer/wrong/w2_not_sliced
    helper/wrong/always_from_scratch helper/wrong/synthesizer_is_vanilla
    helper/wrong/pretrains_nothing london_baseline/wrong/percent
    attention_exploration/wrong/copying_unscaled attention_exploration/wrong/averaging_all
    attention_exploration/wrong/two_heads_unscaled attention_exploration/wrong/added_ua""".split()
# What is measured: the submission's folder, the tests, and the most units of wall time.
CASES = {
    "starter": ("starter", [], 6.0),
    "ten wrong functions": ("wrong", [], 10.0),
    "reference": ("reference", [], 9.0),
    "a basic test with torch": ("reference", ["1g-1-basic"], 1.3),
    "a basic test without": ("reference", ["3a-0-basic"], 0.3),
}


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trained", type=Path, help="folder with the reference's trained files")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", default="", help="part of the names of what is measured")
    asked = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # students' Python keeps what it compiles
    with tempfile.TemporaryDirectory(prefix="student-") as work:
        lay_out_student(Path(work), asked.trained)
        report(Path(work), asked.repeat, asked.only)
    return 0


def lay_out_student(root: Path, trained: Path | None) -> None:
    """Copy what students have, and lay out the submissions beside it."""
    shutil.copytree(ROOT / "src", root / "src")
    (root / EDITION).write_bytes(edition_file(ROOT, "xcs224n"))
    compose(ROOT, root / "reference")
    shutil.copytree(root / "src" / "submission", root / "starter" / "submission")
    for number, name in enumerate(WRONG):
        before = root / f"wrong-{number - 1}" if number else root / "reference"
        topic, kind, variant = name.split("/")
        path = GOLDEN / topic / kind / f"{variant}.py"
        lay_out(Variant(path), root / f"wrong-{number}", before)
    (root / f"wrong-{len(WRONG) - 1}").rename(root / "wrong")
    for pattern in ("*.params", "*.predictions") if trained else ():
        for path in trained.rglob(pattern):
            shutil.copy(path, root / "reference" / path.name)


def report(root: Path, repeat: int, only: str) -> None:
    """Measure and print a table."""
    importing = [sys.executable, "-c", "import torch"]
    chosen = {name: case for name, case in CASES.items() if only in name}
    units: list[tuple[float, float]] = []
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in chosen}
    for _ in range(repeat):
        for name, (submission, tests, _) in chosen.items():
            grader = [sys.executable, "src/grader.py", "--submission", submission]
            units.append(measure(importing, root))
            taken[name].append(measure([*grader, *tests], root))
    wall_unit, cpu_unit = map(statistics.median, zip(*units, strict=True))
    print(f"{platform.platform()}, {os.cpu_count()} CPUs, Python {platform.python_version()}")
    print(f"medians of {repeat}; a unit is {wall_unit:.2f} s of wall time, {cpu_unit:.2f} s of CPU")
    print(f"{'':<26}{'wall':>8}{'CPU':>8}{'at most':>10}")
    for name, (_, _, most) in chosen.items():
        wall, cpu = map(statistics.median, zip(*taken[name], strict=True))
        print(f"{name:<26}{wall / wall_unit:>8.2f}{cpu / cpu_unit:>8.2f}{most:>10.1f}")


if __name__ == "__main__":
    sys.exit(main())
