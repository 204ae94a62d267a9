"""Every assertion of the grader is needed: without it, some wrong solution passes."""

import pytest

from tests import mutants
from tests.test_end_to_end import SAID

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


def test_every_assertion_has_its_wrong_solution():
    assert sorted(KEYS) == sorted([*TABLE, *SAID])
