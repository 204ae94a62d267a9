"""Code that hangs on import costs one test its time limit, and costs files no points."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import grading
from grading.cases import bind
from grading.errors import UsageError
from grading.pool import Ending, Finished, InProcessPool
from grading.runner import Observer, Options
from grading.verdicts import Outcome, Stuck, find_stuck
from grading.wire import Notes, read_notes
from grading.worker import Limits
from questions.attention_exploration.tests import AttentionCopying
from questions.provided import CourseData
from questions.shared.trained_files import model_configs
from tests.harness.conftest import IMPORT_S, POOLS
from tools import world

FILE = "submission/attention_exploration.py"
LOOP = "\n\nwhile True:\n    pass\n"
SOON_S = 1.5  # of code that never ends; torch is imported before
ASKED = ("3a-0-basic", "3a-1-hidden", "3b-0-basic", "3b-1-hidden")


def append(submission: Path, text: str, name: str = FILE) -> Path:
    with open(submission / name, "a", encoding="utf-8") as writer:
        writer.write(text)
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
        assert result.outcome is Outcome.TIMED_OUT
        assert (FILE in result.message) is not result.spec.is_hidden
        assert FILE in result.detail
    assert results["1g-2-basic"].outcome is Outcome.PASSED  # it imports other modules


@pytest.mark.long
def test_an_import_that_waits_is_run_once(submission, grade, monkeypatch):
    monkeypatch.setattr("grading.worker.WALL_FACTOR", 0.3)
    results = grade(append(submission, "\nimport time\ntime.sleep(600)\n"), *ASKED)
    assert results[ASKED[0]].cause == "timed-out.import"
    assert all(results[i].outcome is Outcome.TIMED_OUT for i in ASKED[1:])


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


FORGERIES = {
    "that it still imports": "True, 0.0, -time.monotonic()",
    "that imports took all of its time": "False, 1e9, 1e9",
    "that imports took no time": "True, -1e9, -1e9",
    "nonsense": "True, math.nan, math.nan",
}


@pytest.mark.long  # tests/redteam/attacks/lies_about_its_imports.py is not
@pytest.mark.parametrize("says", FORGERIES)
def test_a_worker_that_lies_about_its_imports_gets_their_limit_and_no_more(
    says, submission, grade_hastily
):
    body = f"""
def copying_query(keys, j):
    import gc, math, time
    from autograder.isolation import guardian
    clock = next(o for o in gc.get_objects() if isinstance(o, guardian.Clock))
    guardian.NOTE.pack_into(clock._shared, 1, {FORGERIES[says]})
    guardian.NOTE.pack_into(clock._shared, 1 + guardian.NOTE.size, {FORGERIES[says]})
    while True: pass
