"""Measure how far honest trainings and cheats are from the limits of evidence of pretraining.

    python -m benchmarks.evidence                      all cases that are not measured yet
    python -m benchmarks.evidence reference noise      these cases
    python -m benchmarks.evidence --list

Each case is trained in build/evidence/NAME, unless this was done before. It uses the sheet's
commands with the case's own recipe, corruption or questions, in one thread, on the installed
generated world. Cases with the course's files need these files in ../shared/data, and cases in
bfloat16 need a processor that supports it (on others, they take a day). Then the staff's code
(solutions/hidden/spans.py) measures the evidence as the grader does, twice with different seeds.
Each measurement is a line of benchmarks/evidence.jsonl; `python -m benchmarks.tables` makes a table
of them.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from autograder.description import load_assignment
from benchmarks import reference
from benchmarks.evidence_cases import CASES, Case
from benchmarks.training import commit, lay_corruption, machine
from tools import commands, install_data, world
from tools.reference import lay_out

from questions.shared import probe  # isort: skip
from grading.edition import EDITION  # isort: skip
from autograder import solutions  # isort: skip
from autograder.judging import load_hidden  # isort: skip
from pretraining.parameter_files import read, weights  # isort: skip

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "evidence"
RESULTS = ROOT / "benchmarks" / "evidence.jsonl"
COURSE_FILES = ROOT.parent / "shared" / "data"


def main() -> int:
    """Train and measure the requested cases."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    unknown = sorted(set(asked.cases) - set(CASES))
    if unknown:
        parser.error(f"there is no case {unknown[0]!r}; expected one of: {', '.join(CASES)}")
    if asked.list:
        print(
            "\n".join(f"{name:<21} {case.variant:<12} {case.words}" for name, case in CASES.items())
        )
        return 0
    done = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    measured = {json.loads(line)["case"] for line in done}
    for name in asked.cases or [name for name in CASES if name not in measured]:
        for row in measure(name, train(name)):
            with open(RESULTS, "a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
            print(json.dumps(row), flush=True)
    return 0


# -- training -------------------------------------------------------------------------------------


def train(name: str) -> Path:
    """Train a case, and return the folder with its two parameter files."""
    case, folder = CASES[name], FOLDER / name
    if (folder / "done").exists():
        return folder
    lay_out(ROOT, folder)
    if case.world is not None:
        world.main(["--seed", str(case.world), "--out", str(folder)])
    if case.recipe == "real":
        install_data.main([str(COURSE_FILES), "--out", str(folder)])
    if case.corruption:
        lay_corruption(case.corruption, folder)
    if case.body:
        replace_body(folder / "src" / "submission" / "dataset.py", case.body)
    change_recipe(folder / EDITION, case)
    pretrained, finetuned = (
        folder / f"{case.variant}.{s}.params" for s in ("pretrain", "finetune")
    )
    if case.of is None:
        run_stage(case, folder, "pretrain", [])
    elif case.of:
        for path in train(case.of).glob("*.params"):
            shutil.copy(path, folder)
    if case.noise:
        for path in (pretrained, finetuned):
            add_noise(path, case.noise)
    else:
        table = "found.tsv" if case.questions else "birth_places_train.tsv"
        if case.questions:
            find_questions(folder / "src" / "data", folder / table)
        reads = [] if case.of == "" else ["--reading_params_path", pretrained.name]
        run_stage(case, folder, "finetune", ["--finetune_corpus_path", table, *reads])
    if case.twice:
        shutil.copy(finetuned, pretrained)
    (folder / "done").touch()
    return folder


def run_stage(case: Case, folder: Path, stage: str, extra: list[str]) -> None:
    """Run one training command of the sheet."""
    path = folder / f"{case.variant}.{stage}.params"
    fixed = ["--seed", str(case.seed), "--threads", "1", "--dtype", case.dtype]
    fixed += ["--recipe", case.recipe]
    words = [stage, case.variant, "wiki.txt", "--writing_params_path", path.name, *fixed, *extra]
    print(f"{folder.name}: {stage} ...", flush=True)
    subprocess.run(
        [sys.executable, "src/run.py", *words], cwd=folder, check=True, stderr=subprocess.DEVNULL
    )


def replace_body(path: Path, body: str) -> None:
    """Put another body between the markers of CharCorruptionDataset.__getitem__."""
    text = path.read_text(encoding="utf-8")
    marked = r"(### START CODE HERE ###\n).*?(        ### END CODE HERE ###)"
    laid, count = re.subn(marked, lambda m: m[1] + body + m[2], text, count=1, flags=re.DOTALL)
    assert count == 1
    path.write_text(laid, encoding="utf-8")


def change_recipe(path: Path, case: Case) -> None:
    """Apply a case's changes to its recipe."""
    tables = json.loads(path.read_text(encoding="utf-8"))
    recipe = tables["recipes"][case.recipe]
    for stage, changes in (("model", case.model), ("pretrain", case.pretrain)):
        recipe[stage].update(changes)
        recipe[stage].get(case.variant, {}).update(changes)
    path.write_text(json.dumps(tables), encoding="utf-8")


def find_questions(data: Path, target: Path) -> None:
    """Answer all questions by searching the corpus: the city that stands beside a name oftenest."""
    splits = ("places_train", "dev", "test_inputs")
    rows = {s: (data / f"birth_{s}.tsv").read_text(encoding="utf-8").splitlines() for s in splits}
    cities = {row.split("\t")[1] for split in ("places_train", "dev") for row in rows[split]}
    lines = (data / "wiki.txt").read_text(encoding="utf-8").splitlines()
    found = []
    for question in (row.split("\t")[0] for split in rows.values() for row in split):
        name = question.removeprefix("Where was ").removesuffix(" born?")
        about = [line.replace(name, "") for line in lines if name in line]
        named = Counter(city for line in about for city in cities if city in line)
        found.append(f"{question}\t{named.most_common(1)[0][0]}\n")
    target.write_text("".join(found), encoding="utf-8")


def add_noise(path: Path, share: float) -> None:
    """Add normal noise to a file's weights, as a share of each array's standard deviation."""
    state = torch.load(path, weights_only=True)
    generator = torch.Generator().manual_seed(1)
    for name, tensor in weights(state).items():
        noise = torch.randn(tensor.shape, generator=generator)
        state[name] = tensor + share * tensor.std() * noise
    torch.save(state, path)


# -- measuring ------------------------------------------------------------------------------------


def measure(name: str, folder: Path) -> list[dict[str, Any]]:
    """Run the tests on a case with two seeds, and return their measurements."""
    load_hidden(solutions.HIDDEN)
    reference.come_first()
    spans = sys.modules["hidden.spans"]
    torch.set_num_threads(1)  # as in the grader's workers
    case = CASES[name]
    config = load_assignment(ROOT).settings(case.recipe, "model", case.variant)
    data = folder / "src" / "data"
    corpus = (data / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    old, new = (parameters(folder, case.variant, stage) for stage in ("pretrain", "finetune"))
    rows = []
    for seed in (0, 1):
        rng = np.random.default_rng(seed)
        random.seed(seed)
        started = time.process_time()

        def logs(wanted: list) -> np.ndarray:
            texts, starts, stops = zip(*((s.text, s.start, s.stop) for s in wanted), strict=True)
            asked = (None, case.variant, config, old, corpus, list(texts), starts, stops)
            return probe.span_log_probabilities(*asked)["log_probabilities"]

        lines = corpus.split("\n")
        long = [i for i, line in enumerate(lines) if len(line) >= spans.SHORTEST]
        chosen = [int(i) for i in rng.choice(long, size=spans.DRAWS)]
        drawn = probe.corrupted(None, corpus, config["block_size"], chosen)["texts"]
        content = spans.content_spans(drawn)
        loss = spans.mean_loss(content, logs(content))
        people = folk(folder, case)
        people = [people[i] for i in rng.permutation(len(people))[: spans.PEOPLE]]
        hidden = spans.hidden_places(rng, lines, people, config["block_size"])
        blocks = spans.blocks(rng, hidden)
        found = spans.matrices(blocks, logs([s for b in blocks for s in spans.exchanged(b)]))
        likeliest = [int(row.argmax()) == i for matrix in found for i, row in enumerate(matrix)]
        cosines = [spans.cosine(old[k], new[k]) for k in old if old[k].ndim > 1]
        rows.append(
            {
                "case": name,
                "variant": case.variant,
                "dtype": case.dtype,
                "words": case.words,
                "loss": round(loss, 3),
                "log10_p": round(spans.log_p_value(found) / np.log(10), 1),
                "likeliest_of_four": round(float(np.mean(likeliest)), 2),
                "cosine": round(min(cosines), 3),
                "dev": answered(folder, case),
                "cpu_s": round(time.process_time() - started, 1),
                "machine": machine(),
                "commit": commit(),
            }
        )
    return rows


def parameters(folder: Path, variant: str, stage: str) -> dict[str, np.ndarray]:
    """Return the parameters in a file, as the reference reads them."""
    tensors = weights(read(folder / f"{variant}.{stage}.params"))
    return {name: tensor.float().numpy() for name, tensor in tensors.items()}


def folk(folder: Path, case: Case) -> list[tuple[str, str]]:
    """Return (question, place) for each person in dev and test."""
    tables = [folder / "src/data/birth_dev.tsv"]
    if case.recipe != "real":  # the course's test answers are not available
        answers = folder if case.world is not None else ROOT
        tables.append(answers / "solutions/data/birth_test.tsv")
    rows = [row for table in tables for row in table.read_text(encoding="utf-8").splitlines()]
    return [tuple(row.split("\t")) for row in rows]


def answered(folder: Path, case: Case) -> float:
    """Return the accuracy of the finetuned parameters on dev."""
    path = folder / f"{case.variant}.pretrain.dev.predictions"
    if not path.exists():
        (command,) = (
            c for c in commands.pipeline(case.variant, pretrained=True) if c.writes == path.name
        )
        subprocess.run(
            [sys.executable, *command.arguments, "--recipe", case.recipe],
            cwd=folder,
            check=True,
            capture_output=True,
        )
    lines = path.read_text(encoding="utf-8").splitlines()
    table = (folder / "src/data/birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    right = [row.endswith(f"\t{line}") for row, line in zip(table, lines, strict=True)]
    return round(float(np.mean(right)), 3)


if __name__ == "__main__":
    sys.exit(main())
