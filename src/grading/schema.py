"""Checks of answers: the parent trusts nothing in an answer that was not checked.

A spec mirrors the value: a type, `[spec]` for a list of any length, `{key: spec}` for a dict with
exactly those keys, `Array(dtype, shape)` for an array, `Maybe(spec)` if None is allowed,
`AnyOf(specs)`, and `Where(spec, holds, says)` if more than the form matters.

Student code may forge any answer, so everything on which judges rely is in the spec. In a spec,
`str` means text that can be written to a file, `int` a 64-bit number, `float` a finite number, and
a list has no more entries than any probe sends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import WireError

MOST_CHARACTERS = 100_000
MOST_ENTRIES = 10_000  # of a list; a checkpoint has a few dozen tensors, a vocabulary 100 letters
WHOLE = 2**63


@dataclass(frozen=True)
class Array:
    """An array of this dtype and shape; a size or shape of None allows any."""

    dtype: str
    shape: tuple[int | None, ...] | None


@dataclass(frozen=True)
class Maybe:
    """None, or a value that fits `spec`."""

    spec: Any


@dataclass(frozen=True)
class AnyOf:
    """A value that fits one of `specs`."""

    specs: tuple[Any, ...]


@dataclass(frozen=True)
class Where:
    """A value that fits `spec` and for which `holds(value)`; `says` describes this in words."""

    spec: Any
    holds: Callable[[Any], bool]
    says: str


def table(columns: dict[str, Any], rows: int | None = None, **more: Any) -> Where:
    """Return the spec of a dict of lists of the same length.

    Args:
        columns: the spec of an entry of each list.
        rows: the number of entries of each, if known.
        more: other keys of the dict.
    """

    def fits(value: dict[str, Any]) -> bool:
        lengths = {len(value[name]) for name in columns}
        return len(lengths) == 1 and rows in (None, *lengths)

    spec = {name: [entry] for name, entry in columns.items()} | more
    count = "as many" if rows is None else f"{rows}"
    return Where(spec, fits, f"{count} entries in each of {', '.join(columns)}")


def check(value: Any, spec: Any, where: str = "answer") -> None:
    """Raise a WireError that names the place where `value` does not fit `spec`."""
    if isinstance(spec, Maybe):
        if value is not None:
            check(value, spec.spec, where)
    elif isinstance(spec, AnyOf):
        if not any(_is(value, each) for each in spec.specs):
            raise WireError(f"{where}: {type(value).__name__} is not one of the allowed types")
    elif isinstance(spec, Where):
        check(value, spec.spec, where)
        if not spec.holds(value):
            raise WireError(f"{where}: expected {spec.says}")
    elif isinstance(spec, Array):
        _check_array(value, spec, where)
    elif isinstance(spec, list):
        if not isinstance(value, list) or len(value) > MOST_ENTRIES:
            got = len(value) if isinstance(value, list) else type(value).__name__
            raise WireError(f"{where}: got {got}, expected a list of {MOST_ENTRIES} at most")
        for index, item in enumerate(value):
            check(item, spec[0], f"{where}[{index}]")
    elif isinstance(spec, dict):
        if not isinstance(value, dict) or set(value) != set(spec):
            raise WireError(f"{where}: expected exactly the keys {sorted(spec)}")
        for key, item in spec.items():
            check(value[key], item, f"{where}.{key}")
    elif type(value) is not spec or not _is_in_bounds(value):
        raise WireError(f"{where}: got {type(value).__name__}, expected a sane {spec.__name__}")


def _is(value: Any, spec: Any) -> bool:
    try:
        check(value, spec)
    except WireError:
        return False
    return True


def _is_in_bounds(value: Any) -> bool:
    if isinstance(value, str):  # half a surrogate pair can't be written
        return len(value) <= MOST_CHARACTERS and not any("\ud800" <= c <= "\udfff" for c in value)
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return not isinstance(value, int) or -WHOLE <= value < WHOLE


def _check_array(value: Any, spec: Array, where: str) -> None:
    if not isinstance(value, np.ndarray):
        raise WireError(f"{where}: got {type(value).__name__}, expected an array")
    fits = spec.shape is None or (
        len(value.shape) == len(spec.shape)
        and all(want in (None, got) for got, want in zip(value.shape, spec.shape, strict=True))
    )
    if value.dtype != np.dtype(spec.dtype) or not fits:
        raise WireError(
            f"{where}: got {value.dtype} of shape {value.shape}, "
            f"expected {spec.dtype} of shape {spec.shape}"
        )
