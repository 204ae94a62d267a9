"""A Gradescope export is enough to start from: its results are a baseline, with their seeds."""

import json
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
import yaml

from autograder import replay
from autograder.gradescope import document
from classroom.__main__ import main
from classroom.store import Store
from classroom.stored import FAILED, STORED
from grading.verdicts import Outcome, Results, TestResult
from tests import pinned
from tests.classroom.make_class import _Ruby, _Time

EDITION = pinned.load().edition("xcs224n")
SEED = 2**62 + 11  # not representable as a float


def results_of(*failing: str, seed: int = SEED) -> Results:
    """Return the results of a run in which these tests failed."""
    tests = []
    for spec in EDITION.tests:
        fails = spec.name in failing
        result = TestResult(
            spec=spec,
            description=f"does {spec.name}",
            outcome=Outcome.FAILED if fails else Outcome.PASSED,
            score=Decimal("0.00") if fails else spec.max_score,
            message="a sentence" if fails else "",
            credit=Fraction(0) if fails else Fraction(1),
            id="a-sentence" if fails else "",
        )
        tests.append(result)
    facts = {"submission": "submission 1", "digest": "d", "graded": "2027-01-30 18:02 UTC"}
    facts |= {"judged_by": "f" * 64, "versions": {"python": "3.12.1", "torch": "2.5"}}
    return Results(EDITION, seed, tests, facts)


def stored(results: Results, record: bool = True, shown: str = "visible") -> dict:
    """Return what Gradescope keeps of a run."""
    extra = {key: results.facts[key] for key in ("submission", "graded", "judged_by", "versions")}
    extra |= {"authoritative": True, "digest": "d"}
    made = document.document(results, shown, [], extra, 61.0)
    if record:
        made["stdout"] = "Taken: 9 files\n  record: no\n" + replay.line(results) + "\n"
    return made


@pytest.fixture
def begin(tmp_path, capsys):
    """Return begin(results...), which makes an export, runs `stored` and returns the records."""

    def run(*of_each: dict | None):
        root = tmp_path / "assignment_1_export"
        text = "---\n"
        for number, results in enumerate(of_each):
            folder = root / f"submission_{number}" / "submission"
            folder.mkdir(parents=True)
            (folder / "a.py").write_text(f"x = {number}\n", encoding="utf-8")
            fields = {
                ":submitters": [{":name": f"S {number}", ":email": f"s{number}@x.edu"}],
                ":created_at": _Time("2026-11-02 09:00:00 -08:00"),
                ":score": 1.0,
                ":status": "processed",
                ":results": results,
                ":history": [{":id": 99, ":results": {"tests": [{"score": 5}]}, ":score": 5.0}],
            }
            entry = {f"submission_{number}": fields}
            text += yaml.dump(entry, Dumper=_Ruby, allow_unicode=True, sort_keys=False)
        (root / "submission_metadata.yml").write_text(text, encoding="utf-8")
        code = main(["stored", str(root), "--into", str(tmp_path / "class")])
        with Store.existing(tmp_path / "class") as store:
            rows = [store.counted(f"submission_{n}") for n in range(len(of_each))]
            settings = [store.setting(key) for key in ("release", "edition")]
        assert {(row["release"], row["kind"]) for row in rows} == {(STORED, STORED)}
        made = [dict(row) | {"results": json.loads(row["results"] or "null")} for row in rows]
        return code, capsys.readouterr().out, made, settings

    return run


def with_practice(results: Results) -> Results:
    """Return results in which the last question without points was begun, and no other one."""
    begun = results.tests[-1].spec.number
    results.tests = [
        unwritten(t) if not t.spec.max_score and t.spec.number != begun else t
        for t in results.tests
    ]
    uneven = Decimal("0.37")  # so that the sum of the entries needs an adjustment
    results.tests = [replace(t, score=min(t.score, uneven)) for t in results.tests]
    return results


def unwritten(result):
    failed = {"outcome": Outcome.FAILED, "id": "NotImplementedError"}
    return replace(result, message="submission/x.py:1: not written yet", credit=0, **failed)


