"""A result says whose it is and what was requested."""

import json
import os
import re
from dataclasses import replace

import pytest

from autograder import replay
from grading.cases import BoundTest, GradedTestCase
from grading.runner import Observer, Options
from grading.verdicts import Outcome, Results, TestResult, replacing, write_atomically
from tests import pinned
from tests.interpreter import python
from tests.project import ROOT

EDITION = pinned.load().edition("xcs224n")


def passed(wanted: tuple[str, ...]) -> Results:
    """Return results in which all requested tests passed."""
    results = Results(EDITION, 5, [], {}, wanted)
    for spec in EDITION.tests:
        is_selected = not wanted or spec.number in wanted or spec.test_id in wanted
        score = spec.max_score if is_selected else spec.max_score * 0
        outcome = Outcome.PASSED if is_selected else Outcome.NOT_RUN
        results.tests.append(
            TestResult(
                spec=spec, description="", outcome=outcome, score=score, is_selected=is_selected
            )
        )
    return results


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
    results = passed(wanted)
    written = results.as_dict(staff=False)
    assert written["asked"] == list(wanted) and written["score"] == written["max_score"]
    assert results.only.startswith(words) and bool(results.only) == bool(wanted)
    if score is not None:
        assert written["max_score"] == score


def test_a_run_says_what_it_graded(submission, runner, pools):
    options = Options(submission=submission, selection=("3a-0-basic",))

    def facts(name: str = "") -> dict:
        run = runner.run(replace(options, name=name), 7, Observer(), pools["zygote"])
        line = replay.line(run).removeprefix(replay.RECORD)
        recorded = json.loads(line)["facts"]
        assert recorded.items() <= run.facts.items() and "digest" in recorded
        return run.facts

    first, path = facts(), submission / "submission" / "attention_exploration.py"
    assert first["submission"] == submission.name == "upload"
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", first["graded"])
    assert "submission/attention_exploration.py" in first["files"]
    named = facts(name="submission\n7\x1b")
    assert named["submission"].startswith("submission") and named["submission"].isprintable()
    # The digest is of names and contents.
    assert named["digest"] == first["digest"] and re.fullmatch("[0-9a-f]{64}", first["digest"])
    path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    changed = facts()["digest"]
    path.rename(path.with_name("another.py"))
    assert len({first["digest"], changed, facts()["digest"]}) == 3


def test_a_replay_of_other_files_says_so(submission, tmp_path):
    grade = ("src/grader.py", "3a-0-basic", "--submission", submission)
    recorded = tmp_path / "result.json"
    first = python(ROOT, *grade, "--json", recorded, "--seed", "7")
    assert first.returncode == 0, first.stdout + first.stderr
    words = "Replay: the submission's files differ"
    assert words not in python(ROOT, *grade, "--replay", recorded).stdout
    (submission / "submission" / "more.py").write_text("", encoding="utf-8")
    assert words in python(ROOT, *grade, "--replay", recorded).stdout


def test_a_description_loses_its_full_stop_and_no_dots():
    def method(case: GradedTestCase) -> None:
        pass

    for first, shown in (("It works.", "It works"), ("sin 0, ...", "sin 0, ..."), ("a..", "a..")):
        method.__doc__ = f"{first}\n\n    More.\n"
        assert BoundTest(EDITION.tests[0], GradedTestCase, method).description == shown


def test_a_file_is_replaced_at_the_end_or_not_at_all(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as writer:
        writer.write(b"half of the new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["results.json"]
    with replacing(path) as writer:
        writer.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    write_atomically(path, "half \udc80 a pair")  # as in the name of a file
    assert path.read_bytes() == b"half ? a pair"
    assert os.listdir(tmp_path) == ["results.json"] and path.stat().st_mode & 0o777 == 0o600
