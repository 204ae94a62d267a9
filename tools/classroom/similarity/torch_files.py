"""Reads tensors from a file written by `torch.save`, without torch, and without running anything.

Such a file is a zip with a pickle, which contains the tensors' names and shapes, and an entry with
the bytes of each storage. Unpickling would call whatever the pickle names, so nothing is unpickled
here. `pickletools` reads the pickle's instructions, and a small machine executes those that a
dictionary of tensors needs: for strings, numbers, tuples, dictionaries, and tensors of a storage.
Anything else is an error.
"""

from __future__ import annotations

import io
import math
import pickletools
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MAX_FILE_BYTES = 64 << 20  # the grader's own limit (grading/staging.py)
MAX_PICKLE_BYTES = 1 << 18  # real ones have 7,000
MOST_TENSORS = 1_000  # a model has a few dozen
MOST_NUMBERS = 12_000_000  # the largest recipe's model has 3.4 million
MOST_AXES = 8
LONGEST_NAME = 200
# The same as in the grader's own reader (questions/shared/probe.py).
WRAPPERS = ("state_dict", "model_state_dict", "model", "params")
PREFIXES = ("module.", "_orig_mod.")
BUFFERS = (".mask", ".rope_cache")
BFLOAT: np.dtype = np.dtype("<u2")  # numpy has no bfloat16: the upper half of a float32
DTYPES: dict[str, np.dtype] = {
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": BFLOAT,
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
}
OTHER_STORAGES = ("Long", "Int", "Short", "Char", "Byte", "Bool")  # buffers, which aren't read
TENSOR = ("torch._utils", "_rebuild_tensor_v2")
PARAMETER = ("torch._utils", "_rebuild_parameter")
ORDERED = ("collections", "OrderedDict")


class Unreadable(ValueError):
    """A file doesn't contain named tensors, or contains something else; the message says why."""


@dataclass(frozen=True)
class _Global:
    """A name that the pickle refers to; nothing is imported."""

    module: str
    name: str


@dataclass(frozen=True)
class _Storage:
    key: str
    dtype: np.dtype | None


