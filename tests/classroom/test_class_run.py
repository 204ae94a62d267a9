"""Passes, losses and records of a run, with scripted workers."""

import errno
import json

import pytest

from autograder.description import load_assignment
from grading.errors import SubmissionError
from grading.runner import Runner
from grading.upload import on_disk
from questions.course import Course
from tests.classroom.tiny import class_of
from tools import archive
from tools.classroom import records, shipping
from tools.classroom.class_run import Asked, ClassRun
from tools.classroom.folder import ClassFolder
from tools.classroom.places import place
from tools.classroom.roster import read_class
from tools.classroom.uploads import Upload

RELEASE = shipping.Release("ab" * 32, b"", 5)
TESTS = ["3a-0-basic", "3a-1-hidden"]


class Workers:
    """A dispatcher whose workers give the answers in a script, each once, and then `passed`."""

    def __init__(self, **script):
        self.script = {name: list(answers) for name, answers in script.items()}
        self.asked = []  # (submission, tests, alone)

    def run(self, jobs, say, alone=False):
        for job in jobs:
            wanted = job.request["wanted"]
            self.asked.append((job.submission_id, wanted, alone))
            answers = self.script.get(job.submission_id, [])
            answer = answers.pop(0) if answers else ended("passed")
            yield job, json.loads(json.dumps(answer))


def ended(*outcomes):
    """Return a host's answer with these outcomes of the tests; the last one is repeated."""
    padded = [*outcomes, *[outcomes[-1]] * (len(TESTS) - len(outcomes))]
    tests = [
        {"test_id": test, "outcome": outcome, "score": 1.5 if outcome == "passed" else 0.0}
        for test, outcome in zip(TESTS, padded, strict=True)
    ]
    facts = {"authoritative": True, "left": []}
    return {"results": {"tests": tests, "score": 0.0, "facts": facts}, "refused": ""}


@pytest.fixture(scope="module")
def runner(root):
    return Runner(load_assignment(root), Course())


@pytest.fixture
def run_class(tmp_path, runner):
    """Return a function that grades a class of three; it returns records, lines and a count."""
    source = class_of(tmp_path / "source", "right", "wrong", "right")
    roll = read_class(source)
    folder = ClassFolder.create(tmp_path / "class")

    def run(workers, counts=True, release=RELEASE, **patches):
        said, done = [], []
        asked = Asked("xcs224n", counts)
        made = ClassRun(
            asked, folder, roll.submissions, release, runner, said.append, lambda: done.append(1)
        )
        for name, value in patches.items():
            setattr(made, name, value)
        if made.plan():
            made.run(workers)
        return dict(made.records()), said, len(done)

    run.ids = [one.submission_id for one in roll.submissions]
    run.source = source
    return run


def outcomes(record):
    return [test["outcome"] for test in record["results"]["tests"]]


def test_each_is_asked_once_and_recorded(run_class):
    workers = Workers()
    found, said, done = run_class(workers)
    assert workers.asked == [(one, [], False) for one in run_class.ids]
    assert all(records.is_final(r, r["upload"], counts=True) for r in found.values())
    assert len(found) == done == 3 and not said


def test_what_has_a_record_is_not_asked_again(run_class):
    run_class(Workers())
    again = Workers()
    _, _, done = run_class(again)
    assert again.asked == [] and done == 3


def test_what_was_handed_in_anew_is_graded_anew(run_class):
    run_class(Workers())
    (changed,) = run_class.source.glob("000-*/submission/*.py")
    changed.write_text("# another\n", encoding="utf-8")
    again = Workers()
    run_class(again)
    assert len(again.asked) == 1


def test_what_was_lost_is_retried_alone_and_then_counts(run_class):
    first = run_class.ids[0]
    workers = Workers(**{first: [{"lost": "killed"}, ended("timed out")]})
    found, said, _ = run_class(workers)
    assert [ask for ask in workers.asked if ask[0] == first] == [
        (first, [], False),
        (first, [], True),
    ]
    assert outcomes(found[first]) == ["timed out", "timed out"] and found[first]["again"] == []
    assert any("no result: killed" in line for line in said)


