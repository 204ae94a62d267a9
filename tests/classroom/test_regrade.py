"""regrade, apply, discard and history, with a cluster whose answers the tests determine."""

import re

import pytest

from classroom.store import Store
from classroom.submissions import Record
from tests.accessible import check_files
from tests.classroom.scripted import TESTS, ScriptedClass, answer, entry, release_named
from tests.snapshots import check, in_lines

NAMES = ("0-right", "1-hidden", "2-wrong", "3-fault", "4-refused")
ONE, TWO, THREE = TESTS
HIDDEN = TWO[0]
BEFORE = [5.5, 2.5, 0.0, None, 0.0]
FAILED = ("failed",) * 3
FAULT = {"lost": "killed\ntwice"}


@pytest.fixture
def made(workers, tmp_path, command) -> ScriptedClass:
    """Return a class of five: right, a hidden test wrong, all wrong, a staff fault, refused."""
    made = ScriptedClass(tmp_path, NAMES, workers, command)
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


def test_what_is_previewed_counts_once_it_is_applied_and_all_of_it(made):
    assert made("regrade")[0] == 0
    seeds = dict(made.rows("SELECT submission, seed FROM records WHERE kind = 'grade'"))
    assert made.workers.requests == [(key, (), seeds[key]) for key in sorted(made.ids)]
    assert len({*seeds.values()}) == 5
    assert made.counted() == BEFORE
    page = made.path / "regrades" / "regrade-1" / "index.html"
    links = re.findall(r'href="([^"#]+)"', page.read_text(encoding="utf-8"))
    assert len(links) == 8  # both results of four
    for link in links:
        path = (page.parent / link).resolve()
        assert path.is_file() and path.stat().st_mode & 0o077 == 0

    code, said, _ = made("apply", "--reason", "too\udcff\u202e\nstrict")
    assert code == 0 and "regrade-1 counts now: up 3" in said
    assert made.counted() == [5.5] * 5
    assert made.rows("SELECT value FROM class WHERE key = 'release'") == [("b" * 16,)]
    made.hand_in("5-later")  # is graded with it
    code, said, _ = made("grade")
    assert code == 0 and "6 of 6 submissions have a result" in said
    assert len(made.workers.requests) == 1
    code, said, _ = made("history")
    assert re.search(
        r"regrade-1 applied: up 3.*\(release b{16}\) by \S+: too\\udcff\\u202e\\nstrict\n", said
    )
    assert said.endswith(f"What counts: release {'b' * 16} of tiny\n")
    assert not any(name in said for name in NAMES)
    assert made("apply", "--reason", "x")[0] == 2


def test_what_is_discarded_is_gone_and_remembered(made):
    made("regrade")
    made.workers.release = release_named("c")
    code, _, complaint = made("regrade")
    assert code == 2 and "regrade-1 is still open, with another release" in complaint
    code, said, _ = made("discard")
    assert code == 0 and f"the results of {'a' * 16} still count" in said
    assert made.counted() == BEFORE
    assert not made.rows("SELECT * FROM records WHERE kind = 'regrade-1'")
    assert not list(made.path.rglob("*regrade-1*"))
    assert "regrade-1 discarded" in made("history")[1]
    assert made("discard")[0] == 2
    assert made("regrade")[0] == 0  # numbers aren't used twice
    assert len(made.rows("SELECT * FROM records WHERE kind = 'regrade-2'")) == 5


# The tests of the new release's answers, by what becomes of them, and what is asked for.
PREVIEWS = {
    "all are right": (["passed"] * 3, []),
    "all are wrong": (FAILED, []),
    "one is worth more": (["passed", entry(*TWO, score=5.0, max_score=5.0), "passed"], []),
    "one earns a half": (
        ["passed", entry(*TWO, "failed", score=1.5, credit="1/2"), "passed"],
        ["--tests", HIDDEN],
    ),
    "others have their numbers, and one is gone": (
        [
            entry("1a-0-basic", "new", 1.0, "failed"),
            entry("1a-1-basic", *ONE[1:]),
            entry("1a-2-hidden", *TWO[1:]),
        ],
        [],
    ),
    "the one that is gone is asked for": ([entry(*ONE), entry(*TWO)], ["--tests", "2b"]),
    "one is dropped, and nothing else runs": (
        ["passed", entry(*TWO, "dropped", cause="dropped", score=3.0, credit="1"), "passed"],
        ["--tests", HIDDEN],
    ),
}