@dataclass(frozen=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    stride: tuple[int, ...]


def read_tensors(path: Path) -> dict[str, np.ndarray]:
    """Return the parameters in a file as float32, by their names without wrappers' prefixes.

    Buffers, and tensors that aren't floating-point, are left out. Other floating-point formats are
    converted to float32.

    Raises:
        Unreadable: if the file isn't a model's state as written by `torch.save`.
    """
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise Unreadable(f"more than {MAX_FILE_BYTES} bytes")
        with zipfile.ZipFile(path) as opened:
            root, pickled = _pickle_of(opened)
            named = _unwrapped(_Machine().run(pickled))
            return _arrays(opened, root, named)
    except Unreadable:
        raise
    # A hostile file may have anything wrong with it, in the zip's structure or in a number.
    except (
        OSError,
        EOFError,
        zipfile.BadZipFile,
        zlib.error,
        RuntimeError,
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        MemoryError,
    ) as error:
        raise Unreadable(f"not a file written by torch.save ({type(error).__name__})") from None


def _pickle_of(opened: zipfile.ZipFile) -> tuple[str, bytes]:
    """Return the folder in the zip, and the bytes of the pickle in it."""
    found = [info for info in opened.infolist() if info.filename.endswith("/data.pkl")]
    if len(found) != 1 or found[0].filename.count("/") != 1:
        raise Unreadable("it has no data.pkl; did an old version of torch write it?")
    root = found[0].filename.removesuffix("data.pkl")
    order = root + "byteorder"
    if order in opened.namelist() and _entry(opened, order, 16) != b"little":
        raise Unreadable("its numbers are big-endian")
    return root, _entry(opened, found[0].filename, MAX_PICKLE_BYTES)


def _entry(opened: zipfile.ZipFile, name: str, most: int) -> bytes:
    with opened.open(name) as reader:
        content = reader.read(most + 1)
    if len(content) > most:
        raise Unreadable(f"its {name.rpartition('/')[2]:.40} has more than {most} bytes")
    return content


class _Machine:
    """Executes a pickle's instructions; they can only make plain data."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def run(self, pickled: bytes) -> Any:
        """Return what the pickle describes.

        Raises:
            Unreadable: if it has an instruction that a dictionary of tensors doesn't need.
        """
        for opcode, argument, _ in pickletools.genops(io.BytesIO(pickled)):
            if opcode.name == "STOP":
                return self.stack.pop()
            self._step(opcode.name, argument)
        raise Unreadable("its pickle has no end")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ("PROTO", "FRAME"):
            return
        if name in CONSTANTS:
            stack.append(CONSTANTS[name])
        elif name in LITERALS:
            stack.append(argument)
        elif name in ("EMPTY_DICT", "EMPTY_LIST"):
            stack.append({} if name == "EMPTY_DICT" else [])
        elif name == "MARK":
            self.marks.append(len(stack))
        elif name in ("BINPUT", "LONG_BINPUT"):
            self.memo[argument] = stack[-1]
        elif name == "MEMOIZE":
            self.memo[len(self.memo)] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self.memo[argument])
        elif name == "GLOBAL":
            stack.append(_Global(*argument.split(" ")))
        elif name == "STACK_GLOBAL":
            module, called = self._pop(2)
            stack.append(_Global(_expect(module, str), _expect(called, str)))
        else:
            self._build(name)

    def _build(self, name: str) -> None:
        stack = self.stack
        if name in TUPLES:
            stack.append(tuple(self._pop(TUPLES[name])))
        elif name == "TUPLE":
            stack.append(tuple(self._since_mark()))
        elif name in ("APPENDS", "APPEND"):
            values = self._since_mark() if name == "APPENDS" else self._pop(1)
            _expect(stack[-1], list).extend(values)
        elif name in ("SETITEMS", "SETITEM"):
            values = self._since_mark() if name == "SETITEMS" else self._pop(2)
            # Only names: hashing a tuple that is nested a million levels deep would crash Python.
            names = [_expect(value, str) for value in values[::2]]
            _expect(stack[-1], dict).update(zip(names, values[1::2], strict=True))
        elif name == "BINPERSID":
            stack.append(_storage(stack.pop()))
        elif name == "REDUCE":
            function, arguments = self._pop(2)
            stack.append(_called(_expect(function, _Global), _expect(arguments, tuple)))
        elif name == "BUILD":  # an OrderedDict's attributes: the modules' versions
            stack.pop()
        else:
            raise Unreadable(f"its pickle has the instruction {name}")

    def _pop(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise Unreadable("its pickle ends too soon")
        popped = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return popped

    def _since_mark(self) -> list[Any]:
        return self._pop(len(self.stack) - self.marks.pop())


CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False, "EMPTY_TUPLE": ()}
LITERALS = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE"}
TUPLES = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise Unreadable("its pickle has a value of an unexpected type")
    return value


def _storage(described: Any) -> _Storage:
    """Return the storage that `("storage", type, key, device, size)` describes."""
    if not isinstance(described, tuple) or len(described) != 5 or described[0] != "storage":
        raise Unreadable("its pickle refers to something that isn't a storage")
    kind, key = _expect(described[1], _Global), _expect(described[2], str)
    known = kind.name in DTYPES or kind.name.removesuffix("Storage") in OTHER_STORAGES
    if kind.module not in ("torch", "torch.storage") or not known:
        raise Unreadable(f"its pickle has a storage of type {kind.name!r:.40}")
    return _Storage(key, DTYPES.get(kind.name))


def _called(function: _Global, arguments: tuple) -> Any:
    """Return what a call would return; only the three calls in a model's state are known."""
    what = (function.module, function.name)
    if what == ORDERED and arguments == ():
        return {}
    if what == PARAMETER and arguments and isinstance(arguments[0], _Tensor):
        return arguments[0]
    if what == TENSOR and len(arguments) >= 4:
        storage, offset, shape, stride = arguments[:4]
        numbers = (offset, *_expect(shape, tuple), *_expect(stride, tuple))
        if all(type(number) is int and number >= 0 for number in numbers):
            return _Tensor(_expect(storage, _Storage), offset, shape, stride)
    raise Unreadable(f"its pickle calls {function.module:.40}.{function.name:.40}")


def _unwrapped(state: Any) -> dict[str, _Tensor]:
    """Return the named tensors, without the dictionaries around them."""
    for _ in range(3):
        if not isinstance(state, dict) or not state:
            break
        if all(isinstance(value, _Tensor) for value in state.values()):
            if len(state) > MOST_TENSORS or any(len(name) > LONGEST_NAME for name in state):
                raise Unreadable("it has more tensors, or longer names, than any of our models")
            return {_short(name): tensor for name, tensor in state.items()}
        inner = [state[key] for key in WRAPPERS if isinstance(state.get(key), dict)]
        state = inner[0] if inner else None
    raise Unreadable("it contains no named tensors")


def _short(name: str) -> str:
    while name.startswith(PREFIXES):
        name = next(name.removeprefix(p) for p in PREFIXES if name.startswith(p))
    return name


def _arrays(opened: zipfile.ZipFile, root: str, named: dict[str, _Tensor]) -> dict[str, np.ndarray]:
    kept = {
        name: tensor
        for name, tensor in named.items()
        if tensor.storage.dtype is not None and not name.endswith(BUFFERS)
    }
    # Tensors may share a storage, so a small file could contain any number of large ones.
    if sum(math.prod(tensor.shape) for tensor in kept.values()) > MOST_NUMBERS:
        raise Unreadable(f"its tensors have more than {MOST_NUMBERS} numbers")
    storages: dict[str, bytes] = {}
    arrays, left = {}, MAX_FILE_BYTES
    for name, tensor in kept.items():
        key = tensor.storage.key
        if key not in storages:
            storages[key] = _entry(opened, f"{root}data/{key}", left)
            left -= len(storages[key])
        arrays[name] = _array(storages[key], tensor)
    return arrays


def _array(content: bytes, tensor: _Tensor) -> np.ndarray:
    """Return a tensor's numbers as a contiguous float32 array; they must be in its storage."""
    dtype, shape = tensor.storage.dtype, tensor.shape
    assert dtype is not None
    if len(shape) != len(tensor.stride) or len(shape) > MOST_AXES:
        raise Unreadable("a tensor doesn't have one stride per axis")
    if not math.prod(shape):
        return np.zeros(shape, np.float32)
    flat = np.frombuffer(content, dtype, len(content) // dtype.itemsize)
    steps = zip(shape, tensor.stride, strict=True)
    if tensor.offset + sum((length - 1) * step for length, step in steps) >= len(flat):
        raise Unreadable("a tensor extends beyond its storage")
    strides = [step * dtype.itemsize for step in tensor.stride]
    view = np.lib.stride_tricks.as_strided(flat[tensor.offset :], shape, strides, writeable=False)
    if dtype is BFLOAT:
        return (view.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(over="ignore"):
        return np.ascontiguousarray(view, np.float32)
