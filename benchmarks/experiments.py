"""Measure the experiments of src/experiments/ on several trainings, each beside its control.

    python -m benchmarks.experiments FOLDER                     train and measure what is missing
    python -m benchmarks.experiments FOLDER --table             print the table for docs/
    python -m benchmarks.experiments FOLDER --only trace reverse

FOLDER gets one folder for each generated world, with its data and parameters, and measured.jsonl;
the installed data set isn't used, but has to be there. Everything runs in one thread. Unlike a
student's command, an experiment here asks about the people of dev and test, with more trios and
both halves with two seeds.

An effect is claimed only if it exceeds two standard errors in five of the six trainings.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import math
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import torch

from benchmarks import reference
from tools import commands, world
from tools.datafiles import DEV, TEST_ANSWERS, TRAIN, UNSEEN_INPUTS, WIKI, write_all
from tools.reference import lay_out

reference.come_first()
from experiments import ablate, gaps, overwrite, recall, trace, trainings  # noqa: E402
from experiments.estimates import Estimate, difference, mean  # noqa: E402
from experiments.people import Person, names_in, people_in  # noqa: E402
from inputs import Setting, load, read_corpus  # noqa: E402
from pretraining.recipes import load_recipe  # noqa: E402
from submission import attention, induction_scores  # noqa: E402
from submission.model import GPT, GPTConfig  # noqa: E402

WORLDS, SEEDS = (5_000_000_001, 5_000_000_002), (1, 2, 3)
RECIPE = "laptop"
TRIOS = 1_000
CPU = torch.device("cpu")
STAGES = commands.pipeline("vanilla", pretrained=True)[:2]


@dataclasses.dataclass(frozen=True)
class Training:
    """A training on a world, and what its model can be asked.

    Attributes:
        root: the world's folder, with the complete code.
        dev, test: people with their places.
    """

    root: Path
    seed: int
    setting: Setting
    dev: list[Person]
    test: list[Person]

    @property
    def name(self) -> str:
        """The world and the seed."""
        return f"{self.root.name}/seed-{self.seed}"

    @property
    def own_seed(self) -> int:
        """A seed that no other world's training has."""
        return WORLDS.index(int(self.root.name.partition("-")[2])) * len(SEEDS) + self.seed

    @functools.cached_property
    def models(self) -> list[GPT]:
        """The pretrained and the finetuned model; a training takes minutes."""
        outputs, models = train(self.root, self.seed), []
        for command in STAGES:
            model = trainings.new_model(self.setting, "vanilla", self.seed)
            load(model, str(outputs / command.writes))
            models.append(model.eval())
        return models


def train(root: Path, seed: int) -> Path:
    """Pretrain and finetune a vanilla model, unless this was done before; return its folder."""
    outputs = root / f"seed-{seed}"
    outputs.mkdir(exist_ok=True)
    settings = ["--recipe", RECIPE, "--seed", str(seed), "--threads", "1"]
    for command in STAGES:
        if (outputs / command.writes).exists():
            continue
        words = [str(outputs / w) if w.endswith(".params") else w for w in command.arguments]
        subprocess.run([sys.executable, *words, *settings], cwd=root, check=True)
    return outputs


def training(root: Path, seed: int) -> Training:
    """Return what the training with a seed is asked about."""
    recipe = load_recipe(RECIPE)
    dataset = read_corpus(str(root / WIKI), recipe.model_of("vanilla")["block_size"])
    args = argparse.Namespace(variant="vanilla", seed=seed, dtype=None, threads=1)
    dev, test = (people_in(str(root / table)) for table in (DEV, TEST_ANSWERS))
    return Training(root, seed, Setting(args, recipe, CPU, dataset), dev, test)


def measure_trace(it: Training) -> dict[str, Estimate]:
    """Return the rise of the surname's share to block 2, and the MASK's share after block 3."""
    chosen = trace.trios([*it.dev, *it.test], TRIOS)
    untrained = trainings.new_model(it.setting, "vanilla", it.seed)
    values = {}
    for name, model in (("trained", it.models[1]), ("untrained", untrained)):
        shares = trace.trace(model, it.setting.dataset, chosen)
        rise = difference(shares[2, "surname"], shares[0, "surname"])
        values[f"surname, block 2 minus embeddings, {name}"] = rise
        values[f"MASK after block 3, {name}"] = shares[3, "MASK"]
    return values


def measure_ablate(it: Training) -> dict[str, Estimate]:
    """Return what the worst head costs, whether it leads, and how the kinds of ablation differ."""
    questions = ablate.Questions(it.setting.dataset, [*it.dev, *it.test], CPU)
    _, finetuned = it.models
    whole = ablate.answers(finetuned, questions)
    results = ablate.ablate(finetuned, questions)
    by_part = {str(part): answers for part, answers in results.items()}
    values = {}
    for half, worst in enumerate(ablate.worst_heads(results, whole), start=1):
        values[f"worst head by half {half} ({worst.part}), nats"] = worst.harm
        values[f"its lead by half {half} (over {worst.runner_up}), nats"] = worst.lead
    last = len(finetuned.blocks)
    for part in (f"block {last} MLP", "block 2 attention"):
        right = {kind: by_part[part][kind].right.double() for kind in ablate.KINDS}
        for kind, words in (("mean", "its mean"), ("slot", "slot means")):
            name = f"{part}: right with {words} minus with zero"
            values[name] = mean(right[kind] - right["zero"])
    return values


