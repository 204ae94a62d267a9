"""Run the grader's random tests with many seeds on the reference and on the right variants.

    make seeds                                       200 seeds, on two processes
    python -m tests.golden_seeds --seeds 20 span     fewer, and variants with "span" in the name

No test may fail: the bounds allow for fewer than one false alarm in a million.
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import as_completed

from .benches import here, open_executor
from .variants import Variant, all_variants, without_files

# These draw nothing: one seed is enough.
NOT_RANDOM = (
    "vanilla_model",
    "configuration",
    "london_baseline",
    "vocabulary",
    "pretrain_configuration",
    "finetune_configuration",
    "loads_pretrained",
    "uses_synthesizer",
    "uses_rope",
    "angles",
    "turned",
)


def failures(variant: Variant | None, seed: int) -> dict[str, str]:
    """Return the random tests that a variant, or the reference (None), fails, and why.

    Call it in a process of `open_executor`.
    """
    bench = here()
    tests = variant.tests(bench.tests) if variant else without_files(bench.tests)
    tests = [test for test in tests if test.spec.name not in NOT_RANDOM]
    results = bench.verdicts(variant, tests, seed)
    return {
        f"{topic}.{name}": f"{result.outcome.value}: {result.message} {result.detail}"
        for (topic, name), result in results.items()
        if result.outcome.value != "passed"
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the tests; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden_seeds")
    parser.add_argument("pattern", nargs="?", default="", help="part of the variants' names")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args(arguments)
    variants = [v for v in all_variants() if v.is_right and options.pattern in v.name]
    runs = [(v, seed) for v in (None, *variants) for seed in range(options.seeds)]
    failed = 0
    with open_executor(options.processes) as executor:
        futures = {executor.submit(failures, *run): run for run in runs}
        for count, future in enumerate(as_completed(futures), 1):
            variant, seed = futures[future]
            found = future.result()
            failed += bool(found)
            for test, reason in found.items():
                name = variant.name if variant else "reference"
                print(f"{name}, --seed {seed}: {test} {reason}", flush=True)
            if count % 100 == 0:
                print(f"{count} of {len(runs)}", flush=True)
    print(f"{len(runs)} runs of {len(variants) + 1} right codes, {failed} with failures")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
