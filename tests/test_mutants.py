"""Every assertion of the grader is needed: without it, some wrong solution passes."""

from types import SimpleNamespace

import numpy as np
import pytest

from autograder import solutions
from autograder.judging import load_hidden
from grading.cases import GradedTestCase
from grading.verdicts import TestEnd
from questions.shared.models import OutputsCase
from tests import golden_verdicts, mutants, pinned

TABLE = mutants.read_table()
OF_THE_TABLE = "test_without_the_assertion_a_wrong_variant_passes"
KEYS = [site.key for site in mutants.sites()]


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


@pytest.mark.parametrize("command", [mutants, golden_verdicts])
def test_a_table_is_not_written_for_a_name_that_no_variant_has(command, capsys):
    before = command.TABLE.read_bytes()
    with pytest.raises(SystemExit) as ended:
        command.main(["--write", "no_pretraining"])  # a topic; its variants are of london_baseline
    assert ended.value.code == 2 and "got 'no_pretraining'" in capsys.readouterr().err
    assert command.TABLE.read_bytes() == before


# Submissions with wrong files, for the assertions about those.
PLACES = list("ABCDEFGHIJ")
SHAPES = {"names": ["w"], "shapes": [[2]]}


class Case(OutputsCase, GradedTestCase):
    """A test with given predictions and given answers to its probes; evidence is complete."""

    spec = SimpleNamespace(is_hidden=True)
    graded_here, seed, notes = False, 0, ""

    def __init__(self, folder=None, predicted=PLACES, answers=None, hidden=None):
        self._answers = answers or {}
        if folder is None:
            return
        (folder / "file").write_text("\n".join(predicted), encoding="utf-8")
        self.staged = SimpleNamespace(path=lambda name: folder / "file")
        data = SimpleNamespace(
            dataset=SimpleNamespace(thresholds={"vanilla": 0.5}, recipe="smoke"),
            questions=lambda split: [f"Where was P{n} born?" for n in range(len(PLACES))],
            places=lambda split: PLACES,
            corpus=lambda: "corpus",
        )
        required = () if hidden else ("vanilla.pretrain.params",)
        self.run = SimpleNamespace(
            data=data,
            assignment=pinned.load(),
            edition=SimpleNamespace(required_files=required),
            judging=SimpleNamespace(hidden=hidden),
        )

    def probe(self, name, answer, /, **_):
        return self._answers[name]

    reference = probe

    def once(self, name, make):
        return self._answers.get(name, {"lines": [], "given": []})

    def measure(self, name, value):
        """Record nothing, since no staff compare these."""


def differing(folder, lines: int, sentence: str = "") -> Case:
    """Return a case with so many differing lines, and with this evidence missing."""
    evidence = SimpleNamespace(id="x", sentence=sentence, measured={}, numbers={})
    wrong = {"lines": list(range(lines)), "given": ["?"] * lines}
    files = [f"vanilla.pretrain.{split}.predictions" for split in ("dev", "test")]
    answers = {f"vanilla.finetune.params {file}": wrong for file in files}
    return Case(folder, answers=answers | {"evidence vanilla": evidence})


def fits(folder, shape: int) -> None:
    read = {"problem": "", "names": ["w"], "arrays": [np.zeros(shape, np.float32)]}
    answers = {"shared.read_parameters": read, "shared.shapes": SHAPES}
    found = Case(folder, answers=answers).fitting("v.params", "vanilla")
    assert found is None or found[0].keys() == {"w"}


REMEMBERS = "solutions/hidden/training.py:no_pretraining_remembers_training"
EVIDENCE = "solutions/hidden/evidence.py"
FILES = "src/questions/shared/models.py:OutputsCase"
WRONG_ANSWERS = {
    f"{REMEMBERS}: finetuned-parameters.training-questions": lambda hidden, _: (
        hidden.training.no_pretraining_remembers_training(Case(), PLACES, [*PLACES[:8], "?", "?"])
    ),
    f"{EVIDENCE}:expect_match: predictions.not-of-parameters": lambda hidden, tmp_path: (
        hidden.training.pretraining_matches_checkpoint(
            differing(tmp_path, lines=3), "vanilla.finetune.params", "vanilla.pretrain"
        )
    ),
    f"{EVIDENCE}:expect_own_answers: found.id": lambda hidden, tmp_path: hidden.expect_own_answers(
        differing(tmp_path, lines=2, sentence="something is missing"),
        "vanilla",
        "dev",
    ),
    f"{EVIDENCE}:expect_accuracy: test-predictions.too-few-right": lambda hidden, tmp_path: (
        hidden.training.pretraining_test_accuracy(
            differing(tmp_path, lines=2),
            variant="vanilla",
            predicted=[*PLACES[:4], *"??????"],
            places=PLACES,
            threshold=0.5,
        )
    ),
    f"{FILES}.expect_accuracy: id": lambda hidden, tmp_path: Case(
        tmp_path, [*PLACES[:4], *"??????"], hidden=hidden
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
