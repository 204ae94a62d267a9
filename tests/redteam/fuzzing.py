"""Answers that no honest worker gives, and a grader to read them: what `test_fuzz.py` is made of.

A `Fuzzed` pool stands where workers are. What the reference answers to each probe is recorded once,
by a real worker; in the submission's place the pool then answers with what a test makes of that.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import laid_out
import numpy as np
import pinned
import torch
from hypothesis import strategies as st

from grading import sandbox, wire
from grading.cases import BoundTest, bind
from grading.frames import Finished, finished
from grading.guardian import REASONS, Ending
from grading.outcomes import Outcome
from grading.processes import Job, Pool
from grading.results import Results, TestResult
from grading.runner import CourseTestRunner, Run
from grading.staging import stage, stage_reference
from grading.worker import READY
from questions import leaderboard
from questions.course import Course
from questions.shared import trained_files
from questions.shared.data_set import CourseData
from tools import starter

SEED = 7
KEPT_BYTES = 200 << 20  # of recorded answers; the largest is of 25 MB
WELL = Ending(0, 0, "", 0.1, 0.2, 1 << 20)
UNCONFINED = sandbox.Layers(root=False, landlock_abi=0, seccomp=False)  # only the reference runs
ASSIGNMENT = pinned.load()
CASES = Course().cases()


def every_test() -> list[BoundTest]:
    """The tests of all editions, each once, however many editions have it."""
    found: dict[tuple, BoundTest] = {}
    for edition in ASSIGNMENT.editions.values():
        for test in bind(edition.tests, CASES):
            found.setdefault((test.spec.topic, test.spec.name, test.spec.kind), test)
    return list(found.values())


class Fuzzed:
    """A pool that answers for the submission with what `answer` makes of the reference's answer.

    Attributes:
        answer: from a probe's name and what an honest worker sent to what this one sends.
    """

    def __init__(self, real: Pool, staged: Path) -> None:
        self._real, self._staged = real, str(staged)
        self._recorded: dict[bytes, Finished] = {}
        self.answer: Callable[[str, Finished], Finished] | None = None
        self.asked = 0  # of the submission
        self.mistake: Exception | None = None

    def run(self, job: Job) -> Finished:
        right = self._right(job)
        if self.answer is None or job.request["submission"] != self._staged:
            return right
        self.asked += 1
        try:
            return self.answer(job.request["probe"], right)
        except Exception as error:
            self.mistake = error  # of these tests: the grader would make a verdict of it
            raise

    def _right(self, job: Job) -> Finished:
        key = hashlib.sha256(wire.encode(job.request)).digest()
        done = self._recorded.pop(key, None) or self._real.run(job)
        self._recorded[key] = done  # the latest
        while sum(len(each.frame or b"") for each in self._recorded.values()) > KEPT_BYTES:
            del self._recorded[next(iter(self._recorded))]  # the oldest
        return done


class Grader:
    """Runs single tests on the reference as it was staged, with files of an untrained model."""

    def __init__(self, real: Pool, work: Path, course: Path) -> None:
        """
        Args:
            work: an empty folder.
            course: a folder with src/data, solutions/data and, in src, the submission.
        """
        (work / "staged").mkdir()
        self._staged = stage(course / "src", work / "staged", Course().provided)
        stage_reference(work / "reference", Course().provided)
        for root in (self._staged.root, work / "reference"):
            shutil.copy(course / "src" / "pretraining" / "recipes.json", root / "pretraining")
        self._work = work
        self._data = CourseData(ASSIGNMENT, course / "src" / "data", course / "solutions" / "data")
        self._pool = Fuzzed(real, self._staged.root)
        self._probes: dict[BoundTest, int] = {}

    def file(self, name: str) -> Path:
        """A staged file, to be written over."""
        return self._staged.root / name

    def run(self, test: BoundTest, hidden: bool = True) -> Run:
        """A run of an edition that has this test."""
        edition = next(e for e in ASSIGNMENT.editions.values() if test.spec in e.tests)
        runner = CourseTestRunner(ASSIGNMENT, Course())
        if not hidden:
            runner.hidden = None
        return Run(
            runner=runner,
            edition=edition,
            staged=self._staged,
            work=self._work,
            pool=self._pool,
            data=self._data,
            seed=SEED,
            layers=UNCONFINED,
            deadline=time.monotonic() + 3600,
        )

    def probes(self, test: BoundTest) -> int:
        """How many probes a test asks of an honest submission."""
        if test not in self._probes:
            self.grade(test, lambda _, right: right)
            self._probes[test] = self._pool.asked
        return self._probes[test]

    def leaderboard(self, answer: Callable[[str, Finished], Finished]) -> list[dict[str, Any]]:
        """The rows of a leaderboard when the submission's workers answer so."""
        test = next(test for test in every_test() if test.spec.torch)
        run = self.run(test)
        self._pool.answer = answer
        results = Results(run.edition, SEED, [TestResult(t, "does") for t in run.edition.tests])
        for result in results.tests:  # or there would be no rows
            result.outcome = Outcome.PASSED
        bound = [each for each in every_test() if each.spec in run.edition.tests]
        return leaderboard.entries(run, results, bound)

    def grade(
        self,
        test: BoundTest,
        answer: Callable[[str, Finished], Finished] | None = None,
        hidden: bool = True,
    ) -> TestResult:
        """How a test ends when the submission's workers answer so."""
        run = self.run(test, hidden)
        self._pool.answer, self._pool.asked, self._pool.mistake = answer, 0, None
        result = TestResult(test.spec, test.description)
        run.run_test(test, result)
        if self._pool.mistake is not None:
            raise self._pool.mistake
        whole = Results(run.edition, SEED, [result]).as_dict(staff=True)
        json.dumps(whole, allow_nan=False).encode("utf-8")  # it can be written, whatever it says
        return result


