"""The reference's chance of missing a threshold, estimated from its runs on separate worlds.

The share of right answers varies from world to world, and a run's answers vary around it. The
beta-binomial distribution describes both: the share has a beta distribution with mean m and
correlation rho = 1 / (a + b + 1), and the right answers of a run are binomial for a given share.
The fit is the likelihood's maximum on a grid. The upper bound is the largest chance among all
(m, rho) whose log-likelihood is at most 1.353 below the maximum, half of the 90 % quantile of the
chi-squared distribution with one degree of freedom: a one-sided 95 % bound by the profile
likelihood (Pawitan, In All Likelihood, 2001, section 3.4).

Only one run of each world is used, because runs on the same world are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from autograder.description import REPO, load_assignment
from benchmarks.goals import KINDS

SPLIT = 100  # people in dev, and in test
WITHIN = 1.353
MEANS = torch.linspace(0.002, 0.998, 499, dtype=torch.float64)
CORRELATIONS = torch.logspace(-4, math.log10(0.9), 200, dtype=torch.float64)


def chances(runs: list[dict]) -> str:
    """Return a Markdown table with a row for each variant that was trained on separate worlds."""
    thresholds = load_assignment(REPO).datasets["world"].thresholds
    lines = [
        "| | on | worlds | right, of 200 each | mean | correlation | threshold | "
        "chance of missing it | 95 % upper bound |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    groups: dict[tuple[str, str], dict[int, dict]] = {}
    for run in runs:
        if run.get("world") is not None and run["pipeline"] in thresholds:
            worlds = groups.setdefault((run["pipeline"], run["isa"]), {})
            worlds.setdefault(run["world"], run)  # the first run of each world
    for (variant, isa), worlds in groups.items():
        if len(worlds) < 3:
            continue
        right = [run["held_out"][0] for run in worlds.values()]
        threshold = thresholds[variant]
        mean, correlation, chance, bound = estimate(right, 2 * SPLIT, threshold)
        lines.append(
            f"| {variant} | {KINDS[isa]} | {len(right)} | "
            f"{', '.join(map(str, sorted(right)))} | {mean:.0%} | {correlation:.3f} | "
            f"{threshold:.0%} | {chance:.0e} | {bound:.0e} |"
        )
    return "\n".join(lines) + "\n"


def estimate(right: Sequence[int], n: int, threshold: float) -> tuple[float, float, float, float]:
    """Fit a beta-binomial distribution.

    Args:
        right: the number of right answers of each run, out of n.
        threshold: the share of a split's answers that must be right.

    Returns:
        the fitted mean and correlation; the fitted chance that dev or test misses the threshold
        (at most the sum of both), and its upper bound.
    """
    m, rho = torch.meshgrid(MEANS, CORRELATIONS, indexing="ij")
    likelihood = torch.zeros_like(m)
    for k in right:
        likelihood += log_chance(k, n, m, rho)
    least = math.ceil(threshold * SPLIT - 1e-9)
    missed = sum(log_chance(k, SPLIT, m, rho).exp() for k in range(least))
    chance = (2 * torch.as_tensor(missed)).clamp(max=1.0)
    best = int(likelihood.argmax())
    bound = chance[likelihood >= likelihood.max() - WITHIN].max()
    return (
        float(m.flatten()[best]),
        float(rho.flatten()[best]),
        float(chance.flatten()[best]),
        float(bound),
    )


def log_chance(k: int, n: int, m: Tensor, rho: Tensor) -> Tensor:
    """Return the logarithm of the beta-binomial probability of k out of n."""
    a, b = m * (1 / rho - 1), (1 - m) * (1 / rho - 1)
    choose = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return choose + log_beta(a + k, b + n - k) - log_beta(a, b)


def log_beta(a: Tensor, b: Tensor) -> Tensor:
    """Return log B(a, b)."""
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)
