"""Forged answers that once caused grader errors, and who is to blame if a judge raises.

`test_fuzz.py` looks for other answers.
"""

import gc
import sys
import weakref
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.isolation.pool import finished
from grading import wire
from grading.runner import judge
from grading.verdicts import REPORT, Outcome, TestResult
from grading.worker import READY
from questions.shared.models import ANY_REAL

from .fuzzing import ALL, answering
from .odd_answers import WELL

# EXITED: a frame larger than any of ours is ignored, as if the process had sent none.
NO_RIGHT = [Outcome.FAILED, Outcome.ERROR, Outcome.EXITED]
VALUES = "attention_copying.oblique"


def forging(wanted, change):
    """Answer honestly except for one probe, whose value goes through `change`."""

    def answer(probe, right):
        if probe != wanted:
            return right
        value = wire.decode(right.frame)["value"]
        return answering(wire.encode({"ok": True, "value": change(value)}))

    return answer


def setting(**fields):
    return lambda value: {**value, **fields}


def each(name):
    return lambda change: lambda value: {**value, name: [change(one) for one in value[name]]}


outputs, arrays, shapes = each("outputs"), each("arrays"), each("shapes")


def sizes(run, *first):
    """The sizes of a run's first items."""

    def change(value):
        runs = [dict(each) for each in value["runs"]]
        for name in ("x_sizes", "y_sizes"):
            runs[run][name] = runs[run][name].copy()
            runs[run][name][: len(first)] = first
        return {**value, "runs": runs}

    return change


def fields(**changed):
    return lambda value: {**value, "fields": {**value["fields"], **changed}}


VARIANT, FORWARD = "shared.model_variant", "synthesizer.forward"
DRAW, ITOS, PREPARED = "span_corruption.draw", "span_corruption.vocabulary", "training.prepared"
GRADIENTS, LONDON = "synthesizer.gradients", "training.london"
ALL_OUTPUTS = "causality no_leak batch_invariance dropout plain_average"
FORGED = [
    # (what, topic, tests, probe, change of its value)
    ("a huge rate", "finetuning", "configuration", PREPARED, fields(learning_rate=10**400)),
    ("an array for a setting", "finetuning", "configuration", PREPARED, fields(betas=np.ones(2))),
    ("100 dimensions", "finetuning", "model_output", VARIANT, shapes(lambda _: [1] * 100)),
    ("shapes for other names", "synthesizer", "whole_model", VARIANT, setting(names=["w"])),
    ("another count", "synthesizer", "shapes", FORWARD, lambda v: {**v, "forms": v["forms"][:1]}),
    ("outputs without parameters", "synthesizer", "values", FORWARD, setting(w2=[])),
    ("parameters without outputs", "synthesizer", "values", FORWARD, setting(forms=[], outputs=[])),
    ("empty outputs", "synthesizer", ALL_OUTPUTS, FORWARD, outputs(lambda o: o[:, :0])),
    ("truths", "synthesizer", "causality no_leak dropout", FORWARD, outputs(lambda o: o > 0)),
    ("sums", "synthesizer", "batch_invariance", FORWARD, outputs(lambda o: np.array(o.sum()))),
    ("no columns", "synthesizer", "gradients", GRADIENTS, arrays(lambda a: a[..., :0])),
    ("no dimensions", "synthesizer", "gradients", GRADIENTS, arrays(lambda a: np.array(a.sum()))),
    ("half characters", "span_corruption", "any_alphabet", ITOS, setting(itos=["\ud800"])),
    ("sizes below 0", "span_corruption", "arrangement", DRAW, sizes(0, -64, 192)),
    ("sizes that don't add up", "span_corruption", "short_documents", DRAW, sizes(1, 7)),
    ("sizes that overflow", "span_corruption", "block_sizes", DRAW, sizes(0, *[2**62] * 4)),
    ("a draw less", "span_corruption", "every_length", DRAW, lambda v: {"runs": v["runs"][:1]}),
    ("an array", "no_pretraining", "london_baseline", LONDON, setting(returned=np.ones(3))),
]
CASES = [
    pytest.param(f"{topic}.{test}", probe, change, id=f"{what} in {test}")
    for what, topic, tests, probe, change in FORGED
    for test in tests.split()
]


@pytest.mark.parametrize(("key", "probe", "change"), CASES)
def test_a_forged_answer_costs_the_test_and_nothing_else(grader, key, probe, change):
    result = grader.grade(ALL[key], forging(probe, change))
    assert result.outcome in NO_RIGHT, result
    assert "Traceback" not in result.detail, "a judge raised: the spec should have refused it"


# Who is to blame -----------------------------------------------------------------------------


CALL = "attention_exploration.call"
NOTHING = forging(CALL, lambda value: {**value, "answers": [[None]]})
BLAME = {True: Outcome.GRADER_ERROR, False: Outcome.ERROR}
QUERY = {"module": "attention_exploration.py", "function": "copying_query", "parts": 1}


def divides(*_):
    raise ZeroDivisionError


def divides_by_nothing(_, part):
    return 1 / int(part is not None)


def refuses(case, part):
    case.expect(part is None, "the reference is refused", id="x")
    raise ZeroDivisionError


def asks(case, keys):
    """Ask the reference's function, which can't index None."""
    schema = {"forms": [str], "answers": [[ANY_REAL]]}
    case.reference(CALL, schema, **QUERY, arguments=[[keys, 0]])


def asks_nobody(case, _):
    case.probe(CALL, {}, **QUERY | {"function": "nobody_wrote_it"}, arguments=[[]])