def answering(frame: bytes | None, ending: Ending = WELL, output: str = "") -> Finished:
    """What comes back of a worker that sent these bytes behind READY."""
    sent = SimpleNamespace(data=bytearray(READY + (frame or b"")))
    return finished(ending, sent, SimpleNamespace(data=output.encode("utf-8", "replace")))


# Answers that are nearly right ---------------------------------------------------------------

ODD_TEXTS = ["", " ", "\ud800", "\udfff\x00", "\x1b[2J", "record: 1", "\u202e" * 9, "long"]
ODD_NUMBERS = [0, -1, 1, 2**31, 2**63 - 1, -(2**63), 2**64, 10**400, -(10**4000)]
ODD_FLOATS = [float("nan"), float("inf"), float("-inf"), -0.0, 1e308, 5e-324]
SHAPES = [(), (0,), (1,), (3,), (0, 0), (2, 0, 3), (1, 1, 1), (2, 2), (1,) * 8, (70_000, 1)]
FILLS = [0, 1, -1, 0.5, 2**62, -(2**63), 1e308, np.nan, np.inf, -np.inf]


def _nested(depth: int) -> list:
    value: list = []
    for _ in range(depth):
        value = [value]
    return value


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


# By name: hypothesis prints what it samples from.
HUGE = {
    "no entries": [None] * 150_000,
    "texts": ["x"] * 150_000,
    "deep": _nested(100),
    "deeper": _nested(300),
}
MANY = st.sampled_from(sorted(HUGE))


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
        MANY.map(lambda name: HUGE[name]),
    )


def places(tree: Any, path: tuple = ()) -> Iterator[tuple]:
    """The way to each node; of long lists only to their ends."""
    yield path
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    keys = list(keys)
    for key in keys if len(keys) < 9 else keys[:3] + keys[-2:]:
        yield from places(tree[key], (*path, key))


def replaced(tree: Any, path: tuple, change: Callable[[Any], Any]) -> Any:
    """The tree with one node changed."""
    if not path:
        return change(tree)
    copy = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = replaced(tree[path[0]], path[1:], change)
    return copy


