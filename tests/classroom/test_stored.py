"""A Gradescope export is enough to start from: its results are a baseline, with their seeds."""

import json
from dataclasses import replace
from datetime import UTC, datetime
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
from tests.classroom.contents import RIGHT, lay

EDITION = pinned.load().edition("xcs224n")
SEED = 2**62 + 11  # not representable as a float


def results_of(*failing: str, seed: int = SEED) -> Results:
    """Return the results of a run in which these tests failed."""
    passed = {"outcome": Outcome.PASSED, "credit": Fraction(1)}
    failed = {"outcome": Outcome.FAILED, "credit": Fraction(0), "message": "a sentence", "id": "a"}
    tests = [
        TestResult(
            spec=spec,
            description=f"does {spec.name}",
            score=Decimal("0.00") if spec.name in failing else spec.max_score,
            **failed if spec.name in failing else passed,
        )
        for spec in EDITION.tests
    ]
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
        root, metadata = tmp_path / "assignment_1_export", {}
        for number, results in enumerate(of_each):
            lay(root / f"submission_{number}", {"submission/a.py": b"x = %d" % number})
            metadata[f"submission_{number}"] = {
                ":submitters": [{":name": f"S {number}", ":email": f"s{number}@x.edu"}],
                ":created_at": datetime(2026, 11, 2, 17, tzinfo=UTC),
                ":results": results,
                ":history": [{":id": 99, ":results": {"tests": [{"score": 5}]}, ":score": 5.0}],
            }
        text = yaml.safe_dump(metadata, allow_unicode=True, sort_keys=False)
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


@pytest.mark.parametrize("record, shown", [(True, "visible"), (False, "after_published")])
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
        path = tmp_path / "results.json"
        path.write_text(json.dumps(stored(results, record, shown)), encoding="utf-8")
        assert replay.compare(replay.read(path), results) == []
    assert main(["report", str(tmp_path / "class")]) == 0


def test_what_is_not_ours_is_named_and_no_zero(begin):
    strange, empty, seedless, forged, infinite = (
        stored(results_of(), record=False) for _ in range(5)
    )
    strange["tests"][0]["extra_data"] = {}
    empty["extra_data"]["not_begun"] = {"blocks_attention": None}
    del seedless["extra_data"]["seed"]
    forged["stdout"] = "record: {\n"
    infinite["tests"][0]["score"] = "inf"
    failure = {"output": "The autograder failed to execute correctly."}
    code, said, found, _ = begin(forged, strange, seedless, failure, None, infinite, empty)
    assert code == 0 and "1 of 7 submissions" in said
    assert [bool(made["results"]) for made in found] == [True] + [False] * 6
    reasons = [made["reason"] for made in found[1:]]
    parts = ("KeyError: 'outcomes'", "edition and seed are neither in their record nor in extra")
    parts += (FAILED, FAILED, "has inf of", "not from this grader: AttributeError")
    assert all(part in why for part, why in zip(parts, reasons, strict=True)), reasons


def test_a_record_that_disagrees_with_the_points_lends_them_nothing(begin):
    one = results_of()
    other = replace(one.tests[0], outcome=Outcome.FAILED, id="x")
    made = stored(one, record=False)
    made["stdout"] = replay.line(Results(EDITION, SEED, [other, *one.tests[1:]], one.facts))
    _, _, (found,), _ = begin(made)
    tests = found["results"]["tests"]
    assert "cause" not in tests[0] and "cause" in tests[1]
    assert json.dumps(found).count("failed.x") == 0


def test_a_class_with_other_results_and_another_source_are_refused(begin, tmp_path, capsys):
    begin(stored(results_of()))
    words = ["--into", str(tmp_path / "class")]
    assert main(["stored", str(tmp_path / "assignment_1_export"), *words]) == 0
    with Store.existing(tmp_path / "class", writes=True) as store:
        store.set("release", "b" * 16)  # as after `apply`
    assert main(["stored", str(tmp_path / "assignment_1_export"), *words]) == 2
    assert "has results of release bbbbbbbbbbbbbbbb that count" in capsys.readouterr().err
    lay(tmp_path / "plain" / "one", RIGHT)
    assert main(["stored", str(tmp_path / "plain"), *words]) == 2
    assert "expected a Gradescope export" in capsys.readouterr().err
