"""A result says whose it is and what was requested."""

import json
import os
import re
from dataclasses import replace

import pytest

from autograder import replay
from grading.cases import BoundTest, GradedTestCase
from grading.results import Results, TestResult, replacing, write_atomically
from grading.runner import Observer, Options
from grading.verdicts import Outcome
from tests import pinned
from tests.interpreter import python
from tests.project import ROOT

EDITION = pinned.load().edition("xcs224n")
FACTS = {
    "submission": "upload.zip",
    "graded": "2027-01-30 18:02 UTC",
    "digest": "d" * 64,
    "judged_by": "f" * 64,
}


def results_of(*wanted: str, outcome: Outcome = Outcome.PASSED) -> Results:
    """Return results in which all requested tests ended in this way."""
    made = Results(EDITION, 5, [], dict(FACTS), wanted)
    for spec in EDITION.tests:
        asked = not wanted or spec.number in wanted or spec.test_id in wanted
        score = spec.max_score if asked and outcome is Outcome.PASSED else spec.max_score * 0
        ended = outcome if asked else Outcome.NOT_RUN
        made.tests.append(
            TestResult(
                spec=spec,
                description=f"does {spec.name}",
                outcome=ended,
                score=score,
                is_selected=asked,
            )
        )
    return made


# ---------------------------------------------------------------- what was selected


@pytest.mark.parametrize(
    ("wanted", "score", "words"),
    [
        ((), 53, ""),
        (("1e",), 16, " (1e only)"),
        (("1e", "3a-0-basic"), 16, " (1e, 3a-0-basic only)"),
        (tuple(t.test_id for t in EDITION.tests[:7]), None, f" (7 of {len(EDITION.tests)} tests "),
    ],
)
def test_score_and_maximum_are_of_what_was_asked(wanted, score, words):
    results = results_of(*wanted)
    written = results.as_dict(staff=False)
    assert written["asked"] == list(wanted) and written["score"] == written["max_score"]
    assert results.only.startswith(words) and bool(results.only) == bool(wanted)
    if score is not None:
        assert written["max_score"] == score


# ---------------------------------------------------------------- whose it is


def test_a_record_names_submission_files_time_and_release():
    results = results_of()
    results.facts["versions"] = {}
    recorded = json.loads(replay.line(results).removeprefix(replay.RECORD))
    assert recorded["facts"] == FACTS | {"versions": {}}


def test_the_digest_is_of_names_and_contents(submission, runner, pools):
    def digest() -> str:
        options = Options(submission=submission, selection=("3a-0-basic",))
        return runner.run(options, 7, Observer(), pools["zygote"]).facts["digest"]

    first, path = digest(), submission / "submission" / "attention_exploration.py"
    assert digest() == first and re.fullmatch("[0-9a-f]{64}", first)
    path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    changed = digest()
    path.rename(path.with_name("another.py"))
    assert len({first, changed, digest()}) == 3


def test_a_run_says_what_it_graded(submission, runner, pools):
    options = Options(submission=submission, selection=("3a-0-basic",))
    results = runner.run(options, 7, Observer(), pools["zygote"])
    assert results.facts["submission"] == submission.name == "upload"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", results.facts["graded"])
    assert "submission/attention_exploration.py" in results.facts["files"]
    named = replace(options, name="submission\n7\x1b")
    shown = runner.run(named, 7, Observer(), pools["zygote"]).facts["submission"]
    assert shown.startswith("submission") and shown.isprintable()


def test_a_replay_of_other_files_says_so(submission, tmp_path):
    grade = ("src/grader.py", "3a-0-basic", "--submission", submission)
    recorded = tmp_path / "result.json"
    first = python(ROOT, *grade, "--json", recorded, "--seed", "7")
    assert first.returncode == 0, first.stdout + first.stderr
    content = json.loads(recorded.read_text(encoding="utf-8"))
    assert content["asked"] == ["3a-0-basic"] and content["facts"]["submission"] == "upload"
    words = "Replay: the submission's files differ"
    assert words not in python(ROOT, *grade, "--replay", recorded).stdout
    (submission / "submission" / "more.py").write_text("", encoding="utf-8")
    assert words in python(ROOT, *grade, "--replay", recorded).stdout


# ---------------------------------------------------------------- what a test is called


@pytest.mark.parametrize(
    ("first", "shown"),
    [("It works.", "It works"), ("sin 0, cos 0, ...", "sin 0, cos 0, ..."), ("so on..", "so on..")],
)
def test_a_description_loses_its_full_stop_and_no_dots(first, shown):
    def method(case: GradedTestCase) -> None:
        pass

    method.__doc__ = f"{first}\n\n    More.\n    "
    assert BoundTest(EDITION.tests[0], GradedTestCase, method).description == shown


# ---------------------------------------------------------------- how a file is replaced


def test_a_file_is_replaced_at_the_end_and_not_before(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with replacing(path) as writer:
        writer.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    write_atomically(path, "half \udc80 a pair")  # as in the name of a file
    assert path.read_bytes() == b"half ? a pair"
    assert os.listdir(tmp_path) == ["results.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as writer:
        writer.write(b"half of the new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["results.json"]
