"""Compute the numbers and plots that the written solutions quote.

    python solutions/written/quoted_numbers.py build/solutions
    python solutions/written/quoted_numbers.py build/solutions --trained build/reference

Writes FOLDER/numbers.json and FOLDER/*.dat (columns below a line of names, for pgfplots). The
reference's functions (solutions/submission/attention_exploration.py) are tried on keys drawn with
fixed seeds, so each run writes the same bytes. --trained names a folder that `make reference` has
filled, to measure how certain the trained model is (confidence.py, which needs torch); without it,
"confidence", "cloze" and "accuracy" are null. The file isn't called numbers.py because numpy
imports a module of that name from the standard library, and would find this one.

Exit codes: 0 done, 2 usage or bad input.
"""

import argparse
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType

import numpy as np

from heads_compared import ALPHA, KEYS, compared
from rounding import rounded, scientific

HERE = Path(__file__).resolve().parent
TOLERANCE = 0.01  # of weights, as the grader has it
COUNTS = (3, 12, 100)  # of keys, where one number tells little
SCALES = (1, 2, 5, 10, 100)  # s of the queries s (k_a + k_b)
LARGEST = 50.0  # a scale that is enough for any tolerance here

SAMPLES = 20_000
NOISES = ((1e-12, 100.0), (1e-12, 5000.0), (1e-6, 100.0), (1e-6, 5000.0))  # alpha and s
NOISE_SAMPLES = 5_000
NEAR = 0.05  # weights so far from a corner or the middle count as there
BINS = 21  # odd, so that 1/2 is in the middle of one

BETA = 5.0  # the norm of u_a to u_d, the least that docstrings allow
MULTIPLES = np.linspace(-3, 3, 25)  # of u_d and u_c, added to x_2

Row = Iterable[float]


def reference() -> ModuleType:
    """Import the reference's attention_exploration.py."""
    path = HERE.parent / "submission" / "attention_exploration.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader  # as there are for any file that ends in .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def weight_of_first(
    exploration: ModuleType, direction: np.ndarray, n: int
) -> Callable[[float], float]:
    """Return a function that takes a query's scale to the weight of the first of n keys.

    Args:
        direction: of the query; the keys are perpendicular, of norm 1.
    """
    keys = np.eye(n)
    unit = direction / (direction @ keys[0])

    def weight(scale: float) -> float:
        return exploration.attention(scale * unit, keys, keys)[1][0]

    return weight


def least_scale(weight: Callable[[float], float], wanted: float) -> float:
    """Return the least scale from 0 to LARGEST whose weight is `wanted`, by bisection."""
    low, high = 0.0, LARGEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if wanted - weight(middle) <= TOLERANCE else (middle, high)
    return high


def copying(exploration: ModuleType) -> dict:
    """Find the scale s with which q = s k_j copies value j, for perpendicular keys of norm 1."""
    rows = []
    for n in COUNTS:
        weight = weight_of_first(exploration, exploration.copying_query(np.eye(n), 0), n)
        scale = least_scale(weight, 1.0)
        rows.append({"n": n, "scale": rounded(scale), "unscaled": rounded(weight(1.0))})
    return {"tolerance": TOLERANCE, "rows": rows}


def averaging(exploration: ModuleType) -> tuple[dict, list[Row]]:
    """Find weights with q = s (k_a + k_b), and the scale needed; also the rows of average.dat."""
    rows, columns = [], []
    plotted = np.linspace(0, 10, 101)
    for n in COUNTS:
        weight = weight_of_first(exploration, exploration.average_query(np.eye(n), 0, 1), n)
        scale = least_scale(weight, 0.5)
        weights = [{"s": s, "alpha_a": rounded(weight(s))} for s in SCALES]
        rows.append({"n": n, "scale": rounded(scale), "weights": weights})
        columns.append([weight(s) for s in plotted])
    return {"tolerance": TOLERANCE, "rows": rows}, list(zip(plotted, *columns, strict=True))


def noise(exploration: ModuleType) -> list[dict]:
    """Measure how far covariances alpha I alone move the weights of a single head."""
    means = np.eye(KEYS)
    direction = exploration.single_head_query(means, 0, 1)
    direction = direction / (direction @ means[0])
    rows = []
    for alpha, scale in NOISES:
        rng = np.random.default_rng(1)
        keys = means + math.sqrt(alpha) * rng.normal(size=(NOISE_SAMPLES, KEYS, KEYS))
        weights = np.array([exploration.attention(scale * direction, k, k)[1][0] for k in keys])
        rows.append(
            {
                "alpha": scientific(alpha),
                "s": scale,
                "difference": scientific(2 * scale * math.sqrt(alpha)),
                "moved": scientific(float(np.sqrt(np.mean((weights - 0.5) ** 2)))),
            }
        )
    return rows


