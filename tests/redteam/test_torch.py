"""Hostile parameter files and tensors: none runs code in the grader, earns or breaks anything."""

import io
import os
import textwrap
import zipfile
from pathlib import Path

import pytest
import torch

from tools import world

from .conftest import whole

PARAMS = "vanilla.model.params"
MARK = "executed"


class Executes:
    """Unpickling calls os.system."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.path}",)


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


# tests/running/test_parameter_files.py has more that is no model's, such as sparse tensors.
FILES = {
    "code": lambda folder: saved({"w": Executes(folder / MARK)}),
    "code by an old pickle": lambda folder: f"cos\nsystem\n(S'touch {folder / MARK}'\ntR.".encode(),
    "a terabyte that isn't there": lambda _: saved({"w": torch.zeros(1).expand(2**38)}),
    "a hundred thousand names": lambda _: saved({f"w{n}": torch.zeros(0) for n in range(100_000)}),
    "names that paint": lambda _: saved({"\x1b[2J\x1b]0;PASSED\x07": torch.zeros(1)}),
    "names that are no text": lambda _: saved({1: torch.zeros(1), (2,): torch.zeros(1)}),
    "itself": lambda _: saved(holding_itself()),
    "lists in lists": lambda _: nested(100_000),
}


def holding_itself() -> dict:
    state = {}
    state["state_dict"] = state
    return state


@pytest.fixture
def ends(tree, grade, submission, tmp_path):
    """Return a function that grades a submission; it returns what was printed, and results."""
    if not (tree / "src" / "data").exists():
        assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0

    def run(*tests: str) -> list:
        results = tmp_path / "results.json"
        ran = grade(submission, *tests, "--edition", "xcs224n", "--json", results)
        assert ran.returncode == 1, ran.stdout + ran.stderr
        ended = {t["test_id"]: t for t in whole(results, tree, "xcs224n")["tests"]}
        return [ran.stdout + ran.stderr, *(ended[test_id] for test_id in tests)]

    return run


QUICK = ("code", "a terabyte that isn't there", "lies about its values")


def some(names: dict) -> list:
    """All of them; `make test` runs the quick ones."""
    return [pytest.param(n, marks=() if n in QUICK else pytest.mark.long) for n in names]


@pytest.mark.parametrize("name", some(FILES))
def test_a_parameter_file_can_only_fail(ends, submission, tmp_path, name):
    (submission / PARAMS).write_bytes(FILES[name](tmp_path))
    printed, test = ends("1d-4-hidden")
    assert test["score"] == 0 and test["outcome"] in ("failed", "out of memory")
    assert PARAMS in test["message"] or test["outcome"] == "out of memory"
    assert len(test["message"]) < 600 and test["message"].isprintable()
    assert "Traceback" not in printed and not (tmp_path / MARK).exists()


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
def test_a_hostile_tensor_earns_nothing(ends, submission, name):
    path = submission / "submission" / "attention.py"
    before = path.read_text(encoding="utf-8").partition("        # [synthesizer]")[0]
    body = textwrap.indent(textwrap.dedent(FORWARD[name]), "        ")
    path.write_text(f"{before}{body}\n", encoding="utf-8")
    _, *tests = ends("1g-5-hidden", "1g-8-hidden")  # values and gradients
    for test in tests:
        assert test["outcome"] not in ("passed", "grader error") and test["score"] == 0, test
        assert "root:" not in str(test)  # from /etc/passwd
