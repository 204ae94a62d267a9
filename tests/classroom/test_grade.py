"""`grade`: what counts, with which inputs, and what is kept however it ends."""

import contextlib
import json
from pathlib import Path

import pytest

from autograder.description import load_course
from classroom import cluster
from classroom.__main__ import main
from classroom.arguments import Where
from classroom.cluster import ClusterFailed
from classroom.exports import read_export
from classroom.grade import Job, Release, grade_all
from classroom.store import Store
from tests.classroom.clusters import left_in
from tests.classroom.graded import (
    NAMES,
    broken,
    changed,
    records_in,
    rows_of,
    seed,
    table,
)
from tests.classroom.tiny import BODIES, class_of, hand_in, needs_root

DESCRIPTION = '{"editions": {"tiny": {}}}'

# The whole command ----------------------------------------------------------------------------


@needs_root
def test_a_class_is_graded_as_the_graders_own_command_does_and_then_skipped(
    eight, undisturbed, graded, course, temporary, tmp_path
):
    into = tmp_path / "class"
    code, output = graded(eight, into, "--slots", "2")
    assert code == 0, output
    assert table(into) == undisturbed
    assert "8 of 8 submissions have a result" in output
    assert not any(f"-{name}" in output for name in NAMES)  # nothing says whose one is
    secret = (course / "solutions/data/grading_secret").read_bytes()
    seeds = dict(rows_of(into, "SELECT submission, seed FROM records"))
    assert seeds == {key: str(seed(secret, key)) for key in undisturbed}  # each its own inputs
    before = rows_of(into, "SELECT * FROM records")
    code, output = graded(eight, into)
    assert code == 0 and "8 of 8 submissions have a result" in output
    assert rows_of(into, "SELECT * FROM records") == before
    assert left_in(temporary) == []


@needs_root
def test_the_first_edition_and_release_count_whatever_is_graded_later(
    graded, release, course, tmp_path, tmp_path_factory
):
    source, into = class_of(tmp_path / "source", "right"), tmp_path / "class"
    assert graded(source, into, "--slots", "1")[0] == 0
    counted, rows = table(into), rows_of(into, "SELECT * FROM class ORDER BY key")
    settings = dict(rows)
    assert settings["edition"] == "tiny" and settings["release"] == Release.read(release).id
    assert settings["release"].startswith(f"{load_course(course).release_name}-")

    newer = changed(
        release,
        tmp_path / "newer.zip",
        lambda name, content: content + b"\n" * name.endswith("runner.py"),
    )
    code, output = graded(source, into, "--release", newer)
    assert code == 2 and "`regrade` shows what it would change" in output, output
    other = changed(
        release,
        tmp_path / "other.zip",
        lambda name, content: content.replace(b"tiny", b"cs224n") if "run_a" in name else content,
    )
    code, output = graded(source, into, "--edition", "cs224n", "--release", other)
    assert code == 2 and "of the edition tiny counts" in output, output

    class_of(tmp_path / "more", "wrong").rename(source / "late")
    code, output = graded(source, into, "--release", newer, "--preview", "--slots", "1")
    assert code == 0 and "these results are a preview, and don't count" in output, output
    assert table(into) == counted
    kinds = rows_of(into, "SELECT kind, count(*) FROM records GROUP BY kind ORDER BY kind")
    assert kinds == [("grade", 1), ("preview", 2)]
    assert rows_of(into, "SELECT * FROM class ORDER BY key") == rows


@needs_root
def test_with_same_inputs_it_says_what_that_allows_and_what_is_no_submission_has_a_reason(
    graded, tmp_path
):
    source, into = broken(tmp_path / "source"), tmp_path / "class"
    code, output = graded(source, into, "--slots", "1", "--same-inputs")
    assert code == 0 and "can prepare another one" in output, output
    assert len({row[0] for row in rows_of(into, "SELECT seed FROM records")}) == 1
    assert "1 of them had nothing to grade" in output and ": nothing to grade: " in output
    rows = table(into).values()
    refused = next(row for row in rows if row[0] == "nothing to grade")
    assert refused[2] == "0.00" and {end[1] for end in refused[3]} == {"missing file"}
    right = next(row for row in rows if row[0] == "graded")
    assert [end[0] for end in refused[3]] == [end[0] for end in right[3]]


