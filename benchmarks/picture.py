"""Draw README.md's picture: accuracy with and without pretraining, from training.jsonl.

    python -m benchmarks.picture

A bar is the median of the runs with different seeds, and each dot is one run. The picture shows the
generated data set with its own recipe, as the first table of benchmarks/README.md does.
"""

from __future__ import annotations

import statistics
import sys

from benchmarks.tables import HERE, is_of_the_world, rows_of
from pretraining.plots import Axis, Panel, svg, text

PICTURE = HERE / "accuracy.svg"
# Each bar's pipeline in training.jsonl, and its label.
BARS = {
    "nopretrain": "no pretraining",
    "vanilla": "pretraining",
    "synthesizer": "with a synthesizer",
    "rope": "with RoPE",
}
TITLE = "Correct answers about 100 people who are not in the training questions (%)"
SIZE = (860, 300)
RIGHT = 150  # pixels, for the name of the dashed line
APART = 0.08  # dots lie side by side, so that equal accuracies are all visible
BAR = "stroke='{}' stroke-width='84'"
GREY, BLUE = "#999999", "#56b4e9"  # of different brightness, too
DASHED = "stroke='black' stroke-dasharray='6 4'"


def main() -> int:
    """Draw the picture."""
    PICTURE.write_text(picture(rows_of("training.jsonl")), encoding="utf-8", newline="\n")
    return 0


def shown(run: dict) -> bool:
    """Return whether a run used the generated data set that is installed, and its recipe."""
    return is_of_the_world(run) and run.get("world") is None and run["isa"] == "native"


def picture(runs: list[dict]) -> str:
    """Return the picture as an SVG document."""
    runs = [run for run in runs if shown(run)]
    bars = [
        (name, [100 * run["dev"] for run in runs if run["pipeline"] == pipeline])
        for pipeline, name in BARS.items()
    ]
    labels = [f"{name}: {statistics.median(shares):.0f} %" for name, shares in bars]
    start, end = 0.4, len(bars) + 0.6
    across = Axis("", [start, *range(1, len(bars) + 1)], end, ["", *labels])
    panel = Panel(TITLE, across, Axis("", range(0, 101, 20)), size=SIZE, right=RIGHT)
    for place, (name, shares) in enumerate(bars, start=1):
        colour = GREY if name == BARS["nopretrain"] else BLUE
        panel.line([(place, 0), (place, statistics.median(shares))], BAR.format(colour))
        for number, share in enumerate(shares):
            offset = APART * (number - (len(shares) - 1) / 2)
            panel.dot(place + offset, share, "fill='black' stroke='none'")
    (london,) = {100 * run["london"] for run in runs}
    panel.line([(start, london), (end, london)], DASHED)
    x, y = panel.place(end, london)
    panel.parts.append(text(x + 8, y + 4, f"always London: {london:.0f} %"))
    return svg(f"{TITLE}: {', '.join(labels)}; always London: {london:.0f} %", [panel])


if __name__ == "__main__":
    sys.exit(main())
