"""Parameter files are read as torch reads them, and nothing in them is ever run."""

import collections
import os
import pickle

import numpy as np
import pytest
import torch

from tests.classroom.similar import parameters, saved, with_pickle
from tools.classroom.similarity.parameters import compare, parameters_of
from tools.classroom.similarity.torch_files import Unreadable, read_tensors

STATE = {
    "a": torch.randn(3, 5, generator=torch.Generator().manual_seed(0)),
    "b.weight": torch.arange(12.0).view(3, 4).t(),  # not contiguous
    "c": torch.arange(20.0)[5:9],  # in a larger storage
    "scalar": torch.tensor(2.5),
    "none": torch.zeros(0, 3),
}


def read(tmp_path, content):
    path = tmp_path / "x.params"
    path.write_bytes(content)
    return read_tensors(path)


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda state: state,
        lambda state: collections.OrderedDict(state),
        lambda state: {"model": {f"module.{name}": tensor for name, tensor in state.items()}},
        lambda state: {"epoch": 3, "state_dict": {f"_orig_mod.{k}": v for k, v in state.items()}},
        lambda state: {name: torch.nn.Parameter(tensor) for name, tensor in state.items()},
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_tensors_are_those_that_torch_reads(tmp_path, wrapped, dtype):
    state = {name: tensor.to(dtype) for name, tensor in STATE.items()}
    found = read(tmp_path, saved(wrapped(state)))
    assert found.keys() == state.keys()
    for name, tensor in state.items():
        assert found[name].dtype == np.float32
        np.testing.assert_array_equal(found[name], tensor.float().numpy())


def test_buffers_are_left_out(tmp_path):
    state = STATE | {"blocks.0.attn.mask": torch.ones(2, 2), "steps": torch.tensor(3)}
    assert read(tmp_path, saved(state)).keys() == STATE.keys()


class Runs:
    def __reduce__(self):
        return os.system, ("touch ran",)


def deep(count):
    """Return a dictionary whose key is a deeply nested tuple."""
    return b"\x80\x02}K\x01" + b"\x85" * count + b"K\x01s."


def number(value):
    """Return the instruction for an integer of any size."""
    return pickle.dumps(value, 2)[2:-1]


def word(text):
    return b"X" + len(text).to_bytes(4, "little") + text.encode("ascii")


def tensor_of(shape, offset=0, key="0", kind="FloatStorage"):
    """Return a pickle of {"a": tensor}, with strides of 1, in a storage of 1,024 numbers."""
    storage = word("storage") + f"ctorch\n{kind}\n".encode("ascii") + word(key) + word("cpu")
    called = b"ctorch._utils\n_rebuild_tensor_v2\n"
    axes, strides = b"".join(map(number, shape)), number(1) * len(shape)
    arguments = b"((" + storage + number(1024) + b"tQ" + number(offset)
    arguments += b"(" + axes + b"t(" + strides + b"t\x89Nt"
    return b"\x80\x02}(" + word("a") + called + arguments + b"Ru."


HOSTILE = {
    "a call": pickle.dumps({"a": Runs()}, 2),
    "a call, protocol 4": pickle.dumps({"a": Runs()}, 4),
    "a call, protocol 0": pickle.dumps({"a": Runs()}, 0),
    "torch.load in torch.load": b"\x80\x02ctorch\nload\nX\x01\0\0\0x\x85R.",
    "a class": pickle.dumps({"a": Runs}, 2),
    "a deep key": deep(200_000),
    "an endless stack": b"\x80\x02" + b"}" * 200_000 + b".",
    "nothing": b"",
    "no end": b"\x80\x02}",
    "an empty stack": b"\x80\x020000.",
    "no dictionary": pickle.dumps([1, 2], 2),
    "a number for a tensor": pickle.dumps({"a": 1}, 2),
    "an empty dictionary": pickle.dumps({}, 2),
    "a long pickle": pickle.dumps({"a": "x" * (1 << 20)}, 2),
    "beyond its storage": tensor_of((1025,)),
    "beyond by its offset": tensor_of((1,), offset=1024),
    "more numbers than memory": tensor_of((1 << 40, 1 << 40)),
    "no such storage": tensor_of((1,), key="1"),
    "a storage of another kind": tensor_of((1,), kind="ComplexStorage"),
}


def test_a_pickle_made_by_hand_is_read(tmp_path):
    """This shows that the files in HOSTILE fail because of what is hostile about them."""
    np.testing.assert_array_equal(read(tmp_path, with_pickle(tensor_of((3,), 2)))["a"], [2, 3, 4])


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unreadable):
        read(tmp_path, with_pickle(HOSTILE[name]))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"", b"PK\5\6" + bytes(18), pickle.dumps({"a": Runs()})])
def test_what_is_no_zip_of_torch_is_refused(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unreadable):
        read(tmp_path, content)
    assert not (tmp_path / "ran").exists()


def test_damaged_files_are_refused_or_read(tmp_path):
    """Wherever bytes are changed, the result is an answer or Unreadable, and nothing else."""
    content, draw = saved(STATE), np.random.default_rng(0)
    refused = 0
    for _ in range(300):
        damaged = bytearray(content)
        for at in draw.integers(len(content), size=3):
            damaged[at] = draw.integers(256)
        try:
            read(tmp_path, bytes(damaged))
        except Unreadable:
            refused += 1
    assert refused > 100


def test_noise_of_a_few_percent_is_still_the_same_pretraining():
    kept = [
        parameters_of(n, "x", {k: v.numpy() for k, v in parameters(*args).items()})
        for n, args in enumerate([(1,), (2, 1), (3,)])
    ]
    found = compare(kept, [], np.triu(np.ones((3, 3), dtype=bool), 1))
    assert found[0, 1].cosine > 0.99 > 0.5 > abs(found[0, 2].cosine)
    assert not found[0, 1].same
    # Entries by one author aren't compared.
    assert compare(kept, [], np.zeros((3, 3), dtype=bool)) == {}
