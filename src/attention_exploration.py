"""Plot what one head and two heads do when a key is longer or shorter.

    python src/attention_exploration.py              write two figures to this folder
    python src/attention_exploration.py figures      write them to the folder `figures`

attention_lengths.svg: the weights of values a and b against the length of k_a.
attention_samples.svg: the outputs c for sampled keys, one dot per sample.

They show single_head_query and two_head_queries of submission/attention_exploration.py, for three
keys with perpendicular means. Any browser opens them. Run the command from the assignment's root.
Exit codes: 0 done, 2 usage or bad input.
"""

import environment

if __name__ == "__main__":
    environment.check("numpy", "matplotlib")
    environment.find_submission()

import sys
from pathlib import Path
from typing import Any

import numpy as np

from pretraining import InputError
from pretraining.files import write_atomically
from pretraining.plots import panels, svg
from submission.attention_exploration import attention, single_head_query, two_head_queries

MEANS = np.eye(3)  # of k_a, k_b and one more
VALUES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.5]])  # v_a, v_b and one more, as points
SAMPLES = 300
ALPHA = 1e-14  # the vanishing covariance

SIZE = 4.5, 3.75  # of a panel, in inches
# For the weights of a, b and the other: distinct without colours, and where they overlap.
LOOKS: dict[str, dict[str, Any]] = {
    "a": {"color": "#aaaaaa", "linewidth": 6},
    "b": {"color": "black", "linewidth": 2, "linestyle": "--"},
    "other": {"color": "black", "linewidth": 1, "linestyle": ":"},
}


def heads() -> dict[str, np.ndarray]:
    """Return the student's queries, one per row, of a single head and of two heads.

    Raises:
        InputError: a function does not return queries.
    """
    one, two = single_head_query(MEANS.copy(), 0, 1), two_head_queries(MEANS.copy(), 0, 1)
    return {
        "a single head": queries("single_head_query", one, (3,)).reshape(1, 3),
        "the average of two heads": queries("two_head_queries", two, (2, 3)),
    }


def queries(function: str, answer: object, shape: tuple[int, ...]) -> np.ndarray:
    """Return an answer as an array after checking that it has this shape and finite numbers."""
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
    """Return the output c, (2,), and the weights, (3,), averaged over heads: one query per row."""
    results = [attention(query, keys, VALUES) for query in rows]
    outputs, weights = zip(*results, strict=True)
    return np.mean(outputs, axis=0), np.mean(weights, axis=0)


def lengths_figure() -> str:
    """Draw weights against the length of k_a: a panel for one head, one for two."""
    lengths, both = np.linspace(0, 2, 401), heads()
    axes = panels(2, SIZE)
    for each, (title, rows) in zip(axes, both.items(), strict=True):
        each.set(title=title, xlabel="length of k_a", ylabel="weight", ylim=(0, 1.05))
        keys = [MEANS * [[length], [1], [1]] for length in lengths]
        weights = np.array([average(rows, each)[1] for each in keys])  # (401, 3)
        for column, (label, look) in zip(weights.T, LOOKS.items(), strict=True):
            each.plot(lengths, column, label=label, **look)
        each.legend()
    return svg(axes[0], "Attention weights against the length of k_a")


def samples_figure() -> str:
    """Draw the outputs c for samples of the keys: a panel for one head, one for two."""
    rng = np.random.default_rng(0)
    keys = MEANS + np.sqrt(ALPHA) * rng.normal(size=(SAMPLES, 3, 3))
    keys[:, 0] += np.sqrt(0.5) * rng.normal(size=(SAMPLES, 1)) * MEANS[0]
    keys = keys[keys[:, 0] @ MEANS[0] > 0]
    jitter = rng.normal(scale=0.05, size=(len(keys), 2))  # otherwise dots would hide each other
    both = heads()
    axes = panels(2, SIZE)
    for each, (title, rows) in zip(axes, both.items(), strict=True):
        each.set(title=title, xlim=(-1.5, 1.5), ylim=(-0.5, 2))
        each.set(xlabel="c, first part (dots are moved a little)", ylabel="c, second part")
        outputs = np.array([average(rows, sample)[0] for sample in keys]) + jitter
        each.plot(*outputs.T, "o", color="black", alpha=0.5, fillstyle="none")
        each.plot(*VALUES.T, "+", color="black", markersize=12, markeredgewidth=2)
        for place, name in zip(VALUES, ("v_a", "v_b", "the other value"), strict=True):
            each.annotate(name, place, (0, 12), textcoords="offset points", ha="center")
    return svg(axes[0], "Outputs c for samples of the keys")


def draw(folder: Path) -> None:
    """Write both figures, and print where they are."""
    figures = {"attention_lengths.svg": lengths_figure(), "attention_samples.svg": samples_figure()}
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in figures.items():
        write_atomically(folder / name, text)
        print(f"written: {folder / name}")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = environment.parser(__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("."))
    folder = parser.parse_args(arguments).folder
    return environment.report_errors(lambda: draw(folder))


if __name__ == "__main__":
    sys.exit(main())
