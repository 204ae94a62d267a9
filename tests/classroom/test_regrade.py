"""regrade, apply, discard and history, with a cluster whose answers the tests determine."""

import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

from classroom import exports, regrade
from classroom.__main__ import main
from classroom.grade import Release
from classroom.store import Store
from classroom.submissions import Record
from tests.accessible import check_files
from tests.classroom.graded import changed, rows_of
from tests.classroom.tiny import class_of, needs_root

BASELINE = "aaaaaaaaaaaaaaaa"
# Test id, name, points, kind.
TESTS = (
    ("1a-0-basic", "one", 1.0, "basic"),
    ("1a-1-hidden", "two", 3.0, "hidden"),
    ("2b-0-basic", "three", 1.5, "basic"),
)
NAMES = ("0-right", "1-hidden", "2-wrong", "3-fault", "4-refused")
HIDDEN = "1a-1-hidden"


def entry(index, outcome="passed", **changed):
    test_id, name, most, kind = TESTS[index]
    passed = outcome == "passed"
    return {
        "test_id": test_id,
        "name": name,
        "topic": "topic",
        "test": name,
        "kind": kind,
        "outcome": outcome,
        "score": most if passed else 0.0,
        "max_score": most,
        "is_extra_credit": False,
        "message": "" if passed else "wrong",
        "cause": "" if passed else f"{outcome}.cause",
        "credit": "1" if passed else "0",
    } | changed


def results(*tests, asked=()):
    paid = [test for test in tests if not asked or test["test_id"] in asked]
    sums = {key: sum(test[key] for test in paid) for key in ("score", "max_score")}
    return sums | {"edition": "tiny", "tests": tests, "asked": asked, "facts": {}, "seed": "7"}


def record(submission, *outcomes, **changed):
    tests = [entry(index, end) for index, end in enumerate(outcomes)]
    text = json.dumps(results(*tests)) if tests else None
    made = Record(submission, BASELINE, "grade", "graded", "7", "files", text)
    return replace(made, **changed)


class Made:
    """A class's folder, and the commands that regrade it with a scripted cluster.

    Attributes:
        tests: what the new release answers for each submission; `by_id` for one of them.
        asked: (submission, tests, seed) of each job.
        lost: submissions whose grading fails because of us.
    """

    def __init__(self, path, source, monkeypatch, capsys):
        self.path, self.source, self._capsys = path, source, capsys
        self.tests, self.by_id = [entry(0), entry(1), entry(2)], {}
        self.asked, self.lost, self.most = [], set(), 99
        self.upload = dict.fromkeys(NAMES, "files")
        self.release = "b" * 64
        monkeypatch.setattr(regrade, "release_of", lambda *_: self._release())
        monkeypatch.setattr(regrade, "grade_all", self._grade_all)
        export = exports.read_export(source)
        names = {one.students[0].name: one.id for one in export.submissions}
        self.ids = [names[name] for name in NAMES]
        with Store.create(path) as store:
            store.add_submissions(source, "folder", export.submissions)
            for made in self._records():
                store.count(store.add_record(made))
            store.set("release", BASELINE)
            store.set("edition", "tiny")

    def _records(self):
        right, hidden, wrong, fault, refused = self.ids
        ends = ("passed", "passed", "passed")
        yield record(right, *ends)
        yield record(hidden, "passed", "failed", "passed", seed="12345678901234567890")
        yield record(wrong, "failed", "failed", "failed")
        yield record(fault, outcome="staff fault", reason="its worker was killed")
        missing = ["missing file"] * 3
        yield record(refused, *missing, outcome="nothing to grade", reason="no folder")

    def _release(self):
        questions = [{"tests": [{"test_id": test[0]} for test in TESTS]}]
        text = json.dumps({"editions": {"tiny": {"questions": questions}}})
        return Release(self.release, "tiny", "Tiny", text, b"secret", b"")

    def _grade_all(self, store, jobs, release, kind, where, say, done):
        for job in jobs:
            key = job.submission.id
            before = store.record(key, release.id, kind)
            if before is not None and before["outcome"] != "staff fault":
                continue
            if len(self.asked) >= self.most:
                raise KeyboardInterrupt
            self.asked.append((key, job.tests, job.seed))
            tests = self.by_id.get(key, self.tests)
            words = [
                t["test_id"] for t in tests if any(t["test_id"].startswith(w) for w in job.tests)
            ]
            if job.tests:
                none = {"outcome": "not run", "score": 0.0, "credit": "0"}
                tests = [t if t["test_id"] in words else t | none for t in tests]
            upload = self.upload.get(key, "files")
            made = Record(key, release.id, kind, "graded", job.seed, upload, "")
            text = json.dumps(results(*tests, asked=words))
            fault = {"outcome": "staff fault", "results": None, "reason": "killed\ntwice"}
            changed = fault if key in self.lost else {"results": text}
            store.add_record(replace(made, **changed))
            done()

    def __call__(self, word, *words):
        """Run a command; return (exit code, standard output, standard error)."""
        self.asked = []
        code = main([word, str(self.path), *words])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def scores(self):
        """Return what counts, in the order of NAMES."""
        with Store.existing(self.path) as store:
            rows = [store.counted(key) for key in self.ids]
            assert all(len(row["kind"]) for row in rows)
            return [row["score"] and float(row["score"]) for row in rows]

    def rows(self, sql, *values):
        with Store.existing(self.path) as store:
            return store.rows(sql, *values)