@st.composite
def altered(draw: st.DrawFn, node: Any) -> Any:
    """Something like `node`, of the same kind or not."""
    if draw(st.integers(0, 7)) == 0:
        return draw(values())
    if isinstance(node, np.ndarray):
        return draw(_altered_array(node))
    if isinstance(node, list):
        return draw(_altered_list(node))
    if isinstance(node, dict):
        return draw(_altered_dict(node))
    if isinstance(node, bool) or node is None:
        return draw(scalars)
    if isinstance(node, int):
        return draw(st.sampled_from([node + 1, node - 1, -node, float(node % 2**53), *ODD_NUMBERS]))
    if isinstance(node, float):
        return draw(st.sampled_from([node + 1, -node, node / 2, *ODD_FLOATS, *ODD_NUMBERS]))
    return draw(st.sampled_from([node + "x", node[:-1], node * 2]) | texts)


@st.composite
def _altered_array(draw: st.DrawFn, array: np.ndarray) -> np.ndarray:
    shapes = {
        "flat": lambda: array.reshape(-1),
        "deeper": lambda: array[None],
        "column": lambda: array[..., None],
        "transposed": lambda: array.T,
        "empty": lambda: array.reshape(-1)[:0],
        "no columns": lambda: array[..., :0] if array.ndim else array,
        "no rows": lambda: array[:0] if array.ndim else array,
        "one less": lambda: array[..., :-1] if array.ndim else array,
        "one more": lambda: np.concatenate([array, array[:1]]) if array.ndim else array,
        "one row": lambda: array[:1] if array.ndim else array,
        "one number": lambda: array.reshape(-1)[0] if array.size else array,
        "as it is": lambda: array,
    }
    changed = np.array(shapes[draw(st.sampled_from(sorted(shapes)))]())
    dtype = np.dtype(draw(st.sampled_from([array.dtype.str] * 20 + [*wire.DTYPES])))
    with np.errstate(all="ignore"):
        changed = changed.astype(dtype)
        if draw(st.booleans()):
            fill = np.array(draw(st.sampled_from(FILLS)), dtype=np.float64).astype(dtype)
            if changed.size and draw(st.booleans()):
                changed.reshape(-1)[draw(st.sampled_from([0, -1, changed.size // 2]))] = fill
            else:
                changed[...] = fill
    return changed


@st.composite
def _altered_list(draw: st.DrawFn, items: list) -> list:
    filling = draw(scalars | arrays())
    small = [item for item in items[:1] if not isinstance(item, list | dict | np.ndarray)]
    changes = {
        "none": lambda: [],
        "one less": lambda: items[:-1],
        "backwards": lambda: items[::-1],
        "twice": lambda: items + items,
        "one more": lambda: [*items, filling],
        "another first": lambda: [filling, *items[1:]],
        "others": lambda: [filling] * len(items),
        "deeper": lambda: [items],
        "the first alone": lambda: items[:1] * len(items),
        "very many": lambda: small * 150_000,
    }
    return changes[draw(st.sampled_from(sorted(changes)))]()


@st.composite
def _altered_dict(draw: st.DrawFn, table: dict) -> dict:
    left = draw(st.sampled_from(sorted(table))) if table else ""
    fewer = {key: value for key, value in table.items() if key != left}
    changes = {
        "fewer": lambda: fewer,
        "more": lambda: {**table, "more": 1},
        "renamed": lambda: {**fewer, left + "\ud800": table.get(left)},
        "none": lambda: {},
    }
    return changes[draw(st.sampled_from(sorted(changes)))]()


@st.composite
def nearly_right(draw: st.DrawFn, frame: bytes) -> bytes:
    """An honest worker's frame with one to three places altered."""
    tree = wire.decode(frame)
    for _ in range(draw(st.integers(1, 3))):
        ways = list(places(tree))
        deep = [way for way in ways if len(way) > 1]  # the value, not its envelope
        way = draw(st.sampled_from(deep if deep and draw(st.integers(0, 9)) else ways))
        new = draw(altered(_at(tree, way)))
        tree = replaced(tree, way, lambda _, new=new: new)
    try:
        return wire.encode(tree)
    except RecursionError:  # nested lists in one another, too deep for this process
        return b""


def _at(tree: Any, way: tuple) -> Any:
    for key in way:
        tree = tree[key]
    return tree


# Answers that are nothing like it --------------------------------------------------------------


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Frames by the grammar of `wire`, or nearly so: headers that lie about their arrays."""
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
    words = texts | st.sampled_from([outcome.value for outcome in Outcome])
    kinds = st.sampled_from(["KeyError", "NotImplementedError", "print", "__debug__", "\ud800"])
    lines = ["submission/dataset.py:1", "submission/dataset.py:999999", "submission/\ud800.py:1"]
    fields = {
        "outcome": words,
        "type": kinds | words,
        "where": st.sampled_from(lines) | words,
        "message": words,
        "traceback": words,
    }
    honest = st.fixed_dictionaries(fields)
    forged = st.fixed_dictionaries({}, optional={key: s | values() for key, s in fields.items()})
    flag = st.sampled_from([False, None, 0, 1, "true", [True]])
    envelopes = st.fixed_dictionaries({"ok": flag, "error": honest | forged | values()})
    return envelopes.map(wire.encode)


def endings() -> st.SearchStrategy[Ending]:
    """However a worker may have ended."""
    return st.builds(
        replace,
        st.just(WELL),
        code=st.sampled_from([0, 1, 255]),
        signal=st.sampled_from([0, 0, 6, 9, 11, 25, 64]),
        reason=st.sampled_from(["", "unknown", *REASONS]),
        cpu_s=st.sampled_from([0.0, 0.1, 1e6]),
    )


@st.composite
def statuses(draw: st.DrawFn) -> bytes:
    """What a guardian may report, or who writes in its place."""
    plain = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(texts, inner))
    report = {**asdict(WELL), "clean": True}
    report |= draw(st.dictionaries(st.sampled_from([*report, "more"]), plain, max_size=2))
    for key in draw(st.sets(st.sampled_from(sorted(report)), max_size=1)):
        del report[key]
    return json.dumps(draw(st.just(report) | plain)).encode("ascii")


# A course ------------------------------------------------------------------------------------

VARIANTS = list(ASSIGNMENT.variants)
STAGES = ["pretrain", "finetune"]
PARAMETERS = ["vanilla.model", *(f"{v}.{stage}" for v in VARIANTS for stage in STAGES)]
PREDICTED = ["vanilla.nopretrain", "vanilla.pretrain", "synthesizer.pretrain", "rope.pretrain"]


def lay_out(course: Path) -> Path:
    """Fill a folder: a smoke world, the reference, untrained parameters, right predictions."""
    source = laid_out.lay_out(course) / "src"
    recipes = source / "pretraining" / "recipes.json"
    recipes.write_bytes(starter.recipes_file(laid_out.REPOSITORY))
    for params in PARAMETERS:
        torch.save(_model(source, params.split(".")[0]).state_dict(), source / f"{params}.params")
    tables = {
        "dev": source / "data" / "birth_dev.tsv",
        "test": course / "solutions" / "data" / "birth_test.tsv",
    }
    for split, path in tables.items():
        places = [row.split("\t")[1] for row in path.read_text(encoding="utf-8").splitlines()]
        text = "".join(f"{place}\n" for place in places)
        for name in PREDICTED:
            (source / f"{name}.{split}.predictions").write_text(text, encoding="utf-8")
    return course


def _model(source: Path, variant: str) -> torch.nn.Module:
    config = trained_files.model_configs(ASSIGNMENT, ASSIGNMENT.datasets["smoke"], variant)["smoke"]
    corpus = (source / "data" / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    with laid_out.imports_from(source):
        from submission import helper, model

        make = getattr(helper, f"initialize_{variant}_model")
        return make(model.GPTConfig(**config, vocab_size=len(set(corpus)) + 2))