BLAMED = {
    # who raises: (the judge, the student's worker's answer, is it ours)
    "a judge, on the student's data": (divides_by_nothing, NOTHING, False),
    "a judge, on any data": (divides, NOTHING, True),
    "a judge, on right data": (divides, None, True),
    "a judge, which refuses the reference": (refuses, NOTHING, True),
    "a reference, on what a student answered": (asks, NOTHING, False),
    "a reference, on its own data": (lambda case, _: asks(case, None), NOTHING, True),
    "both, without a place": (asks_nobody, None, True),
}


@pytest.mark.parametrize("name", BLAMED)
def test_who_raises_on_the_references_own_data_is_to_blame(grader, name):
    method, answer, is_ours = BLAMED[name]

    def judge(case):
        (got,) = case.ask("copying_query", [[np.eye(3), 0]])
        method(case, got.parts[0])

    result = grader.grade(replace(ALL[VALUES], method=judge), answer)
    assert (result.outcome, result.score) == (BLAME[is_ours], 0)
    assert ("malformed" in result.message) is not is_ours
    assert "Error" in result.detail and "division" not in result.message


def described(**fields):
    """An envelope of an exception."""
    return {"ok": False, "error": dict.fromkeys(REPORT, "") | {"type": "KeyError"} | fields}


UNPLACED = wire.encode(described())


def test_an_error_without_a_place_is_the_students(grader):
    result = grader.grade(ALL[VALUES], lambda *_: answering(UNPLACED))
    assert result.outcome is Outcome.ERROR and "KeyError" in result.message


def test_an_error_without_a_place_just_before_the_deadline_is_nobodys(grader):
    run = grader.run_of(ALL[VALUES])

    def late(job):
        if run.deadline:
            run.deadline = 0.0  # while the student's code ran
            return answering(UNPLACED)
        return answering(None)  # the reference, which is stopped at once

    run.pool = SimpleNamespace(run=late)
    result = judge(run, ALL[VALUES], TestResult(spec=ALL[VALUES].spec, description=""))
    assert result.outcome is Outcome.NOT_RUN


FILLS = {
    "zeros": lambda a: np.zeros_like(a),
    "the greatest, of both signs": lambda a: np.where(np.indices(a.shape).sum(0) % 2, 3e38, -3e38),
    "numbers whose squares overflow": lambda a: a * 1e25,
}


@pytest.mark.parametrize("name", FILLS)
def test_parameters_of_any_size_are_no_evidence_and_no_fault_of_ours(grader, name):
    """They are finite, but the reference's results with them are not."""

    def filled(value):
        return {**value, "arrays": [FILLS[name](a).astype(np.float32) for a in value["arrays"]]}

    def method(case):
        found = sys.modules["hidden.evidence"]._evidence(case, "vanilla")
        case.expect(not found.sentence, found.sentence, id=found.id, **found.measured)

    test = replace(ALL["pretraining.test_accuracy"], method=method)
    result = grader.grade(test, forging("shared.read_parameters", filled))
    assert result.outcome is Outcome.FAILED, result
    assert "Traceback" not in result.detail


@pytest.mark.parametrize(("loss", "lacks"), [(None, "UNTRAINED"), (0.0, "IGNORANT")])
def test_a_model_that_knows_nobody_is_no_evidence(grader, monkeypatch, loss, lacks):
    """Not even if it fills spans well, as one that was pretrained on other people does.

    One untrained model in twenty reaches the p of .05 that is enough for the few people here, and
    which one it is depends on the tests before. One in ten million reaches 1e-7.
    """
    evidence, found = sys.modules["hidden.evidence"], []
    lacking = evidence.lacking

    def lacking_strictly(asks, *more):
        return lacking(replace(asks, p=1e-7), *more)

    monkeypatch.setattr(evidence, "lacking", lacking_strictly)
    if loss is not None:
        monkeypatch.setattr(evidence, "_loss", lambda *_: loss)
    test = replace(
        ALL["pretraining.test_accuracy"],
        method=lambda case: found.append(evidence._evidence(case, "vanilla").id),
    )
    # Positions begin as zeros, which point nowhere.
    grader.grade(test, forging("shared.read_parameters", arrays(lambda a: a + np.float32(0.01))))
    assert found == [getattr(evidence, lacks)[0]]


# What remains of an answer ------------------------------------------------------------------------


class Kept(bytearray):
    """Bytes that record whether they are still referenced."""


LARGE = {
    "a right one": lambda value: {"ok": True, "value": value},
    "a malformed one": lambda _: {"ok": True, "value": [1]},
    "one that a judge can't read": lambda value: {"ok": True, "value": {**value, "answers": 1}},
    "an error": lambda _: described(where="submission/attention_exploration.py:1"),
    "an error without a place": lambda _: described(),
}


@pytest.mark.parametrize("name", LARGE)
def test_no_answer_outlives_its_test(grader, name):
    """Each may have 64 MB, so a few of them would fill the smallest container."""
    kept = []

    def answer(probe, right):
        frame = wire.encode(LARGE[name](wire.decode(right.frame)["value"]) | {"more": np.ones(9)})
        data = Kept(READY + frame)
        kept.append(weakref.ref(data))
        return finished(WELL, SimpleNamespace(data=data), SimpleNamespace(data=b""))

    gc.disable()  # nobody knows when it comes
    try:
        grader.grade(ALL[VALUES], answer)
        assert kept and not any(each() for each in kept)
    finally:
        gc.enable()
