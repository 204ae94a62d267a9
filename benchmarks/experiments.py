"""Measure the experiments of src/experiments/ on several trainings, each beside its control.

    python -m benchmarks.experiments FOLDER                     train and measure what is missing
    python -m benchmarks.experiments FOLDER --table             print the table for docs/
    python -m benchmarks.experiments FOLDER --only trace reverse

FOLDER gets one folder for each generated world, with its data and parameters, and measured.jsonl;
the installed data set isn't used, but has to be there. Everything runs in one thread. Unlike a
student's command, an experiment here asks about the people of dev and test, with more trios and
both halves with two seeds.

An effect is claimed only if it exceeds two standard errors, and has the same sign, in five of the
six trainings.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from benchmarks import reference
from tools import commands, world
from tools.datafiles import DEV, TEST_ANSWERS, TRAIN, UNSEEN_INPUTS, WIKI, write_all
from tools.reference import lay_out

reference.come_first()
from experiments import ablate, gaps, overwrite, recall, trace, trainings  # noqa: E402
from experiments.estimates import Estimate, Slope, difference, mean  # noqa: E402
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
    people, dataset, trained = [*it.dev, *it.test], it.setting.dataset, it.models[1]
    untrained = trainings.new_model(it.setting, "vanilla", it.seed).eval()

    def slopes(model: GPT, chosen: list[trace.Trio]) -> dict[str, Slope]:
        found = trace.trace(model, dataset, chosen)
        rise = found[2, "surname"] - found[0, "surname"]
        return {"surname, block 2 minus embeddings": rise, "MASK after block 3": found[3, "MASK"]}

    chosen = trace.trios(people, TRIOS)
    who, values = trace.members(chosen), {}
    first, second = slopes(trained, chosen), slopes(untrained, chosen)
    for name in first:
        values[f"{name}, trained"] = first[name].estimate(who)
        values[f"{name}, untrained"] = second[name].estimate(who)
        values[f"{name}, trained minus untrained"] = (first[name] - second[name]).estimate(who)
    chosen = trace.trios(people, TRIOS, same_place=True)
    for name, slope in slopes(trained, chosen).items():
        values[f"{name}, A from B's place"] = slope.estimate(trace.members(chosen))
    return values


def measure_ablate(it: Training) -> dict[str, Estimate]:
    """Return what the worst head costs, whether it leads, and how the kinds of ablation differ.

    Its weight on the letter before is compared with the mean of all other heads.
    """
    people, (_, finetuned) = [*it.dev, *it.test], it.models
    questions = ablate.Questions(it.setting.dataset, people, CPU)
    whole = ablate.answers(finetuned, questions)
    results = ablate.ablate(finetuned, questions)
    by_part = {str(part): answers for part, answers in results.items()}
    values = {}
    looks = ablate.roles(finetuned, it.setting.dataset, people)
    before = {head: weights[:, 0] for head, weights in looks.items()}
    for half, worst in enumerate(ablate.worst_heads(results, whole), start=1):
        values[f"worst head by half {half}, nats ({worst.part})"] = worst.harm
        values[f"its lead by half {half}, nats (over {worst.runner_up})"] = worst.lead
        others = torch.stack([before[head] for head in before if head != worst.part]).mean(dim=0)
        name = f"its weight on the letter before, half {half}, minus the others' mean"
        values[name] = mean(before[worst.part] - others)
    last = len(finetuned.blocks)
    for part in (f"block {last} MLP", "block 2 attention"):
        right = {kind: by_part[part][kind].right.double() for kind in ablate.KINDS}
        for kind, words in (("mean", "its mean"), ("slot", "slot means")):
            name = f"{part}: right with {words} minus with zero"
            values[name] = mean(right[kind] - right["zero"])
    return values


def measure_induction(it: Training) -> dict[str, Estimate]:
    """Return accuracies and scores of models that are grown here, with the training's own seed."""

    def build(heads: int) -> torch.nn.Module:
        shape = recall.TWO_LAYERS | {"n_head": heads}
        return attention.CausalSelfAttention(GPTConfig(vocab_size=1, **shape))

    values = {}
    for digits in recall.DIGITS:
        for one in recall.grow_all(build, induction_scores, digits, it.own_seed):
            counts = f"{one.layers} layer{'s' * (one.layers > 1)}, {one.heads} head"
            name = f"{digits}, {counts}{'s' * (one.heads > 1)}"
            values[f"{name}: held out"] = one.held_out
            if one.layers == 2:
                values[f"{name}: held out, minus one layer's"] = difference(
                    one.held_out, values[name.replace("2 layers", "1 layer") + ": held out"]
                )
                values[f"{name}: digit cut"] = one.cut
                values[f"{name}: digit cut minus held out"] = difference(one.cut, one.held_out)
                values[f"{name}: previous-token score"] = Estimate(one.previous)
                values[f"{name}: induction score"] = Estimate(one.induction)
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
    values["backward: without a reversed line"] = both[1]
    chance = Estimate(1 / gaps.CHOICES)
    values["backward: without a reversed line, minus chance"] = difference(both[1], chance)
    return values


