"""A run has exact points, the same verdicts in any order, and says what it graded."""

import json
import os
import re
import subprocess
import sys

import pytest

import grading
from autograder import replay
from grading.verdicts import Outcome, write_atomically
from tests.project import edit


def test_a_run_says_what_it_graded(submission, run):
    def facts(name: str = "") -> dict:
        results = run(submission, "3a-0-basic", name=name)
        recorded = json.loads(replay.line(results).removeprefix(replay.RECORD))["facts"]
        assert recorded.items() <= results.facts.items() and "digest" in recorded
        return results.facts

    first, path = facts(), submission / "submission" / "attention_exploration.py"
    assert first["submission"] == submission.name == "upload"
    assert "submission/attention_exploration.py" in first["files"]
    named = facts(name="submission\n7\x1b")
    assert named["submission"].startswith("submission") and named["submission"].isprintable()
    # The digest is of names and contents.
    assert named["digest"] == first["digest"] and re.fullmatch("[0-9a-f]{64}", first["digest"])
    path.write_text(path.read_text(encoding="utf-8") + "\n# more\n", encoding="utf-8")
    changed = facts()["digest"]
    path.rename(path.with_name("another.py"))
    assert len({first["digest"], changed, facts()["digest"]}) == 3


def test_a_file_is_replaced_at_the_end_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")

    def interrupt(*_):
        assert len(os.listdir(tmp_path)) == 2 and path.read_bytes() == b"old"
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", interrupt)
        write_atomically(path, "new")
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["results.json"]
    write_atomically(path, "half \udc80 a pair")  # as in the name of a file
    assert path.read_bytes() == b"half ? a pair"
    assert os.listdir(tmp_path) == ["results.json"] and path.stat().st_mode & 0o777 == 0o600


WANTED = ("1e-1-basic", "1e-2-basic", "1e-10-hidden", "1g-5-hidden", "3a")


def verdicts(results):
    return {
        test_id: (t.outcome, t.score, t.message, t.detail, t.output)
        for test_id, t in results.items()
        if t.is_selected
    }


def test_the_same_seed_gives_the_same_verdicts_in_any_order_and_number(submission, grade):
    """The submission has mistakes, whose messages depend on the random inputs."""
    path = submission / "submission" / "dataset.py"
    edit(path, "span = random.randint(0, len(truncated) // 2)", "span = 1")
    edit(path, "import random\n", "import random\nprint(hash('a'), set('abcdef'))\n")
    together = verdicts(grade(submission, *WANTED, seed=5))
    assert Outcome.FAILED in {v[0] for v in together.values()}
    assert verdicts(grade(submission, *WANTED, seed=5, jobs=3)) == together
    for test_id in ("1e-10-hidden", "3a-1-hidden"):
        assert verdicts(grade(submission, test_id, seed=5)) == {test_id: together[test_id]}


def test_a_reader_that_leaves_ends_the_run_without_a_traceback():
    """`python grader.py --list | head -1`."""
    command = [sys.executable, str(grading.SRC / "grader.py"), "--list"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 130)
