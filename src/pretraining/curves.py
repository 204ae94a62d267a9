"""Draw the loss of a training as an SVG picture."""

from pathlib import Path

from .plots import Panel, from_zero, svg

POINTS = 320  # one per two pixels, each the mean of several steps


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