@pytest.mark.parametrize(
    "loss", [{"lost": "killed"}, {"fault": "ours", "last": True}, ended("grader error")]
)
def test_what_was_lost_twice_is_a_staff_fault_and_never_a_zero(run_class, loss):
    first = run_class.ids[0]
    found, said, done = run_class(Workers(**{first: [loss, loss]}))
    assert found[first]["fault"] and found[first]["results"] is None and done == 3
    assert any("staff fault" in line for line in said)
    again = Workers()
    found, _, _ = run_class(again)
    assert again.asked == [(first, [], False)]  # the same command tries again
    assert not found[first]["fault"] and outcomes(found[first]) == ["passed", "passed"]


TRACEBACK = "Traceback (most recent call last):\n  File ...\nOSError: No space left on device\n"


@pytest.mark.parametrize(
    "answer, line",
    [
        ({"fault": TRACEBACK, "last": True}, "OSError: No space left on device"),
        ({"lost": "killed"}, "killed"),
        ({}, "an answer without results"),
    ],
)
def test_a_loss_is_told_in_its_first_line(answer, line):
    assert records.ours(answer, counts=True).splitlines()[0] == line


def test_a_fault_in_a_test_is_told_in_its_first_line():
    answer = ended("passed")
    answer["results"]["tests"][1] |= {"outcome": "grader error", "detail": TRACEBACK}
    first = records.ours(answer, counts=True).splitlines()[0]
    assert first == f"{TESTS[1]}: OSError: No space left on device"


@pytest.mark.parametrize("limit", ["timed out", "out of memory", "killed", "not run"])
def test_a_test_that_ended_in_a_limit_is_run_again_alone_before_it_counts(run_class, limit):
    first = run_class.ids[0]
    workers = Workers(**{first: [ended("passed", limit), ended("failed", "passed")]})
    found, _, done = run_class(workers)
    assert workers.asked[-1] == (first, [TESTS[1]], True)
    assert outcomes(found[first]) == ["passed", "passed"]  # only that test was replaced
    assert found[first]["results"]["score"] == 3.0 and found[first]["again"] == [] and done == 3


def test_a_rerun_that_was_cut_short_is_gone_on_with(run_class):
    first = run_class.ids[0]

    class Cut(Workers):
        def run(self, jobs, say, alone=False):
            if alone:
                raise KeyboardInterrupt
            yield from super().run(jobs, say, alone)

    with pytest.raises(KeyboardInterrupt):
        run_class(Cut(**{first: [ended("timed out", "passed")]}))
    workers = Workers()
    found, _, _ = run_class(workers)
    assert workers.asked == [(first, [TESTS[0]], True)]
    assert outcomes(found[first]) == ["passed", "passed"]


def test_a_rerun_that_is_lost_is_tried_once_more(run_class):
    first = run_class.ids[0]
    script = [ended("timed out", "passed"), {"lost": "killed"}]
    workers = Workers(**{first: script})
    found, _, _ = run_class(workers)
    assert [ask[1:] for ask in workers.asked[-2:]] == [([TESTS[0]], True)] * 2
    assert outcomes(found[first]) == ["passed", "passed"]


def test_a_preview_is_marked_and_gives_way(run_class):
    preview = ended("passed")
    preview["results"]["facts"]["authoritative"] = False
    script = {one: [preview] for one in run_class.ids}
    found, _, _ = run_class(Workers(**script), counts=False)
    assert [record["counts"] for record in found.values()] == [False] * 3
    assert run_class(Workers(), counts=False)[2] == 3
    workers = Workers()
    found, _, _ = run_class(workers)
    assert len(workers.asked) == 3
    assert [record["counts"] for record in found.values()] == [True] * 3


def test_a_preview_in_place_of_what_should_count_is_refused(run_class):
    preview = ended("passed")
    preview["results"]["facts"]["authoritative"] = False
    first = run_class.ids[0]
    found, _, _ = run_class(Workers(**{first: [preview, preview]}))
    assert "authority" in found[first]["fault"]


