"""Estimates with standard errors, and how they are shown: tables as text, pictures as SVG."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass

import torch

from pretraining.plots import LOOKS, panels, svg

Results = tuple[list[str], str]  # of an experiment: lines of text, and a picture


@dataclass(frozen=True)
class Estimate:
    """A number and its standard error: 0 if it wasn't estimated from people."""

    value: float
    error: float = 0.0

    def __str__(self) -> str:
        return f"{self.value:.2f} ± {self.error:.2f}"

    @property
    def is_clear(self) -> bool:
        """Whether the number differs from 0 by more than two standard errors."""
        return abs(self.value) > 2 * self.error


def mean(values: Sequence[float] | torch.Tensor) -> Estimate:
    """Return the mean of independent values, such as one for each person.

    For a difference between two conditions, give the differences person by person: what both
    conditions have in common then cancels.
    """
    x = torch.as_tensor(values, dtype=torch.float64)
    if len(x) < 2:
        return Estimate(float(x.mean()) if len(x) else math.nan, math.nan)
    return Estimate(float(x.mean()), float(x.std() / math.sqrt(len(x))))


def difference(first: Estimate, second: Estimate) -> Estimate:
    """Return the first minus the second, for estimates that don't depend on each other."""
    return Estimate(first.value - second.value, math.hypot(first.error, second.error))


@dataclass(frozen=True)
class Slope:
    """The slope of a line through the origin, or a sum of such slopes, over N observations.

    Attributes:
        pulls: how far each observation moves the value, (N,), double; their sum is 0.
    """

    value: float
    pulls: torch.Tensor

    @classmethod
    def of(cls, x: torch.Tensor, y: torch.Tensor) -> Slope:
        """Return the slope b of the line y = b x that fits best, for (N,) values."""
        x, y = x.double(), y.double()
        square = (x * x).sum()
        b = (x * y).sum() / square
        return cls(float(b), x * (y - b * x) / square)

    def __sub__(self, other: Slope) -> Slope:
        """Return a difference over the same observations: what both have in common cancels."""
        return Slope(self.value - other.value, self.pulls - other.pulls)

    def estimate(self, members: Sequence[Collection[Hashable]]) -> Estimate:
        """Return the slope with a standard error.

        Observations with a member in common, such as a person, may depend on each other (Aronow,
        Samii and Assenova 2015); all others are taken as independent.
        """
        known = {name: None for some in members for name in some}
        has = torch.tensor([[float(name in some) for name in known] for some in members])
        depend = (has @ has.T > 0).double()  # (N, N)
        square = float(self.pulls @ depend @ self.pulls)
        square = max(square, float(self.pulls @ self.pulls))  # a sum over pairs may be negative
        return Estimate(self.value, math.sqrt(square * len(known) / max(len(known) - 1, 1)))


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as text; its first column is aligned to the left."""
    cells = [list(map(str, row)) for row in (header, *rows)]
    first, *others = (max(map(len, column)) for column in zip(*cells, strict=True))
    line = "  ".join([f"{{:<{first}}}", *(f"{{:>{width}}}" for width in others)])
    return "\n".join(line.format(*row).rstrip() for row in cells)


def bars(
    title: str, names: Sequence[str], groups: Mapping[str, Sequence[Estimate]], label: str
) -> str:
    """Return bars side by side, for each of `names` one of each group; `label` is what they are."""
    (axes,) = panels(size=(max(6.4, 0.34 * len(names) * len(groups)), 4.0))
    width = 0.8 / len(groups)
    for number, (group, numbers) in enumerate(groups.items()):
        left = [each + (number - (len(groups) - 1) / 2) * width for each in range(len(names))]
        look = {"label": group, "color": LOOKS[number % len(LOOKS)]["color"], "ecolor": "#222222"}
        axes.bar(left, [n.value for n in numbers], width, yerr=[n.error for n in numbers], **look)
    axes.set(title=title, ylabel=label, ylim=(0, None))
    axes.set_xticks(range(len(names)), names, rotation=60 if len(names) > 6 else 0)
    axes.legend(frameon=False)
    return svg(axes, title)


Curves = Mapping[str, tuple[Sequence[float], Sequence[Estimate]]]  # by name


def curves(title: str, series: Mapping[str, Curves], label: str) -> str:
    """Return panels of curves, one for each horizontal axis of `series`; `label` is vertical."""
    first, *_ = both = panels(len(series))
    for axes, (below, lines) in zip(both, series.items(), strict=True):
        for number, (name, (x, numbers)) in enumerate(lines.items()):
            values, errors = [n.value for n in numbers], [n.error for n in numbers]
            axes.errorbar(x, values, errors, label=name, capsize=2, **LOOKS[number % len(LOOKS)])
        axes.set(xlabel=below, ylim=(0, 1.05))
    first.set(title=title, ylabel=label)
    first.legend(frameon=False)
    return svg(first, title)
