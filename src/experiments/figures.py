"""The experiments' pictures: bars and curves with standard errors, drawn by matplotlib as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pretraining.plots import LOOKS, panels, svg

from .estimates import Estimate

Number = float | Estimate
Series = tuple[Sequence[float], Sequence[Number]]
COLOURS = [look["color"] for look in LOOKS]


def bars(
    title: str, names: Sequence[str], groups: Mapping[str, Sequence[Number]], label: str
) -> str:
    """Return bars side by side: for each of `names` one of each group.

    Args:
        label: what is measured.
    """
    (axes,) = panels(size=(max(6.4, 0.34 * len(names) * len(groups)), 4.0))
    width = 0.8 / len(groups)
    for number, (group, numbers) in enumerate(groups.items()):
        left = [each + (number - (len(groups) - 1) / 2) * width for each in range(len(names))]
        values, errors = _split(numbers)
        colour = COLOURS[number % len(COLOURS)]
        axes.bar(left, values, width, yerr=errors, label=group, color=colour, ecolor="#222222")
    axes.set(title=title, ylabel=label, ylim=(0, None))
    axes.set_xticks(range(len(names)), names, rotation=60 if len(names) > 6 else 0)
    axes.legend(frameon=False)
    return svg(axes, title)


def curves(title: str, series: Mapping[str, Mapping[str, Series]], label: str) -> str:
    """Return panels of curves, one panel for each horizontal axis.

    Args:
        series: for the label of each horizontal axis, the curves by name.
        label: of the vertical axis.
    """
    found = panels(len(series))
    for axes, (below, lines) in zip(found, series.items(), strict=True):
        for number, (name, (x, numbers)) in enumerate(lines.items()):
            values, errors = _split(numbers)
            axes.errorbar(x, values, errors, label=name, capsize=2, **LOOKS[number % len(LOOKS)])
        axes.set(xlabel=below, ylim=(0, 1.05))
    found[0].set(title=title, ylabel=label)
    found[0].legend(frameon=False)
    return svg(found[0], title)


def _split(numbers: Sequence[Number]) -> tuple[list[float], list[float]]:
    values = [each.value if isinstance(each, Estimate) else each for each in numbers]
    return values, [each.error if isinstance(each, Estimate) else 0.0 for each in numbers]
