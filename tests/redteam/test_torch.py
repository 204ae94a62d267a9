"""Hostile parameter files and tensors: none runs code in the grader, or earns or breaks anything.

python -m pytest tests/redteam/test_torch.py
"""

import io
import json
import os
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

import grading
from tools import world
from tools.reference import compose

PARAMS = "vanilla.model.params"
MARK = "executed"


class Executes:
    """Unpickling calls os.system."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.path}",)


class Subclass(torch.Tensor):
    """What torch.load(weights_only=True) doesn't know."""


def saved(state: object) -> bytes:
    stream = io.BytesIO()
    torch.save(state, stream)
    return stream.getvalue()


def nested(depth: int) -> bytes:
    """Return a saved file whose pickle is of so many nested lists."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved({}))) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            lists = b"\x80\x02" + b"]" * depth + b"a" * (depth - 1) + b"."
            new.writestr(name, lists if name.endswith("data.pkl") else old.read(name))
    return target.getvalue()


FILES = {
    "code": lambda folder: saved({"w": Executes(folder / MARK)}),
    "code by an old pickle": lambda folder: f"cos\nsystem\n(S'touch {folder / MARK}'\ntR.".encode(),
    "a subclass of Tensor": lambda _: saved({"w": torch.zeros(2).as_subclass(Subclass)}),
    "a terabyte that isn't there": lambda _: saved({"w": torch.zeros(1).expand(2**38)}),
    "a sparse square": lambda _: saved({"w": torch.sparse_coo_tensor(size=(10**6, 10**6))}),
    "a hundred thousand names": lambda _: saved({f"w{n}": torch.zeros(0) for n in range(100_000)}),
    "names that paint": lambda _: saved({"\x1b[2J\x1b]0;PASSED\x07": torch.zeros(1)}),
    "names that are no text": lambda _: saved({1: torch.zeros(1), (2,): torch.zeros(1)}),
    "itself": lambda _: saved(holding_itself()),
    "lists in lists": lambda _: nested(100_000),
    "a script": lambda _: scripted(),
    "half of a file": lambda _: saved({"w": torch.zeros(3, 3)})[:200],
}


def holding_itself() -> dict:
    state = {}
    state["state_dict"] = state
    return state


def scripted() -> bytes:
    stream = io.BytesIO()
    torch.jit.save(torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2)), stream)
    return stream.getvalue()


@pytest.fixture(scope="module")
def with_data(tree):
    """The tree, with a smoke world."""
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0
    return tree


@pytest.fixture
def whole_upload(upload) -> Path:
    """The reference's code, complete."""
    shutil.rmtree(upload / "submission")
    compose(grading.ROOT, upload)
    shutil.rmtree(upload / "pretraining")
    return upload


QUICK = ("code", "a terabyte that isn't there", "lies about its values")


def some(names: dict) -> list:
    """All of them; `make test` runs the quick ones."""
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in names]


def ended(results: Path) -> dict[str, dict]:
    return {t["test_id"]: t for t in json.loads(results.read_text("utf-8"))["tests"]}


@pytest.mark.parametrize("name", some(FILES))
def test_a_parameter_file_can_only_fail(with_data, grade, whole_upload, tmp_path, name):
    (whole_upload / PARAMS).write_bytes(FILES[name](tmp_path))
    results = tmp_path / "results.json"
    ran = grade(whole_upload, "1d-4-hidden", "--edition", "xcs224n", "--json", results)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    test = ended(results)["1d-4-hidden"]
    assert test["score"] == 0 and test["outcome"] in ("failed", "out of memory")
    assert PARAMS in test["message"] or test["outcome"] == "out of memory"
    assert len(test["message"]) < 600 and test["message"].isprintable()
    assert "Traceback" not in ran.stdout + ran.stderr
    assert not (tmp_path / MARK).exists()


FORWARD = {
    "lies about its values": """
        class Lying(torch.Tensor):
            @classmethod
            def __torch_function__(cls, function, types, args=(), kwargs=None):
                return torch.zeros(2, 10, 32)
            def numpy(self, *_, **__):
                return [[True]]
        return x.as_subclass(Lying)
    """,
    "becomes a file": """
        class Lying(torch.Tensor):
            def detach(self):
                return open("/etc/passwd")
            cpu = numpy = tolist = double = to = detach
        return x.as_subclass(Lying)
    """,
    "is not there": "return torch.empty(x.shape, device='meta')",
    "is a terabyte": "return x[:1, :1, :1].expand(2**14, 2**12, 2**12)",
    "patches torch": """
        torch.Tensor.numpy = torch.Tensor.tolist = lambda self: 0
        torch.allclose = torch.equal = lambda *_, **__: True
        return x
    """,
    "patches numpy": """
        import numpy
        numpy.abs = numpy.array = numpy.ascontiguousarray = lambda *_, **__: 0
        return x
    """,
}


@pytest.mark.parametrize("name", some(FORWARD))
def test_a_hostile_tensor_earns_nothing(with_data, grade, whole_upload, tmp_path, name):
    path = whole_upload / "submission" / "attention.py"
    text = path.read_text(encoding="utf-8")
    start = text.index("        # [synthesizer]")
    body = FORWARD[name] if "\n" in FORWARD[name] else f"        {FORWARD[name]}\n"
    path.write_text(text[:start] + body.lstrip("\n") + "\n", encoding="utf-8")
    results = tmp_path / "results.json"
    tests = ("1g-5-hidden", "1g-8-hidden")  # values and gradients
    ran = grade(whole_upload, *tests, "--edition", "xcs224n", "--json", results)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    for test_id in tests:
        test = ended(results)[test_id]
        assert test["outcome"] not in ("passed", "grader error"), f"{test_id}: {test}"
        assert test["score"] == 0
    assert "root:" not in results.read_text(encoding="utf-8")
