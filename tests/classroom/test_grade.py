"""`grade`: what counts, with which inputs, and what is kept however it ends."""

import json
import zipfile

import pytest

from autograder import isolation
from autograder.description import load_course
from classroom.grade import Release
from tests.classroom.contents import RIGHT, lay, zipped
from tests.classroom.graded import records_in, rows_of
from tests.classroom.scripted import ScriptedClass, release_named
from tests.classroom.tiny import class_of


def test_an_archived_release_is_that_of_its_autograder_and_has_its_name(course, release, tmp_path):
    archive = tmp_path / "2027-winter.2-tiny.zip"
    archive.write_bytes(zipped({"autograder.zip": release.read_bytes()}))
    read = Release.read(archive)
    assert read == Release.read(release) and read.edition == "tiny"
    assert read.id.startswith(f"{load_course(course).release_name}-")


@pytest.mark.requires_root
def test_a_worker_that_can_not_grade_is_named_with_the_reason(graded, release, tmp_path):
    bare = tmp_path / "bare.zip"
    with zipfile.ZipFile(release) as packed:
        names = [name for name in packed.namelist() if not name.startswith("src/data/")]
        bare.write_bytes(zipped({name: packed.read(name) for name in names}))
    source, into = class_of(tmp_path / "source", "right"), tmp_path / "class"
    code, output = graded(source, into, "--slots", "1", "--release", bare)
    assert code == 3, output
    assert "can't grade: this run can't count without its data set" in output
    assert "no worker can grade" in output and "Traceback" not in output
    assert records_in(into) == 0
    assert dict(rows_of(into, "SELECT * FROM class")).get("release") is None


def test_what_can_not_be_done_is_said_in_a_line(tmp_path, command):
    source = class_of(tmp_path / "source", "right")
    for words, message in (
        (("--scheduler", "tcp://127.0.0.1:1"), "expected tls://HOST:PORT"),
        (("--scheduler", "tls://127.0.0.1:1"), "needs --certificates"),
        (("--slots", "0"), "from 1 to 512"),
        (("--release", "nowhere.zip"), "`make autograder` builds it"),
        (("--release", __file__), "is not a packed autograder"),
    ):
        code, _, error = command("grade", source, "--into", tmp_path / "class", *words)
        assert code == 2 and message in error and error.count("\n") == 1
    code, _, error = command("certificates", source)
    assert code == 2 and f"{source} can't be made: File exists" in error


@pytest.fixture
def three(workers, tmp_path, command) -> ScriptedClass:
    return ScriptedClass(tmp_path, ("a", "b", "c"), workers, command)


RECORDS = "SELECT * FROM records ORDER BY id"
OUTCOMES = "SELECT outcome FROM records WHERE kind = ? ORDER BY outcome"
WHAT_COUNTS = "SELECT value FROM class WHERE key IN ('edition', 'release') ORDER BY key"


def test_tests_that_ended_in_a_limit_run_again_alone_and_the_second_result_counts(workers, three):
    first, second, third = three.ids
    workers.answers[first] = [("passed", "timed out", "failed"), ("failed", "passed", "killed")]
    workers.answers[second] = [("out of memory", "passed", "passed")] * 2
    workers.answers[third] = [("killed", "passed", "passed")] * 9  # has four runs
    assert three("grade")[0] == 0
    again = sorted(request[:2] for request in workers.requests[3:])
    assert again == sorted(
        [(first, ("1a-1-hidden",)), (second, ("1a-0-basic",)), *[(third, ("1a-0-basic",))] * 3]
    )
    # The first and the last test are the first run's, the hidden one is the second's.
    ((results, took_s),) = three.rows(
        "SELECT results, took_s FROM records WHERE submission = ?", first
    )
    ends = [test["outcome"] for test in json.loads(results)["tests"]]
    assert ends == ["passed", "passed", "failed"] and took_s == 2.0
    assert three.counted() == [4.0, 4.5, 4.5]


def test_a_staff_fault_is_never_a_zero_and_is_tried_again(workers, three):
    workers.answers[three.ids[0]] = [{"lost": "no space\ndetails"}]
    workers.answers[three.ids[1]] = [("passed", "timed out", "passed"), {"lost": "killed twice"}]
    code, said, _ = three("grade")
    assert code == 1 and "1 of 3 submissions have a result" in said
    assert f"staff fault: {three.ids[0]}: no space\n" in said
    assert three.counted() == [None, None, 5.5]
    faults = three.rows("SELECT score, results FROM records WHERE outcome = 'staff fault'")
    assert faults == [(None, None)] * 2
    assert three("grade")[0] == 0
    assert {request[0] for request in workers.requests} == {*three.ids[:2]}
    assert three.counted() == [5.5] * 3


def test_what_is_graded_stays_and_changed_files_change_nothing(workers, three):
    three("grade")
    kept = three.rows(RECORDS)
    three.hand_in("a", "# another one\n")
    code, said, _ = three("grade")
    assert code == 0 and "its files have changed since they were graded" in said
    assert workers.requests == [] and three.rows(RECORDS) == kept


