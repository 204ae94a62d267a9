"""docs/grading-a-class.md: its commands regrade, and report on, a class that is really graded."""

import csv
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from tests.classroom.make_class import make_class
from tests.classroom.tiny import class_of, needs_root
from tests.follow import commands_of
from tests.project import ROOT

DOCUMENT = (ROOT / "docs" / "grading-a-class.md").read_text(encoding="utf-8")
WORDS = ("regrade", "apply", "discard", "history", "repeat", "stored", "report")
COMMANDS = [
    line
    for line in commands_of(DOCUMENT)
    if re.search(rf" tools\.classroom ({'|'.join(WORDS)}) ", line)
]
NAMES = ("right", "wrong", "raises", "slow", "exits")
JUDGE = "src/questions/attention_exploration/attention_math.py"
STRICT = "return bool(np.abs(alpha - wanted).max() <= tolerance)"


def of(word: str, *others: str) -> list[str]:
    """Return the words of the document's command with this name, without `python -m ...`."""
    (found,) = [
        shlex.split(line)[3:]
        for line in COMMANDS
        if shlex.split(line)[3] == word
        and set(others) == set(shlex.split(line)[5:]) & {"--anonymous"}
    ]
    return found


@pytest.fixture
def edit(course):
    """Return edit(file, before, after), which changes a file until the end of the test."""
    kept: dict[Path, str] = {}

    def change(file: str, before: str, after: str, tree: Path = course) -> None:
        path = tree / file
        text = path.read_text(encoding="utf-8")
        kept.setdefault(path, text)
        assert text.count(before) == 1, before
        path.write_text(text.replace(before, after), encoding="utf-8")

    yield change
    for path, text in kept.items():
        path.write_text(text, encoding="utf-8")


def seeds(folder: Path, release: str) -> set[str]:
    paths = folder.glob(f"records/*/{release}.json")
    return {json.loads(path.read_text(encoding="utf-8"))["results"]["seed"] for path in paths}


@pytest.mark.long
@needs_root
def test_the_commands_lead_from_a_changed_test_to_a_decision_and_a_report(
    classroom, grade, edit, dask, course, tmp_path
):
    """The changed test is run on a scheduler, and another checkout is compared as well."""
    assert len(COMMANDS) == 8
    folder = tmp_path / "class"
    code, output = grade(class_of(tmp_path / "source", *NAMES), folder, "--slots", "2")
    assert code == 0, output

    def follow(words: list[str], *more: str | Path) -> str:
        given = [word.replace("~", str(tmp_path)) for word in words]
        process = classroom(*given, *more)
        output = process.communicate(timeout=240)[0]
        assert process.returncode == 0, output
        return output

    # The workers' digests of what decides each test agree with this checkout's.
    assert "there is nothing to regrade" in follow(of("regrade"))
    (before,) = {path.stem for path in folder.glob("records/*/*.json")}
    edit(JUDGE, STRICT, "return bool(np.abs(alpha - wanted).max() <= 0.99)")
    edit(
        "assignment.toml", '"attention_copying", coding = 8 }', '"attention_copying", coding = 10 }'
    )
    dask.scheduler()
    dask.worker()
    said = follow(of("regrade"), *dask.words)
    assert "run for 5, 1 verdict changed" in said
    assert "up 3, down 0 (to zero 0), same 2; 2 verdicts changed" in said
    assert "4 of 8 -> 5 of 10" in said and "0 of 8 -> 5 of 10" in said
    assert seeds(folder, "regrade-1") == seeds(folder, before)
    assert table(follow(["table", "--in", str(folder)]))["001-wrong"] == ("0.0", "8.0")
    assert "regrade-1 counts now: up 3" in follow(of("apply"))
    assert table(follow(["table", "--in", str(folder)]))["001-wrong"] == ("5.0", "10.0")
    newer = shutil.copytree(course, tmp_path / "newer")
    edit("assignment.toml", 'copying", coding = 10 }', 'copying", coding = 6 }', newer)
    said = follow(of("regrade"), "--release", str(newer))
    assert "run for 0, no verdict changed" in said and "grading" not in said  # without workers
    assert "5 of 10 -> 3 of 6" in said
    assert "regrade-2 is dropped" in follow(of("discard"))
    said = follow(of("history"))
    assert "regrade-1  applied" in said and "too strict" in said
    assert "regrade-2  discarded" in said and "What counts now: regrade-1" in said
    varied = [word if word != "5" else "2" for word in of("repeat")]
    assert "2 seeds, 5 submissions: no verdict varies" in follow(
        varied, "--only", "1a-0-basic", *dask.words
    )
    assert "5 of 5 submissions" in follow(of("report"))
    page = (folder / "report" / "index.html").read_text(encoding="utf-8")
    assert "def copying_query(keys, j):" in page and "raise ValueError" in page  # as handed in
    assert "5 of 5 submissions" in follow(of("report", "--anonymous"))
    hidden = (folder / "report-anonymous" / "index.html").read_text(encoding="utf-8")
    assert "copying_query(keys" not in hidden and "upload_" not in hidden


def table(text: str) -> dict[str, tuple[str, str]]:
    """Return the score and the maximum score of each student."""
    return {
        row["name"]: (row["score"], row["max_score"]) for row in csv.DictReader(text.splitlines())
    }


def test_stored_results_are_taken_out_of_the_practice_export(run_python, tmp_path):
    """It contains results of another grader: all are named, and none becomes a zero."""
    words = [word.replace("~/stored", str(tmp_path / "stored")) for word in of("stored")]
    words[1] = str(make_class(tmp_path / "practice", 12, packed=True).source)
    ran = run_python("-m", "tools.classroom", *words)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "0 of 12 submissions have results that can be compared" in ran.stdout
    assert len(list((tmp_path / "stored").glob("records/*/gradescope.json"))) == 12
