"""Random inputs for submissions: documents, weights and keys, drawn from a test's generator."""

from __future__ import annotations

from typing import Any

import numpy as np

FRIENDLY = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,"
FOREIGN = "äéîøğşčžΩλДя東京ñçÅ–’"  # as they occur in a corpus of names and places

FRIENDLY_DOCUMENTS = [
    "Ada Byron was born in London, and wrote the first program.",
    "Born in Warsaw, Maria went to Paris to study physics.",
    "Srinivasa grew up in Kumbakonam; he was born in Erode.",
    "The painter Frida comes from Coyoacan.",
]


def documents(rng: np.random.Generator, lengths: list[int], alphabet: str = FRIENDLY) -> list[str]:
    """Draw documents of these lengths (2 or more), no two with the same beginning.

    Each starts with a different character, so that every prefix identifies its document, and
    neither starts nor ends with a blank, since a constructor may strip its lines: one test is
    about that (`span_corruption.short_documents`).
    """
    visible = list(alphabet.replace(" ", ""))
    firsts = rng.choice(visible, size=len(lengths), replace=False)
    rows = ["".join(rng.choice(list(alphabet), size=length - 2)) for length in lengths]
    lasts = rng.choice(visible, size=len(lengths))
    return [f"{a}{row}{z}" for a, row, z in zip(firsts, rows, lasts, strict=True)]


def attention_config(n_embd: int, n_head: int, block_size: int, **pdrop: float) -> dict[str, Any]:
    """Return fields of a small GPTConfig; no dropout unless asked for."""
    quiet = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    shape = {"n_layer": 2, "n_head": n_head, "n_embd": n_embd, "block_size": block_size}
    return {"vocab_size": 17, **shape, **quiet, **pdrop}


def synthesizer_weights(
    rng: np.random.Generator, config: dict[str, Any], columns: int
) -> dict[str, np.ndarray]:
    """Draw parameters of SynthesizerAttention, float64, large enough for each to matter.

    With the initial parameters, a missing ReLU would move the output by 1e-4 and a missing b2 not
    at all. Here hidden units are of order 1 and scores of order 1 to 2, so each term matters.
    """
    C, hs = config["n_embd"], config["n_embd"] // config["n_head"]
    matrix = lambda: rng.normal(0.0, C**-0.5, (C, C))  # noqa: E731
    return {
        "w1.weight": matrix(),
        "w1.bias": rng.normal(0.0, 0.5, C),
        "w2": rng.normal(0.0, 2.0 * hs**-0.5, (hs, columns)),
        "b2": rng.normal(0.0, 1.0, columns),
        "value.weight": matrix(),
        "value.bias": rng.normal(0.0, 0.5, C),
        "proj.weight": matrix(),
        "proj.bias": rng.normal(0.0, 0.5, C),
    }


def model_weights(
    rng: np.random.Generator, names: list[str], shapes: list[list[int]]
) -> dict[str, np.ndarray]:
    """Draw parameters for a whole model, float64: matrices that preserve scale, norms near 1."""
    weights = {}
    for name, shape in zip(names, shapes, strict=True):
        scale = shape[-1] ** -0.5 if len(shape) > 1 else 0.3
        centre = 1.0 if ".ln" in f".{name}" and name.endswith("weight") else 0.0
        weights[name] = rng.normal(centre, scale, shape)
    return weights


def orthonormal_keys(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Draw n perpendicular keys of norm 1, shape (n, d), n <= d."""
    return np.linalg.qr(rng.normal(size=(d, n)))[0].T


def oblique_keys(rng: np.random.Generator, n: int, d: int, most: float = 0.5) -> np.ndarray:
    """Draw n keys of norm 1 with absolute cosines of at most `most`, shape (n, d), n <= d.

    They are perpendicular keys, bent towards a random mixture as far as the bound allows.
    """
    keys = orthonormal_keys(rng, n, d)
    bend = rng.normal(size=(n, n)) / np.sqrt(n)
    for amount in (1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.12, 0.06):
        bent = keys + amount * bend @ keys
        bent /= np.linalg.norm(bent, axis=1, keepdims=True)
        cosines = bent @ bent.T - np.eye(n)
        if np.abs(cosines).max() <= most:
            return bent
    return keys
