"""regrade, apply, discard and history, with a cluster whose answers the tests determine."""

import os
import re
import subprocess
import sys

import pytest

from classroom.store import Store
from classroom.submissions import Record
from tests.accessible import check_files
from tests.classroom.graded import changed, rows_of
from tests.classroom.scripted import ScriptedClass, answer, entry, release_named
from tests.classroom.tiny import class_of, needs_root

NAMES = ("0-right", "1-hidden", "2-wrong", "3-fault", "4-refused")
HIDDEN = "1a-1-hidden"
BEFORE = [5.5, 2.5, 0.0, None, 0.0]
FAILED = ("failed",) * 3
FAULT = {"lost": "killed\ntwice"}


@pytest.fixture
def made(workers, tmp_path, capsys) -> ScriptedClass:
    """Return a class of five: right, a hidden test wrong, all wrong, a staff fault, refused."""
    made = ScriptedClass(tmp_path, NAMES, workers, capsys)
    refused = answer(*["missing file"] * 3, refused="no folder")
    answers = (("passed",) * 3, ("passed", "failed", "passed"), FAILED, FAULT, refused)
    workers.answers = {key: [each] for key, each in zip(made.ids, answers, strict=True)}
    made("grade")
    with Store.existing(made.path, writes=True) as store:
        # As Gradescope's own results are kept, this fault is what counts.
        fault = Record(made.ids[3], "a" * 16, "grade", "staff fault", "7", "", None, "killed")
        store.count(store.add_record(fault))
    workers.release = release_named("b")
    return made


def test_all_tests_run_with_the_seeds_of_before_and_nothing_counts(made):
    code, said, _ = made("regrade")
    assert code == 0
    seeds = dict(made.rows("SELECT submission, seed FROM records WHERE kind = 'grade'"))
    assert made.workers.requests == [(key, (), seeds[key]) for key in sorted(made.ids)]
    assert len({*seeds.values()}) == 5
    assert made.counted() == BEFORE
    assert "up 3, down 0 (to zero 0), same 1, without a result before 1; 7 verdicts changed" in said
    assert "1a-1-hidden: 3 verdicts changed, +9 points in total  two" in said
    assert f"up: {made.ids[1]}  2.5 -> 5.5" in said
    assert f"no result before: {made.ids[3]}  no result" in said


def test_what_is_previewed_counts_once_it_is_applied_and_all_of_it(made):
    made("regrade")
    code, said, _ = made("apply", "--reason", "too\u202e\nstrict")
    assert code == 0 and "regrade-1 counts now: up 3" in said
    assert made.counted() == [5.5] * 5
    # Later submissions are graded with it.
    assert made.rows("SELECT value FROM class WHERE key = 'release'") == [("b" * 16,)]
    code, said, _ = made("history")
    assert re.search(
        r"regrade-1 applied: up 3.*\(release b{16}\) by \S+: too\\u202e\\nstrict\n", said
    )
    assert said.endswith(f"What counts: release {'b' * 16} of tiny\n")
    assert not any(name in said for name in NAMES)
    assert made("apply", "--reason", "x")[0] == 2


def test_what_is_discarded_is_gone_and_remembered(made):
    made("regrade")
    code, said, _ = made("discard")
    assert code == 0 and f"the results of {'a' * 16} still count" in said
    assert made.counted() == BEFORE
    assert not made.rows("SELECT * FROM records WHERE kind = 'regrade-1'")
    assert not list(made.path.rglob("*regrade-1*"))
    assert "regrade-1 discarded" in made("history")[1]
    assert made("discard")[0] == 2
    made("regrade")  # numbers aren't used twice
    assert len(made.rows("SELECT * FROM records WHERE kind = 'regrade-2'")) == 5


def test_down_and_to_zero_are_shown(made):
    made.workers.usual = FAILED
    _, said, _ = made("regrade")
    assert "up 0, down 2 (to zero 2)" in said and "passed -> failed.cause" in said
    right, hidden, *_ = made.ids
    down = [line for line in said.splitlines() if line.startswith("down to zero: ")]
    assert down == [f"down to zero: {right}  5.5 -> 0", f"down to zero: {hidden}  2.5 -> 0"]


def test_a_dropped_test_moves_those_alone_who_had_lost_points_by_it(made):
    dropped = entry(1, "dropped", cause="dropped", score=3.0, credit="1")
    made.workers.usual = ["passed", dropped, "passed"]
    _, said, _ = made("regrade", "--tests", HIDDEN)
    page = (made.path / "regrades" / "regrade-1" / "index.html").read_text(encoding="utf-8")
    assert f"up: {made.ids[1]}  2.5 -> 5.5" in said and "failed.cause -> dropped" in said
    assert "passed -> dropped" not in said and made.ids[0] not in said + page


