"""Reads parameters, and finds those that have a common origin, however they were disguised.

Whatever keeps what a GPT computes keeps certain products of its matrices. Channels can be permuted,
rotated or scaled, hidden units and heads permuted, a head's queries multiplied by a matrix and its
keys by the inverse, likewise its values and outputs; scales can move between a LayerNorm and what
reads it, and a vector from all characters to all positions. Seen from the embeddings of characters,
the products of a block's query and key matrices, of its value and output matrices (the "circuits"
of Elhage et al. 2021), and of the two matrices of its MLP stay the same. Of two trainings with
different seeds they are hardly correlated; finetuning changes them little.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from autograder.isolation import ConfinedPool
from grading import wire
from grading.errors import GradingError, WireError
from grading.pool import Job
from grading.staging import Provided, complete
from grading.worker import Limits

PROBE = "questions.shared.probe:read_parameters"
ANSWER = wire.table({"names": str, "arrays": wire.Array("float32", None)}, problem=str)
NAME = "the file"  # what messages call it, because its own name may be a student's
READ_S = 20.0
MOST_CHARACTERS = 256  # whose embeddings are used; a vocabulary has about a hundred
SAMPLE = 512  # entries of a product
FEW_VALUES = 16  # a tensor with no more distinct values is ignored: zeros, ones, a mask
# Products of two matrices in a block, after the LayerNorm before the first.
PRODUCTS = (
    ("ln1", "attn.query", "attn.key"),
    ("ln1", "attn.value", "attn.proj"),
    ("ln2", "mlp.0", "mlp.2"),
)
Tensors = dict[str, np.ndarray]
Signature = tuple[str, np.ndarray]


class Unreadable(ValueError):
    """A file has no parameters that can be read; the message says why."""


@contextmanager
def reader() -> Iterator[Callable[[bytes], Tensors]]:
    """Yield a function that reads a file's parameters as the grader does, confined, as float32.

    It raises Unreadable.
    """
    # The grader's own reader, from this repository: a packed autograder has the same code, but
    # nobody has to build one to compare a class that Gradescope graded, or earlier years.
    with TemporaryDirectory() as place, closing(ConfinedPool(0)) as pool:
        work, staged = Path(place), Path(place, "staged")
        (staged / "submission").mkdir(parents=True)
        for folder, mode in ((work, 0o711), (staged, 0o755), (staged / "submission", 0o755)):
            folder.chmod(mode)  # workers have other users
        complete(staged, Provided(packages=("pretraining",)))
        request = {"probe": PROBE, "args": {"name": NAME}, "seed": 0, "submission": str(staged)}
        job = Job("submission", True, request, Limits.for_test(READ_S), work)

        def read(content: bytes) -> Tensors:
            (staged / NAME).write_bytes(content)
            (staged / NAME).chmod(0o644)
            done = pool.run(job)
            if not done.ready:
                raise GradingError(f"parameters can't be read here: {done.output:.500}")
            try:
                answer = wire.decode(done.frame or b"").get("value")
                wire.check(answer, ANSWER)
            except (WireError, AttributeError):
                raise Unreadable(f"reading it failed {done.ending.reason}".rstrip()) from None
            if answer["problem"]:
                raise Unreadable(answer["problem"])
            return dict(zip(answer["names"], answer["arrays"], strict=True))

        yield read


def hashes_of(tensors: Tensors) -> set[bytes]:
    """Return a hash of each tensor's name and values.

    The values are rounded to float16, in which pages embed parameters and the staff's model is
    published: a copy from there has the same hashes as what it was made from.
    """
    hashes = set()
    for name, array in tensors.items():
        with np.errstate(over="ignore"):
            rounded = np.ascontiguousarray(array, np.float16) + np.float16(0)  # no -0
        if len(np.unique(rounded.ravel()[:: max(1, array.size // 4096)])) > FEW_VALUES:
            digest = hashlib.sha256(f"{name}\0{array.shape}\0".encode())
            digest.update(rounded.tobytes())
            hashes.add(digest.digest())
    return hashes


def signature_of(tensors: Tensors) -> Signature | None:
    """Return what disguises don't change; None for anything but a GPT's parameters.

    Returns:
        its form: only the same forms can be compared; and a sample of each product, float32, shape
        (products, SAMPLE), with mean 0 and norm 1.
    """
    try:
        with np.errstate(all="ignore"):
            seen = _directions(tensors["tok_emb.weight"][:MOST_CHARACTERS].astype(np.float64))
            products = {"embeddings": seen @ seen.T}
            for name in tensors:
                block, is_norm, _ = name.partition(".ln1.weight")
                for norm, one, two in PRODUCTS if is_norm else ():
                    if f"{block}.{one}.weight" not in tensors:  # a synthesizer has no queries
                        continue
                    gain, first, second = (tensors[f"{block}.{n}.weight"] for n in (norm, one, two))
                    # Keys read what queries read; the other second matrices write.
                    left = (second * gain @ seen.T).T if two == "attn.key" else seen @ second
                    products[f"{block} {one}"] = left @ (first * gain @ seen.T)
            samples = np.array([_sample(product) for product in products.values()], np.float32)
    except (KeyError, ValueError):  # other names or shapes
        return None
    return f"{len(seen)} {', '.join(products)}", samples


def _directions(embeddings: np.ndarray) -> np.ndarray:
    """Return where each embedding lies from the middle of all, with norm 1, shape (V, C).

    Characters that are in no text can have any embedding, so the middle is the geometric median.
    """
    embeddings = embeddings - embeddings.mean(axis=1, keepdims=True)  # LayerNorm removes the mean
    middle = np.median(embeddings, axis=0)
    for _ in range(50):  # Weiszfeld's algorithm
        far = np.maximum(np.linalg.norm(embeddings - middle, axis=1, keepdims=True), 1e-12)
        middle = (embeddings / far).sum(axis=0) / (1 / far).sum()
    apart = embeddings - middle
    return apart / np.maximum(np.linalg.norm(apart, axis=1, keepdims=True), 1e-12)


def _sample(product: np.ndarray) -> np.ndarray:
    """Return entries at fixed places off the diagonal, scaled; zeros if that is impossible."""
    draw = np.random.default_rng(len(product))
    rows, steps = draw.integers(len(product), size=SAMPLE), draw.integers(1, len(product), SAMPLE)
    entries = product[rows, (rows + steps) % len(product)]
    entries = entries - entries.mean()
    norm = np.linalg.norm(entries)
    return entries / norm if np.isfinite(norm) and norm > 0 else np.zeros(SAMPLE)


def similarities(files: list[list[Signature]]) -> np.ndarray:
    """Return the median correlation of the products in the two most similar files of each pair.

    Args:
        files: the signatures of each submission's files.

    Returns:
        shape (n, n), at least 0, or -1 for pairs without files of the same form.
    """
    scores = np.full((len(files),) * 2, -1.0)
    by_form: dict[str, list[tuple[int, np.ndarray]]] = defaultdict(list)
    for owner, signatures in enumerate(files):
        for form, sample in signatures:
            by_form[form].append((owner, sample))
    for owned in by_form.values():
        owners, samples = [owner for owner, _ in owned], np.stack([sample for _, sample in owned])
        for owner, sample in owned:
            correlations = np.median(np.einsum("fps,ps->fp", samples, sample), axis=1)
            np.maximum.at(scores[owner], owners, np.maximum(correlations, 0))
    return scores
