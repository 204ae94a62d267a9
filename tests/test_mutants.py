"""Every assertion of the grader is needed: without it, some wrong solution passes."""

from types import SimpleNamespace

import numpy as np
import pytest

from autograder import solutions
from autograder.judging import load_hidden
from grading.cases import GradedTestCase
from grading.verdicts import TestEnd
from questions.shared.outputs import OutputsCase
from tests import benches, mutants, pinned

TABLE = mutants.read_table()
OF_THE_TABLE = "test_without_the_assertion_a_wrong_variant_passes"
KEYS = [site.key for site in mutants.sites()]


@pytest.fixture(scope="module")
def executor():
    with benches.open_executor() as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def alive(executor, request: pytest.FixtureRequest):
    """Return, for each selected assertion, whether its wrong variant passes without it."""
    ours = [item for item in request.session.items if item.originalname == OF_THE_TABLE]
    keys = [item.callspec.params["key"] for item in ours]
    return {key: executor.submit(mutants.passes_without, key, TABLE[key]) for key in keys}


@pytest.mark.parametrize("key", TABLE)
@pytest.mark.sampled(10, group_of=lambda key: key.partition(":")[0])
def test_without_the_assertion_a_wrong_variant_passes(key: str, alive):
    assert key in KEYS, "this assertion no longer exists: run python -m tests.mutants --write"
    assert alive[key].result(), f"{TABLE[key]} is caught all the same: is the assertion dead?"


# Submissions with wrong files, for the assertions about those.
PLACES = list("ABCDEFGHIJ")
SHAPES = {"names": ["w"], "shapes": [[2]]}


class Case(OutputsCase, GradedTestCase):
    """A test with a given run and given answers to its probes."""

    spec = SimpleNamespace(is_hidden=True)
    graded_here, seed = False, 0

    def __init__(self, run=None, answers=None):
        self.run, self._answers = run, answers
        self.staged, self.notes = run.staged if run else None, ""

    def probe(self, name, answer, /, **_):
        return self._answers[name]

    reference = probe

    def once(self, name, make):
        return self._answers[name]

    def measure(self, name, value):
        """Record nothing, since no staff compare these."""


class Judging(Case):
    """A case with staff's judges, which find no fault."""

    graded_here = True

    def once(self, name, make):
        return {"lines": [], "given": []}


def files(tmp_path, lines: int, sentence: str = "") -> Case:
    """Return a case with so many differing lines, and with this evidence missing."""
    answers = {
        "evidence vanilla": SimpleNamespace(id="x", sentence=sentence, measured={}, numbers={})
    }
    for split in ("dev", "test"):
        key = f"vanilla.finetune.params vanilla.pretrain.{split}.predictions"
        answers[key] = {"lines": list(range(lines)), "given": ["?"] * lines}
    return Case(run_with(PLACES, tmp_path), answers)


def run_with(predicted: list[str], tmp_path, hidden=None) -> SimpleNamespace:
    """Return what a test finds: a prediction file with these lines."""
    path = tmp_path / "file"
    path.write_text("".join(f"{place}\n" for place in predicted), encoding="utf-8")
    data = SimpleNamespace(
        dataset=SimpleNamespace(thresholds={"vanilla": 0.5}, recipe="smoke"),
        questions=lambda split: [f"Where was P{n} born?" for n in range(len(PLACES))],
        places=lambda split: PLACES,
        corpus=lambda: "corpus",
    )
    staged = SimpleNamespace(path=lambda name: path)
    return SimpleNamespace(
        data=data,
        staged=staged,
        assignment=pinned.load(),
        edition=SimpleNamespace(required_files=() if hidden else ("vanilla.pretrain.params",)),
        judging=SimpleNamespace(hidden=hidden),
    )


def fits(tmp_path, shape: int) -> None:
    read = {"problem": "", "names": ["w"], "arrays": [np.zeros(shape, np.float32)]}
    answers = {"shared.read_parameters": read, "shared.shapes": SHAPES}
    found = Case(run_with(PLACES, tmp_path), answers).fitting("v.params", "vanilla")
    assert found is None or found[0].keys() == {"w"}


REMEMBERS = "solutions/hidden/training.py:no_pretraining_remembers_training"
EVIDENCE = "solutions/hidden/evidence.py"
FILES = "src/questions/shared/outputs.py:OutputsCase"
WRONG_ANSWERS = {
    f"{REMEMBERS}: finetuned-parameters.training-questions": lambda hidden, _: (
        hidden.training.no_pretraining_remembers_training(Case(), PLACES, [*PLACES[:8], "?", "?"])
    ),
    f"{EVIDENCE}:expect_match: predictions.not-of-parameters": lambda hidden, tmp_path: (
        hidden.training.pretraining_matches_checkpoint(
            files(tmp_path, lines=3), "vanilla.finetune.params", "vanilla.pretrain"
        )
    ),
    f"{EVIDENCE}:expect_own_answers: found.id": lambda hidden, tmp_path: hidden.expect_own_answers(
        files(tmp_path, lines=2, sentence="something is missing"),
        "vanilla",
        "dev",
    ),
    f"{EVIDENCE}:expect_accuracy: test-predictions.too-few-right": lambda hidden, tmp_path: (
        hidden.training.pretraining_test_accuracy(
            files(tmp_path, lines=2),
            variant="vanilla",
            predicted=[*PLACES[:4], *"??????"],
            places=PLACES,
            threshold=0.5,
        )
    ),
    f"{FILES}.expect_accuracy: id": lambda hidden, tmp_path: Judging(
        run_with([*PLACES[:4], *"??????"], tmp_path, hidden)
    ).expect_accuracy("file", "vanilla"),
    f"{FILES}.fitting: parameters.misfit": lambda _, tmp_path: fits(tmp_path, shape=3),
}


@pytest.fixture(scope="module")
def hidden():
    return load_hidden(solutions.HIDDEN)


@pytest.mark.parametrize("key", WRONG_ANSWERS)
def test_without_the_assertion_a_wrong_answer_passes(key: str, hidden, tmp_path):
    """The judge may also break, which would be a grader error."""
    site = next(site for site in mutants.sites() if site.key == key)
    with pytest.raises(TestEnd):
        WRONG_ANSWERS[key](hidden, tmp_path)
    with mutants.disabled(site):
        try:
            WRONG_ANSWERS[key](hidden, tmp_path)
        except TestEnd:
            pytest.fail("it is caught all the same: is the assertion dead?")
        except Exception as broken:
            assert isinstance(broken, ValueError | TypeError)


def test_every_assertion_has_its_wrong_solution():
    assert sorted(KEYS) == sorted([*TABLE, *WRONG_ANSWERS])