@pytest.mark.parametrize("shown", ["visible", "after_published"])
@pytest.mark.parametrize("record", [True, False])
def test_results_become_records_with_their_own_seed(begin, record, shown, tmp_path):
    """Practice that wasn't begun has no entry there, and other tests without points no score."""
    one, other = with_practice(results_of("pairs")), results_of("span_share", seed=12)
    code, said, (first, second), settings = begin(*(stored(r, record, shown) for r in (one, other)))
    assert code == 0 and "2 of 2 submissions have results" in said
    assert settings == [STORED, "xcs224n"]
    assert (first["seed"], second["seed"]) == (first["results"]["seed"], "12") == (str(SEED), "12")
    assert first["results"]["edition"] == "xcs224n" and first["outcome"] == "graded"
    for kept, results in ((first, one), (second, other)):
        assert kept["score"] == f"{results.score:.2f}"
        assert kept["results"]["score"] == float(results.score)
        assert kept["results"]["max_score"] == float(EDITION.coding)
        tests = kept["results"]["tests"]
        assert [(t["test_id"], t["outcome"], t["score"], t["topic"], t["kind"]) for t in tests] == [
            (t.spec.test_id, t.outcome.value, float(t.score), t.spec.topic, t.spec.kind)
            for t in results.tests
        ]
        for test, result in zip(tests, results.tests, strict=True):
            assert test.get("cause") == (result.cause if record else None)
            if result.spec.max_score:
                assert test["name"] == result.description  # others share an entry
    assert main(["report", str(tmp_path / "class")]) == 0


@pytest.mark.parametrize("shown", ["visible", "after_published"])
def test_a_stored_result_is_replayed_with_all_its_tests(tmp_path, shown):
    results = results_of("pairs")
    results.tests = [t if t.spec.max_score else unwritten(t) for t in results.tests]
    path = tmp_path / "results.json"
    path.write_text(json.dumps(stored(results, shown=shown)), encoding="utf-8")
    assert replay.compare(replay.read(path), results) == []
    changed = [replace(t, outcome=Outcome.PASSED) for t in results.tests]
    assert len(replay.compare(replay.read(path), replace(results, tests=changed))) == sum(
        t.outcome is not Outcome.PASSED for t in results.tests
    )


def test_what_is_not_ours_is_named_and_no_zero(begin):
    strange = stored(results_of(), record=False)
    strange["tests"][0]["extra_data"] = {}
    empty = stored(results_of(), record=False)
    empty["extra_data"]["not_begun"] = {"blocks_attention": None}
    seedless = stored(results_of(), record=False)
    del seedless["extra_data"]["seed"]
    forged = stored(results_of(), record=False) | {"stdout": "record: {\n"}
    failure = {"output": "The autograder failed to execute correctly."}
    infinite = stored(results_of(), record=False)
    infinite["tests"][0]["score"] = "inf"
    code, said, found, _ = begin(strange, seedless, forged, failure, None, infinite, empty)
    assert code == 0 and "1 of 7 submissions" in said
    with_results = [number for number, made in enumerate(found) if made["results"] is not None]
    assert with_results == [2]
    assert "not from this grader: KeyError: 'outcomes'" in found[0]["reason"]
    assert "edition and seed are neither in their record nor in extra_data" in found[1]["reason"]
    assert found[3]["reason"] == found[4]["reason"] == FAILED
    assert "not from this grader: AttributeError" in found[6]["reason"]
    assert "has inf of" in found[5]["reason"]


def test_a_record_that_disagrees_with_the_points_lends_them_nothing(begin):
    one = results_of()
    other = replace(one.tests[0], outcome=Outcome.FAILED, id="x")
    made = stored(one, record=False)
    made["stdout"] = replay.line(Results(EDITION, SEED, [other, *one.tests[1:]], one.facts))
    _, _, (found,), _ = begin(made)
    tests = found["results"]["tests"]
    assert "cause" not in tests[0] and "cause" in tests[1]
    assert json.dumps(found).count("failed.x") == 0


def test_a_class_with_other_results_is_refused(begin, tmp_path, capsys):
    begin(stored(results_of()))
    words = ["stored", str(tmp_path / "assignment_1_export"), "--into", str(tmp_path / "class")]
    assert main(words) == 0
    with Store.existing(tmp_path / "class", writes=True) as store:
        store.set("release", "b" * 16)  # as after `apply`
    assert main(words) == 2
    assert "has results of release bbbbbbbbbbbbbbbb that count" in capsys.readouterr().err


def test_another_source_is_refused(tmp_path, capsys):
    (tmp_path / "plain" / "one" / "submission").mkdir(parents=True)
    (tmp_path / "plain" / "one" / "submission" / "a.py").write_text("x", encoding="utf-8")
    (tmp_path / "plain" / "two.zip").write_bytes(b"PK\x05\x06" + b"\0" * 18)
    assert main(["stored", str(tmp_path / "plain"), "--into", str(tmp_path / "class")]) == 2
    assert "expected a Gradescope export" in capsys.readouterr().err