def measure_induction(it: Training) -> dict[str, Estimate]:
    """Return accuracies and scores; each is of one training."""

    def build(heads: int) -> torch.nn.Module:
        shape = recall.TWO_LAYERS | {"n_head": heads}
        return attention.CausalSelfAttention(GPTConfig(vocab_size=1, **shape))

    values = {}
    for digits in recall.DIGITS:
        for one in recall.grow_all(build, induction_scores, digits, it.own_seed):
            name = f"{digits}, {one.layers} layers, {one.heads} heads"
            for what in ("held_out", "cut", "previous", "induction"):
                values[f"{name}: {what}"] = Estimate(getattr(one, what))
    return values


def measure_reverse(it: Training) -> dict[str, Estimate]:
    """Return the shares in both directions, and what a line with the city first adds."""
    groups = gaps.groups_of([*it.dev, *it.test], it.seed)
    choices = gaps.choose(it.models[0], it.setting.dataset, groups)
    values = {}
    for direction, every, *both in zip(
        gaps.DIRECTIONS, *map(gaps.shares, gaps.by_line(choices).values()), strict=True
    ):
        values[direction] = every
        values[f"{direction}: with a reversed line minus without"] = difference(*both)
    return values


def measure_overwrite(it: Training) -> dict[str, Estimate]:
    """Return what is kept after true, unknown and false facts, person by person."""
    strangers, halves = names_in(str(it.root / UNSEEN_INPUTS)), (it.dev, it.test)
    runs = overwrite.overwrite(it.models[1], it.setting.dataset, halves, strangers, [0, 1])
    values = {}
    for name, (equal_steps, equal_change) in overwrite.compare(runs).items():
        values |= {f"{name}, equal steps": equal_steps, f"{name}, equal change": equal_change}
    return values


def measure_wordings(it: Training) -> dict[str, Estimate]:
    """Return what one wording and four teach, and the difference, sentence by sentence."""
    asked, corpus = [*it.dev, *it.test], it.root / TRAIN
    names = [*names_in(str(corpus)), *(person.name for person in asked)]
    one, four = (
        trainings.learn(it.setting, corpus, names, asked, count, factor)
        for count, factor in trainings.WORDINGS_AND_STEPS
    )
    values = {}
    for what in ("own", "own_nats", "unseen", "unseen_nats", "questions"):
        values |= {f"{what}, {each.wordings}": mean(getattr(each, what)) for each in (one, four)}
        pairs = zip(getattr(four, what), getattr(one, what), strict=True)
        values[f"{what}, four minus one"] = mean([a - b for a, b in pairs])
    for each in (one, four):
        values[f"training loss, {each.wordings}"] = Estimate(each.training_loss)
    return values


EXPERIMENTS = {
    "trace": measure_trace,
    "ablate": measure_ablate,
    "induction": measure_induction,
    "reverse": measure_reverse,
    "overwrite": measure_overwrite,
    "wordings": measure_wordings,
}


def all_trainings(folder: Path) -> Iterator[Training]:
    """Return each training; what is missing is trained when it is needed."""
    for number in WORLDS:
        root = folder / f"world-{number}"
        lay_out(reference.ROOT, root)
        write_all(root, world.make_world(number))
        for seed in SEEDS:
            yield training(root, seed)


def read(path: Path) -> dict[tuple[str, str], dict]:
    """Return what was measured, by experiment and training; the last line of each counts."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines]
    return {(row["experiment"], row["training"]): row["values"] for row in rows}


def table(measured: dict[tuple[str, str], dict]) -> str:
    """Return the table for docs/measurements.md: each number in each training."""
    lines = []
    for experiment in EXPERIMENTS:
        own = {
            training: {name.partition(" (")[0]: Estimate(*each) for name, each in values.items()}
            for (name, training), values in sorted(measured.items())
            if name == experiment
        }
        if not own:
            continue
        lines += [f"| {experiment} | {' | '.join(own)} | clear |", "|---" * (len(own) + 2) + "|"]
        for name in dict.fromkeys(name for values in own.values() for name in values):
            found = [values.get(name, Estimate(math.nan, math.nan)) for values in own.values()]
            cells = [str(each) if each.error else f"{each.value:.2f}" for each in found]
            clear = sum(each.is_clear and each.error > 0 for each in found)
            is_estimated = any(each.error for values in own.values() for each in values.values())
            verdict = f"{clear} of {len(own)}" if is_estimated else "no error"
            lines.append(f"| {name} | {' | '.join(cells)} | {verdict} |")
        lines.append("")
    return "\n".join(lines)


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = options.folder / "measured.jsonl"
    if not options.table:
        for it in all_trainings(options.folder):
            for name in options.only:
                if (name, it.name) in read(path):
                    continue
                found = EXPERIMENTS[name](it)
                values = {key: [one.value, one.error] for key, one in found.items()}
                row = {"experiment": name, "training": it.name, "values": values}
                with open(path, "a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
                print(name, it.name, flush=True)
    print(table(read(path)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
