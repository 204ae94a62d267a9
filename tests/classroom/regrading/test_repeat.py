"""`repeat` lists each verdict that depends on the seed, and its results don't count."""

import json

import pytest

from tests.classroom.regrading.conftest import BASELINE
from tools.classroom.folder import read_json
from tools.classroom.regrading import repeat
from tools.classroom.table import newest_release


@pytest.fixture
def seeds(monkeypatch):
    """Make seeds known: 100, 101, ..."""
    counter = iter(range(100, 200))
    monkeypatch.setattr(repeat.secrets, "randbits", lambda bits: next(counter))


def test_each_submission_is_run_with_each_seed_and_what_varies_is_listed(made, seeds):
    before = made.records(BASELINE)
    made.workers.by_seed = {"101": {"two": "failed"}}
    code, said, _ = made("repeat", "3")
    assert code == 0
    assert {(one, seed) for one, _, seed, _ in made.workers.asked} == {
        (one, str(seed)) for one in made.ids for seed in (100, 101, 102)
    }
    assert f"{made.ids[0]}  1a-1-hidden: passed 2, failed.cause 1" in said
    assert " 5 verdicts vary (1a-1-hidden: 5)" in said
    assert made.records(BASELINE) == before and newest_release(made.folder) == BASELINE


def test_what_never_varies_is_not_listed(made, seeds):
    code, said, _ = made("repeat", "2")
    assert code == 0 and "no verdict varies" in said


def test_it_goes_on_with_the_seeds_that_it_began_with(made, seeds):
    made("repeat", "2")
    made("repeat", "3")
    assert {seed for _, _, seed, _ in made.workers.asked} == {"102"}
    assert read_json(made.folder.path / "repeats.json") == {"b" * 16: ["100", "101", "102"]}


def test_some_tests_of_some_students(made, seeds, tmp_path):
    (tmp_path / "one.txt").write_text(made.ids[1], encoding="utf-8")
    words = ("--only", "2b", "--students", str(tmp_path / "one.txt"))
    made("repeat", "2", *words)
    assert [ask[:3] for ask in made.workers.asked] == [
        (made.ids[1], ("2b-0-basic",), "100"),
        (made.ids[1], ("2b-0-basic",), "101"),
    ]
    kept = sorted(made.folder.submission(made.ids[1]).glob("repeats/*.json"))
    tests = [read_json(path)["results"]["tests"] for path in kept]
    assert [[test["test_id"] for test in each] for each in tests] == [["2b-0-basic"]] * 2
    made("repeat", "2")  # all tests: knowing one is not enough
    assert len(made.workers.asked) == 10


def test_only_verdicts_are_kept(made, seeds):
    made.workers.ends = {"one": "failed"}
    made("repeat", "2")
    for path in made.folder.path.glob("records/*/repeats/*.json"):
        assert "message" not in json.dumps(read_json(path)["results"])


@pytest.mark.parametrize("times", ["1", "0", "-3", "101"])
def test_a_number_of_times_is_one(made, times):
    assert made("repeat", "--", times)[0] == 2
