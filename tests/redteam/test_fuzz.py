"""No student can cause a grader error: whatever a worker answers, each test has a verdict.

    make redteam ARGS="-k fuzz"      12,000 answers, different ones each time; here 500, the same

Every test of every edition judges answers that we make up: the reference's with something altered,
frames by the grammar, any bytes, exceptions of any form. A judge that raises is the grader's fault
unless it raises on the reference's own answer, too; this prints the smallest answer that does it.
"""

import itertools
import re
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grading import wire
from grading.verdicts import Outcome
from questions.shared.functions import FunctionCase

from . import odd_answers
from .fuzzing import ALL, PREDICTED, answering

TESTS = {k: t for k, t in ALL.items() if not k.endswith("predictions")}  # of workers
OF_FILES = [key for key in ALL if key.endswith(("predictions", "accuracy", "checkpoint"))]
OF_PARAMETERS = [
    key for key in ALL if key.endswith(("accuracy", "checkpoint", "remembers_training"))
]
QUICK, LONG = 500, 12_000
SLOWEST_S = 20.0  # of this process's CPU, drawing included; the slowest right answers take 2 s


def examples(count: int, shared_by: int):
    """Return settings for a test's share of `count` examples; the long run's examples differ."""
    return settings(
        max_examples=-(-count // shared_by),
        derandomize=count == QUICK,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )


BOTH = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]


def graded(grader, key, answer, hidden=True):
    """Grade, and check what must hold for any answer."""
    started = time.process_time()
    result = grader.grade(ALL[key], answer, hidden)
    assert result.outcome is not Outcome.GRADER_ERROR, result.detail
    assert 0 <= result.score <= ALL[key].spec.max_score
    assert time.process_time() - started < SLOWEST_S
    return result


@pytest.mark.parametrize("count", BOTH)
@pytest.mark.parametrize("key", TESTS)
@pytest.mark.sampled(3)
def test_any_answer_has_a_verdict(grader, key, count):
    honest = graded(grader, key, lambda _, right: right)
    # Otherwise, this would not show what the judge does with an answer. Nobody has trained these.
    assert key in OF_PARAMETERS or honest.outcome is Outcome.PASSED
    asked = grader.answers.asked

    @examples(count, len(TESTS))
    @given(st.data())
    def holds(data):
        first = data.draw(st.integers(0, asked - 1), label="first")
        probes = itertools.count()

        def answer(probe, right):
            if next(probes) < first:
                return right
            sent = data.draw(_answers(right.frame, data.draw(st.integers(0, 9))), label=probe)
            return answering(sent)

        graded(grader, key, answer, hidden=data.draw(st.integers(0, 3)) > 0)

    holds()


def _answers(frame, kind):
    """Mostly answers that are nearly right, since they get furthest."""
    if kind < 7:
        return odd_answers.nearly_right(frame)
    if kind < 9:
        return odd_answers.frames() | st.binary(max_size=64)
    return odd_answers.errors()


@pytest.mark.parametrize("count", BOTH)
@pytest.mark.parametrize("key", ["attention_copying.perpendicular", "attention_copying.oblique"])
def test_any_ending_and_any_stream_of_a_worker_has_a_verdict(grader, key, count):
    """Where a frame is expected: notes of imports, stacks of those that ran out of time."""

    @examples(count, 10)
    @given(
        st.booleans(),
        odd_answers.streams() | odd_answers.errors(),
        odd_answers.endings(),
        odd_answers.texts | st.text(),
    )
    def holds(right_follows, stream, ending, output):
        def answer(probe, right):
            sent = stream + bytes(right.frame) if right_follows else stream
            return answering(sent, ending, output)

        result = graded(grader, key, answer)
        honest = right_follows and ending.signal == 0 and ending.reason == ""
        assert honest or result.outcome is not Outcome.PASSED
        shown = re.findall(r"submission/[^ ,:]*", result.message)
        assert set(shown) <= {"submission/dataset.py", "submission/attention_exploration.py"}

    holds()


@pytest.mark.parametrize("count", BOTH)
@pytest.mark.parametrize("key", OF_FILES)
def test_any_predictions_have_a_verdict(grader, key, count):
    """Bytes of any kind, and lines that are nearly right."""
    names = [f"{name}.{split}.predictions" for name in PREDICTED for split in ("dev", "test")]
    right = {name: grader.file(name).read_bytes() for name in names}

    @examples(count, 4 * len(OF_FILES))
    @given(st.data())
    def holds(data):
        for name in names:
            lines = data.draw(st.permutations(right[name].split(b"\n")))
            odd = st.sampled_from([b"", b"\xff", b"\xef\xbb\xbf", b"\r", b"\0", "\u2028".encode()])
            junk = data.draw(odd | st.binary(max_size=40))
            texts = st.sampled_from([junk, b"\n".join(lines), b"\n".join([junk, *lines[1:]])])
            grader.file(name).write_bytes(data.draw(texts))
        graded(grader, key, None)

    try:
        holds()
    finally:
        for name, text in right.items():
            grader.file(name).write_bytes(text)


HOSTILE = {  # each part of a forged answer
    "none": None,
    "a list": [1, 2],
    "a scalar": np.array(1.0),
    "zeros": np.zeros(4),
    "truth values": np.zeros((2, 2), dtype=bool),
    "three axes": np.zeros((4, 4, 4)),
    "nan": np.full(4, np.nan),
    "a matrix of nan": np.full((4, 4), np.nan),
    "a huge matrix": np.full((4, 4), 1e308),
    "a huge number": np.array(1e308),
}
OF_FUNCTIONS = [key for key, test in TESTS.items() if issubclass(test.case, FunctionCase)]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_part_of_a_functions_answer_passes_or_breaks_its_judge(grader, name, recwarn):
    def answer(probe, right):
        value = wire.decode(right.frame)["value"]
        answers = [[HOSTILE[name]] * len(each) for each in value["answers"]]
        return answering(wire.encode({"ok": True, "value": {**value, "answers": answers}}))

    assert len(OF_FUNCTIONS) > 50
    for key in OF_FUNCTIONS:
        assert graded(grader, key, answer).outcome in (Outcome.FAILED, Outcome.ERROR), key
    assert [w for w in recwarn if w.category is RuntimeWarning] == []  # numpy's


@pytest.mark.parametrize("key", [key for key, test in TESTS.items() if test.spec.is_hidden])
@pytest.mark.sampled(3)
def test_an_answer_of_another_type_earns_nothing(grader, key):
    """Hidden tests give no points for the form of an answer alone."""
    for garbage in (None, "passed", {}, [[1.0]]):
        sent = answering(wire.encode({"ok": True, "value": garbage}))
        result = graded(grader, key, lambda *_, sent=sent: sent)
        if grader.answers.asked:
            assert result.outcome is not Outcome.PASSED and not result.score
