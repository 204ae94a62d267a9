"""Which tests of a record are kept and which are run; none is lost, and none becomes a zero."""

import pytest

from tests.classroom.regrading.conftest import HERE, TESTS, described, entry, record
from tools.classroom import records
from tools.classroom.deciding import in_environment
from tools.classroom.regrading.plan import Rules, identity, record_of

IDS = tuple(test[0] for test in TESTS)


def plan(before, release=None, only=(), environments=(HERE,)):
    return Rules(release or described(), environments, "base", only).plan(before)


def test_what_is_decided_by_the_same_stands():
    made = plan(record("passed", "failed"))
    assert made.wanted == () and tuple(made.tests) == IDS
    assert [test["release"] for test in made.tests.values()] == ["base"] * 3
    assert [test["outcome"] for test in made.tests.values()] == ["passed", "failed", "failed"]


@pytest.mark.parametrize(
    "changed, wanted",
    [
        ({"one": {"digest": "new"}}, (IDS[0],)),
        ({"two": {"digest": "new"}, "three": {"digest": "new"}}, IDS[1:]),
        ({"four": {"test_id": "2b-1-hidden"}}, ("2b-1-hidden",)),
    ],
)
def test_what_is_decided_otherwise_or_new_is_run_with_the_seed_of_before(changed, wanted):
    made = plan(record("passed", seed="4711"), described(**changed))
    assert made.wanted == wanted and made.seed == "4711"


def test_on_other_workers_all_is_run():
    assert plan(record("passed"), environments=((HERE[0], "Epyc"),)).wanted == IDS
    newer = HERE[0] | {"torch": "9"}
    assert plan(record("passed"), environments=((newer, HERE[1]),)).wanted == IDS
    assert plan(record("passed"), environments=(HERE, (newer, "Epyc"))).wanted == ()


def test_points_change_without_a_run_and_exactly():
    third = entry("two", "failed", credit="1/3", score=1.0)
    before = record("passed")
    before["results"]["tests"][1] = third
    made = plan(before, described(two={"max_score": 10}, three={"max_score": 0}))
    assert made.wanted == ()
    scores = [(test["score"], test["max_score"]) for test in made.tests.values()]
    assert scores == [(1.0, 1.0), (3.33, 10.0), (0.0, 0.0)]  # rounded down, as the grader does
    after = record_of(made, before, "new", None, Rules(described(), (HERE,), "base"))
    assert after["results"]["score"] == 4.33 and after["results"]["max_score"] == 11.0
    assert after["base"] == identity(before) and after["upload"] == before["upload"]


def test_a_test_without_points_that_gets_some_earns_them():
    before = record("passed", "failed", "passed")
    before["results"]["tests"][2] |= {"max_score": 0.0, "score": 0.0}
    made = plan(before, described(three={"max_score": 4}))
    assert made.wanted == () and made.tests[IDS[2]]["score"] == 4.0


def test_results_of_before_there_were_shares_tell_all_or_nothing():
    before = record("passed")
    for test, score in zip(before["results"]["tests"], (1.0, 1.5, 0.0), strict=True):
        test |= {"score": score, "outcome": "passed" if score == 1.0 else "failed"}
        del test["credit"]
    made = plan(before, described(one={"max_score": 2}, three={"max_score": 7}))
    assert made.wanted == (IDS[1],)  # half of its points: the exact share is unknown
    assert made.tests[IDS[0]]["score"] == 2.0 and made.tests[IDS[2]]["score"] == 0.0


def test_a_test_that_got_another_number_is_the_same_test():
    made = plan(record("passed"), described(two={"test_id": "3c-7-hidden"}))
    assert made.wanted == () and made.tests["3c-7-hidden"]["score"] == 3.0
    assert IDS[1] not in made.tests


def test_a_test_that_is_gone_takes_its_points_along():
    before = record("passed")
    made = plan(before, described(three=None))
    after = record_of(made, before, "new", None, Rules(described(), (HERE,), "base"))
    assert after["results"]["score"] == after["results"]["max_score"] == 4.0


def test_only_some_leaves_the_rest_as_it_was():
    release = described(
        one={"digest": "new", "max_score": 9},
        two={"digest": "new"},
        three={"digest": "new", "max_score": 9},
        four={"test_id": "2b-1-hidden"},
    )
    made = plan(record("passed"), release, only=("1a",))
    assert made.wanted == IDS[:2]
    assert made.tests[IDS[2]]["max_score"] == 1.5  # not even its points
    assert "2b-1-hidden" not in made.tests  # no zero for a test that nobody asked for
    gone = plan(record("passed"), described(one=None, three=None), only=("1a",))
    assert tuple(gone.tests) == IDS[1:]  # only a removed test that was asked for is dropped


def test_without_a_result_all_is_run():
    before = record("passed", results=None, fault="killed")
    assert plan(before).wanted == IDS and plan(before).seed is None
    assert plan(before | {"seed": "12"}).seed == "12"


def test_a_partial_run_merges_and_what_nobody_asked_for_is_no_zero():
    results = record("passed")["results"]
    partial = record("failed", "not run")["results"]
    made = records.merged(results, partial, [IDS[0]])
    assert [t["outcome"] for t in made["tests"]] == ["failed", "passed", "passed"]
    assert made["score"] == 4.5 and made["max_score"] == 5.5
    assert results["score"] == 5.5  # the argument isn't changed


def test_extra_credit_adds_to_the_score_alone():
    results = record("passed")["results"]
    tests = [results["tests"][0] | {"is_extra_credit": True}, *results["tests"][1:]]
    assert records.with_tests(results, tests) | {"tests": []} == results | {
        "tests": [],
        "max_score": 4.5,
    }


def test_a_digest_of_another_machine_is_another():
    assert in_environment("old one", *HERE) != in_environment("old one", HERE[0], "Epyc")
