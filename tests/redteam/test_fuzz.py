"""No student ends a run as our fault: whatever a worker answers, each test has a verdict.

    python -m pytest tests/redteam/test_fuzz.py          500 answers and more, the same each time
    make redteam ARGS="-k fuzz"                          30,000, other ones each time

Every test of every edition judges answers of workers that we make up: the reference's with
something altered, frames by the grammar, any bytes, exceptions of any form. A judge that raises is
the grader's fault unless it raises on the reference's own answer, too; then this fails, and prints
the smallest answer that does it. What the command does around single tests is in `test_faults.py`.
"""

import itertools
import time

import laid_out
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from grading import answers, processes, wire
from grading.outcomes import Outcome
from tools import starter

from . import fuzzing
from .fuzzing import ASSIGNMENT, Grader, answering

ALL = {f"{t.spec.topic}.{t.spec.name}": t for t in fuzzing.every_test()}
TESTS = {k: t for k, t in ALL.items() if not k.endswith(("predictions", "accuracy"))}  # of workers
OF_PARAMETERS = [key for key in TESTS if key.endswith(("checkpoint", "remembers_training"))]
PARAMETERS = ["vanilla.model", "vanilla.finetune", "synthesizer.finetune", "rope.finetune"]
QUICK, LONG = 500, 30_000
SLOWEST_S = 20.0  # of this process's CPU; the slowest right answers take 2 s


def examples(count: int, shared_by: int, **more):
    """Settings for a test's share of `count` examples; the long run's are other ones each time."""
    return settings(
        max_examples=-(-count // shared_by),
        derandomize=count == QUICK,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        **more,
    )


BOTH = [pytest.param(QUICK, id="quick"), pytest.param(LONG, id="long", marks=pytest.mark.long)]


@pytest.fixture(scope="session")
def grader(tmp_path_factory):
    """The grader, with a smoke world and untrained parameters of each variant."""
    course = laid_out.lay_out(tmp_path_factory.mktemp("course"))
    source = course / "src"
    recipes = source / "submission" / "recipes.json"
    recipes.write_bytes(starter.recipes_file(laid_out.REPOSITORY))
    for params in PARAMETERS:
        torch.save(_model(source, params.split(".")[0]).state_dict(), source / f"{params}.params")
    for name in ("vanilla.nopretrain", "vanilla.pretrain", "synthesizer.pretrain", "rope.pretrain"):
        for split, table in _tables(course).items():
            places = [line.split("\t")[1] for line in table.read_text("utf-8").splitlines()]
            text = "".join(f"{place}\n" for place in places)
            (source / f"{name}.{split}.predictions").write_text(text, encoding="utf-8")
    pool = processes.ZygotePool(hash_seed=1)
    yield Grader(pool, tmp_path_factory.mktemp("work"), course)
    pool.close()


def _tables(course):
    dev = course / "src" / "data" / "birth_dev.tsv"
    return {"dev": dev, "test": course / "solutions" / "data" / "birth_test.tsv"}


def _model(source, variant):
    config = answers.model_configs(ASSIGNMENT, ASSIGNMENT.datasets["smoke"], variant)["smoke"]
    corpus = (source / "data" / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
    vocab_size = len(set(corpus)) + 2
    with laid_out.imports_from(source):
        from submission import attention, helper, model  # noqa: F401

        make = getattr(helper, f"initialize_{variant}_model")
        return make(model.GPTConfig(**config, vocab_size=vocab_size))


def graded(grader, key, answer, hidden=True):
    """Grade, and hold what holds of any answer."""
    drawing_s = 0.0

    def timed(probe, right):
        nonlocal drawing_s
        started = time.process_time()
        sent = answer(probe, right)
        drawing_s += time.process_time() - started
        return sent

    started = time.process_time()
    result = grader.grade(ALL[key], answer and timed, hidden)
    took_s = time.process_time() - started - drawing_s
    assert result.outcome is not Outcome.GRADER_ERROR, result.detail
    assert 0 <= result.score <= ALL[key].spec.max_score
    assert took_s < SLOWEST_S
    return result


@pytest.mark.parametrize("key", ALL)
def test_the_reference_passes_here(grader, key):
    """Else nothing that follows would be about what the judges do with an answer."""
    result = graded(grader, key, None)
    if key not in OF_PARAMETERS:  # nobody has trained these
        assert result.outcome is Outcome.PASSED, result


@pytest.mark.parametrize("count", BOTH)
@pytest.mark.parametrize("key", TESTS)
def test_any_answer_has_a_verdict(grader, key, count):
    @examples(count, len(TESTS))
    @given(st.data())
    def holds(data):
        first = data.draw(st.integers(0, grader.probes(TESTS[key]) - 1), label="first")
        probes = itertools.count()

        def answer(probe, right):
            if next(probes) < first:
                return right
            sent = data.draw(_answers(right.frame, data.draw(st.integers(0, 9))), label=probe)
            return answering(sent)

        graded(grader, key, answer, hidden=data.draw(st.integers(0, 3)) > 0)

    holds()


def _answers(frame, kind):
    """Mostly what is nearly right: it comes furthest."""
    if kind < 7:
        return fuzzing.nearly_right(frame)
    if kind < 9:
        return fuzzing.frames() | st.binary(max_size=64)
    return fuzzing.errors()


@pytest.mark.parametrize("key", [key for key, test in TESTS.items() if test.spec.is_hidden])
def test_an_answer_of_another_type_earns_nothing(grader, key):
    """With hidden tests, whose points nobody gets for a form alone."""
    for garbage in (None, True, 1, "passed", [], {}, [[1.0]]):
        asked = []
        frame = wire.encode({"ok": True, "value": garbage})
        result = graded(grader, key, _repeating(frame, asked))
        assert not asked or (result.outcome is not Outcome.PASSED and not result.score)


def _repeating(frame, asked):
    def answer(probe, right):
        asked.append(probe)
        return answering(frame)

    return answer