BEFORE = [5.5, 2.5, 0.0, None, 0.0]


@pytest.fixture
def made(tmp_path, monkeypatch, capsys):
    """Return a class of five: right, a hidden test wrong, all wrong, a staff fault, refused."""
    for name in NAMES:
        folder = tmp_path / "source" / name / "submission"
        folder.mkdir(parents=True)
        (folder / "a.py").write_text(f"x = '{name}'\n", encoding="utf-8")
    return Made(tmp_path / "class", tmp_path / "source", monkeypatch, capsys)


def test_all_tests_run_with_the_seeds_of_before_and_nothing_counts(made):
    code, said, _ = made("regrade")
    assert code == 0
    seeds = [seed for _, _, seed in sorted(made.asked, key=lambda job: made.ids.index(job[0]))]
    assert seeds == ["7", "12345678901234567890", "7", "7", "7"]
    assert {tests for _, tests, _ in made.asked} == {()}
    assert made.scores() == BEFORE
    assert "up 3, down 0 (to zero 0), same 1, without a result before 1; 7 verdicts changed" in said
    assert "1a-1-hidden: 3 verdicts changed, +9 points in total  two" in said
    assert (
        f"up: {made.ids[1]}  2.5 -> 5.5" in said
        and f"no result before: {made.ids[3]}  no result" in said
    )


def test_what_is_previewed_counts_once_it_is_applied_and_all_of_it(made):
    made("regrade")
    code, said, _ = made("apply", "--reason", "too strict")
    assert code == 0 and "regrade-1 counts now: up 3" in said
    assert made.scores() == [5.5] * 5
    ((release,),) = made.rows("SELECT value FROM class WHERE key = 'release'")
    assert release == "b" * 16  # so that later submissions are graded with it
    code, said, _ = made("history")
    assert re.search(r"regrade-1 applied: up 3.*\(release b{16}\) by \S+: too strict\n", said)
    assert said.endswith(f"What counts: release {'b' * 16} of tiny\n")
    assert made("apply", "--reason", "x")[0] == 2


def test_what_is_discarded_is_gone_and_remembered(made):
    made("regrade")
    code, said, _ = made("discard")
    assert code == 0 and f"the results of {BASELINE} still count" in said
    assert made.scores() == BEFORE
    assert not made.rows("SELECT * FROM records WHERE kind = 'regrade-1'")
    assert not list(made.path.rglob("*regrade-1*"))
    assert "regrade-1 discarded" in made("history")[1]
    assert made("discard")[0] == 2
    made("regrade")  # numbers aren't used twice
    assert len(made.rows("SELECT * FROM records WHERE kind = 'regrade-2'")) == 5


def test_down_and_to_zero_are_shown(made):
    made.tests = [entry(index, "failed") for index in range(3)]
    _, said, _ = made("regrade")
    assert "up 0, down 2 (to zero 2)" in said and "passed -> failed.cause" in said
    right, hidden, *_ = made.ids
    down = [line for line in said.splitlines() if line.startswith("down to zero: ")]
    assert down == [f"down to zero: {right}  5.5 -> 0", f"down to zero: {hidden}  2.5 -> 0"]


def test_a_dropped_test_moves_those_alone_who_had_lost_points_by_it(made):
    dropped = {"cause": "dropped", "score": 3.0, "credit": "1"}
    for key, outcomes in zip(made.ids, (("passed",) * 3, ("failed",) * 3), strict=False):
        made.by_id[key] = [entry(index, end) for index, end in enumerate(outcomes)]
        made.by_id[key][1] = entry(1, "dropped", **dropped)
    made.by_id[made.ids[1]] = [entry(0), entry(1, "dropped", **dropped), entry(2)]
    _, said, _ = made("regrade", "--tests", HIDDEN)
    page = (made.path / "regrades" / "regrade-1" / "index.html").read_text(encoding="utf-8")
    assert f"up: {made.ids[1]}  2.5 -> 5.5" in said and "failed.cause -> dropped" in said
    assert "passed -> dropped" not in said and made.ids[0] not in said + page