def draw_stretched(means: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Draw keys, k_a with covariance alpha I + (1/2) mu_a mu_a^T; return them and k_a's L."""
    rng = np.random.default_rng(0)
    lengths = rng.normal(1.0, math.sqrt(0.5), size=SAMPLES)
    keys = means + math.sqrt(ALPHA) * rng.normal(size=(SAMPLES, *means.shape))
    keys[:, 0] += (lengths - 1)[:, None] * means[0]
    return keys, lengths


def heads(exploration: ModuleType) -> dict[str, np.ndarray]:
    """Return the queries of a single head and of two, one per row."""
    means = np.eye(KEYS)
    return {
        "single": exploration.single_head_query(means, 0, 1)[None],
        "two": np.stack(exploration.two_head_queries(means, 0, 1)),
    }


def weights_of(exploration: ModuleType, queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the weights of a and b for each sample, averaged over heads; shape (samples, 2)."""
    return np.array(
        [
            np.mean([exploration.attention(query, sample, sample)[1][:2] for query in queries], 0)
            for sample in keys
        ]
    )


def spread(weights: np.ndarray) -> dict[str, float]:
    """Say where weights (alpha_a, alpha_b) lie: in shares of samples, and how far from (1/2, 1/2).

    A sample counts as near a when (alpha_a, alpha_b) is within NEAR of (1, 0), near b and near the
    middle likewise.
    """

    def distance(place: tuple[float, float]) -> np.ndarray:
        return np.linalg.norm(weights - place, axis=1)

    near = {"a": (1, 0), "b": (0, 1), "middle": (0.5, 0.5)}
    shares = {f"near_{name}": np.mean(distance(place) <= NEAR) for name, place in near.items()}
    return {
        **{name: rounded(share) for name, share in shares.items()},
        "elsewhere": rounded(1 - sum(shares.values())),
        "rms": rounded(np.sqrt(np.mean(distance(near["middle"]) ** 2))),
        "mean_a": rounded(np.mean(weights[:, 0])),
        "deviation_a": rounded(np.std(weights[:, 0])),
    }


def stretched(exploration: ModuleType) -> tuple[dict, list[Row]]:
    """Compare one head with two when k_a's length varies; return that and histogram.dat's rows.

    "all" is over all samples, "kept" over those with L > 0: the sheet permits ignoring the others.
    """
    keys, lengths = draw_stretched(np.eye(KEYS))
    weights = {
        name: weights_of(exploration, queries, keys) for name, queries in heads(exploration).items()
    }
    kept = lengths > 0
    edges = np.linspace(0, 1, BINS + 1)
    shares = [
        np.histogram(np.clip(weights[name][kept, 0], 0, 1), edges)[0] / kept.sum()
        for name in ("single", "two")
    ]
    spread_of_kept = {name: spread(rows[kept]) for name, rows in weights.items()}
    numbers = {
        "n": KEYS,
        "s": rounded(heads(exploration)["single"][0][0]),
        "samples": SAMPLES,
        "near": NEAR,
        "kept_share": rounded(kept.mean()),
        "theory": theory(KEYS, float(heads(exploration)["single"][0][0])),
        "all": {name: spread(rows) for name, rows in weights.items()},
        "kept": spread_of_kept,
        "ratio": rounded(spread_of_kept["single"]["rms"] / spread_of_kept["two"]["rms"]),
    }
    return numbers, list(steps(edges, *shares))


def theory(n: int, s: float) -> dict:
    """Compute what the solutions derive for n keys and queries of scale s, with L ~ N(1, 1/2).

    negative: P(L < 0). between: a bound on the probability that a single head's alpha_a lies
    between 5 % and 95 %. density: of L at 0, and given L > 0. short: the length below which head
    1 of two leaves more than 1 % to others than a, and its probability, given L > 0. rms: of two
    heads, (alpha_a, alpha_b) from (1/2, 1/2), to first order.
    """

    def below(length: float) -> float:
        return math.erfc(1 - length) / 2

    density = math.exp(-1) / math.sqrt(math.pi)
    given = density / (1 - below(0))
    short = math.log((n - 1) * (1 - TOLERANCE) / TOLERANCE) / s
    square = (math.log(n) - (n - 1) / n) / s * given * (1 + 1 / (n - 1) ** 2) / 4
    return {
        "negative": rounded(below(0)),
        "between": rounded(2 / (s * math.sqrt(math.pi)) * math.log(0.95 / 0.05)),
        "density": [rounded(density), rounded(given)],
        "short": rounded(short),
        "short_share": rounded((below(short) - below(0)) / (1 - below(0))),
        "rms": rounded(math.sqrt(square)),
    }


def steps(edges: np.ndarray, *columns: np.ndarray) -> Iterable[Row]:
    """Return rows for pgfplots' `const plot`: left edges, and at the end the last value again."""
    return zip(edges, *([*column, column[-1]] for column in columns), strict=True)


def by_length(exploration: ModuleType) -> list[Row]:
    """Return the rows of lengths.dat: weights of a and b against L, of a single head and of two."""
    fine = np.linspace(-0.12, 0.12, 97)  # where curves are steep
    lengths = np.unique(np.concatenate([np.linspace(-0.5, 2.5, 61), fine, 1 + fine]).round(6))
    keys = np.tile(np.eye(KEYS), (len(lengths), 1, 1))
    keys[:, 0] *= lengths[:, None]
    weights = [weights_of(exploration, queries, keys) for queries in heads(exploration).values()]
    return list(np.column_stack([lengths, *weights]))


def key_query_value(exploration: ModuleType) -> dict:
    """Measure self-attention at beta = BETA without and with matrices; distances are over beta."""
    ua, ub, uc, ud = u = BETA * np.eye(4)
    x = np.stack([ud + ub, ua, uc + ub])

    def outputs(x: np.ndarray, K: np.ndarray, Q: np.ndarray, V: np.ndarray) -> tuple:
        results = [exploration.attention(Q @ xi, x @ K.T, x @ V.T) for xi in x]
        return tuple(np.stack(parts) for parts in zip(*results, strict=True))

    def miss(got: np.ndarray, wanted: np.ndarray) -> dict:
        return scientific(float(np.linalg.norm(got - wanted)) / BETA)

    plain = (np.eye(4),) * 3
    added = []
    for vector in (ud, uc):
        c, alpha = outputs(x + np.outer([0, 1, 0], vector), *plain)
        added.append(
            {
                "miss": miss(c[1], exploration.added_output(*u, vector)),
                "others": scientific(float(alpha[1, 0] + alpha[1, 2])),
            }
        )
    K, Q, V = exploration.key_query_value(*u)
    c, alpha = outputs(x, K, Q, V)
    return {
        "beta": BETA,
        "unprojected": {"miss": miss(outputs(x, *plain)[0][1], exploration.unprojected_output(*u))},
        "added": added,
        "multiples": {"from": float(MULTIPLES[0]), "to": float(MULTIPLES[-1])},
        "others_at_most": scientific(greatest_others(exploration, u)),
        "matrices": {
            "others_1": scientific(float(alpha[0, 0] + alpha[0, 1])),
            "others_2": scientific(float(alpha[1, 1] + alpha[1, 2])),
            "miss_1": miss(c[0], ub - uc),
            "miss_2": miss(c[1], ub),
        },
    }


def greatest_others(exploration: ModuleType, u: np.ndarray) -> float:
    """Return the most that x_2 = ua + t ud + r uc leaves to x_1 and x_3, for t, r in MULTIPLES."""
    ua, ub, uc, ud = u
    left = []
    for t in MULTIPLES:
        for r in MULTIPLES:
            x = np.stack([ud + ub, ua + t * ud + r * uc, uc + ub])
            _, alpha = exploration.attention(x[1], x, x)
            left.append(float(alpha[0] + alpha[2]))
    return max(left)


def of_trained(folder: Path, recipe: str | None) -> dict:
    """Run confidence.py on a trained folder, in an interpreter of its own; return what it finds.

    Raises:
        subprocess.CalledProcessError: confidence.py failed, and has printed why.
    """
    command = [sys.executable, "-X", "utf8", str(HERE / "confidence.py"), str(folder)]
    command += ["--recipe", recipe] if recipe else []
    return json.loads(subprocess.check_output(command, encoding="utf-8", stdin=subprocess.DEVNULL))


def table(names: str, rows: Iterable[Row]) -> str:
    """Return the text of a .dat file: a line of names, then one line per row."""
    return "".join(
        f"{line}\n" for line in [names, *(" ".join(f"{x:.6g}" for x in row) for row in rows)]
    )


def compute(trained: Path | None, recipe: str | None) -> dict[str, str]:
    """Return every file's text, by its name.

    Raises:
        subprocess.CalledProcessError: the trained folder can't be used; confidence.py says why.
    """
    found = {} if trained is None else of_trained(trained, recipe)
    exploration = reference()
    average, average_rows = averaging(exploration)
    lengths, histogram_rows = stretched(exploration)
    numbers = {
        "copying": copying(exploration),
        "average": average,
        "noise": noise(exploration),
        "lengths": lengths,
        "compared": compared(exploration),
        "key_query_value": key_query_value(exploration),
        "accuracy": None,
        "confidence": None,
        "cloze": None,
    }
    texts = {
        "average.dat": table(" ".join(["s", *(f"n{n}" for n in COUNTS)]), average_rows),
        "lengths.dat": table("length singlea singleb twoa twob", by_length(exploration)),
        "histogram.dat": table("weight single two", histogram_rows),
    }
    if found:
        texts["confidence.dat"] = table("probability right wrong unseen", found.pop("histogram"))
        numbers |= found
    texts["numbers.json"] = json.dumps(numbers, ensure_ascii=False, allow_nan=False, indent=1)
    texts["numbers.json"] += "\n"
    return texts


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to write the files")
    parser.add_argument("--trained", type=Path, help="build/reference, after `make reference`")
    parser.add_argument("--recipe", help="the recipe of the training (default: the data set's)")
    asked = parser.parse_args(arguments)
    try:
        texts = compute(asked.trained, asked.recipe)
        asked.folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (asked.folder / name).write_text(text, encoding="utf-8", newline="\n")
    except subprocess.CalledProcessError:
        return 2
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
