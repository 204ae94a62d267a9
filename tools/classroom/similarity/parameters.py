"""Finds parameters that two submissions have in common: the same tensors, or the same pretraining.

Each checkout trains with a seed of its own (`src/run.py`), so two trainings have no tensor in
common. Tensors are compared by a hash of their names and values, whatever the file is called and
however it was written.

Finetuning rotates each weight matrix of a pretrained model only slightly, whereas the matrices of
two trainings are nearly orthogonal. The angle is estimated from a sample of each matrix: SAMPLE
numbers at fixed places give the cosine to within about 1/sqrt(SAMPLE).
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

SAMPLE = 256  # numbers of a matrix
FEW_VALUES = 16  # a tensor with no more distinct values is ignored: zeros, ones, a mask


@dataclass(frozen=True)
class Parameters:
    """What is kept of a parameter file.

    Attributes:
        owner: the number of the entry that handed it in.
        file: its name.
        hashes: the hash of each tensor that isn't ignored, by name.
        form: the names and shapes of its matrices; only files of the same form are compared.
        sample: a sample of each matrix, of norm 1, shape (matrices, SAMPLE), float32.
    """

    owner: int
    file: str
    hashes: dict[str, bytes]
    form: str
    sample: np.ndarray


@dataclass
class Alike:
    """What two entries' parameters have in common.

    Attributes:
        same: (file of one, file of the other, number of identical tensors, out of how many).
        cosine: the median cosine of the matrices in the two most similar files.
        files: the names of these files.
    """

    same: list[tuple[str, str, int, int]] = field(default_factory=list)
    cosine: float = 0.0
    files: tuple[str, str] = ("", "")


def parameters_of(owner: int, file: str, tensors: dict[str, np.ndarray]) -> Parameters:
    """Return what is kept of a file's tensors, which must be float32."""
    hashes, matrices, samples = {}, [], []
    for name, array in sorted(tensors.items()):
        if len(np.unique(array.ravel()[:: max(1, array.size // 4096)])) > FEW_VALUES:
            digest = hashlib.sha256(f"{name}\0{array.shape}\0".encode())
            digest.update(np.ascontiguousarray(array + np.float32(0)).tobytes())  # no -0
            hashes[name] = digest.digest()
        if array.ndim == 2 and array.size >= SAMPLE:
            matrices.append(f"{name} {array.shape}")
            samples.append(_sample(array))
    sample = np.array(samples, np.float32).reshape(len(samples), SAMPLE)
    return Parameters(owner, file, hashes, "; ".join(matrices), sample)


def _sample(array: np.ndarray) -> np.ndarray:
    """Return numbers at fixed places of a matrix, scaled to norm 1; zeros if that is impossible."""
    # The places are random, because every n-th number might come from one column.
    places = np.random.default_rng(array.size).integers(array.size, size=SAMPLE)
    found = array.ravel()[places].astype(np.float64)
    length = np.linalg.norm(found)
    usable = np.isfinite(length) and length > 0
    return (found / length if usable else np.zeros(SAMPLE)).astype(np.float32)


def compare(
    files: list[Parameters], known: Iterable[Parameters], comparable: np.ndarray
) -> dict[tuple[int, int], Alike]:
    """Return what each pair of entries has in common; pairs with nothing to compare are left out.

    Args:
        known: the reference's own parameters: neither their tensors nor files close to them are
            evidence.
        comparable: which pairs of entries are compared, shape (n, n), bool, i < j.
    """
    ours = list(known)
    public = {digest for one in ours for digest in one.hashes.values()}
    found: dict[tuple[int, int], Alike] = defaultdict(Alike)
    _same_tensors(files, public, comparable, found)
    theirs = [one for one in files if not _is_ours(one, public)]
    by_form: dict[str, list[Parameters]] = defaultdict(list)
    for one in theirs:
        if len(one.sample):
            by_form[one.form].append(one)
    for group in by_form.values():
        _cosines(group, comparable, found)
    return dict(found)


def _is_ours(one: Parameters, public: set[bytes]) -> bool:
    """Return whether a file is one of ours: more than half of its tensors are."""
    return 2 * len(public & set(one.hashes.values())) > len(one.hashes)


def _same_tensors(
    files: list[Parameters],
    public: set[bytes],
    comparable: np.ndarray,
    found: dict[tuple[int, int], Alike],
) -> None:
    holders: dict[bytes, list[int]] = defaultdict(list)
    for number, one in enumerate(files):
        for digest in set(one.hashes.values()) - public:
            holders[digest].append(number)
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for numbers in holders.values():
        for i, first in enumerate(numbers):
            for second in numbers[i + 1 :]:
                counts[first, second] += 1
    for (first, second), count in sorted(counts.items()):
        one, two = sorted((files[first], files[second]), key=lambda each: each.owner)
        if comparable[one.owner, two.owner]:
            least = min(len(one.hashes), len(two.hashes))
            found[one.owner, two.owner].same.append((one.file, two.file, count, least))


def _cosines(
    group: list[Parameters], comparable: np.ndarray, found: dict[tuple[int, int], Alike]
) -> None:
    """Record the largest median cosine of each pair of owners in a group of one form."""
    samples = np.stack([one.sample for one in group])  # (files, matrices, SAMPLE)
    for number, one in enumerate(group[:-1]):
        others = samples[number + 1 :]
        cosines = np.einsum("fms,ms->fm", others, one.sample)
        for other, cosine in zip(group[number + 1 :], np.median(cosines, axis=1), strict=True):
            first, second = sorted((one, other), key=lambda each: each.owner)
            if not comparable[first.owner, second.owner]:
                continue
            alike = found[first.owner, second.owner]
            if not alike.files[0] or cosine > alike.cosine:
                alike.cosine, alike.files = float(cosine), (first.file, second.file)