def test_nothing_but_apply_changes_what_counts(workers, three):
    """Another release or edition is refused; previews and regrades keep their own records."""
    three("grade")
    assert three.rows(WHAT_COUNTS) == [("tiny",), ("a" * 16,)]
    for key in three.ids:
        workers.answers[key] = [("passed", "failed", "passed"), ("timed out", "passed", "failed")]
    workers.release = release_named("c", "other")
    code, _, complaint = three("grade", "--edition", "other")
    assert code == 2 and "of the edition tiny counts" in complaint
    workers.release = release_named("b")
    code, _, complaint = three("grade")
    assert code == 2 and "`regrade` shows what it would change" in complaint
    assert workers.requests == []
    code, said, _ = three("grade", "--preview")
    assert code == 0 and "these results are a preview, and don't count" in said
    assert three("regrade", "--tests", "2b")[0] == 0
    # 1a, which nobody asked for, did not run again.
    assert [request[1] for request in workers.requests] == [("2b",)] * 3
    assert three.counted() == [5.5] * 3
    assert three.rows(WHAT_COUNTS) == [("tiny",), ("a" * 16,)]
    for kind in ("grade", "preview", "regrade-1"):
        assert three.rows(OUTCOMES, kind) == [("graded",)] * 3
    three("regrade", "--tests", "2b")
    assert workers.requests == []


def test_another_upload_or_seed_is_graded_again_where_nothing_counts(workers, three):
    three("grade", "--preview")
    seeds = {int(request[2]) for request in workers.requests}
    assert len(seeds) == 3 and max(seeds) < 2**63
    three.hand_in("a", "# another one\n")
    three("grade", "--preview")
    assert [request[0] for request in workers.requests] == three.ids[:1]
    _, said, _ = three("grade", "--preview", "--same-inputs")
    assert "can prepare another one" in said  # what that allows
    assert len(workers.requests) == 3 and len({request[2] for request in workers.requests}) == 1


@pytest.fixture
def downloads(workers, tmp_path, command) -> ScriptedClass:
    """Return a class whose first download from Canvas is graded, and which has a later one.

    There, Ada has another name and a later submission, and Eve is new.
    """
    workers.release = release_named("a", "xcs224n")  # an edition that `grades` knows
    names = "ada_1_9_work.zip", "bob_2_8_work.zip"
    lay(tmp_path / "source", dict.fromkeys(names, zipped(RIGHT)))
    names = "countess_1_10_work-1.zip", "bob_2_8_work.zip", "eve_3_11_work.zip"
    lay(tmp_path / "later", dict.fromkeys(names, zipped({"submission/a.py": b"x = 2\n"})))
    made = ScriptedClass(tmp_path, (), workers, command)
    assert made("grade")[0] == 0
    return made


def what_counts(made):
    """Return all that is said to count: by the database, by `grades` and by `report`."""
    csv = made.path.parent / "all.csv"
    code, *said = made("grades", "--csv", str(csv))
    assert code == 0 and made("report")[0] == 0
    pages = [(made.path / "report" / f"{name}.csv").read_text() for name in ("scores", "tests")]
    rows = [made.rows(f"SELECT * FROM {name}") for name in ("scores", "class", "sources")]
    return rows, csv.read_text(), "".join(said), pages


@pytest.mark.parametrize("words", [("grade", "--preview"), ("similar",)])
def test_a_later_download_that_is_only_looked_at_changes_nothing(
    downloads, command, monkeypatch, words
):
    monkeypatch.setattr(isolation, "is_available", lambda: False)
    before, first = what_counts(downloads), downloads.source
    assert "ada" in before[1] and "eve" not in before[1]
    downloads.source = first.with_name("later")
    assert downloads(*words)[0] == 0
    assert what_counts(downloads) == before
    downloads.source = first
    assert downloads("grade")[0] == 0  # has nothing to do
    assert command("forget", "bob", "--in", downloads.path)[0] == 0
    scores = "SELECT name, submission, score FROM scores ORDER BY name"
    assert downloads.rows(scores) == [("ada", "canvas_1_9", "5.50")]
    assert "eve" not in what_counts(downloads)[1]
    downloads.source = first.with_name("later")
    assert downloads("grade")[0] == 0
    ids = sorted(row[1] for row in downloads.rows(scores))
    assert ids == ["canvas_1_10", "canvas_2_8", "canvas_3_11"]
    assert command("forget", "eve", "--in", downloads.path)[0] == 0
    assert not (downloads.path / "similar").exists()


def test_what_counted_goes_on_counting_until_a_later_submission_has_a_result(workers, downloads):
    (_, counting, _), table, _, _ = what_counts(downloads)
    downloads.source = downloads.source.with_name("later")
    scores = "SELECT submission, score FROM scores WHERE submission LIKE 'canvas_1_%'"
    for ends_after, answers, code in ((0, [], 3), (3, [{"lost": "killed twice"}], 1)):
        workers.ends_after, workers.answers["canvas_1_10"] = ends_after, answers
        assert downloads("grade")[0] == code
        assert downloads.rows(scores) == [("canvas_1_9", "5.50")]
        (_, now, _), grades, said, _ = what_counts(downloads)
        assert now == counting and table.splitlines()[1].removeprefix("ada") in grades
        assert (
            "note: countess: canvas_1_10 has no result yet, so an earlier submission counts" in said
        )
    workers.ends_after, workers.answers["canvas_1_10"] = 9, [("passed", "failed", "passed")]
    assert downloads("grade")[0] == 0
    assert downloads.rows(scores) == [("canvas_1_10", "2.50")]
    assert "no result yet" not in what_counts(downloads)[2]
