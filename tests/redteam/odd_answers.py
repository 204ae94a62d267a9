"""Hypothesis strategies for a hostile worker's answers: nearly right, or completely different."""

import functools
import json
import struct
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from grading import wire
from grading.pool import Ending
from grading.verdicts import BY_REASON, REPORT

WELL = Ending(0, 0, "", 0.1, 0.2, 1 << 20)


# Answers that are nearly right ---------------------------------------------------------------

ODD_TEXTS = ["", " ", "\ud800", "\udfff\x00", "\x1b[2J", "record: 1", "\u202e" * 9, "long"]
ODD_NUMBERS = [0, -1, 1, 2**31, 2**63 - 1, -(2**63), 2**64, 10**400, -(10**4000)]
ODD_FLOATS = [float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324]
SHAPES = [(), (0,), (1,), (3,), (0, 0), (2, 0, 3), (1, 1, 1), (2, 2), (1,) * 8, (70_000, 1)]
FILLS = [0, 1, -1, 0.5, 2**62, -(2**63), 1e308, np.nan, np.inf, -np.inf]


texts = st.sampled_from(ODD_TEXTS).map(lambda text: "é" * 70_000 if text == "long" else text)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(ODD_NUMBERS),
    st.sampled_from(ODD_FLOATS),
    texts,
    st.integers(),
    st.floats(),
    st.text(max_size=8),
)


@st.composite
def arrays(draw: st.DrawFn) -> np.ndarray:
    """Small arrays of any dtype that crosses, and of odd shapes and values."""
    dtype = np.dtype(draw(st.sampled_from(wire.DTYPES)))
    with np.errstate(all="ignore"):
        fill = np.array(draw(st.sampled_from(FILLS)), dtype=np.float64).astype(dtype)
    return np.full(draw(st.sampled_from(SHAPES)), fill, dtype)


# Hypothesis prints what it samples from, but no functions.
HUGE = [lambda: [None] * 150_000, lambda: json.loads("[" * 100 + "]" * 100)]
HUGE.append(lambda: json.loads("[" * 300 + "]" * 300))


def values() -> st.SearchStrategy:
    """Any plain data."""
    return st.one_of(
        st.recursive(
            scalars | arrays(),
            lambda inner: (
                st.lists(inner, max_size=4)
                | st.dictionaries(st.text(max_size=5), inner, max_size=4)
            ),
            max_leaves=6,
        ),
        st.sampled_from(HUGE).map(lambda make: make()),
    )


def places(tree: Any, path: tuple = ()) -> Iterator[tuple]:
    """Return the path to each node; in long lists, only to the ends."""
    yield path
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    keys = list(keys)
    for key in keys if len(keys) < 9 else keys[:3] + keys[-2:]:
        yield from places(tree[key], (*path, key))


def replaced(tree: Any, path: tuple, new: Any) -> Any:
    """Return the tree with one node replaced."""
    if not path:
        return new
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = replaced(tree[path[0]], path[1:], new)
    return copy


def _is_short(item: Any) -> bool:
    return not isinstance(item, list | dict | np.ndarray) and len(repr(item)) < 1000


def relatives(node: Any, odd: Any) -> list:
    """Return values that are nearly `node`, some of them with `odd` in it."""
    if isinstance(node, list):
        # A long item, this often, would make a frame of gigabytes, here and not in the grader.
        very_many = [item for item in node[:1] if _is_short(item)] * 150_000
        return [
            *([], node[:-1], node[::-1], [*node, odd], [odd, *node[1:]], [odd] * len(node), [node]),
            very_many,
        ]
    if isinstance(node, dict):
        fewer = [{k: v for k, v in node.items() if k != key} for key in sorted(node)]
        renamed = [{k + "\ud800" * (k == key): v for k, v in node.items()} for key in sorted(node)]
        return [{}, {**node, "more": 1}, *fewer, *renamed]
    if isinstance(node, bool) or node is None:
        return [odd]
    if isinstance(node, int):
        return [node + 1, node - 1, -node, float(node % 2**53), *ODD_NUMBERS]
    if isinstance(node, float):
        return [node + 1, -node, node / 2, *ODD_FLOATS, *ODD_NUMBERS]
    return [node + "x", node[:-1], node * 2, odd, "é" * 70_000]


@st.composite
def altered(draw: st.DrawFn, node: Any) -> Any:
    """Something like `node`, of the same kind or not."""
    if draw(st.integers(0, 7)) == 0:
        return draw(values())
    if isinstance(node, np.ndarray):
        return draw(altered_array(node))
    ways = relatives(node, draw(scalars | arrays()))
    return ways[draw(st.integers(0, len(ways) - 1))]  # hypothesis prints what it samples from


