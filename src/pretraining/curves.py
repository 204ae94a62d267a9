"""Draws the loss of a training as an SVG picture, which every browser shows."""

from pathlib import Path
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 640, 400
LEFT, RIGHT, TOP, BOTTOM = 60, 20, 40, 50  # margins
POINTS = 320  # one for two pixels: each is the mean of the steps it stands for

STYLE = "font-family='sans-serif' font-size='13'"


def draw_loss(history: list[float], title: str) -> str:
    """An SVG document.

    Args:
        history: the loss of each step, in nats; at least one.
        title: what is written above.
    """
    points = means(history, POINTS)
    greatest = max(loss for _, loss in points) * 1.05 or 1.0
    steps = len(history)

    def across(step: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * step / steps

    def down(loss: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * loss / greatest

    line = " ".join(f"{across(step):.1f},{down(loss):.1f}" for step, loss in points)
    last = points[-1][1]
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {HEIGHT}' role='img'>",
        f"<title>{escape(title)}: loss {last:.3f} after {steps} steps</title>",
        f"<rect width='{WIDTH}' height='{HEIGHT}' fill='white'/>",
        _text(WIDTH / 2, 24, title, "middle"),
        *(_level(down(loss), f"{loss:g}") for loss in ticks(greatest)),
        *(
            _text(across(step), HEIGHT - BOTTOM + 20, f"{step:,.0f}", "middle")
            for step in ticks(steps)
        ),
        _text(WIDTH / 2, HEIGHT - 10, "step", "middle"),
        _text(LEFT, TOP - 8, "loss (nats a character)", "start"),
        f"<polyline points='{line}' fill='none' stroke='#1f5fa8' stroke-width='1.5'/>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def means(history: list[float], most: int) -> list[tuple[float, float]]:
    """At most so many pairs of (step, mean loss), each of consecutive steps."""
    size = -(-len(history) // most)
    groups = [history[start : start + size] for start in range(0, len(history), size)]
    return [
        (number * size + (len(group) + 1) / 2, sum(group) / len(group))
        for number, group in enumerate(groups)
    ]


def ticks(greatest: float) -> list[float]:
    """Round numbers from 0 to at most `greatest`, four to ten of them."""
    unit = 10.0 ** (len(f"{greatest:.0f}") - 1)
    while greatest / unit < 1:
        unit /= 10
    step = next(unit * part for part in (0.1, 0.2, 0.5, 1.0) if greatest / (unit * part) <= 10)
    return [step * number for number in range(int(greatest / step + 1e-9) + 1)]


def _level(y: float, label: str) -> str:
    line = f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{y:.1f}' y2='{y:.1f}' stroke='#ccc'/>"
    return line + _text(LEFT - 8, y + 4, label, "end")


def _text(x: float, y: float, words: str, anchor: str) -> str:
    return f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' {STYLE}>{escape(words)}</text>"


def path_for(params_path: str) -> Path:
    """Where the picture of a training goes: beside its parameters, with the ending .svg."""
    path = Path(params_path)
    return path.with_suffix(".svg") if path.suffix else path.with_name(path.name + ".svg")