def test_some_tests_leave_all_others_as_they_are(made):
    _, said, _ = made("regrade", "--tests", HIDDEN)
    assert (made.ids[2], (HIDDEN,), "7") in made.asked
    assert "up 3, down 0 (to zero 0), same 1, without a result before 1; 3 verdicts" in said
    assert made("apply", "--reason", "x")[0] == 0
    assert made.scores() == [5.5, 5.5, 3.0, 5.5, 3.0]
    outcomes = [row["outcome"] for row in made.rows(
        "SELECT tests.outcome FROM tests JOIN counted USING (record) WHERE submission = ?",
        made.ids[2])]  # fmt: skip
    assert outcomes == ["failed", "passed", "failed"]


def test_with_some_tests_a_submission_without_a_result_gets_a_whole_one(made):
    made("regrade", "--tests", "1a")
    assert dict((key, tests) for key, tests, _ in made.asked)[made.ids[3]] == ()
    made("apply", "--reason", "x")
    assert made.scores() == [5.5, 5.5, 4.0, 5.5, 4.0]


def test_tests_are_compared_by_name_if_their_numbers_change(made):
    made.tests = [
        entry(0, "failed", test_id="1a-0-basic", test="new", name="new"),
        entry(0, test_id="1a-1-basic"),
        entry(1, test_id="1a-2-hidden"),  # and "three" has gone
    ]
    _, said, _ = made("regrade")
    assert "(no such test) -> failed.cause" in said
    assert "2b-0-basic: 4 verdicts changed, -3 points in total" in said
    assert "1a-1-basic: 2 verdicts changed, +2 points in total" in said
    made("discard")
    code, _, complaint = made("regrade", "--tests", "2b")
    assert code == 0 and not complaint.startswith("classroom: ")


def test_ids_that_mean_two_tests_are_refused_and_no_points_are_lost(made):
    made.tests = [entry(1, test_id="1a-0-basic"), entry(0, test_id=HIDDEN), entry(2)]
    code, _, complaint = made("regrade", "--tests", HIDDEN)
    assert code == 2 and "regrade without --tests" in complaint
    assert made.scores() == BEFORE


def test_other_points_are_shown_with_the_maximum(made):
    made.tests = [entry(0), entry(1, score=5.0, max_score=5.0), entry(2)]
    _, said, _ = made("regrade")
    assert f"up: {made.ids[0]}  5.5 of 5.5 -> 7.5 of 7.5" in said
    assert "1a-1-hidden: 3 verdicts changed, +17 points in total" in said  # not of the first


def test_one_regrade_at_a_time(made):
    made("regrade")
    assert made("regrade", "--tests", "1a")[0] == 2
    made.release = "c" * 64
    code, _, complaint = made("regrade")
    assert code == 2 and "regrade-1 is still open, with another release" in complaint
    assert made("discard")[0] == 0 and made("regrade")[0] == 0


@pytest.mark.parametrize(
    "words, complaint",
    [
        (("regrade", "--tests", "7z"), "--tests 7z: tiny has no such test or question"),
        (("regrade", "--tests", "1a", "--new-files"), "leave out --tests"),
        (("apply", "--reason", " "), "--reason is blank"),
        (("apply", "--reason", "x"), "has no open regrade"),
        (("discard",), "has no open regrade"),
    ],
)
def test_mistakes_are_one_line(made, words, complaint):
    code, _, said = made(*words)
    assert code == 2 and complaint in said and said.count("\n") == 1
    assert not made.rows("SELECT * FROM history")


def test_a_fault_of_ours_keeps_it_from_counting_and_is_tried_again(made):
    made.lost = {made.ids[0]}
    code, said, _ = made("regrade")
    assert code == 1 and f"no new result: {made.ids[0]}  killed\n" in said
    code, _, complaint = made("apply", "--reason", "x")
    assert code == 2 and "regrade-1 is not complete: 1 submission without" in complaint
    assert made.scores() == BEFORE
    made.lost = set()
    assert made("regrade")[0] == 0
    assert [key for key, *_ in made.asked] == [made.ids[0]]
    assert made("apply", "--reason", "x")[0] == 0


def test_a_regrade_that_was_cut_short_goes_on(made):
    made.most = 2
    assert made("regrade")[0] == 130
    done = {key for key, *_ in made.asked}
    assert made("apply", "--reason", "x")[0] == 2
    made.most = 99
    assert made("regrade")[0] == 0
    assert {key for key, *_ in made.asked} == {*made.ids} - done
    assert made("apply", "--reason", "x")[0] == 0


