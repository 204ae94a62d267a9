"""Code that hangs on import costs one test its time limit, and costs files no points."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import grading
from grading.pool import Ending, Finished, InProcessPool
from grading.runner import Observer, Options
from grading.verdicts import Outcome, Stuck, find_stuck
from grading.wire import Notes, read_notes
from grading.worker import Limits
from questions.provided import CourseData
from questions.shared.trained_files import model_configs
from tests.harness.conftest import POOLS
from tools import world

FILE = "submission/attention_exploration.py"
LOOP = "\n\nfrom . import mine\nwhile True:\n    pass\n"  # what it imports has ended
SOON_S = 1.5  # of code that never ends; torch is imported before
ASKED = ("3a-0-basic", "3a-1-hidden", "3b-0-basic", "3b-1-hidden")


def append(submission: Path, text: str) -> Path:
    with open(submission / FILE, "a", encoding="utf-8") as writer:
        writer.write(text)
    (submission / "submission" / "mine.py").touch()
    return submission


# In staff's pool, tests/redteam/attacks/hangs_while_it_is_imported.py is timed out alike.
@pytest.mark.parametrize("way", ["local", pytest.param("zygote", marks=pytest.mark.long)])
def test_an_endless_import_is_run_once_and_named(way, submission, grade_hastily, monkeypatch):
    monkeypatch.setattr("grading.worker.IMPORT_S", SOON_S)
    results = grade_hastily(append(submission, LOOP), *ASKED, "1g-2-basic", way=way)
    first, *others = (results[test_id] for test_id in ASKED)
    assert first.outcome is Outcome.TIMED_OUT
    assert first.cause == "timed-out.import" and FILE in first.message
    for result in others:
        assert result.outcome is Outcome.TIMED_OUT and "in an earlier test" in result.message
        assert (FILE in result.message) is not result.spec.is_hidden
        assert FILE in result.detail
    assert results["1g-2-basic"].outcome is Outcome.PASSED  # it imports other modules


def test_what_a_hidden_test_found_is_never_named_to_students(
    submission, grade_hastily, monkeypatch
):
    """A submission could choose the file that hangs by what it sees in a hidden test."""
    monkeypatch.setattr("grading.worker.IMPORT_S", SOON_S)
    results = grade_hastily(append(submission, LOOP), "3a-1-hidden", "3b-0-basic")
    for test_id in ("3a-1-hidden", "3b-0-basic"):
        assert "import" in results[test_id].message
        assert FILE not in results[test_id].message
    assert FILE in results["3a-1-hidden"].detail


LONG = "\nimport os, time\nwhile time.process_time() < 1.5: pass\n"
QUERY = "def copying_query(keys, j):\n    "
AFTER_A_LONG_IMPORT = {  # the tests have half a CPU second each
    "": "passed",
    f"{QUERY}while True: pass\n": "timed-out.cpu",
    f"{QUERY}os.kill(os.getpid(), 9)\n": "killed.signal-9",
}


@pytest.mark.parametrize("way", POOLS)
@pytest.mark.parametrize("code", AFTER_A_LONG_IMPORT)
@pytest.mark.sampled(3)
def test_the_limit_of_a_test_begins_after_its_imports(code, way, submission, grade_hastily):
    result = grade_hastily(append(submission, LONG + code), ASKED[0], way=way)[ASKED[0]]
    assert (result.cause or "passed") == AFTER_A_LONG_IMPORT[code], result


def test_an_exception_that_is_caught_while_importing_changes_nothing(submission, grade):
    append(submission, "\ntry:\n    from . import mine\nexcept KeyError:\n    pass\n")
    (submission / "submission" / "mine.py").write_text("raise KeyError\n", encoding="utf-8")
    assert grade(submission, ASKED[0])[ASKED[0]].outcome is Outcome.PASSED


@pytest.mark.parametrize("way", ["zygote", pytest.param("local", marks=pytest.mark.long)])
def test_an_import_that_waits_is_run_once(way, submission, grade, monkeypatch):
    monkeypatch.setattr("grading.worker.IMPORT_S", SOON_S)
    monkeypatch.setattr("grading.worker.WALL_FACTOR", 1.2)
    results = grade(append(submission, "\nimport time\ntime.sleep(600)\n"), *ASKED, way=way)
    first, *others = (results[test_id] for test_id in ASKED)
    assert first.cause == "timed-out.import" and FILE in first.message
    assert all("in an earlier test" in result.message for result in others)


# What counts as stuck: otherwise, each of the other tests has to try ------------------------------

WHOLE = Limits.for_test(20.0)
SHORTENED = Limits.for_test(20.0, left_s=15.0)  # by the run's deadline


def stuck(reason: str = "import", limits: Limits = WHOLE, **notes: object) -> Stuck | None:
    """Return what is stuck in a worker that ended after 40 s, in an import unless notes differ."""
    noted = replace(Notes(0, "submission.helper", 0.2, ""), **notes)
    finished = Finished(Ending(reason=reason, cpu_s=20.0, wall_s=40.0), True, None, "", noted)
    return find_stuck(finished, limits, ["submission/helper.py"], named=True)


def test_only_a_whole_limit_spent_in_an_import_is_stuck():
    assert stuck() == stuck("import-wall") == Stuck("submission/helper.py", named=True)
    for reason in ("cpu", "wall", "memory", "abandoned", ""):
        assert stuck(reason) is None
    assert stuck("import-wall", SHORTENED) is None
    assert stuck(began_s=30.0) is None  # most of the time was spent before
    for other in ("", "submission.nothing", "os"):
        assert stuck(importing=other) is None


def test_of_imports_within_imports_the_last_that_has_not_ended_is_noted():
    assert read_notes(b"I a 0\nI a.b 1\n").importing == "a.b"
    assert read_notes(b"I a 0\nI a.b 1\nE\ngrd1").importing == "a"
    assert read_notes(b"I a 0\nI a.b 1\nE\nE\n").importing == ""
    for forged in (b"E\nI a 0\n", b"I a nan\n", b"I a -1\n", b"I a \xc2\xb2\n", b"I a 0"):
        assert read_notes(forged).importing == ""


def test_thousands_of_imports_leave_the_frame_where_it_is(write_query, grade):
    loop = "for _ in range(5000): importlib.reload(submission.mine)\nreturn 100.0 * keys[j]\n"
    submission = write_query(f"import importlib, submission.mine\n{loop}")
    append(submission, "")
    assert grade(submission, ASKED[0])[ASKED[0]].outcome is Outcome.PASSED


# Which tests come first -------------------------------------------------------------------------


def test_tests_of_files_run_first_and_results_come_in_the_editions_order(
    runner, submission, monkeypatch
):
    ended, shown = [], []
    monkeypatch.setattr("grading.runner.judge", lambda run, test, result: result)

    class Recorder(Observer):
        def ended(self, result):
            ended.append(result.spec.test_id)

        def present(self, result):
            shown.append(result.spec.test_id)
            assert shown[-1] in ended  # the results file is written before a result is reported

    options = Options(submission=submission, in_process=True)
    runner.run(options, 7, Recorder(), InProcessPool())
    bound = runner.tests(runner.assignment.edition(None))
    assert shown == [test.spec.test_id for test in bound]
    files = [test.spec.test_id for test in bound if test.of_files]
    assert len(files) == 10
    assert ended == files + [test_id for test_id in shown if test_id not in files]


MODELS = """
import sys, torch
sys.path[:0] = [sys.argv[2], sys.argv[1]]
from pathlib import Path
from submission import helper
from submission.model import GPTConfig
for variant, config in eval(sys.argv[4]).items():
    model = getattr(helper, f"initialize_{variant}_model")(GPTConfig(**config))
    for name in ("model", "pretrain", "finetune"):
        torch.save(model.state_dict(), Path(sys.argv[3]) / f"{variant}.{name}.params")
