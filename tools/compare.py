"""Train all variants for the same number of steps, and compare them in a table and a figure.

    python -m tools.compare [--recipe NAME] [--seed N] [--marks 4]

Compares accuracy, time, parameters and tokens per second. Pretrains one variant after the other,
and finetunes and evaluates its parameters on dev at each mark (by default, after every quarter of
the steps). Writes build/compare/compare.md, .json and .svg. Exit codes: 0 done, 1 a training
failed, 2 bad input.
"""

import json
import shutil
import sys
from pathlib import Path

from autograder.description import REPO, check_recipe, load_assignment
from pretraining.files import write_atomically
from pretraining.plots import LOOKS, panels, svg

from . import commands
from .arguments import OneLineParser, add_recipe, whole_number, with_one_line_errors
from .datafiles import require_data_set
from .demo import accuracy, share_of_london
from .reference import lay_out, run
from .telling import telling

TARGET = REPO / "build" / "compare"
SCRIPT = Path(__file__).with_name("watched_pretraining.py")
Point = tuple[float, float]
HEADS = ("variant", "parameters", "steps", "pretraining", "tokens per second", "accuracy on dev")


def measure(folder: Path, variant: str, options: list[str], marks: int) -> dict:
    """Pretrain a variant, finetune and evaluate it at each mark.

    Returns:
        what watched_pretraining.py writes, with the accuracy on dev as "dev" in each mark.
    """
    log = folder / "log.txt"
    script = ["-P", str(SCRIPT), str(folder), variant, "--marks", str(marks)]
    with telling(f"pretraining {variant}"):
        run(script, options, folder, log)
    found = json.loads((folder / f"{variant}.pretrained.json").read_text(encoding="utf-8"))
    finetune, evaluate = commands.pipeline(variant, pretrained=True)[1:3]
    for mark in found["marks"]:
        start = f"{variant}.{mark['steps']}.params"
        words = [start if word == finetune.reads else word for word in finetune.arguments]
        with telling(f"finetuning and evaluating {variant} after {mark['steps']} steps"):
            run(words, options, folder, log)
            run(evaluate.arguments, options, folder, log)
        mark["dev"] = round(accuracy(folder / evaluate.writes), 4)
        (folder / start).unlink()
    return found


def table(found: list[dict]) -> str:
    """Return a Markdown table with a row for each variant at the end of its pretraining."""
    rows = [HEADS]
    for one in found:
        last = one["marks"][-1]
        speed = last["tokens"] / last["seconds"]
        cells = (f"{one['parameters']:,}", f"{last['steps']:,}", duration(last["seconds"]))
        rows.append((one["variant"], *cells, f"{speed:,.0f}", f"{last['dev']:.1%}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(HEADS))]

    def line(cells: tuple[str, ...]) -> str:
        first, *others = (cell.ljust(w) for cell, w in zip(cells, widths, strict=True))
        numbers = [cell.strip().rjust(w) for cell, w in zip(others, widths[1:], strict=True)]
        return f"| {' | '.join((first, *numbers))} |"

    ruler = "|".join(["-" * (widths[0] + 2), *("-" * (w + 1) + ":" for w in widths[1:])])
    return "\n".join([line(rows[0]), f"|{ruler}|", *map(line, rows[1:])]) + "\n"


def duration(seconds: float) -> str:
    """Return a duration in words: `12 min 5 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def figure(found: list[dict], london: float) -> str:
    """Return a plot of accuracy on dev against the time of pretraining, as SVG."""
    longest = max(one["marks"][-1]["seconds"] for one in found)
    unit, name = (60, "minutes") if longest >= 120 else (1, "seconds")
    lines = {
        one["variant"]: [(m["seconds"] / unit, 100 * m["dev"]) for m in one["marks"]]
        for one in found
    }
    lines["always London"] = [(0.0, 100 * london), (longest / unit, 100 * london)]
    title = f"Accuracy on dev after finetuning, recipe {found[0]['recipe']}"
    return draw_lines(lines, title, f"{name} of pretraining")


def draw_lines(lines: dict[str, list[Point]], title: str, across: str) -> str:
    """Return an SVG document with lines of percentages.

    Args:
        lines: points by the line's name; at most as many lines as there are LOOKS, none empty.
        across: the label of the horizontal axis.
    """
    (axes,) = panels()
    axes.set(title=title, xlabel=across, ylabel="accuracy (%)", ylim=(0, 101))
    for (name, points), look in zip(lines.items(), LOOKS, strict=False):
        axes.plot(*zip(*points, strict=True), label=name, marker=".", **look)
    axes.set_xlim(left=0)
    axes.legend()
    ends = ", ".join(f"{name} {points[-1][1]:.3g}" for name, points in lines.items())
    return svg(axes, f"{title}: {ends}")


def compare(recipe: str | None, seed: int, marks: int) -> list[dict]:
    """Measure all variants, and write the results to build/compare.

    The files of an earlier call are replaced only when all results are complete.

    Raises:
        TrainingFailed: a command failed.
        UsageError: the recipe or the data set is missing.
    """
    check_recipe(REPO, recipe)
    require_data_set(REPO)
    folder = TARGET / "work"
    shutil.rmtree(folder, ignore_errors=True)
    lay_out(REPO, folder)
    options = ["--seed", str(seed), *(["--recipe", recipe] if recipe else [])]
    found = []
    for variant in load_assignment(REPO).variants:
        found.append(measure(folder, variant, options, marks))
        last = found[-1]["marks"][-1]
        print(
            f"{variant}: {last['steps']} steps in {duration(last['seconds'])} "
            f"({found[-1]['pace']}), {last['dev']:.1%} of dev right",
            flush=True,
        )
    london = share_of_london()
    result = {"seed": seed, "london": round(london, 4), "variants": found}
    texts = {
        "compare.json": json.dumps(result, indent=1) + "\n",
        "compare.md": table(found),
        "compare.svg": figure(found, london),
    }
    for name, content in texts.items():
        write_atomically(TARGET / name, content)
    shutil.rmtree(folder)
    return found


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.compare", __doc__)
    add_recipe(parser)
    parser.add_argument(
        "--seed", type=whole_number, default=0, help="seed of all trainings (default: 0)"
    )
    parser.add_argument("--marks", type=int, default=4, help="points in the figure (default: 4)")
    asked = parser.parse_args(arguments)
    if asked.marks < 1:
        parser.error(f"got --marks {asked.marks}, expected 1 or more")
    found = compare(asked.recipe, asked.seed, asked.marks)
    print(f"\n{table(found)}\nWrote compare.md, .json and .svg to {TARGET.relative_to(REPO)}/.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
