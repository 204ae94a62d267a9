"""Pictures, drawn by matplotlib as SVG, which any browser can show: the loss of a training.

matplotlib is imported by the functions that draw, since it takes a second.
"""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANEL = 6.4, 4.0  # width and height of a panel, in inches
POINTS = 320  # of a curve, each the mean of several steps
# Of lines: distinct with any kind of colour blindness (Okabe and Ito 2008), and by their dashes.
LOOKS: tuple[dict[str, Any], ...] = (
    {"color": "#0072b2", "linestyle": "-"},
    {"color": "#d55e00", "linestyle": (0, (4, 2))},
    {"color": "#009e73", "linestyle": (0, (1, 1.5))},
    {"color": "#444444", "linestyle": (0, (1, 3))},
)


def panels(count: int = 1, size: tuple[float, float] = PANEL) -> list[Axes]:
    """Return a new picture's axes, side by side, each so many inches wide and high."""
    from matplotlib.figure import Figure

    figure = Figure((count * size[0], size[1]), layout="constrained")
    axes = list(figure.subplots(1, count, squeeze=False)[0])
    for each in axes:
        each.grid(axis="y", color="#cccccc", linewidth=0.5)
        each.set_axisbelow(True)
        each.spines[["top", "right"]].set_visible(False)
    return axes


def svg(axes: Axes, title: str) -> str:
    """Return the picture of axes as an SVG document, with a title for screen readers.

    The same picture gives the same text.
    """
    import matplotlib

    text = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "pretraining"}):
        figure = axes.get_figure(root=True)
        assert figure is not None
        figure.savefig(text, format="svg", metadata={"Creator": None, "Date": None, "Title": title})
    return text.getvalue().replace("<svg ", '<svg role="img" ', 1)


def draw_loss(history: list[float], title: str) -> str:
    """Return the curve of the loss of each step, in nats, as an SVG document below a title."""
    size = -(-len(history) // POINTS)
    groups = [history[start : start + size] for start in range(0, len(history), size)]
    steps = [number * size + (len(group) + 1) / 2 for number, group in enumerate(groups)]
    losses = [sum(group) / len(group) for group in groups]
    (axes,) = panels()
    axes.set(title=title, xlabel="step", ylabel="loss (nats per character)")
    axes.plot(steps, losses, **LOOKS[0])
    axes.set_xlim(0, len(history))
    axes.set_ylim(bottom=0)
    return svg(axes, f"{title}: loss {losses[-1]:.3f} after {len(history)} steps")
