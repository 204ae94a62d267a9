"""Draw what one head and two do when a key is longer or shorter (from the assignment's root).

    python src/attention_exploration.py              two figures, here
    python src/attention_exploration.py figures      in a folder

attention_lengths.svg: the weights of values a and b against the length of k_a.
attention_samples.svg: outputs c for keys that are drawn, one dot a sample.

They show single_head_query and two_head_queries of submission/attention_exploration.py, for three
keys with perpendicular means. A browser opens them. Exit codes: 0 done, 2 usage or bad input.
"""

import argparse
import os
import sys
import traceback
from pathlib import Path

import numpy as np

from pretraining.errors import InputError
from submission.attention_exploration import attention, single_head_query, two_head_queries

MEANS = np.eye(3)  # of k_a, k_b and one more
VALUES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.5]])  # v_a, v_b and one more, to be drawn
SAMPLES = 300
ALPHA = 1e-14  # the covariance that vanishes

WIDTH, HEIGHT = 360, 300  # of a panel, in pixels
MARGIN = 50
# Of the weights of a, b and the other: apart without colours, and where one lies on another.
LOOKS = (
    "stroke='#aaa' stroke-width='7'",
    "stroke-width='2' stroke-dasharray='7 4'",
    "stroke-dasharray='2 3'",
)
STYLE = "font-family='sans-serif' font-size='13' fill='none' stroke='black'"


class Panel:
    """Axes with a title, into which lines, dots and words are drawn in their own units."""

    def __init__(
        self, left: int, title: str, xlabel: str, ylabel: str, x: list[float], y: list[float]
    ) -> None:
        """
        Args:
            left: the panel's left edge, in pixels.
            x, y: the ticks; the first and the last are the ends of the axes.
        """
        self._left, self._x, self._y = left, x, y
        self.parts = [self._text(WIDTH / 2, 20, title, weight="bold")]
        self.parts.append(self._text(WIDTH / 2, HEIGHT - 8, xlabel))
        turned = f"transform='rotate(-90 {left + 14} {HEIGHT / 2})'"
        self.parts.append(self._text(14, HEIGHT / 2, ylabel, extra=turned))
        self.line([(x[0], y[-1]), (x[0], y[0]), (x[-1], y[0])])
        for tick in x:
            px, py = self._place(tick, y[0])
            self.parts.append(self._text(px - left, py + 18, f"{tick:g}"))
        for tick in y:
            px, py = self._place(x[0], tick)
            self.parts.append(self._text(px - left - 7, py + 5, f"{tick:g}", anchor="end"))

    def line(self, points: list[tuple[float, float]], look: str = "") -> None:
        """A line through points; `look` holds attributes of SVG."""
        places = " ".join(f"{px:.1f},{py:.1f}" for px, py in (self._place(*p) for p in points))
        self.parts.append(f"<polyline points='{places}' {look}/>")

    def dot(self, x: float, y: float) -> None:
        px, py = self._place(x, y)
        self.parts.append(f"<circle cx='{px:.1f}' cy='{py:.1f}' r='3' stroke-opacity='.5'/>")

    def cross(self, x: float, y: float, word: str) -> None:
        """A cross with a word above."""
        px, py = self._place(x, y)
        self.parts.append(
            f"<path d='M{px - 6:.1f} {py:.1f} h12 M{px:.1f} {py - 6:.1f} v12' stroke-width='2'/>"
        )
        self.parts.append(self._text(px - self._left, py - 16, word))

    def word(self, x: float, y: float, word: str) -> None:
        px, py = self._place(x, y)
        self.parts.append(self._text(px - self._left, py, word))

    def _place(self, x: float, y: float) -> tuple[float, float]:
        across = (x - self._x[0]) / (self._x[-1] - self._x[0])
        up = (y - self._y[0]) / (self._y[-1] - self._y[0])
        inner_width, inner_height = WIDTH - 1.6 * MARGIN, HEIGHT - 2 * MARGIN
        return self._left + MARGIN + across * inner_width, HEIGHT - MARGIN - up * inner_height

    def _text(
        self,
        x: float,
        y: float,
        word: str,
        anchor: str = "middle",
        weight: str = "normal",
        extra: str = "",
    ) -> str:
        return (
            f"<text x='{self._left + x:.1f}' y='{y:.1f}' text-anchor='{anchor}' "
            f"font-weight='{weight}' fill='black' stroke='none' {extra}>{word}</text>"
        )