def test_some_tests_leave_all_others_as_they_are(made):
    _, said, _ = made("regrade", "--tests", HIDDEN)
    tests = {request[0]: request[1] for request in made.workers.requests}
    assert tests[made.ids[2]] == (HIDDEN,)
    assert tests[made.ids[3]] == ()  # without a result, it gets a whole one
    assert "up 3, down 0 (to zero 0), same 1, without a result before 1; 3 verdicts" in said
    assert made("apply", "--reason", "x")[0] == 0
    assert made.counted() == [5.5, 5.5, 3.0, 5.5, 3.0]
    outcomes = made.rows(
        "SELECT tests.outcome FROM tests JOIN counted USING (record) WHERE submission = ?",
        made.ids[2],
    )
    assert outcomes == [("failed",), ("passed",), ("failed",)]


def test_tests_are_compared_by_name_if_their_numbers_change(made):
    made.workers.usual = [
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
    made.workers.usual = [entry(1, test_id="1a-0-basic"), entry(0, test_id=HIDDEN), entry(2)]
    code, _, complaint = made("regrade", "--tests", HIDDEN)
    assert code == 2 and "regrade without --tests" in complaint
    assert made.counted() == BEFORE


def test_other_points_are_shown_with_the_maximum(made):
    made.workers.usual = ["passed", entry(1, score=5.0, max_score=5.0), "passed"]
    _, said, _ = made("regrade")
    assert f"up: {made.ids[0]}  5.5 of 5.5 -> 7.5 of 7.5" in said
    assert "1a-1-hidden: 3 verdicts changed, +17 points in total" in said  # not of the first


def test_one_regrade_at_a_time(made):
    made("regrade")
    assert made("regrade", "--tests", "1a")[0] == 2
    made.workers.release = release_named("c")
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
    before = made.rows("SELECT * FROM history")
    code, _, said = made(*words)
    assert code == 2 and complaint in said and said.count("\n") == 1
    assert made.rows("SELECT * FROM history") == before


def test_a_fault_of_ours_keeps_it_from_counting_and_is_tried_again(made):
    made.workers.answers[made.ids[0]] = [FAULT]
    code, said, _ = made("regrade")
    assert code == 1 and f"no new result: {made.ids[0]}  killed\n" in said
    code, _, complaint = made("apply", "--reason", "x")
    assert code == 2 and "regrade-1 is not complete: 1 submission without" in complaint
    assert made.counted() == BEFORE
    assert made("regrade")[0] == 0
    assert [request[0] for request in made.workers.requests] == [made.ids[0]]
    assert made("apply", "--reason", "x")[0] == 0


def test_what_was_graded_since_the_preview_is_not_overruled(made):
    made("regrade")
    made.hand_in("5-later")
    made.workers.release = release_named("a")
    made("grade")
    ((later, *_),) = made.workers.requests
    assert later not in made.ids
    assert made("apply", "--reason", "x")[0] == 2
    made.workers.release = release_named("b")
    assert made("regrade")[0] == 0 and [one[0] for one in made.workers.requests] == [later]
    with Store.existing(made.path, writes=True) as store:  # with other inputs
        store.db.execute("UPDATE records SET seed = '8' WHERE kind = 'grade'")
    code, _, complaint = made("apply", "--reason", "x")
    assert code == 2 and "graded again since" in complaint


def test_files_that_are_gone_or_changed_keep_their_results(made, tmp_path):
    (made.source / "0-right").rename(tmp_path / "elsewhere")
    made.hand_in("1-hidden", "# another one\n")
    code, said, _ = made("regrade")
    assert code == 0
    kept = f"earlier result kept: {made.ids[0]}  its files are no longer there"
    assert kept in said
    kept = f"earlier result kept: {made.ids[1]}  its files have changed since; --new-files grades"
    assert kept in said
    assert made("apply", "--reason", "x")[0] == 0
    assert made.counted() == [5.5, 2.5, 5.5, 5.5, 5.5]


def test_files_that_changed_are_graded_if_that_is_asked_for(made):
    made.hand_in("1-hidden", "# another one\n")
    made("regrade", "--new-files")
    made("apply", "--reason", "x")
    assert made.counted() == [5.5] * 5


def test_a_download_that_moved_begins_nothing(made, tmp_path):
    made.source.rename(tmp_path / "elsewhere")
    code, _, complaint = made("regrade")
    assert code == 2 and "can't find the submissions" in complaint
    assert made("discard")[0] == 2


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
def test_the_page_is_for_everybody(made):
    made("regrade")
    folder = made.path / "regrades" / "regrade-1"
    check_files([folder / "index.html"])


STRICT = b"return bool(np.abs(alpha - wanted).max() <= TOLERANCE)"


@pytest.mark.long
@needs_root
def test_another_judge_counts_when_it_is_applied(graded, release, course, temporary, tmp_path):
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
    words = ("regrade", into, "--release", lax, "--tests", "1a", "--slots", "1")
    code, said = run(*words)
    assert code == 0 and "up 1, down 0 (to zero 0), same 1;" in said, said
    assert re.search(r"up: \w+  0 -> 4\n", said) and scores() == before
    assert run("report", into)[0] == 0
    assert run("apply", into, "--reason", "too strict")[0] == 0
    assert sorted(before.values()) == ["0.00", "4.00"] and {*scores().values()} == {"4.00"}
    seeds = rows_of(into, "SELECT count(DISTINCT seed) FROM records GROUP BY submission")
    assert seeds == [(1,), (1,)]