"""
    result = grade_hastily(append(submission, body), *ASKED[:1])[ASKED[0]]
    assert result.outcome is Outcome.TIMED_OUT, result
    # The test has half a second; the guardian looks every 30 ms, later if the machine is busy.
    assert result.cpu_s < 0.5 + IMPORT_S + 0.5


def test_an_exception_while_importing_and_one_that_is_caught_change_nothing(submission, grade):
    (submission / "submission" / "mine.py").write_text("raise KeyError\n", encoding="utf-8")
    append(submission, "\ntry:\n    from . import mine\nexcept KeyError:\n    pass\n")
    assert grade(submission, ASKED[0])[ASKED[0]].outcome is Outcome.PASSED
    append(submission, "\nraise KeyError('lost')\n")
    result = grade(submission, ASKED[0])[ASKED[0]]
    assert result.outcome is Outcome.ERROR and "lost" in result.message


def test_a_loop_in_a_function_is_run_by_every_test(submission, grade_hastily):
    """The time ran out outside an import, so each of the other tests has to try."""
    results = grade_hastily(append(submission, f"\n\n{QUERY}while True: pass\n"), *ASKED[1:3])
    assert results["3a-1-hidden"].cause == "timed-out.cpu"
    assert results["3b-0-basic"].outcome is Outcome.PASSED


# What counts as stuck ---------------------------------------------------------------------------

LIMITS = Limits.for_test(20.0)
INSIDE = Notes(0, "submission.helper", 0.2, "")
FILES = {"submission/helper.py": "", "submission/__init__.py": ""}


def find(notes=INSIDE, reason="import", wall_s=40.0, limits=LIMITS, files=FILES):
    ending = Ending(0, 0, reason, cpu_s=20.0, wall_s=wall_s, memory_bytes=0)
    return find_stuck(Finished(ending, True, None, "", notes), limits, files, named=True)


SHORTENED = Limits.for_test(20.0, left_s=15.0)  # by the run's deadline
NOT_STUCK = [
    {"notes": Notes(0, "", 0.0, "")},  # in no import
    {"notes": replace(INSIDE, began_s=30.0)},  # the time was spent elsewhere
    {"notes": replace(INSIDE, importing="submission.nothing")},
    {"notes": replace(INSIDE, importing="os")},
    *({"reason": reason} for reason in ("cpu", "wall", "memory", "abandoned", "")),
    {"reason": "import-wall", "limits": SHORTENED},
]


def test_only_a_whole_limit_spent_in_an_import_is_stuck():
    assert find() == find(reason="import-wall") == Stuck("submission/helper.py", True)
    assert find(Notes(0, "submission", 0.0, "")).file == "submission/__init__.py"
    for other in NOT_STUCK:
        assert find(**other) is None, other


# Notes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "notes"),
    [
        (b"", Notes(0, "", 0.0, "")),
        (b"grd1....", Notes(0, "", 0.0, "")),
        (b"I submission 0.10\ngrd1", Notes(18, "submission", 0.1, "")),
        (b"I a 0\nI a.b 1\nE\n", Notes(16, "a", 0.0, "")),
        (b"I a 0\nE\nE\nI b 2\n", Notes(8, "", 0.0, "")),
        (b"S a\n", Notes(4, "", 0.0, "a")),
        (b"I a nan\n", Notes(0, "", 0.0, "")),
        (b"I a -1\n", Notes(0, "", 0.0, "")),
        (b"I a \xc2\xb2\n", Notes(0, "", 0.0, "")),
        (b"I \xff 0\n", Notes(6, "\N{REPLACEMENT CHARACTER}", 0.0, "")),
        (b"I a 0", Notes(0, "", 0.0, "")),
        (b"E" * 100_000, Notes(0, "", 0.0, "")),
    ],
)
def test_notes_are_read_as_far_as_they_are_some(data, notes):
    assert read_notes(data) == notes


def test_forged_notes_cost_nobody_but_the_forger_and_crash_nothing(write_query, grade):
    body = """
        import os
        os.write(4, b"S submission.helper\\nI submission 0.1\\nI submission.helper 9" + b"9" * 5000)
        os.write(4, b"\\n" + b"E\\n" * 40_000)
        return 100.0 * keys[j]
    """
    results = grade(write_query(body), "3a-0-basic", "1g-2-basic")
    assert results["3a-0-basic"].outcome is Outcome.EXITED
    assert results["1g-2-basic"].outcome is Outcome.PASSED


def test_thousands_of_imports_leave_the_frame_where_it_is(write_query, grade):
    loop = "for _ in range(5000): importlib.reload(submission.mine)\nreturn 100.0 * keys[j]\n"
    submission = write_query(f"import importlib, submission.mine\n{loop}")
    (submission / "submission" / "mine.py").touch()
    assert grade(submission, ASKED[0])[ASKED[0]].outcome is Outcome.PASSED


# Which tests come first -------------------------------------------------------------------------


def test_tests_of_files_run_first_and_results_come_in_the_editions_order(
    runner, submission, monkeypatch
):
    ended, told = [], []
    monkeypatch.setattr("grading.runner.judge", lambda run, test, result: result)

    class Hears(Observer):
        def ended(self, result):
            ended.append(result.spec.test_id)

        def present(self, result):
            told.append(result.spec.test_id)
            assert told[-1] in ended  # the results file is written before a result is reported

    options = Options(submission=submission, in_process=True)
    results = runner.run(options, 7, Hears(), InProcessPool())
    bound = runner.tests(runner.assignment.edition(None))
    ids = [test.spec.test_id for test in bound]
    files = [test.spec.test_id for test in bound if test.of_files]
    assert len(files) == 10
    assert ended == files + [test_id for test_id in ids if test_id not in files]
    assert told == ids == [t.spec.test_id for t in results.tests]


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


def test_no_code_of_the_students_runs_in_tests_of_files_and_some_in_all_others(
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
    results = grade(submission, edition="current", data=installed)
    for test in bind(edition.tests, runner._cases):
        result = results[test.spec.test_id]
        assert ("KeyError" in result.message) is not test.of_files, result
        assert result.outcome is not Outcome.MISSING_FILE


def test_a_name_that_is_no_test_of_files_is_refused(runner):
    class Wrong(AttentionCopying):
        of_files = ("nothing",)

    specs = runner.assignment.edition(None).tests
    with pytest.raises(UsageError, match="of_files names nothing"):
        bind(tuple(s for s in specs if s.topic == Wrong.topic), [Wrong])