@st.composite
def altered_array(draw: st.DrawFn, array: np.ndarray) -> np.ndarray:
    """An array of another shape, dtype or content, or of the same."""
    if array.ndim and array.size:
        flat = array.reshape(-1)
        ways = [flat, array[None], array.T, flat[:0], array[..., :0], array[..., :-1], flat[0]]
        ways += [np.concatenate([array, array[:1]]), array]
        array = np.array(ways[draw(st.integers(0, len(ways) - 1))])
    dtype = np.dtype(draw(st.sampled_from([array.dtype.str] * 20 + [*wire.DTYPES])))
    with np.errstate(all="ignore"):
        changed = array.astype(dtype)
        if draw(st.booleans()):
            fill = np.array(draw(st.sampled_from(FILLS)), dtype=np.float64).astype(dtype)
            if changed.size and draw(st.booleans()):
                changed.reshape(-1)[draw(st.sampled_from([0, -1, changed.size // 2]))] = fill
            else:
                changed[...] = fill
    return changed


@st.composite
def nearly_right(draw: st.DrawFn, frame: bytes) -> bytes:
    """An honest worker's frame with one to three places altered."""
    tree = wire.decode(frame)
    for _ in range(draw(st.integers(1, 3))):
        ways = list(places(tree))
        deep = [way for way in ways if len(way) > 1]  # the value, not its envelope
        way = draw(st.sampled_from(deep if deep and draw(st.integers(0, 9)) else ways))
        node = functools.reduce(lambda node, key: node[key], way, tree)
        tree = replaced(tree, way, draw(altered(node)))
    try:
        return wire.encode(tree)
    except RecursionError:  # lists nested too deeply for this process
        return b""


# Answers that are completely different ------------------------------------------------------------


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Frames that nearly follow the grammar of `wire`: headers that lie about their arrays."""
    sizes = st.sampled_from([0, 1, 2, 3, -1, 2**29, 2**40, True, None, 0.5])
    dtypes = st.sampled_from([*wire.DTYPES, "|O", "<U4", "<c16", ">f8", [], {}, None])
    specs = draw(st.lists(st.tuples(dtypes, st.lists(sizes, max_size=10)), max_size=3))
    leaf = scalars | st.sampled_from([{"$array": i} for i in (0, 1, 2, -1, True, "0", None)])
    inner = st.recursive(
        leaf, lambda s: st.lists(s, max_size=3) | st.dictionaries(st.text(max_size=3), s)
    )
    tree = draw(inner | st.fixed_dictionaries({"ok": st.booleans() | scalars, "value": inner}))
    header = draw(st.sampled_from([{"tree": tree, "arrays": specs}, {"tree": tree}, [tree], tree]))
    head = json.dumps(header).encode("ascii")
    body = draw(st.binary(max_size=32))
    lengths = (len(head), len(body))
    if draw(st.integers(0, 5)) == 0:
        lengths = (draw(st.integers(0, 2**32 - 1)), draw(st.integers(0, 2**64 - 1)))
    return struct.pack("<4sIQ", wire.MAGIC, *lengths) + head + body


def errors() -> st.SearchStrategy[bytes]:
    """Envelopes of exceptions, as a worker describes them or as one would forge them."""
    words = texts | st.sampled_from(["submission", "submission.dataset", "files", "left", "*"])
    kinds = ["KeyError", "ImportError", "NotImplementedError", "print", "__debug__", "\ud800"]
    lines = ["submission/dataset.py:1", "submission/dataset.py:999999", "submission/\ud800.py:1"]
    fields = dict.fromkeys(REPORT, words)
    fields |= {"type": st.sampled_from(kinds) | words, "where": st.sampled_from(lines) | words}
    honest = st.fixed_dictionaries(fields)
    forged = st.fixed_dictionaries({}, optional={key: s | values() for key, s in fields.items()})
    flag = st.sampled_from([False, None, 0, 1, "true", [True]])
    envelopes = st.fixed_dictionaries({"ok": flag, "error": honest | forged | values()})
    return envelopes.map(wire.encode)


def streams() -> st.SearchStrategy[bytes]:
    """What may come where a frame is expected: notes of imports, stacks, frames, any bytes."""
    files = st.sampled_from(["dataset", "attention_exploration", "\ud800", "", "*", "../x"])
    modules = files.map(lambda name: f"submission.{name}")
    times = st.sampled_from(["0", "0.00", ".", "1e9", "-1", "nan", "9" * 400, "\u0663", "\u00b2"])
    notes = st.one_of(
        st.builds("I {} {}\n".format, modules, times),
        st.builds("S {}\n".format, modules),
        st.sampled_from(["E\n", "E\n" * 5000, "I submission.dataset 0.00\n", "I \n", "\n"]),
    )
    lines = st.sampled_from([0, 1, 2, 40, 10**6, 10**30])
    stacks = st.builds(
        '{}  File "{}submission/{}.py", line {} in f\n'.format,
        st.sampled_from(["", "Current thread 0x1 (most recent call first):\n"]),
        st.sampled_from(["/tmp/x/", '"', "submission/" * 5000, "\\"]),
        files,
        lines,
    )
    written = (notes | stacks).map(lambda text: text.encode("utf-8", "surrogatepass"))
    return st.lists(written | frames() | st.binary(max_size=20), max_size=6).map(b"".join)


def endings() -> st.SearchStrategy[Ending]:
    """However a worker may have ended."""
    return st.builds(
        replace,
        st.just(WELL),
        code=st.sampled_from([0, 1, 255]),
        signal=st.sampled_from([0, 0, 6, 9, 11, 25, 64]),
        reason=st.sampled_from(["", *BY_REASON]),
        cpu_s=st.sampled_from([0.0, 0.1, 1e6]),
    )