def heads() -> dict[str, np.ndarray]:
    """The student's queries, one a row: of a single head, and of two.

    Raises:
        InputError: they are no queries.
    """
    one, two = single_head_query(MEANS.copy(), 0, 1), two_head_queries(MEANS.copy(), 0, 1)
    return {
        "a single head": queries("single_head_query", one, (3,)).reshape(1, 3),
        "the average of two heads": queries("two_head_queries", two, (2, 3)),
    }


def queries(function: str, answer: object, shape: tuple[int, ...]) -> np.ndarray:
    """An answer as an array of finite numbers of this shape."""
    try:
        array = np.asarray(answer, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    if array.shape != shape or not np.isfinite(array).all():
        raise InputError(
            f"{function} in submission/attention_exploration.py returned {answer!r:.80}, expected "
            f"finite numbers of shape {shape} for 3 means in 3 dimensions"
        )
    return array


def average(rows: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The heads' average output c, shape (2,), and weights, shape (3,); a query a row."""
    results = [attention(query, keys, VALUES) for query in rows]
    return tuple(np.mean(parts, axis=0) for parts in zip(*results, strict=True))


def lengths_figure() -> str:
    """Weights against the length of k_a: a panel for one head, one for two."""
    lengths = np.linspace(0, 2, 401)
    panels = []
    for i, (title, rows) in enumerate(heads().items()):
        panel = Panel(
            i * WIDTH, title, "length of k_a", "attention weight", [0, 0.5, 1, 1.5, 2], [0, 0.5, 1]
        )
        weights = np.array(
            [average(rows, MEANS * [[length], [1], [1]])[1] for length in lengths]
        )  # (401, 3)
        for row, look in enumerate(LOOKS):
            panel.line(list(zip(lengths, weights[:, row], strict=True)), look)
        panel.word(1.0, 1.08, "a: wide, b: dashed, the other: dotted")
        panels.append(panel)
    return svg(panels)


def samples_figure() -> str:
    """Outputs c over samples of the keys: a panel for one head, one for two."""
    rng = np.random.default_rng(0)
    keys = MEANS + np.sqrt(ALPHA) * rng.normal(size=(SAMPLES, 3, 3))
    keys[:, 0] += np.sqrt(0.5) * rng.normal(size=(SAMPLES, 1)) * MEANS[0]
    keys = keys[keys[:, 0] @ MEANS[0] > 0]
    jitter = rng.normal(scale=0.05, size=(len(keys), 2))  # or dots would hide each other
    panels = []
    for i, (title, rows) in enumerate(heads().items()):
        panel = Panel(
            i * WIDTH,
            title,
            "c, first part (dots are moved a little)",
            "c, second part",
            [-1.5, -1, 0, 1, 1.5],
            [-0.5, 0, 0.5, 1, 1.5, 2],
        )
        for value, name in zip(VALUES, ("v_a", "v_b", "the other value"), strict=True):
            panel.cross(*value, name)
        for sample, moved in zip(keys, jitter, strict=True):
            c, _ = average(rows, sample)
            panel.dot(*(c + moved))
        panels.append(panel)
    return svg(panels)


def svg(panels: list[Panel]) -> str:
    """One picture with the panels side by side."""
    width = WIDTH * len(panels)
    lines = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {HEIGHT}' "
        f"width='{width}' height='{HEIGHT}'>",
        f"<rect width='{width}' height='{HEIGHT}' fill='white'/>",
        f"<g {STYLE}>",
        *(part for panel in panels for part in panel.parts),
        "</g>",
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def draw(folder: Path) -> None:
    """Write both figures, and print where they are."""
    figures = {
        "attention_lengths.svg": lengths_figure(),
        "attention_samples.svg": samples_figure(),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in figures.items():
        temporary = folder / f".{name}.new"
        temporary.write_text(text, encoding="utf-8", newline="\n")
        os.replace(temporary, folder / name)
        print(f"written: {folder / name}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=Path("."))
    folder = parser.parse_args(arguments).folder
    try:
        draw(folder)
    except NotImplementedError as error:  # not by way of run.py, which imports torch
        place = traceback.extract_tb(error.__traceback__)[-1]
        print(f"{place.filename}:{place.lineno}: {error}", file=sys.stderr)
        return 2
    except (InputError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