def measure_overwrite(it: Training) -> dict[str, Estimate]:
    """Return what is kept after true, unknown and false facts: person by person, mean of two seeds.

    How far the parameters move has one value for each half of the people and each seed.
    """
    strangers, halves = names_in(str(it.root / UNSEEN_INPUTS)), (it.dev, it.test)
    by_seed = [
        overwrite.overwrite(it.models[1], it.setting.dataset, halves, strangers, seed)
        for seed in (0, 1)
    ]
    values: dict[str, Estimate] = {}
    compared = [overwrite.compare(runs) for runs in by_seed]
    for name in compared[0]:
        both = torch.stack([each[name] for each in compared]).mean(dim=0)
        for fair, kept in zip(("steps", "change"), both, strict=True):
            values[f"{name}, equal {fair}"] = mean(kept)
    runs = [run for some in by_seed for run in some]
    less = [run["true"][-1].moved / run["unknown"][-1].moved - 1 for run in runs]
    values["change of the parameters, true by unknown, minus 1"] = mean(less)
    return values


def measure_wordings(it: Training) -> dict[str, Estimate]:
    """Return what one wording and four teach, and the difference, person by person."""
    asked, corpus = [*it.dev, *it.test], it.root / TRAIN
    names = [*names_in(str(corpus)), *(person.name for person in asked)]
    one, four = (
        trainings.learn(it.setting, corpus, names, asked, count, factor)
        for count, factor in trainings.WORDINGS_AND_STEPS
    )
    values: dict[str, Estimate] = {}
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
            training.replace("world-500000000", "").replace("seed-", ""): values
            for (name, training), values in sorted(measured.items())
            if name == experiment
        }
        if not own:
            continue
        lines += [f"| {experiment} | {' | '.join(own)} | clear |", "|---" * (len(own) + 2) + "|"]
        rows: dict[str, list[tuple[Estimate, str]]] = {}
        for values in own.values():
            for name, one in values.items():
                row, _, note = name.partition(" (")
                rows.setdefault(row, []).append((Estimate(*one), note.removesuffix(")")))
        for name, row in rows.items():
            texts = [(str(one) if one.error else f"{one.value:.2f}", note) for one, note in row]
            cells = [f"{text}, {note}" if note else text for text, note in texts]
            lines.append(f"| {name} | {' | '.join(cells)} | {clear([one for one, _ in row])} |")
        lines.append("")
    return "\n".join(lines)


def clear(row: Sequence[Estimate]) -> str:
    """Return in how many trainings a number is clear and has the sign that most of them give it."""
    if not any(one.error for one in row):
        return "no error"
    clear = [one.value for one in row if one.is_clear]
    return f"{max(sum(v > 0 for v in clear), sum(v < 0 for v in clear))} of {len(row)}"


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
