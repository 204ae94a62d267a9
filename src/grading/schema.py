"""What the parent believes of an answer: nothing that was not checked.

A spec mirrors the value: a type, `[spec]` for a list of any length, `{key: spec}` for a dict with
exactly those keys, `Array(dtype, shape)` for an array (None stands for any size), and
`Maybe(spec)` where None is fine.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import WireError


@dataclass(frozen=True)
class Array:
    """An array of this dtype and shape; a size of None is any size."""

    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Maybe:
    """None, or what `spec` says."""

    spec: Any


def check(value: Any, spec: Any, where: str = "answer") -> None:
    """Raise a WireError that names the place where `value` is not what `spec` says."""
    if isinstance(spec, Maybe):
        if value is not None:
            check(value, spec.spec, where)
    elif isinstance(spec, Array):
        _check_array(value, spec, where)
    elif isinstance(spec, list):
        if not isinstance(value, list):
            raise WireError(f"{where}: got {type(value).__name__}, expected a list")
        for index, item in enumerate(value):
            check(item, spec[0], f"{where}[{index}]")
    elif isinstance(spec, dict):
        if not isinstance(value, dict) or set(value) != set(spec):
            raise WireError(f"{where}: expected exactly the keys {sorted(spec)}")
        for key, item in spec.items():
            check(value[key], item, f"{where}.{key}")
    elif spec is not object and type(value) is not spec:
        raise WireError(f"{where}: got {type(value).__name__}, expected {spec.__name__}")


def _check_array(value: Any, spec: Array, where: str) -> None:
    if not isinstance(value, np.ndarray):
        raise WireError(f"{where}: got {type(value).__name__}, expected an array")
    fits = len(value.shape) == len(spec.shape) and all(
        want is None or got == want for got, want in zip(value.shape, spec.shape, strict=True)
    )
    if value.dtype != np.dtype(spec.dtype) or not fits:
        raise WireError(
            f"{where}: got {value.dtype} of shape {value.shape}, "
            f"expected {spec.dtype} of shape {spec.shape}"
        )
