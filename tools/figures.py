"""Draws lines as an SVG picture, which every browser shows."""

from dataclasses import dataclass
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 120, 50, 50  # margins; names of lines stand at the right
STYLE = "font-family='sans-serif' font-size='13'"
# Told apart by people with any kind of colour blindness (Okabe and Ito 2008), and by dashes.
STROKES = (("#0072b2", ""), ("#d55e00", "7 3"), ("#009e73", "2 3"), ("#666666", "1 5"))
APART = 16  # pixels from name to name


@dataclass(frozen=True)
class Line:
    """A line and its name."""

    name: str
    points: list[tuple[float, float]]


def draw_lines(lines: list[Line], title: str, across: str, up: str, most: float) -> str:
    """An SVG document.

    Args:
        lines: at most as many as there are STROKES, from left to right; none is empty.
        title, across, up: what is written above, below, and at the top of the scale.
        most: where the vertical scale ends; both begin at 0.
    """
    longest = max(x for line in lines for x, _ in line.points) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        right = LEFT + (WIDTH - LEFT - RIGHT) * x / longest
        return right, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * y / most

    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>",
        f"<title>{escape(title)}: {escape(_in_words(lines))}</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        _text(LEFT, 22, title, "start"),
        _text(LEFT, TOP - 8, up, "start"),
        _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, across, "middle"),
    ]
    for y in ticks(most):
        height = place(0, y)[1]
        parts.append(
            f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{height:.1f}' y2='{height:.1f}' "
            "stroke='#ccc'/>"
        )
        parts.append(_text(LEFT - 8, height + 4, f"{y:g}", "end"))
    for x in ticks(longest):
        parts.append(_text(place(x, 0)[0], HEIGHT - BOTTOM + 20, f"{x:g}", "middle"))
    ends = _spread([place(*line.points[-1])[1] for line in lines])
    for line, (colour, dashes), end in zip(lines, STROKES, ends, strict=False):
        points = [place(*point) for point in line.points]
        drawn = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(
            f"<polyline points='{drawn}' fill='none' stroke='{colour}' stroke-width='2' "
            f"stroke-dasharray='{dashes or 'none'}'/>"
        )
        parts += [f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{colour}'/>" for x, y in points]
        parts.append(_text(WIDTH - RIGHT + 8, end + 4, line.name, "start", colour))
    return "\n".join([*parts, "</svg>"]) + "\n"


def ticks(greatest: float) -> list[float]:
    """Round numbers from 0 to at most `greatest`, four to eleven of them."""
    unit = 1.0
    while unit > greatest:
        unit /= 10
    while unit * 10 <= greatest:
        unit *= 10
    step = next(unit * part for part in (0.1, 0.2, 0.5, 1.0) if greatest / (unit * part) <= 10)
    return [round(step * number, 10) for number in range(int(greatest / step + 1e-9) + 1)]


def _in_words(lines: list[Line]) -> str:
    return ", ".join(f"{line.name} {line.points[-1][1]:.3g}" for line in lines)


def _spread(heights: list[float]) -> list[float]:
    """Heights for names: in the same order, none on another."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed, least = [0.0] * len(heights), TOP
    for i in order:
        placed[i] = max(heights[i], least)
        least = placed[i] + APART
    return placed


def _text(x: float, y: float, words: str, anchor: str, colour: str = "black") -> str:
    start = f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}' {STYLE}>"
    return f"{start}{escape(words)}</text>"
