"""Frames carry plain data unchanged, and nothing else gets through.

tests/redteam/test_fuzz.py sends any frames, and attacks there send floods.
"""

import itertools
import json

import numpy as np
import pytest

from grading import wire
from grading.errors import WireError
from grading.wire import AnyOf, Array, Maybe, check, table


def forge(header: object, body: bytes = b"") -> bytes:
    head = header if isinstance(header, bytes) else json.dumps(header).encode()
    return wire.PREFIX.pack(wire.MAGIC, len(head), len(body)) + head + body


def test_arrays_come_back_unchanged_as_views_that_cannot_be_written_to():
    for dtype, shape in itertools.product(wire.DTYPES, [(), (0,), (3,), (2, 3, 4)]):
        array = np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)
        frame = bytearray(wire.encode({"x": [array]}))
        back = wire.decode(frame)["x"][0]
        assert (back.dtype, back.shape) == (array.dtype, array.shape)
        assert np.array_equal(back, array)
        assert not back.flags.writeable
        assert not back.size or np.shares_memory(back, np.frombuffer(frame, np.uint8))
    big_endian = np.array([1.0, 2.0], dtype=">f8")
    assert wire.decode(wire.encode(big_endian)).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"xxxx" + forge({"tree": 1, "arrays": []})[4:],
        forge(b"\xff\xfe"),
        forge(b"[" * 100_000),
        forge({"tree": {"$array": -1}, "arrays": [["<i8", [0]]]}),
        forge({"tree": {"$array": True}, "arrays": [["<i8", [0]], ["<i8", [0]]]}),
        forge({"tree": 1, "arrays": [["|O8", [1]]]}, b"12345678"),
        forge({"tree": 1, "arrays": [["<i8", [-1]]]}),
        forge({"tree": 1, "arrays": [["<i8", [2]]]}, b"12345678"),
        forge({"tree": 1, "arrays": []}) + b"more",
    ],
)
def test_forged_frames_are_refused(frame):
    with pytest.raises(WireError):
        wire.decode(frame)


PAIRS = np.zeros((3, 2), np.int64)
RIGHT = {"names": ["a"], "x": PAIRS, "note": None, "n": 1, "rows": {"a": [1], "b": [2.0]}}
SPEC = {"names": [str], "x": Array("int64", (None, 2)), "note": Maybe(str), "n": AnyOf((int, str))}
SPEC |= {"rows": table({"a": int, "b": float})}


@pytest.mark.parametrize(
    "change",
    [
        {"more": 1},
        {"names": [1]},
        {"names": ["a"] * (wire.MOST_ENTRIES + 1)},
        {"names": ["\ud800"]},
        {"x": np.zeros((3, 3), np.int64)},
        {"x": np.zeros((3, 2), np.int32)},
        {"x": [[1, 2]]},
        {"n": True},  # which Python takes for a number
        {"n": 2**63},
        {"n": 1.0},
        {"rows": {"a": [1, 2], "b": [2.0]}},
        {"rows": {"a": [1], "b": [float("nan")]}},
    ],
    ids=str,
)
def test_any_other_answer_than_a_right_one_is_refused(change):
    check(RIGHT, SPEC)
    check(RIGHT | {"note": "", "n": "one"}, SPEC)
    lacking = {key: part for key, part in RIGHT.items() if key != "note"}
    for value in (RIGHT | change, lacking, None, []):
        with pytest.raises(WireError):
            check(value, SPEC)
