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

HERE = Path(__file__).resolve().parent
TOLERANCE = 0.01  # of weights, as the grader has it
COUNTS = (3, 12, 100)  # of keys, where one number tells little
SCALES = (1, 2, 5, 10, 100)  # s of the queries s (k_a + k_b)
LARGEST = 50.0  # a scale that is enough for any tolerance here

KEYS = 6  # whose means are known; a and b are the first two
ALPHA = 1e-12  # the covariance that vanishes, as great as docstrings allow
SAMPLES = 20_000
# How keys change in samples: `length`: k_a is L mu_a, where L is normal with mean 1 and variance
# 1/2; `lengths`: every key is such a multiple of its mean, each with an L of its own; `stranger`:
# as `length`, with one more key of norm 1, perpendicular to all means, which no query knows.
CHANGES = ("length", "lengths", "stranger")
NOISES = ((1e-12, 100.0), (1e-12, 5000.0), (1e-6, 100.0), (1e-6, 5000.0))  # alpha and s
NOISE_SAMPLES = 5_000
NEAR = 0.05  # weights so far from a corner or the middle count as there
BINS = 21  # odd, so that 1/2 is in the middle of one

BETA = 5.0  # the norm of u_a to u_d, the least that docstrings allow
MULTIPLES = np.linspace(-3, 3, 25)  # of u_d and u_c, added to x_2

Row = Iterable[float]


def rounded(value: float | np.floating) -> float:
    """Round to six significant digits: more may differ between machines."""
    return float(f"{value:.6g}")


def scientific(value: float) -> dict[str, float]:
    """Split a small number as LaTeX writes it: mantissa times ten to the exponent."""
    mantissa, exponent = f"{value:.5e}".split("e")
    return {"value": rounded(value), "mantissa": float(mantissa), "exponent": int(exponent)}


