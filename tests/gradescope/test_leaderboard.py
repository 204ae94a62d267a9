"""The leaderboard: only accepted models that exist get a row."""

import copy
from types import SimpleNamespace

import pytest

from grading.errors import Verdict
from grading.outcomes import Outcome
from grading.results import Results, TestResult
from questions import leaderboard
from questions.shared.handed_in import AsksFiles
from tests import pinned

ASSIGNMENT = pinned.load()
EDITION = ASSIGNMENT.edition("current")
PLACES = ["Rome", "Oslo", "Lima", "Bern"]


class Case(AsksFiles):
    """In place of a question's test case: three of four predictions are right."""

    fits = True

    def predictions(self, name, split):
        assert (name, split) == ("vanilla.pretrain.dev.predictions", "dev")
        return [*PLACES[:3], "?"]

    def parameter_count(self, params, variant):
        if not self.fits:
            raise Verdict(Outcome.FAILED, "it fits no model")
        return 1234


@pytest.fixture
def run() -> SimpleNamespace:
    data = SimpleNamespace(places=lambda split: PLACES)
    given = {
        "staged": None,
        "hidden": None,
        "runner": SimpleNamespace(judges={}),
        "assignment": ASSIGNMENT,
        "seed": 1,
        "edition": EDITION,
    }
    return SimpleNamespace(data=data, **given)


def rows(run, outcomes: dict[str, Outcome], case: type = Case) -> list[dict]:
    """Return the rows if all tests of vanilla's question passed except these."""
    passed = {s.name: Outcome.PASSED for s in EDITION.tests if s.topic == "pretraining"} | outcomes
    tests = [
        TestResult(s, "does", passed[s.name] if s.topic == "pretraining" else Outcome.NOT_RUN)
        for s in EDITION.tests
    ]
    bound = [SimpleNamespace(spec=copy.copy(spec), case=case) for spec in EDITION.tests]
    return leaderboard.entries(run, Results(EDITION, 1, tests), bound)


def test_what_passed_is_ranked(run):
    assert rows(run, {}) == [
        {"name": "vanilla: right on dev (%)", "value": 75.0},
        {"name": "vanilla: parameters", "value": 1234, "order": "asc"},
    ]


@pytest.mark.parametrize("name", leaderboard.DEMANDED)
@pytest.mark.parametrize("outcome", [Outcome.FAILED, Outcome.NOT_RUN, Outcome.RAN_NOT_GRADED])
def test_what_did_not_pass_has_no_row(run, name, outcome):
    assert rows(run, {name: outcome}) == []


def test_parameters_that_fit_no_model_have_no_row(run):
    assert rows(run, {}, type("Misfit", (Case,), {"fits": False})) == []


def test_every_demanded_test_exists():
    for topic in {variant.topic for variant in ASSIGNMENT.variants.values()}:
        names = {spec.name for spec in EDITION.tests if spec.topic == topic}
        assert names.issuperset(leaderboard.DEMANDED)
