"""What crosses between a worker and its parent, notes and frames, and checks of answers.

A frame is one message: `magic, header length, body length`, a JSON header, and the raw bytes of
arrays, one after another. Nothing is ever unpickled: JSON's own types and arrays of white-listed
dtypes are all that can arrive, and sizes are checked before anything is read.

    header = {"tree": {"x": {"$array": 0}}, "arrays": [["<i8", [3, 2]]]}

Student code may forge any answer, and the parent trusts nothing in one that `check` has not
compared with a spec, so everything on which judges rely is in the spec. It mirrors the value: a
type, `[spec]` for a list of any length, `{key: spec}` for a dict with exactly those keys, `Array`
for an array, `Maybe(spec)` if None is allowed, `AnyOf(specs)`, and `Where(spec, holds, says)` if
more than the form matters. In a spec, `str` means text that can be written to a file, `int` a
64-bit number, `float` a finite number, and a list has no more entries than any probe sends.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from io import BufferedReader
from typing import Any

import numpy as np

from .errors import WireError

PREFIX = struct.Struct("<4sIQ")
MAGIC = b"grd1"
MAX_HEADER_BYTES = 64 << 20  # of a request, which is ours: a corpus, questions
MAX_BODY_BYTES = 512 << 20
# Of an answer, which student code may have forged. Its text consists of names, a few hundred places
# and a traceback: 60 KB at most. When read, a little text can become many objects (1 MiB of "{},"
# takes 45 MiB). The largest arrays are 12,000 examples of 128 pairs, 25 MB, and parameters (see
# questions.shared.probe), which fit once into what is left of the smallest container's 768 MB.
MAX_ANSWER_HEADER_BYTES = 512 << 10
MAX_ANSWER_BODY_BYTES = 64 << 20
MAX_ARRAYS = 100_000
DTYPES = ("|b1", "|u1", "<i2", "<i4", "<i8", "<f4", "<f8")
ARRAY_KEY = "$array"
MOST_CHARACTERS = 100_000
MOST_ENTRIES = 10_000  # of a list; a checkpoint has a few dozen tensors, a vocabulary 100 letters
WHOLE = 2**63
LIMITS = ("cpu", "wall", "import", "import-wall", "memory")  # at which a worker ends itself
MAX_NOTES_BYTES = 32 << 10  # a submission has a few dozen modules
MAX_IMPORT_NOTES_BYTES = MAX_NOTES_BYTES - 100  # the rest is for what was used, or for a limit


def encode(value: Any) -> bytes:
    """Encode plain data as a frame.

    Args:
        value: None, bool, int, float, str, list, tuple, dict with str keys, and numpy arrays of
            the dtypes in `DTYPES`, nested.

    Raises:
        WireError: a type that may not cross; the message names it.
    """
    arrays: list[np.ndarray] = []
    tree = _pack(value, arrays)
    header = {"tree": tree, "arrays": [[a.dtype.str, list(a.shape)] for a in arrays]}
    head = json.dumps(header, ensure_ascii=True).encode("ascii")
    bodies = [a.reshape(-1).view(np.uint8).data for a in arrays]  # no copy: they can be large
    prefix = PREFIX.pack(MAGIC, len(head), sum(len(body) for body in bodies))
    return b"".join([prefix, head, *bodies])


def decode(frame: bytes | bytearray | memoryview) -> Any:
    """Decode a frame; arrays are read-only views of it. WireError: `encode` didn't write it."""
    head_bytes, body_bytes = _lengths(frame, MAX_HEADER_BYTES, MAX_BODY_BYTES)
    if len(frame) != PREFIX.size + head_bytes + body_bytes:
        raise WireError(
            f"a frame of {len(frame)} bytes announces {PREFIX.size + head_bytes + body_bytes}"
        )
    view = memoryview(frame).toreadonly()[PREFIX.size :]
    try:
        header = json.loads(bytes(view[:head_bytes]).decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame's header is not JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise WireError("a frame's header is not an object")
    arrays = _load_arrays(header.get("arrays"), view[head_bytes:])
    try:
        return _unpack(header.get("tree"), arrays)
    except RecursionError:
        raise WireError("a frame nested too deeply") from None


def read_request(stream: BufferedReader) -> Any:
    """Read and decode one request; WireError: the stream has ended, or `encode` didn't write it."""
    prefix = stream.read(PREFIX.size)
    # Parameters are large: they are not to be in memory twice.
    frame = bytearray(PREFIX.size + sum(_lengths(prefix, MAX_HEADER_BYTES, MAX_BODY_BYTES)))
    frame[: PREFIX.size] = prefix
    end = PREFIX.size + stream.readinto(memoryview(frame)[PREFIX.size :])
    return decode(memoryview(frame)[:end])


def find_frame(data: memoryview) -> memoryview:
    """Return the answer at the beginning of `data`, without a copy.

    Raises:
        WireError: it is incomplete, or announces too much.
    """
    lengths = _lengths(data, MAX_ANSWER_HEADER_BYTES, MAX_ANSWER_BODY_BYTES)
    frame_bytes = PREFIX.size + sum(lengths)
    if len(data) < frame_bytes:
        raise WireError(f"the stream ended {frame_bytes - len(data)} bytes before the frame did")
    return data[:frame_bytes]


def _lengths(
    frame: bytes | bytearray | memoryview, max_header: int, max_body: int
) -> tuple[int, int]:
    if len(frame) < PREFIX.size:
        raise WireError(f"a frame of {len(frame)} bytes, expected at least {PREFIX.size}")
    magic, head_bytes, body_bytes = PREFIX.unpack_from(frame)
    if magic != MAGIC:
        raise WireError(f"a frame starts with {magic!r}, expected {MAGIC!r}")
    if head_bytes > max_header or body_bytes > max_body:
        raise WireError(f"a frame announces {head_bytes} + {body_bytes} bytes: too large")
    return head_bytes, body_bytes


def _pack(value: Any, arrays: list[np.ndarray]) -> Any:
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, np.ndarray):
        little = np.ascontiguousarray(value).astype(value.dtype.newbyteorder("<"), copy=False)
        # ascontiguousarray turns 0-d into 1-d; the shape is the value's own
        little = little.reshape(value.shape)
        if little.dtype.str not in DTYPES:
            raise WireError(f"an array of dtype {value.dtype} can't cross")
        arrays.append(little)
        return {ARRAY_KEY: len(arrays) - 1}
    if isinstance(value, list | tuple):
        return [_pack(item, arrays) for item in value]
    if isinstance(value, dict):
        for key in value:
            if type(key) is not str or key == ARRAY_KEY:
                raise WireError(f"a key {key!r:.40} can't cross")
        return {key: _pack(item, arrays) for key, item in value.items()}
    raise WireError(f"a value of type {type(value).__name__} can't cross")