"""


def test_no_code_of_the_students_runs_in_tests_of_files(
    runner, submission, grade, tmp_path, monkeypatch
):
    """All modules raise an exception, and all files that may be required are present."""
    assignment = runner.assignment
    world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tmp_path / "course")])
    installed, answers = tmp_path / "course/src/data", tmp_path / "course/solutions/data"
    monkeypatch.setattr(runner.judging, "answers", answers)
    data = CourseData(assignment, installed, answers)
    vocabulary = len({*data.corpus()} | {"\n"}) + 2
    configs = {
        variant: next(iter(model_configs(assignment, data.dataset, variant).values()))
        | {"vocab_size": vocabulary}
        for variant in ("vanilla", "synthesizer", "rope")
    }
    arguments = [grading.SRC, submission, submission, repr(configs)]
    subprocess.run([sys.executable, "-c", MODELS, *arguments], check=True)
    for variant in configs:
        for stage in ("nopretrain", "pretrain"):
            for split in ("dev", "test"):
                lines = "London\n" * len(data.questions(split))
                name = f"{variant}.{stage}.{split}.predictions"
                (submission / name).write_text(lines, encoding="utf-8")
    for path in (submission / "submission").glob("*.py"):
        path.write_text("raise KeyError('ran')\n", encoding="utf-8")
    edition = assignment.editions["current"]
    of_files = [t.spec.test_id for t in runner.tests(edition) if t.of_files]
    assert len(of_files) > 10
    results = grade(submission, *of_files, edition="current", data=installed)
    for result in (results[test_id] for test_id in of_files):
        assert "KeyError" not in result.message and result.outcome is not Outcome.MISSING_FILE