@needs_root
def test_a_worker_that_can_not_grade_is_named_with_the_reason(graded, release, tmp_path):
    bare = changed(
        release,
        tmp_path / "bare.zip",
        lambda name, content: None if name.startswith("src/data/") else content,
    )
    source, into = class_of(tmp_path / "source", "right"), tmp_path / "class"
    code, output = graded(source, into, "--slots", "1", "--release", bare)
    assert code == 3, output
    assert "can't grade: this run can't count without its data set" in output
    assert "no worker can grade" in output and "Traceback" not in output
    assert records_in(into) == 0
    assert dict(rows_of(into, "SELECT * FROM class")).get("release") is None


@pytest.mark.parametrize(
    "words, message",
    [
        (("--scheduler", "tcp://127.0.0.1:1"), "expected tls://HOST:PORT"),
        (("--scheduler", "tls://127.0.0.1:1"), "needs --certificates"),
        (("--scheduler", "tls://h:1", "--slots", "2"), "leave it out"),
        (("--slots", "0"), "from 1 to 512"),
        (("--edition", "nope"), "no edition 'nope' in assignment.toml; there are: cs224n"),
        (("--release", "nowhere.zip"), "`make autograder` builds it"),
        (("--release", __file__), "is not a packed autograder"),
    ],
)
def test_what_can_not_be_done_is_said_in_a_line(tmp_path, capsys, words, message):
    source = class_of(tmp_path / "source", "right")
    assert main(["grade", str(source), "--into", str(tmp_path / "class"), *words]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


# Records ----------------------------------------------------------------------------------------


class Workers:
    """Stands in for a cluster; `answers` says how each submission ends, by its number."""

    def __init__(self):
        self.requests: list[tuple[str, tuple[str, ...], str]] = []
        self.answers: dict[str, list] = {}
        self.ends_after = 1000

    def __call__(self, where, name, release, counts, say):
        return contextlib.nullcontext(self)

    def run(self, tasks, most=512):
        for job, _, request in tasks:
            if not self.ends_after:
                raise ClusterFailed("no worker could grade")
            self.ends_after -= 1
            self.requests.append((job.submission.id, job.tests, request["seed"]))
            answers = self.answers.get(job.submission.id, [])
            yield job, answers.pop(0) if answers else answer()


def answer(*, tests=(), **outcomes):
    """Return a worker's answer: three tests of 4 points that pass, or end as named."""
    ended = []
    for name in ("a", "b", "c"):
        outcome = outcomes.get(name, "passed")
        test = {"test_id": f"1{name}-0-basic", "outcome": outcome, "max_score": 4.0}
        test |= {"score": 4.0 * (outcome == "passed"), "kind": "basic", "name": name}
        ended.append(test | {"is_extra_credit": False, "message": outcome})
    scores = {"score": sum(t["score"] for t in ended), "max_score": 12.0, "asked": list(tests)}
    return {"results": scores | {"tests": ended}, "refused": "", "took_s": 1.0, "processor": "X"}


@pytest.fixture
def workers(monkeypatch) -> Workers:
    made = Workers()
    monkeypatch.setattr(cluster, "Cluster", made)
    return made


@pytest.fixture
def three(tmp_path):
    """Return run(kind, seed, tests), which grades a class of three; its `store` has the records."""
    source = class_of(tmp_path / "source", "right", "right", "right")
    export = read_export(source)
    release = Release("0123456789abcdef" * 4, "tiny", "T", DESCRIPTION, b"secret", b"zip")
    with Store.create(tmp_path / "class") as store:
        store.add_submissions(source, export.kind, export.submissions)

        def run(kind="grade", seed="7", tests=()):
            submissions = read_export(source).submissions
            jobs = [Job(one, seed, tests) for one in submissions]
            grade_all(store, jobs, release, kind, Where(), lambda line: None)

        run.store, run.source = store, source
        run.ids = [one.id for one in export.submissions]
        yield run


def outcomes(store: Store, kind: str = "grade") -> list[str]:
    return [r[0] for r in store.rows("SELECT outcome FROM records WHERE kind = ?", kind)]


def test_tests_that_ended_in_a_limit_run_again_alone_and_the_second_result_counts(workers, three):
    first, second = three.ids[:2]
    workers.answers[first] = [answer(b="timed out", c="failed"), answer(a="failed", c="killed")]
    workers.answers[second] = [answer(a="out of memory"), answer(a="out of memory")]
    three()
    again = [request[:2] for request in workers.requests[3:]]
    assert again == [(first, ("1b-0-basic",)), (second, ("1a-0-basic",))]
    record = three.store.counted(first)  # a and c are the first run's, b is the second's
    ends = [test["outcome"] for test in json.loads(record["results"])["tests"]]
    assert ends == ["passed", "passed", "failed"] and record["score"] == "8.00"
    assert record["took_s"] == 2.0
    assert three.store.counted(second)["score"] == "8.00"


def test_a_test_that_was_killed_has_four_runs(workers, three):
    first, second = three.ids[:2]
    workers.answers[first] = [answer(a="killed")] * 3
    workers.answers[second] = [answer(a="killed")] * 9
    three()
    assert [three.store.counted(key)["score"] for key in (first, second)] == ["12.00", "8.00"]
    asked = [request[:2] for request in workers.requests[3:]]
    assert asked == [(first, ("1a-0-basic",)), (second, ("1a-0-basic",))] * 3


def test_a_staff_fault_is_never_a_zero_and_is_tried_again(workers, three):
    workers.answers[three.ids[0]] = [{"lost": "no space\ndetails"}]
    workers.answers[three.ids[1]] = [answer(b="timed out"), {"lost": "it was killed twice"}]
    three()
    assert sorted(outcomes(three.store)) == ["graded", "staff fault", "staff fault"]
    record = three.store.record(three.ids[0], "0123456789abcdef", "grade")
    assert (record["score"], record["results"]) == (None, None)
    assert [three.store.counted(key) is not None for key in three.ids] == [False, False, True]
    workers.requests.clear()
    three()
    assert [request[0] for request in workers.requests] == three.ids[:2]
    assert outcomes(three.store) == ["graded"] * 3
    assert all(three.store.counted(key) for key in three.ids)


def test_what_was_interrupted_is_completed_and_counts_only_what_is_there(workers, three):
    workers.ends_after = 2
    with pytest.raises(ClusterFailed, match="run the same command again to continue"):
        three()
    kept = [tuple(row) for row in three.store.rows("SELECT * FROM records")]
    assert len(kept) == 2
    workers.ends_after = 1000
    three()
    assert len(workers.requests) == 3
    assert [tuple(row) for row in three.store.rows("SELECT * FROM records")][:2] == kept


def test_previews_and_regrades_keep_their_own_records_and_change_nothing_that_counts(
    workers, three
):
    three()
    counted = [tuple(row) for row in three.store.rows("SELECT * FROM counted")]
    for key in three.ids:
        workers.answers[key] = [answer(b="failed"), answer(a="timed out", tests=["1b"])]
    three("preview", "8")
    three("regrade-1", "9", ("1b",))
    assert [tuple(row) for row in three.store.rows("SELECT * FROM counted")] == counted
    assert outcomes(three.store, "preview") == outcomes(three.store, "regrade-1") == ["graded"] * 3
    assert [request[1:] for request in workers.requests[-3:]] == [(("1b",), "9")] * 3
    assert len(workers.requests) == 9  # 1a, which nobody asked for, did not run again
    three("regrade-1", "9", ("1b",))
    assert len(workers.requests) == 9


def test_another_upload_or_seed_is_graded_again_where_nothing_counts(workers, three):
    three("preview")
    module = Path(three.source, "000-right", "submission", "attention_exploration.py")
    module.write_text("# another one\n", encoding="utf-8")
    three("preview")
    assert len(workers.requests) == 4
    three("preview", "8")
    assert len(workers.requests) == 7
    assert len(outcomes(three.store, "preview")) == 3


def test_changed_files_do_not_change_what_counts(workers, tmp_path, capsys, monkeypatch):
    release = Release("0123456789abcdef" * 4, "tiny", "T", DESCRIPTION, b"secret", b"zip")
    monkeypatch.setattr(Release, "read", lambda path: release)
    source = class_of(tmp_path / "source", "right")
    command = ["grade", str(source), "--into", str(tmp_path / "class"), "--release", "x.zip"]
    assert main(command) == 0
    hand_in(source / "000-right" / "more", BODIES["wrong"])
    capsys.readouterr()
    assert main(command) == 0
    assert "its files have changed since they were graded" in capsys.readouterr().out
    assert len(workers.requests) == 1