def reference() -> ModuleType:
    """Import the reference's attention_exploration.py."""
    path = HERE.parent / "submission" / "attention_exploration.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader  # as there are for any file that ends in .py
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def weights_of(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Compute the weights of a and b, averaged over heads, for each sample; shape (samples, 2).

    Args:
        queries: one for each head, shape (heads, d).
        keys: shape (samples, n, d).
    """
    scores = keys @ queries.T  # (samples, n, heads)
    exponentials = np.exp(scores - scores.max(axis=1, keepdims=True))
    alpha = exponentials / exponentials.sum(axis=1, keepdims=True)
    return alpha[:, :2].mean(axis=-1)


def weight_of_first(direction: np.ndarray, n: int) -> Callable[[float], float]:
    """Return a function that takes a query's scale to the weight of the first of n keys.

    Args:
        direction: of the query; the keys are perpendicular, of norm 1.
    """
    unit = direction / direction[0]
    return lambda scale: weights_of(scale * unit[None], np.eye(n)[None])[0, 0]


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
        weight = weight_of_first(exploration.copying_query(np.eye(n), 0), n)
        scale = least_scale(weight, 1.0)
        rows.append({"n": n, "scale": rounded(scale), "unscaled": rounded(weight(1.0))})
    return {"tolerance": TOLERANCE, "rows": rows}


def averaging(exploration: ModuleType) -> tuple[dict, list[Row]]:
    """Find weights with q = s (k_a + k_b), and the scale needed; also the rows of average.dat."""
    rows, columns = [], []
    plotted = np.linspace(0, 10, 101)
    for n in COUNTS:
        weight = weight_of_first(exploration.average_query(np.eye(n), 0, 1), n)
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
        weights = weights_of(scale * direction[None], keys)[:, 0]
        rows.append(
            {
                "alpha": scientific(alpha),
                "s": scale,
                "difference": scientific(2 * scale * math.sqrt(alpha)),
                "moved": scientific(float(np.sqrt(np.mean((weights - 0.5) ** 2)))),
            }
        )
    return rows


def draw(change: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw samples of the keys with one of CHANGES.

    Returns:
        keys, shape (samples, n, KEYS + 1); the lengths L of k_a and, for `lengths`, of the others,
        shape (samples, 1 or KEYS).
    """
    rng = np.random.default_rng(CHANGES.index(change))
    directions = np.eye(KEYS + 1)[: KEYS + (change == "stranger")]
    keys = directions + math.sqrt(ALPHA) * rng.normal(size=(SAMPLES, *directions.shape))
    lengths = rng.normal(1.0, math.sqrt(0.5), size=(SAMPLES, KEYS if change == "lengths" else 1))
    many = lengths.shape[1]
    keys[:, :many] += (lengths - 1)[:, :, None] * directions[:many]
    return keys, lengths


def designs(exploration: ModuleType) -> dict[str, np.ndarray]:
    """Return the queries of designs that are meant to average values a and b, one per row.

    sum: a single head, s (mu_a + mu_b); steady: a single head, -s times the sum of all other
    means; two: two heads, s mu_a and s mu_b.
    """
    means = np.eye(KEYS + 1)[:KEYS]
    return {
        "sum": exploration.single_head_query(means, 0, 1)[None],
        "steady": exploration.steady_query(means, 0, 1)[None],
        "two": np.stack(exploration.two_head_queries(means, 0, 1)),
    }


def compared(exploration: ModuleType) -> dict:
    """Measure how far (alpha_a, alpha_b) is from (1/2, 1/2) for each change and design.

    Samples in which k_a points away from mu_a are ignored, as on the sheet; with `lengths`, so are
    those in which k_b points away from mu_b.

    Returns:
        for each change and design rms, the root mean square distance, and far, the share of samples
        that are further away than .1; the number of samples; for the steady design, noise: the
        distance that is derived for `length`.
    """
    found: dict = {"n": KEYS, "alpha": scientific(ALPHA)}
    for change in CHANGES:
        keys, lengths = draw(change)
        keys = keys[(lengths[:, :2] > 0).all(axis=1)]
        found[change] = {"samples": len(keys)}
        for name, queries in designs(exploration).items():
            distance = np.linalg.norm(weights_of(queries, keys) - 0.5, axis=1)
            rms = scientific(float(np.sqrt(np.mean(distance**2))))
            found[change][name] = {"rms": rms, "far": rounded(np.mean(distance > 0.1))}
    scale = float(np.abs(designs(exploration)["steady"]).max())
    found["s"] = rounded(scale)
    found["noise"] = scientific(scale / 2 * math.sqrt(ALPHA * (KEYS - 2)))
    return found


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
    keys, lengths = draw("length")
    kept = lengths[:, 0] > 0
    queries = {"single": designs(exploration)["sum"], "two": designs(exploration)["two"]}
    weights = {name: weights_of(rows, keys) for name, rows in queries.items()}
    scale = float(queries["single"].max())
    edges = np.linspace(0, 1, BINS + 1)
    shares = [
        np.histogram(np.clip(weights[name][kept, 0], 0, 1), edges)[0] / kept.sum()
        for name in ("single", "two")
    ]
    spread_of_kept = {name: spread(rows[kept]) for name, rows in weights.items()}
    numbers = {
        "n": KEYS,
        "s": rounded(scale),
        "samples": SAMPLES,
        "near": NEAR,
        "kept_share": rounded(kept.mean()),
        "theory": theory(KEYS, scale),
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
    keys = np.tile(np.eye(KEYS + 1)[:KEYS], (len(lengths), 1, 1))
    keys[:, 0] *= lengths[:, None]
    weights = [weights_of(designs(exploration)[name], keys) for name in ("sum", "two")]
    return list(np.column_stack([lengths, *weights]))


def key_query_value(exploration: ModuleType) -> dict:
    """Measure self-attention at beta = BETA without and with matrices; distances are over beta."""
    ua, ub, uc, ud = u = BETA * np.eye(4)
    x = np.stack([ud + ub, ua, uc + ub])

    def outputs(K: np.ndarray, Q: np.ndarray, V: np.ndarray) -> list[np.ndarray]:
        return [exploration.attention(Q @ xi, x @ K.T, x @ V.T)[0] for xi in x]

    def miss(got: np.ndarray, wanted: np.ndarray) -> dict:
        return scientific(float(np.linalg.norm(got - wanted)) / BETA)

    plain = outputs(np.eye(4), np.eye(4), np.eye(4))
    projected = outputs(*exploration.key_query_value(*u))
    return {
        "beta": BETA,
        "unprojected": {"miss": miss(plain[1], exploration.unprojected_output(*u))},
        "multiples": {"from": float(MULTIPLES[0]), "to": float(MULTIPLES[-1])},
        "others_at_most": scientific(greatest_others(exploration, u)),
        "matrices": {"miss_1": miss(projected[0], ub - uc), "miss_2": miss(projected[1], ub)},
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
