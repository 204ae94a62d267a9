"""Each assertion of the grader is alive: disabled, it lets some wrong solution pass."""

import pytest

from tests import mutants

TABLE = mutants.read_table()
KEYS = [site.key for site in mutants.sites()]


@pytest.fixture(scope="module")
def executor():
    with mutants.open_executor() as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def alive(executor):
    """For each assertion in the table, whether its wrong variant passes without it."""
    return {key: executor.submit(mutants.passes_without, key, TABLE[key]) for key in TABLE}


@pytest.mark.parametrize("key", TABLE)
def test_without_the_assertion_a_wrong_variant_passes(key: str, alive):
    assert key in KEYS, "there is no such assertion any more: python -m tests.mutants --write"
    assert alive[key].result(), f"{TABLE[key]} is caught all the same: is the assertion dead?"


# What needs trained files: what is observed of a wrong submission, and the judge that refuses it.
NAMES = [f"Where was P{number} born?" for number in range(10)]
PLACES = list("ABCDEFGHIJ")
WRONG_FILES = {}


def test_every_assertion_has_its_wrong_solution():
    assert sorted(KEYS) == sorted([*TABLE, *WRONG_FILES])