def test_what_was_handed_in_since_the_preview_has_to_be_run_first(made):
    made("regrade")
    folder = made.source / "5-later" / "submission"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("x = 5\n", encoding="utf-8")
    export = exports.read_export(made.source)
    (later,) = {one.id for one in export.submissions} - {*made.ids}
    with Store.existing(made.path, writes=True) as store:
        store.add_submissions(made.source, "folder", export.submissions)
        store.count(store.add_record(record(later, "failed", "failed", "failed")))
    assert made("apply", "--reason", "x")[0] == 2
    assert made("regrade")[0] == 0 and made.asked == [(later, (), "7")]
    assert made("apply", "--reason", "x")[0] == 0


def test_a_result_with_another_seed_since_the_preview_is_not_overruled(made):
    made("regrade")
    with Store.existing(made.path, writes=True) as store:
        store.add_record(record(made.ids[0], "failed", "failed", "failed", seed="8"))
    code, _, complaint = made("apply", "--reason", "x")
    assert code == 2 and "graded again since" in complaint


def test_files_that_are_gone_or_changed_keep_their_results(made, tmp_path):
    (made.source / "0-right").rename(tmp_path / "elsewhere")
    made.upload[made.ids[1]] = "other files"
    code, said, _ = made("regrade")
    assert code == 0
    assert f"earlier result kept: {made.ids[0]}  its files are no longer there" in said
    assert (
        f"earlier result kept: {made.ids[1]}  its files have changed since; --new-files grades them"
        in said
    )
    assert made("apply", "--reason", "x")[0] == 0
    assert made.scores() == [5.5, 2.5, 5.5, 5.5, 5.5]


def test_a_download_that_moved_begins_nothing(made, tmp_path):
    made.source.rename(tmp_path / "elsewhere")
    code, _, complaint = made("regrade")
    assert code == 2 and "can't find the submissions" in complaint
    assert not made.rows("SELECT * FROM history") and made("discard")[0] == 2


def test_files_that_changed_are_graded_if_that_is_asked_for(made):
    made.upload[made.ids[1]] = "other files"
    made("regrade", "--new-files")
    made("apply", "--reason", "x")
    assert made.scores() == [5.5] * 5


def test_the_page_and_its_links_are_there_and_private(made):
    made("regrade")
    page = made.path / "regrades" / "regrade-1" / "index.html"
    text = page.read_text(encoding="utf-8")
    links = re.findall(r'href="([^"#]+)"', text)
    assert len(links) == 8  # both results of four
    for link in links:
        path = (page.parent / link).resolve()
        assert path.is_file() and path.stat().st_mode & 0o077 == 0
    assert "Content-Security-Policy" in text and "1-hidden" in text


@pytest.mark.requires_tool("chromium")
def test_the_pages_are_for_everybody(made):
    made("regrade")
    folder = made.path / "regrades" / "regrade-1"
    check_files([folder / "index.html", *sorted(folder.glob("*/before.html"))[:1]])


def test_history_contains_no_names(made):
    made("regrade")
    made("apply", "--reason", "evil\u202e\nreason")
    said = made("history")[1]
    assert "evil\\u202e\\nreason" in said and not any(name in said for name in NAMES)


STRICT = b"return bool(np.abs(alpha - wanted).max() <= tolerance)"


@needs_root
def test_an_archived_release_with_another_judge_counts_when_it_is_applied(
    graded, release, course, temporary, tmp_path
):
    def run(*words):
        process = subprocess.run(
            [sys.executable, "-m", "classroom", *map(str, words)],
            cwd=course,
            env=os.environ | {"TMPDIR": str(temporary)},
            check=False,
            capture_output=True,
            encoding="utf-8",
        )
        return process.returncode, process.stdout + process.stderr

    def scores():
        return dict(rows_of(into, "SELECT submission, score FROM scores"))

    source, into = class_of(tmp_path / "source", "right", "wrong"), tmp_path / "class"
    assert graded(source, into, "--slots", "1")[0] == 0
    before = scores()
    lax = changed(
        release, tmp_path / "lax.zip", lambda _, content: content.replace(STRICT, b"return True")
    )
    archive = tmp_path / "2027-winter.2-tiny.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.write(lax, "autograder.zip")
        writer.writestr("manifest.json", "{}")
    words = ("regrade", into, "--release", archive, "--tests", "1a", "--slots", "1")
    code, said = run(*words)
    assert code == 0 and "up 1, down 0 (to zero 0), same 1;" in said, said
    assert re.search(r"up: \w+  0 -> 4\n", said) and scores() == before
    assert run("report", into)[0] == 0
    assert run("apply", into, "--reason", "too strict")[0] == 0
    assert sorted(before.values()) == ["0.00", "4.00"] and {*scores().values()} == {"4.00"}
    seeds = rows_of(into, "SELECT count(DISTINCT seed) FROM records GROUP BY submission")
    assert seeds == [(1,), (1,)]
