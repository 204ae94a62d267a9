"""Run the grader's random tests with many seeds on the reference and on the right variants.

    make seeds                                       200 seeds, on two processes
    python -m tests.golden_seeds --seeds 20 span     fewer, and variants with "span" in the name

No test may fail: the bounds allow for fewer than one false alarm in a million. Each result is a
line of build/golden_seeds.jsonl. An interrupted run resumes where it stopped, and repeats whatever
has changed since, according to a digest of the grader and the variant.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from concurrent.futures import as_completed
from functools import cache
from pathlib import Path

from .benches import here, open_executor
from .variants import ROOT, Variant, all_variants, without_files

RESULTS = ROOT / "build" / "golden_seeds.jsonl"
# Everything that decides a verdict: whole folders, so that no module is forgotten. Missing files
# are ignored.
JUDGES = ("assignment.toml", "src/grading", "src/questions", "solutions/hidden")
REFERENCE = ("solutions/submission", "src/pretraining", "src/submission")  # judges compare with it
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


def _one(variant: Variant | None, seed: int) -> dict:
    started = time.monotonic()
    found = failures(variant, seed)
    wall_s = round(time.monotonic() - started, 2)
    return {**_job(variant, seed), "failures": found, "wall_s": wall_s}


def _job(variant: Variant | None, seed: int) -> dict:
    name = variant.name if variant else "reference"
    return {"variant": name, "seed": seed, "digest": _digest(variant)}


@cache
def _digest(variant: Variant | None) -> str:
    digest = hashlib.sha256()
    for file in files_that_decide(variant):
        digest.update(f"\0{file.relative_to(ROOT).as_posix()}\0".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def files_that_decide(variant: Variant | None) -> list[Path]:
    """Return every file on which a verdict on a variant, or on the reference (None), depends."""
    roots = [ROOT / name for name in (*JUDGES, *REFERENCE)]
    roots += [variant.path] if variant else []
    below = [file for root in roots for file in (root, *root.rglob("*")) if file.is_file()]
    return sorted(file for file in below if file.suffix in (".py", ".json", ".toml"))


def _done() -> dict[tuple, dict]:
    """Return earlier results, by what they are results of."""
    if not RESULTS.exists():
        return {}
    lines = RESULTS.read_text(encoding="utf-8").splitlines()
    results = [json.loads(line) for line in lines if line.endswith("}")]  # not a line cut off
    return {(r["variant"], r["seed"], r["digest"]): r for r in results}


def main(arguments: list[str] | None = None) -> int:
    """Run what is missing; return 1 if a test failed, now or earlier."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden_seeds")
    parser.add_argument("pattern", nargs="?", default="", help="part of the variants' names")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    asked = parser.parse_args(arguments)
    variants = [None, *(v for v in all_variants() if v.is_right and asked.pattern in v.name)]
    done = _done()
    jobs = [(v, seed) for seed in range(asked.seeds) for v in variants]
    jobs.sort(key=lambda job: job[0] is not None)  # the reference first, with all seeds
    keys = [tuple(_job(*job).values()) for job in jobs]
    results = [done[key] for key in keys if key in done]
    missing = [job for job, key in zip(jobs, keys, strict=True) if key not in done]
    print(f"{len(jobs)} runs: {len(results)} done earlier, {len(missing)} to do", flush=True)
    results += _run(missing, asked.processes)
    failed = [result for result in results if result["failures"]]
    for result in failed:
        _tell(result)
    print(f"{len(results)} runs of {len(variants)} right codes, {len(failed)} with failures")
    return int(bool(failed))


def _run(jobs: list[tuple], processes: int) -> list[dict]:
    RESULTS.parent.mkdir(exist_ok=True)
    results = []
    with (
        open_executor(processes) as executor,
        open(RESULTS, "a", encoding="utf-8") as file,
    ):
        for future in as_completed([executor.submit(_one, *job) for job in jobs]):
            result = future.result()
            results.append(result)
            file.write(json.dumps(result) + "\n")
            file.flush()
            if result["failures"]:
                _tell(result)
            if len(results) % 100 == 0:
                print(f"{len(results)} of {len(jobs)}", flush=True)
    return results


def _tell(result: dict) -> None:
    for test, reason in result["failures"].items():
        print(f"{result['variant']}, --seed {result['seed']}: {test} {reason}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
