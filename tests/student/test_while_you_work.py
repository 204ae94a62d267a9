"""What a student's run says besides its results: what changed, and what is wrong with the files."""

import json
import os
import shutil

import grading
from grading.cli import Command
from questions.course import Course
from tests.project import ROOT
from tests.student.folder import Desk

QUERIES = "attention_exploration.py"
BROKEN = ("def copying_query(", "def copying_queri(")


def grade(desk: Desk, *words: str) -> tuple[int, str]:
    """Run a student's `grader.py WORD...`; return its exit code and output."""
    code, out, err = desk.run(Command(Course()).main, *words)
    assert err == ""
    return code, out


def news(desk: Desk, *words: str) -> str:
    """Return what a run says of the last one, or ""."""
    lines = grade(desk, *words)[1].splitlines()
    said = [line for line in lines if line.startswith("Since the last run: ")]
    assert said == lines[1:2] or not said  # below the headline
    return "".join(said).removeprefix("Since the last run: ")


def test_a_run_says_what_changed_since_the_last_one(desk):
    assert (news(desk, "3a"), news(desk, "3a")) == ("", "")
    desk.replace(QUERIES, *BROKEN)
    assert news(desk, "3a-0-basic") == "3a-0-basic fails now"
    assert news(desk, "3a-2-basic") == ""
    assert news(desk, "3a") == "3a-1-hidden fails now"  # the others' last results were kept
    desk.replace(QUERIES, *reversed(BROKEN))
    assert news(desk, "3a") == "3a-0-basic newly passes; 3a-1-hidden runs now"


def test_only_runs_of_ones_own_folder_and_the_same_tests_are_compared(desk, monkeypatch):
    grade(desk, "3a")
    desk.replace(QUERIES, *BROKEN)
    kept = (desk.root / ".grading" / "last.json").read_bytes()
    desk.collect()
    assert news(desk, "3a", "--submission", str(desk.zip)) == ""
    assert news(desk, "3a", "--in-process") == ""
    assert (desk.root / ".grading" / "last.json").read_bytes() == kept
    monkeypatch.setattr(grading, "QUESTIONS", grading.QUESTIONS / "shared")  # another release's
    assert news(desk, "3a") == ""


def test_where_results_can_not_be_kept_nothing_is_compared(desk):
    desk.replace(QUERIES, *BROKEN)
    folder = desk.root / ".grading"
    folder.mkdir()
    last = folder / "last.json"
    for content in ("{", "[]", '{"tests": 1}', "[" * 100_000):
        last.write_text(content, encoding="utf-8")
        assert news(desk, "3a-0-basic") == ""
        assert json.loads(last.read_text(encoding="utf-8"))["fine"] == {"3a-0-basic": False}
    shutil.rmtree(folder)
    folder.write_text("mine", encoding="utf-8")  # where a folder should be
    assert news(desk, "3a-0-basic") == ""


def hints(desk: Desk, *words: str) -> str:
    """Return what follows the last line of a run's report, which names the seed."""
    return grade(desk, *words)[1].partition("\nseed ")[2].partition("\n")[2]


def test_a_failing_practice_test_asks_and_tells_its_formula_only_to_those_who_ask(desk):
    desk.replace("building_blocks.py", " / math.sqrt(q.size(-1))", "")
    assert "sqrt" not in grade(desk, "4a-0-basic", "--hint", "2")[1]
    code, out = grade(desk, "4a-0-basic", "--hint", "3")
    assert code == 1
    report, formula = out.splitlines()[:-1], out.splitlines()[-1]
    assert "        question: weights of .88" in "\n".join(report)
    assert "sqrt" not in "\n".join(report)
    assert formula.startswith("Hint on 4a-0-basic (formula): softmax(q k^T / sqrt")


def test_graded_questions_have_the_hints_of_the_sheet(desk):
    desk.replace(QUERIES, "def average_query(", "def average_query(*_):\n    return 0\ndef other(")
    assert hints(desk, "3b").startswith("Hints: --hint 2 prints where to look")
    said = [hints(desk, "3b", "--hint", level) for level in "123"]
    assert said[1] == said[2]
    assert said[0].startswith("Hint on 3b-0-basic (pointer): a softmax never averages two values")


def warned(desk: Desk) -> list[str]:
    """Return what a run, which passes, says of the files below their line."""
    code, out = grade(desk, "3a")
    head = out.partition("\n\n")[0].splitlines()
    assert code == 0 and head[1].startswith("Files: ")
    return [line.removeprefix("Warning: ") for line in head[2:]]


def test_a_run_begins_with_what_the_collector_says_of_the_files(desk):
    assert warned(desk) == []
    shutil.copy2(ROOT / "requirements.txt", desk.root)
    (desk.code / "mine.py").write_text("import pandas\nx = input()\n", encoding="utf-8")
    (desk.code / "mine1.py").write_text("breakpoint(\n", encoding="utf-8")  # no valid Python
    desk.replace("london_baseline.py", "### END CODE HERE ###", "")
    assert warned(desk) == desk.warnings()[:3]
    later = (desk.root / "vanilla.model.params").stat().st_mtime + 90
    os.utime(desk.root / "vanilla.model.params", (later, later))
    shown, said = warned(desk), desk.warnings()
    assert shown[:3] == said[:3] and "vanilla.nopretrain.dev.predictions is older" in said[3]
    assert shown[3:] == ["and 2 more; python src/collect_submission.py prints all"]
    for words in (("--in-process",), ("--submission", str(desk.zip))):
        assert "Warning: " not in grade(desk, "3a", *words)[1]