def _load_arrays(specs: Any, body: memoryview) -> list[np.ndarray]:
    if not isinstance(specs, list) or len(specs) > MAX_ARRAYS:
        raise WireError("a frame's list of arrays is malformed")
    arrays, start = [], 0
    for spec in specs:
        if not (isinstance(spec, list) and len(spec) == 2 and spec[0] in DTYPES):
            raise WireError("a frame's array has no white-listed dtype")
        dtype, shape = np.dtype(spec[0]), spec[1]
        small = isinstance(shape, list) and len(shape) <= 8
        if not small or not all(type(n) is int and 0 <= n <= MAX_BODY_BYTES for n in shape):
            raise WireError("a frame's array has a malformed shape")
        stop = start + math.prod(shape) * dtype.itemsize
        if stop > len(body):
            raise WireError("a frame's arrays are longer than its body")
        try:
            arrays.append(np.frombuffer(body[start:stop], dtype=dtype).reshape(shape))
        except ValueError:  # no entries, but sizes whose product is beyond any array
            raise WireError(f"a frame's array can't have the shape {shape}") from None
        start = stop
    if start != len(body):
        raise WireError("a frame's body is longer than its arrays")
    return arrays


def _unpack(tree: Any, arrays: list[np.ndarray]) -> Any:
    if isinstance(tree, list):
        return [_unpack(item, arrays) for item in tree]
    if isinstance(tree, dict):
        if ARRAY_KEY in tree:
            index = tree[ARRAY_KEY]
            if len(tree) != 1 or type(index) is not int or not 0 <= index < len(arrays):
                raise WireError("a frame names an array that it does not contain")
            return arrays[index]
        return {key: _unpack(item, arrays) for key, item in tree.items()}
    return tree


# Checks -------------------------------------------------------------------------------------------


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
        for each in spec.specs:
            with suppress(WireError):
                return check(value, each, where)
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


# Notes --------------------------------------------------------------------------------------------
# Training code without `if __name__ == "__main__"` would cost every test that imports it its whole
# limit of imports. So a worker writes, before its frame, which module of the submission it is
# importing, and no later test imports a module again that used up the limit. A student who forges
# such notes only stops their own tests.
#
#     I submission.helper 0.25    its import begins, a quarter of a second after the job's start
#     E                           the import that began last ends
#     S submission.helper         known to be stuck: the worker ended instead of importing it
#     U 0.52 0.31                 CPU seconds that the job has used, and those of them in imports
#     T import                    the limit at which the worker ends itself; its stack follows


@dataclass(frozen=True)
class Notes:
    """A worker's notes; the last three come from workers of the `LocalPool`."""

    size: int  # of all notes in bytes; the frame follows them
    importing: str  # the module whose import began last and has not ended, or ""
    began_s: float  # when that was, in seconds from the job's start
    stopped: str  # the stuck module before whose import it ended, or ""
    cpu_s: float = 0.0  # what the job used, if it has answered
    import_s: float = 0.0
    limit: str = ""  # at which it ended itself, or ""


def read_notes(data: bytes) -> Notes:
    """Read the notes at the beginning of `data`, and ignore what follows."""
    position, imports, stopped, used, limit = 0, [("", 0.0)], "", (0.0, 0.0), ""
    while (end := data.find(b"\n", position, MAX_NOTES_BYTES)) >= 0:
        match data[position:end].decode("utf-8", errors="replace").split(" "):
            case ["I", module, began] if _is_number(began):
                imports.append((module, float(began)))
            case ["E"] if len(imports) > 1:
                imports.pop()
            case ["S", module]:
                stopped = module
            case ["U", cpu, in_imports] if _is_number(cpu) and _is_number(in_imports):
                used = float(cpu), float(in_imports)
            case ["T", reason] if reason in LIMITS:
                limit = reason
            case _:
                break
        position = end + 1
    return Notes(position, *imports[-1], stopped, *used, limit)


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()
