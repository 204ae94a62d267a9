"""Draw README.md's picture: accuracy with and without pretraining, from training.jsonl.

    python -m benchmarks.picture

A bar is the median of the runs with different seeds, and each dot is one run. The picture shows the
generated data set with its own recipe, but each pretrained variant after as many steps as vanilla.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path

from pretraining.plots import panels, svg

HERE = Path(__file__).resolve().parent
PICTURE = HERE / "accuracy.svg"
EQUAL_STEPS = {"synthesizer": {"pretrain.max_epochs": 60}}  # instead of the recipe's 100
# Each bar's pipeline in training.jsonl, and its label.
BARS = {
    "nopretrain": "no pretraining",
    "vanilla": "pretraining",
    "synthesizer": "with a synthesizer",
    "rope": "with RoPE",
}
TITLE = "Correct answers about 100 people who are not in the training questions (%)"
SIZE = 8.6, 3.0  # inches
APART = 0.08  # dots lie side by side, so that equal accuracies are all visible
GREY, BLUE = "#999999", "#56b4e9"  # of different brightness, too


def main() -> int:
    """Draw the picture."""
    PICTURE.write_text(picture(measured()), encoding="utf-8", newline="\n")
    return 0


def measured() -> list[dict]:
    """Return all measured trainings."""
    lines = (HERE / "training.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def shown(run: dict) -> bool:
    """Return whether a run used the generated data set that is installed, for equal steps."""
    usual = run["changes"] == EQUAL_STEPS.get(run["pipeline"], {}) and run["recipe"] is None
    is_installed = run["dataset"] == "world" and run.get("world") is None
    return is_installed and usual and run["isa"] == "native"


def picture(runs: list[dict]) -> str:
    """Return the picture as an SVG document."""
    runs = [run for run in runs if shown(run)]
    bars = [
        (name, [100 * run["dev"] for run in runs if run["pipeline"] == pipeline])
        for pipeline, name in BARS.items()
    ]
    labels = [f"{name}: {statistics.median(shares):.0f} %" for name, shares in bars]
    (axes,) = panels(size=SIZE)
    axes.set(title=TITLE, xlim=(0.4, len(bars) + 0.6), ylim=(0, 100))
    axes.set_xticks(range(1, len(bars) + 1), labels)
    for place, (name, shares) in enumerate(bars, start=1):
        colour = GREY if name == BARS["nopretrain"] else BLUE
        axes.bar(place, statistics.median(shares), width=0.5, color=colour)
        offsets = [APART * (number - (len(shares) - 1) / 2) for number in range(len(shares))]
        axes.plot([place + offset for offset in offsets], shares, "o", color="black", markersize=4)
    (london,) = {100 * run["london"] for run in runs}
    words = f"always London: {london:.0f} %"
    axes.axhline(london, color="black", linestyle="--", linewidth=1)
    right = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
    axes.annotate(words, (1, london), (8, 0), va="center", **right)
    return svg(axes, f"{TITLE}: {', '.join(labels)}; {words}")


if __name__ == "__main__":
    sys.exit(main())
