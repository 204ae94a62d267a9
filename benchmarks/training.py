"""Train as a student does, with the public commands, and record times, accuracies and memory.

    python -m benchmarks.training vanilla                     the data set's recipe, three seeds
    python -m benchmarks.training synthesizer --isa avx2      as on a processor with only AVX2
    python -m benchmarks.training vanilla --set max_epochs=70 muon_learning_rate=2e-2
    python -m benchmarks.training vanilla --worlds 1 2 3 --people 300     separate worlds

A run on a separate world (generated from a small seed, only for measuring) also records the number
of right answers on dev and test together. Several worlds together have 500 or more people; with
fewer, a difference of a few points may be due to chance. All these people are in the corpus, and
none are in train.

Each run is a line of benchmarks/training.jsonl, which `python -m benchmarks.picture` draws. Run it
on an idle machine, so that the times are meaningful. If other work shares the machine, add --busy:
then only accuracies and CPU seconds are reported, not minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import platform
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tools import commands, datafiles, world
from tools.reference import lay_out, right

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "benchmarks" / "training.jsonl"
PIPELINES = {"nopretrain": commands.pipeline("vanilla", pretrained=False)} | {
    name: commands.pipeline(name, pretrained=True) for name in ("vanilla", "synthesizer", "rope")
}
# Each variable is read by another library: MKL's works only on processors by Intel.
AVX2 = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "ATEN_CPU_CAPABILITY": "avx2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}
ISA = {"native": {}, "avx2": AVX2}


def main() -> int:
    """Run the requested trainings, one seed after another."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pipeline", choices=list(PIPELINES))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--worlds", type=int, nargs="+", help="seeds of separate worlds")
    parser.add_argument(
        "--people", type=int, help="size of these worlds (default: as in assignment.toml)"
    )
    parser.add_argument("--isa", choices=list(ISA), default="native")
    parser.add_argument("--recipe", help="recipe (default: that of the installed data set)")
    parser.add_argument(
        "--set", nargs="*", default=[], metavar="KEY=VALUE", help="pretraining settings"
    )
    parser.add_argument("--busy", action="store_true", help="other work shares the machine")
    parser.add_argument("--dtype")
    parser.add_argument("--threads")
    asked = parser.parse_args()
    for seed, made in itertools.product(asked.seeds, asked.worlds or [None]):
        result = train(asked, seed, made)
        with open(RESULTS, "a", encoding="utf-8") as file:
            file.write(json.dumps(result) + "\n")
        print(json.dumps(result), flush=True)
    return 0


def train(asked: argparse.Namespace, seed: int, made: int | None) -> dict:
    """Run a pipeline's commands in a new folder, on the installed data set or a separate world.

    For the installed data set, only dev is evaluated.
    """
    folder = ROOT / "build" / "benchmarks" / f"{os.getpid()}"
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(ROOT, folder)
    if made is not None:
        datafiles.write_all(folder, world.make_world(made, asked.people))
    changes = change_recipe(folder, asked)
    environment = os.environ | ISA[asked.isa] | {"PYTHONUTF8": "1"}
    stages, cpu_s, peak, pace = {}, 0.0, 0, ""
    for command in PIPELINES[asked.pipeline]:
        if command.writes.endswith("test.predictions") and made is None:
            continue
        extra = ["--seed", str(seed)]
        extra += ["--recipe", asked.recipe] if asked.recipe else []
        if command.writes.endswith(".params"):
            extra += ["--dtype", asked.dtype] if asked.dtype else []
            extra += ["--threads", asked.threads] if asked.threads else []
        took_s, usage, output = run([*command.arguments, *extra], folder, environment)
        stages[command.arguments[1]] = round(stages.get(command.arguments[1], 0) + took_s, 1)
        cpu_s += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss)
        pace = pace or next(iter(re.findall(r" in (\w+, \d threads?)", output)), "")
    *_, dev_file, test_file = (folder / command.writes for command in PIPELINES[asked.pipeline])
    answers = folder / "src" / "data" / "birth_dev.tsv"
    dev, rows = right(dev_file, answers), answers.read_text(encoding="utf-8").splitlines()
    test = right(test_file, folder / "solutions/data/birth_test.tsv") if made is not None else []
    result = {
        "pipeline": asked.pipeline,
        "seed": seed,
        "world": made,
        "people": asked.people,
        "sentences": sentences() if made is not None else None,
        "isa": asked.isa,
        "dataset": json.loads((folder / "src/data/dataset.json").read_text("utf-8"))["name"],
        "recipe": asked.recipe,
        "changes": changes,
        "busy": asked.busy,
        "pace": pace,
        "seconds": stages,
        "total_s": round(sum(stages.values()), 1),
        "cpu_s": round(cpu_s, 1),
        "dev": sum(dev) / len(dev),
        "london": sum(row.endswith("\tLondon") for row in rows) / len(rows),
        "held_out": [sum(dev + test), len(dev + test)] if made is not None else None,
        "peak_mib": round(peak / 1024),
        "machine": machine(),
        "commit": commit(),
    }
    shutil.rmtree(folder)
    return result


def sentences() -> str:
    """Return a digest of the worlds' sentences, because learning speed depends on them."""
    return hashlib.sha256((world.WORDLISTS / "templates.txt").read_bytes()).hexdigest()[:6]


def run(
    arguments: list[str], folder: Path, environment: dict
) -> tuple[float, resource.struct_rusage, str]:
    """Run a command; return its wall seconds, resource usage and standard output.

    Raises:
        SystemExit: if it failed.
    """
    log = folder / "log.txt"
    started = time.monotonic()
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, *arguments], cwd=folder, env=environment, stdout=file, stderr=file
        )
        _, status, usage = os.wait4(process.pid, 0)
    text = log.read_text(encoding="utf-8", errors="replace")
    if status != 0:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{text[-2000:]}")
    return time.monotonic() - started, usage, text


def change_recipe(folder: Path, asked: argparse.Namespace) -> dict:
    """Apply --set to the settings of pretraining, also to the variant's own; return the changes."""
    path = folder / "src" / "edition.json"
    tables = json.loads(path.read_text(encoding="utf-8"))
    dataset = json.loads((folder / "src/data/dataset.json").read_text(encoding="utf-8"))["name"]
    recipe = tables["recipes"][asked.recipe or tables["datasets"][dataset]["recipe"]]
    pairs = (pair.partition("=") for pair in asked.set)
    changes = {key: json.loads(value) for key, _, value in pairs}
    for table in (recipe["pretrain"], recipe["pretrain"].get(asked.pipeline, {})):
        table.update(changes)
    path.write_text(json.dumps(tables), encoding="utf-8")
    return {f"pretrain.{key}": value for key, value in changes.items()}


def machine() -> str:
    """Return a description of this machine."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        text = info.read_text(encoding="utf-8")
        model = re.search(r"model name\s*: (.*)", text).group(1)
        flags = set(text.split())
        model += "".join(f", {flag}" for flag in ("avx512_bf16", "amx_bf16") if flag in flags)
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def commit() -> str:
    """Return the measured commit, with "-dirty" if more than the results file differs from it."""
    changed = git("diff", "--name-only", "HEAD", "--", ".", f":!{RESULTS.relative_to(ROOT)}")
    return git("describe", "--always") + ("-dirty" if changed else "")


def git(*arguments: str) -> str:
    """Run git in this repository, and return what it prints."""
    return subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, encoding="utf-8", check=False
    ).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