def test_a_full_disk_keeps_what_was_written(run_class):
    written = []

    def full(submission_id, record):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(submission_id)

    with pytest.raises(OSError, match="No space left"):
        run_class(Workers(), _write=full)
    workers = Workers()
    found, _, _ = run_class(workers)
    assert len(found) == 3


def test_nothing_to_grade_is_a_zero_with_a_reason_and_needs_no_worker(run_class):
    (broken,) = run_class.source.glob("000-*/submission/*.py")
    broken.rename(broken.with_suffix(".txt"))
    workers = Workers()
    found, said, done = run_class(workers)
    (refused,) = [record for record in found.values() if record["refused"]]
    assert refused["refused"].startswith("the upload: no folder `submission`")
    assert {test["outcome"] for test in refused["results"]["tests"]} == {"missing file"}
    assert len(workers.asked) == 2 and done == 3
    assert any("nothing to grade" in line for line in said)
    assert "000-right" not in json.dumps(refused)  # nothing reveals whose it is


def test_a_zip_without_a_submission_is_refused_in_the_same_words(tmp_path):
    (tmp_path / "upload.zip").write_bytes(archive.packed({"notes.txt": b"x"}))
    (tmp_path / "work").mkdir()
    with pytest.raises(SubmissionError, match="^the upload: no folder"):
        packed = Upload((("upload.zip", on_disk(tmp_path, "upload.zip")),))
        shipping.pack(packed, tmp_path / "work", Course.provided)


# ---------------------------------------------------------------- what is sent


def test_the_class_has_a_seed_that_depends_on_secret_and_release():
    seeds = {shipping.seed_of(s, r) for s in (b"one", b"two") for r in ("aa", "bb")}
    assert len(seeds) == 4 and all(0 <= seed < 2**63 for seed in seeds)
    assert shipping.seed_of(b"one\n", "aa") == shipping.seed_of(b"one", "aa")


def test_a_release_is_named_by_its_content_and_lacks_the_secret(course):
    import zipfile
    from io import BytesIO

    first = shipping.make_release(course, "tiny")
    with zipfile.ZipFile(BytesIO(first.content)) as opened:
        names = opened.namelist()
        assert {"src/edition.json", "tools/classroom/host.py", "src/data/wiki.txt"} <= set(names)
        assert not any("secret" in name or name.endswith(".sh") for name in names)
        secret = (course / "solutions/data/grading_secret").read_bytes().strip()
        assert not any(secret in opened.read(name) for name in names)
    assert shipping.make_release(course, "tiny") == first
    assert shipping.make_release(course, "xcs224n").digest != first.digest
    path = course / "src" / "questions" / "provided.py"
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(before + "\n# other\n", encoding="utf-8")
        other = shipping.make_release(course, "tiny")
    finally:
        path.write_text(before, encoding="utf-8")
    assert other.digest != first.digest and other.seed != first.seed


def test_what_is_sent_is_what_the_grader_takes(tmp_path):
    from grading.staging import stage

    (submission,) = class_of(tmp_path / "class", "right").iterdir()
    for name in ("notes.txt", "vanilla.finetune.params", "submission/.DS_Store"):
        (submission / name).write_text("x", encoding="utf-8")
    (submission / ".venv").mkdir()
    (submission / ".venv" / "large").write_bytes(b"x" * 100)
    work = tmp_path / "work"
    work.mkdir()
    packed = shipping.pack(Upload((("", place(submission)),)), work, Course.provided)
    sent = tmp_path / "sent.zip"
    sent.write_bytes(packed.content)
    direct = stage(submission, tmp_path / "direct", Course.provided)
    again = stage(sent, tmp_path / "again", Course.provided)
    assert sorted(again.taken) == sorted(direct.taken)
    assert packed.facts["left"] == [*map(str, direct.omissions)] and again.omissions == []
    for name in direct.taken:
        assert (direct.root / name).read_bytes() == (again.root / name).read_bytes()