def test_a_preview_shows_what_changes_for_whom_and_names_nobody(made):
    texts = {}
    for title, (tests, words) in PREVIEWS.items():
        made.workers.usual = tests
        code, texts[title], _ = made("regrade", *words)
        (page,) = made.path.glob("regrades/*/index.html")
        last = in_lines(page.read_text(encoding="utf-8"))
        assert code == 0 and made("discard")[0] == 0
    masks = {key: f"<id of {name}>" for key, name in zip(made.ids, NAMES, strict=True)}
    masks[str(made.path)] = "CLASS"
    check("classroom_regrade", texts | {"the last one's page": last}, masks)
    # Ids that mean two tests are refused, and no points are lost.
    made.workers.usual = [entry(ONE[0], *TWO[1:]), entry(HIDDEN, *ONE[1:]), entry(*THREE)]
    code, _, complaint = made("regrade", "--tests", HIDDEN)
    assert code == 2 and "regrade without --tests" in complaint
    assert made.counted() == BEFORE


def test_some_tests_leave_all_others_as_they_are(made):
    made("regrade", "--tests", HIDDEN)
    tests = {request[0]: request[1] for request in made.workers.requests}
    assert tests[made.ids[2]] == (HIDDEN,)
    assert tests[made.ids[3]] == ()  # without a result, it gets a whole one
    assert made("regrade", "--tests", "1a")[0] == 2  # one regrade at a time
    assert made("apply", "--reason", "x")[0] == 0
    assert made.counted() == [5.5, 5.5, 3.0, 5.5, 3.0]
    outcomes = made.rows(
        "SELECT tests.outcome FROM tests JOIN counted USING (record) WHERE submission = ?",
        made.ids[2],
    )
    assert outcomes == [("failed",), ("passed",), ("failed",)]


def test_mistakes_are_one_line(made, tmp_path):
    for words, complaint in (
        (("regrade", "--tests", "7z"), "--tests 7z: tiny has no such test or question"),
        (("regrade", "--tests", "1a", "--new-files"), "leave out --tests"),
        (("apply", "--reason", " "), "--reason is blank"),
        (("apply", "--reason", "x"), "has no open regrade"),
    ):
        code, _, said = made(*words)
        assert code == 2 and complaint in said and said.count("\n") == 1
    made.source.rename(tmp_path / "elsewhere")
    code, _, complaint = made("regrade")
    assert code == 2 and "can't find the submissions" in complaint and made("discard")[0] == 2


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


def test_files_that_are_gone_or_changed_keep_their_results_unless_new_ones_are_asked_for(
    made, tmp_path
):
    (made.source / "0-right").rename(tmp_path / "elsewhere")
    made.hand_in("1-hidden", "# another one\n")
    code, said, _ = made("regrade")
    assert code == 0
    gone, changed = "its files are no longer there", "its files have changed since; --new-files"
    assert f"earlier result kept: {made.ids[0]}  {gone}" in said
    assert f"earlier result kept: {made.ids[1]}  {changed}" in said
    assert made("apply", "--reason", "x")[0] == 0
    assert made.counted() == [5.5, 2.5, 5.5, 5.5, 5.5]
    made.workers.release = release_named("c")
    made("regrade", "--new-files")
    (made.source / "1-hidden").rename(tmp_path / "later")
    code, said, _ = made("regrade", "--new-files")  # what was graded before stays
    assert code == 0 and not made.workers.requests and f"{made.ids[1]}  {gone}" not in said
    made("apply", "--reason", "x")
    assert made.counted() == [5.5] * 5


@pytest.mark.requires_tool("chromium")
def test_the_page_is_for_everybody(made):
    made("regrade")
    check_files([made.path / "regrades" / "regrade-1" / "index.html"])
