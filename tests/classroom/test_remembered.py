"""The reference is asked only once per class, and nothing that belongs to a student is kept."""

import shutil
import sys

import numpy as np
import pytest

from autograder import paths
from autograder.isolation.pool import ConfinedPool
from questions.course import Course
from tests.classroom.test_host import ask, ends
from tests.variants import all_variants, lay_out
from tools.classroom import remembered as remembered_module
from tools.classroom.host import ANSWERS, Host
from tools.classroom.remembered import Remembered
from tools.reference import compose

SYNTHESIZER = ["1g-5-hidden", "1g-6-hidden", "1g-8-hidden", "1g-9-hidden"]


@pytest.fixture
def kept(tmp_path):
    return Remembered(tmp_path, Course(), "release")


def test_an_answer_is_remembered_by_all_that_it_depends_on(kept, tmp_path, monkeypatch):
    asked = []

    def answer(value):
        asked.append(value)
        return {"outputs": [np.full(3, value)]}

    def remembered(probe="rope.angles", seed=1, **args):
        return kept.answer(probe, args, seed, lambda: answer(len(asked)))["outputs"][0][0]

    sizes = np.arange(3)
    assert [remembered(sizes=sizes), remembered(sizes=sizes)] == [0, 0]
    changed = [
        remembered(sizes=sizes, seed=2),
        remembered(sizes=sizes + 1),
        remembered(probe="rope.turned", sizes=sizes),
    ]
    assert changed == [1, 2, 3]
    monkeypatch.setattr(remembered_module, "processor", lambda: "another")
    other = Remembered(tmp_path, Course(), "release")
    assert other.answer("rope.angles", {"sizes": sizes}, 1, lambda: answer(9))["outputs"][0][0] == 9
    assert remembered(sizes=sizes) == 0
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    "probe", ["shared.answers", "shared.differing", "shared.log_probabilities", "unheard.of"]
)
def test_what_gets_a_students_parameters_is_never_kept(kept, tmp_path, probe):
    answers = iter([1, 2])
    found = [kept.answer(probe, {"weights": np.zeros(2)}, 1, lambda: next(answers)) for _ in "ab"]
    assert found == [1, 2] and list(tmp_path.iterdir()) == []


def test_a_failure_of_the_reference_is_not_kept(kept, tmp_path):
    with pytest.raises(ZeroDivisionError):
        kept.answer("rope.angles", {}, 1, lambda: 1 / 0)
    assert list(tmp_path.iterdir()) == []


def test_every_seeded_probe_is_there():
    course = Course()
    for name in course.seeded_probes:
        module, _, function = course.probe(name).partition(":")
        __import__(module)
        assert callable(getattr(sys.modules[module], function)), name


def test_the_next_submission_needs_no_reference_and_ends_the_same(tmp_path, data, monkeypatch):
    """Both submissions ask the same, as the reference's arguments contain nothing of theirs."""
    asked = []
    run = ConfinedPool.run

    def counted(self, job):
        if job.role == "reference":
            asked.append(job.request["probe"])
        return run(self, job)

    monkeypatch.setattr(ConfinedPool, "run", counted)
    right = tmp_path / "right"
    compose(paths.ROOT, right)
    shutil.rmtree(right / "pretraining")
    wrong = tmp_path / "wrong"
    names = ("synthesizer/wrong/no_relu", "synthesizer/wrong/no_b2")
    variants = [v for v in all_variants() if v.topic == "synthesizer" and not v.is_right]
    chosen = next((v for v in variants if v.name in names), variants[0])
    lay_out(chosen, wrong)
    place = tmp_path / "place"
    place.mkdir()
    host = Host(Course(), place)
    try:
        first = ask(host, right, wanted=SYNTHESIZER)
        count, files = len(asked), len(list((place / ANSWERS).iterdir()))
        assert count == files > 0
        again = ask(host, right, wanted=SYNTHESIZER)
        assert len(asked) == count and ends(again["results"]["tests"]) == ends(
            first["results"]["tests"]
        )
        ask(host, wrong, wanted=SYNTHESIZER)
        assert len(list((place / ANSWERS).iterdir())) == files
        monkeypatch.setattr(Remembered, "answer", lambda self, probe, args, seed, ask: ask())
        plain = ask(host, right, wanted=SYNTHESIZER)
        assert ends(plain["results"]["tests"]) == ends(first["results"]["tests"])
        assert {t["outcome"] for t in first["results"]["tests"] if t["score"]} == {"passed"}
    finally:
        host.close()
