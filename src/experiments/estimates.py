"""Estimates with standard errors, and the tables in which they are printed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Estimate:
    """A number that was estimated from people, and its standard error."""

    value: float
    error: float

    def __str__(self) -> str:
        return f"{_short(self.value)} ± {_short(self.error)}"

    @property
    def is_clear(self) -> bool:
        """Return whether the number differs from 0 by more than two standard errors."""
        return abs(self.value) > 2 * self.error


def _short(value: float) -> str:
    return f"{value:.2f}"


def mean(values: Sequence[float] | torch.Tensor) -> Estimate:
    """Return the mean of independent values, such as one for each person.

    For a difference between two conditions, give the differences person by person: what both
    conditions have in common then cancels.
    """
    x = torch.as_tensor(values, dtype=torch.float64)
    if len(x) < 2:
        return Estimate(float(x.mean()) if len(x) else math.nan, math.nan)
    return Estimate(float(x.mean()), float(x.std() / math.sqrt(len(x))))


def slope(x: torch.Tensor, y: torch.Tensor, cluster: Sequence[int]) -> Estimate:
    """Return the slope b of the line y = b x through the origin that fits best.

    Its standard error allows values of the same cluster to depend on each other (Cameron and
    Miller 2015, equation 9): pairs with one person in common do.

    Args:
        x, y: shape (N,).
        cluster: for each of the N values, the number of its cluster.
    """
    x, y = x.double(), y.double()
    b = (x * y).sum() / (x * x).sum()
    sums: dict[int, float] = {}
    for number, each in zip(cluster, (x * (y - b * x)).tolist(), strict=True):
        sums[number] = sums.get(number, 0.0) + each
    few = len(sums) / max(len(sums) - 1, 1)
    error = math.sqrt(few * sum(each * each for each in sums.values())) / float((x * x).sum())
    return Estimate(float(b), error)


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a table as text; its first column is aligned to the left."""
    cells = [list(map(str, row)) for row in (header, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for first, *others in cells:
        line = [first.ljust(widths[0])]
        line += [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
        lines.append("  ".join(line).rstrip())
    return "\n".join(lines)
