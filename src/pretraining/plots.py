"""Draw lines, dots and words as an SVG picture, which any browser can show: the loss of a training.

A picture has one panel or several side by side, each with its own two axes. Only the standard
library is imported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400  # of a panel, in pixels
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 50, 50  # margins of a panel
STYLE = "font-family='sans-serif' font-size='13' fill='none' stroke='black'"

POINTS = 320  # of a curve: one per two pixels, each the mean of several steps

Point = tuple[float, float]


@dataclass(frozen=True)
class Axis:
    """An axis that begins at its first tick and ends at `end`, or at its last tick.

    `names` label the ticks; without them, the ticks show their numbers.
    """

    label: str
    ticks: Sequence[float]
    end: float | None = None
    names: Sequence[str] = ()

    def labels(self) -> Iterable[tuple[float, str]]:
        """Return each tick with the text that labels it."""
        numbers = [f"{tick:,.10g}" for tick in self.ticks]
        return zip(self.ticks, self.names or numbers, strict=True)


class Panel:
    """Axes with a title, into which lines, dots and crosses are drawn in the units of the axes.

    Its methods take `look`, further SVG attributes such as "stroke='red'".
    """

    def __init__(
        self,
        title: str,
        across: Axis,
        up: Axis,
        left: int = 0,
        size: tuple[int, int] = (WIDTH, HEIGHT),
        right: int = RIGHT,
    ) -> None:
        """
        Args:
            left: the panel's left edge in the picture, in pixels.
            size: width and height, in pixels.
            right: the right margin, in pixels.
        """
        self.left, (self.width, self.height), self.right = left, size, right
        self._across, self._up = across, up
        first, last = left + LEFT, left + self.width - right
        self.parts = [
            text(first, 22, title),
            text(first, TOP - 8, up.label),
            text((first + last) / 2, self.height - 10, across.label, "middle"),
        ]
        for tick, name in up.labels():
            y = self.place(across.ticks[0], tick)[1]
            ends = f"x1='{first}' x2='{last}' y1='{y:.1f}' y2='{y:.1f}'"
            self.parts.append(f"<line {ends} stroke='#aaa' stroke-width='.5'/>")
            self.parts.append(text(first - 8, y + 4, name, "end"))
        for tick, name in across.labels():
            x = self.place(tick, up.ticks[0])[0]
            self.parts.append(text(x, self.height - BOTTOM + 20, name, "middle"))

    def place(self, x: float, y: float) -> Point:
        """Return a point's position in the picture, in pixels from the upper left corner."""
        right = _share(x, self._across) * (self.width - LEFT - self.right)
        up = _share(y, self._up) * (self.height - TOP - BOTTOM)
        return self.left + LEFT + right, self.height - BOTTOM - up

    def line(self, points: Iterable[Point], look: str = "") -> None:
        """Draw a line through points."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in (self.place(*point) for point in points))
        self.parts.append(f"<polyline points='{places}' {look}/>")

    def dot(self, x: float, y: float, look: str = "") -> None:
        """Draw a dot."""
        x, y = self.place(x, y)
        self.parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' {look}/>")

    def cross(self, x: float, y: float, word: str) -> None:
        """Draw a cross with a word above."""
        x, y = self.place(x, y)
        arms = f"M{x - 6:.1f} {y:.1f} h12 M{x:.1f} {y - 6:.1f} v12"
        self.parts += [f"<path d='{arms}' stroke-width='2'/>", text(x, y - 16, word, "middle")]


def from_zero(label: str, greatest: float) -> Axis:
    """Return an axis from 0 to `greatest`."""
    return Axis(label, ticks(greatest), greatest)


def ticks(greatest: float) -> list[float]:
    """Return round numbers from 0 to at most `greatest`, four to eleven of them."""
    unit = 1.0
    while unit > greatest:
        unit /= 10
    while unit * 10 <= greatest:
        unit *= 10
    step = next(unit * part for part in (0.1, 0.2, 0.5, 1.0) if greatest / (unit * part) <= 10)
    return [round(step * number, 10) for number in range(int(greatest / step + 1e-9) + 1)]


def text(x: float, y: float, words: str, anchor: str = "start", colour: str = "black") -> str:
    """Return words whose `anchor` (start, middle or end) is at a place, in pixels."""
    where = f"x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}'"
    return f"<text {where} fill='{colour}' stroke='none'>{escape(words)}</text>"


def svg(title: str, panels: Sequence[Panel]) -> str:
    """Return the picture as an SVG document.

    Args:
        title: the text for screen readers.
        panels: from left to right.
    """
    last = panels[-1]
    return "\n".join(
        [
            "<svg xmlns='http://www.w3.org/2000/svg' role='img' "
            f"viewBox='0 0 {last.left + last.width} {last.height}' {STYLE}>",
            f"<title>{escape(title)}</title>",
            "<rect width='100%' height='100%' fill='white' stroke='none'/>",
            *(part for panel in panels for part in panel.parts),
            "</svg>\n",
        ]
    )


def draw_loss(history: list[float], title: str) -> str:
    """Return an SVG document.

    Args:
        history: the loss of each step, in nats; at least one.
        title: the text above the curve.
    """
    points = means(history, POINTS)
    greatest = max(loss for _, loss in points) * 1.05 or 1.0
    steps = len(history)
    panel = Panel(title, from_zero("step", steps), from_zero("loss (nats per character)", greatest))
    panel.line(points, "stroke='#1f5fa8' stroke-width='1.5'")
    return svg(f"{title}: loss {points[-1][1]:.3f} after {steps} steps", [panel])


def means(history: list[float], most: int) -> list[tuple[float, float]]:
    """Return at most `most` pairs of (step, mean loss), each for consecutive steps."""
    size = -(-len(history) // most)
    groups = [history[start : start + size] for start in range(0, len(history), size)]
    return [
        (number * size + (len(group) + 1) / 2, sum(group) / len(group))
        for number, group in enumerate(groups)
    ]


def path_for(params_path: str) -> Path:
    """Return the path of a training's picture: next to its parameters, with the ending .svg."""
    path = Path(params_path)
    return path.with_suffix(".svg") if path.suffix else path.with_name(path.name + ".svg")


def _share(value: float, axis: Axis) -> float:
    """Return the position of a value along an axis, 0 to 1."""
    end = axis.ticks[-1] if axis.end is None else axis.end
    return (value - axis.ticks[0]) / (end - axis.ticks[0])
