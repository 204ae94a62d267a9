"""A Gradescope export is enough to start from: its results are a baseline, with their seeds."""

import json
from dataclasses import replace

import pytest

from autograder import replay
from autograder.gradescope import document
from classroom.store import Store
from classroom.stored import FAILED, STORED
from grading.verdicts import Results
from tests.classroom.contents import RIGHT, export, lay
from tests.classroom.graded import rows_of
from tests.classroom.scripted import answer, release_named
from tests.snapshots import made

SEED = 2**62 + 11  # not representable as a float


def right() -> Results:
    return replace(made.results("everything is right", True), seed=SEED)


def stored(results: Results, record: bool = True, shown: str = "visible") -> dict:
    """Return what Gradescope keeps of a run."""
    extra = {key: results.facts[key] for key in ("submission", "graded", "judged_by", "versions")}
    extra |= {"authoritative": True, "digest": "d"}
    kept = document.document(results, shown, [], extra, 61.0)
    if record:
        kept["stdout"] = "Taken: 9 files\n  record: no\n" + replay.line(results) + "\n"
    return kept


@pytest.fixture
def begin(tmp_path, command):
    """Return begin(results...), which makes an export, runs `stored` and returns the records."""

    def run(*of_each: dict | None):
        root, at = tmp_path / "assignment_1_export", "2026-11-02 09:00:00 -08:00"
        history = [{":id": 99, ":results": {"tests": [{"score": 5}]}, ":score": 5.0}]
        for number, results in enumerate(of_each):
            files, more = {"a.py": b"x = %d" % number}, {":results": results, ":history": history}
            export(root, number, [f"s{number}@x.edu"], at, files, **more)
        code, said, _ = command("stored", root, "--into", tmp_path / "class")
        with Store.existing(tmp_path / "class") as store:
            rows = [store.counted(f"submission_{n}") for n in range(len(of_each))]
            settings = [store.setting(key) for key in ("release", "edition")]
        assert {(row["release"], row["kind"]) for row in rows} == {(STORED, STORED)}
        records = [dict(row) | {"results": json.loads(row["results"] or "null")} for row in rows]
        return code, said, records, settings

    return run


RUNS = ("some of everything", "the untouched starter", "a basic and a hidden test are dropped")


@pytest.mark.parametrize("record, shown", [(True, "visible"), (False, "after_published")])
def test_results_become_records_with_their_own_seed(begin, command, record, shown, tmp_path):
    """Practice that wasn't begun has no entry there, and other tests without points no score."""
    runs = [made.results(run, True) for run in RUNS]
    runs[0] = replace(runs[0], seed=SEED)
    code, said, records, settings = begin(*(stored(run, record, shown) for run in runs))
    assert code == 0 and "3 of 3 submissions have results" in said
    assert settings == [STORED, "xcs224n"]
    for kept, results in zip(records, runs, strict=True):
        assert kept["seed"] == kept["results"]["seed"] == str(results.seed)
        assert kept["results"]["edition"] == "xcs224n" and kept["outcome"] == "graded"
        assert kept["score"] == f"{results.score:.2f}"
        for key in ("score", "max_score"):
            assert kept["results"][key] == float(getattr(results, key))
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
    assert command("report", tmp_path / "class")[0] == 0


def test_a_regrade_compares_with_what_students_saw_and_uses_its_seeds(
    begin, workers, tmp_path, command
):
    runs = [replace(made.results(RUNS[1], True), seed=SEED + n) for n in range(2)]
    _, _, (first, _), _ = begin(*(stored(run, record=False) for run in runs))
    before = runs[0].as_dict(staff=True)["tests"]
    now = [test | {"outcome": "passed", "score": test["max_score"]} for test in before]
    workers.release = release_named("b", "xcs224n")
    workers.answers["submission_0"] = [answer(*now)]
    workers.answers["submission_1"] = [answer(*before)]
    scores = "SELECT score, release FROM scores ORDER BY submission"
    code, said, _ = command("regrade", tmp_path / "class", "--release", "x.zip")
    assert code == 0 and "up 1, down 0 (to zero 0), same 1; " in said
    assert workers.requests == [(f"submission_{n}", (), str(SEED + n)) for n in range(2)]
    assert rows_of(tmp_path / "class", scores) == [(first["score"], STORED)] * 2
    assert command("apply", tmp_path / "class", "--reason", "too strict")[0] == 0
    most, release = f"{sum(test['max_score'] for test in now):.2f}", "b" * 16
    assert rows_of(tmp_path / "class", scores) == [(most, release), (first["score"], release)]


def test_what_is_not_ours_is_named_and_no_zero(begin):
    strange, empty, seedless, forged, infinite = (stored(right(), record=False) for _ in range(5))
    strange["tests"][0]["extra_data"] = {}
    empty["extra_data"]["not_begun"] = {"blocks_attention": None}
    del seedless["extra_data"]["seed"]
    forged["stdout"] = "record: {\n"
    infinite["tests"][0]["score"] = "inf"
    failure = {"output": "The autograder failed to execute correctly."}
    code, said, found, _ = begin(forged, strange, seedless, failure, None, infinite, empty)
    assert code == 0 and "1 of 7 submissions" in said
    assert [bool(one["results"]) for one in found] == [True] + [False] * 6
    reasons = [one["reason"] for one in found[1:]]
    parts = ("KeyError: 'outcomes'", "edition and seed are neither in their record nor in extra")
    parts += (FAILED, FAILED, "has inf of", "not from this grader: AttributeError")
    assert all(part in why for part, why in zip(parts, reasons, strict=True)), reasons


def test_a_class_with_other_results_and_another_source_are_refused(begin, tmp_path, command):
    begin(stored(right()))
    source, words = tmp_path / "assignment_1_export", ("--into", tmp_path / "class")
    assert command("stored", source, *words)[0] == 0
    with Store.existing(tmp_path / "class", writes=True) as store:
        store.set("release", "b" * 16)  # as after `apply`
    code, _, error = command("stored", source, *words)
    assert code == 2 and "has results of release bbbbbbbbbbbbbbbb that count" in error
    lay(tmp_path / "plain" / "one", RIGHT)
    code, _, error = command("stored", tmp_path / "plain", *words)
    assert code == 2 and "expected a Gradescope export" in error
