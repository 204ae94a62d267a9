"""The leaderboard: only accepted models that exist get a row."""

from types import SimpleNamespace

import numpy as np
import pytest

from autograder.gradescope import document
from grading.verdicts import Outcome, failure
from questions.shared.models import OutputsCase

from .test_document import ASSIGNMENT, results_of

EDITION = ASSIGNMENT.edition("current")
PLACES = ["Rome", "Oslo", "Lima", "Bern"]


class Case(OutputsCase):
    """In place of a question's test case: three of four predictions are right."""

    fits = True

    def predictions(self, name, split):
        assert (name, split) == ("vanilla.pretrain.dev.predictions", "dev")
        return [*PLACES[:3], "?"]

    def fitting(self, params, variant):
        if not self.fits:
            raise failure("it fits no model", id="misfit")
        return {"w": np.zeros(1234)}, {}


LAB = SimpleNamespace(data=SimpleNamespace(places=lambda split: PLACES), seed=1, staged=None)


def rows(outcomes: dict[str, Outcome], case: type = Case) -> list[dict]:
    """Return the rows if all tests of vanilla's question passed except these."""

    def changes(spec):
        end = outcomes.get(spec.name, Outcome.PASSED)
        return {"outcome": end if spec.topic == "pretraining" else Outcome.NOT_RUN}

    specs = {(spec.topic, spec.name): spec for spec in EDITION.tests}
    results = results_of(EDITION, changes)
    return document.leaderboard(ASSIGNMENT, results, lambda *test: case(LAB, specs[test]))


def test_what_passed_is_ranked():
    assert rows({}) == [
        {"name": "vanilla: right on dev (%)", "value": 75.0},
        {"name": "vanilla: parameters", "value": 1234, "order": "asc"},
    ]


@pytest.mark.parametrize("name", document.RANKED)
def test_what_did_not_pass_has_no_row(name):
    for outcome in (Outcome.FAILED, Outcome.NOT_RUN):
        assert rows({name: outcome}) == []


def test_parameters_that_fit_no_model_have_no_row():
    assert rows({}, type("Misfit", (Case,), {"fits": False})) == []
