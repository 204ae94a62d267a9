"""Frames: the only thing that crosses between a worker and its parent.

A frame is one length-prefixed message: `magic, header length, body length`, a JSON header, and
the raw bytes of arrays, one after another. Nothing is ever unpickled: JSON's own types and arrays
of white-listed dtypes are all that can arrive, and sizes are checked before anything is read.

    header = {"tree": {"x": {"$array": 0}}, "arrays": [["<i8", [3, 2]]]}
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
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
    """Decode a frame into plain data; arrays are read-only views of it, so nothing is copied.

    Raises:
        WireError: anything that `encode` could not have written.
    """
    if len(frame) < PREFIX.size:
        raise WireError(f"a frame of {len(frame)} bytes, expected at least {PREFIX.size}")
    head_bytes, body_bytes = _lengths(frame[: PREFIX.size])
    if len(frame) != PREFIX.size + head_bytes + body_bytes:
        raise WireError(
            f"a frame of {len(frame)} bytes announces {PREFIX.size + head_bytes + body_bytes}"
        )
    view = memoryview(frame).toreadonly()[PREFIX.size :]
    header = _load_json(bytes(view[:head_bytes]))
    arrays = _load_arrays(header.get("arrays"), view[head_bytes:])
    try:
        return _unpack(header.get("tree"), arrays)
    except RecursionError:
        raise WireError("a frame nested too deeply") from None


def read_frame(
    read: Callable[[int], bytes],
    max_header: int = MAX_HEADER_BYTES,
    max_body: int = MAX_BODY_BYTES,
) -> bytearray:
    """Read one whole frame from `read(n)`, which returns up to n bytes and b"" at the end.

    Raises:
        WireError: the stream ends early or announces too much; nothing beyond is read.
    """
    frame = bytearray()
    _extend(frame, read, PREFIX.size)
    _extend(frame, read, sum(_lengths(frame, max_header, max_body)))
    return frame


def find_frame(
    data: memoryview,
    max_header: int = MAX_ANSWER_HEADER_BYTES,
    max_body: int = MAX_ANSWER_BODY_BYTES,
) -> memoryview:
    """Return the frame at the beginning of `data`, without a copy.

    Raises:
        WireError: it is incomplete, or announces too much.
    """
    if len(data) < PREFIX.size:
        raise WireError("the stream ended before the frame began")
    frame_bytes = PREFIX.size + sum(_lengths(data[: PREFIX.size], max_header, max_body))
    if len(data) < frame_bytes:
        raise WireError(f"the stream ended {frame_bytes - len(data)} bytes before the frame did")
    return data[:frame_bytes]


def _lengths(
    prefix: bytes | bytearray | memoryview,
    max_header: int = MAX_HEADER_BYTES,
    max_body: int = MAX_BODY_BYTES,
) -> tuple[int, int]:
    magic, head_bytes, body_bytes = PREFIX.unpack(prefix)
    if magic != MAGIC:
        raise WireError(f"a frame starts with {magic!r}, expected {MAGIC!r}")
    if head_bytes > max_header or body_bytes > max_body:
        raise WireError(f"a frame announces {head_bytes} + {body_bytes} bytes: too large")
    return head_bytes, body_bytes


def _extend(frame: bytearray, read: Callable[[int], bytes], count: int) -> None:
    """Append exactly `count` bytes."""
    missing = count
    while missing:
        chunk = read(min(missing, 1 << 20))
        if not chunk:
            raise WireError(f"the stream ended {missing} bytes before the frame did")
        frame += chunk
        missing -= len(chunk)


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


def _load_json(head: bytes) -> dict[str, Any]:
    try:
        header = json.loads(head.decode("ascii"))
    except (ValueError, RecursionError) as error:
        raise WireError(f"a frame's header is not JSON: {type(error).__name__}") from None
    if not isinstance(header, dict):
        raise WireError("a frame's header is not an object")
    return header


def _load_arrays(specs: Any, body: memoryview) -> list[np.ndarray]:
    if not isinstance(specs, list) or len(specs) > MAX_ARRAYS:
        raise WireError("a frame's list of arrays is malformed")
    arrays, start = [], 0
    for spec in specs:
        dtype, shape = _array_spec(spec)
        count = 1
        for size in shape:
            count *= size
        stop = start + count * dtype.itemsize
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


def _array_spec(spec: Any) -> tuple[np.dtype, list[int]]:
    if not (isinstance(spec, list) and len(spec) == 2 and spec[0] in DTYPES):
        raise WireError("a frame's array has no white-listed dtype")
    shape = spec[1]
    small = isinstance(shape, list) and len(shape) <= 8
    if not small or not all(type(n) is int and 0 <= n <= MAX_BODY_BYTES for n in shape):
        raise WireError("a frame's array has a malformed shape")
    return np.dtype(spec[0]), shape


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
