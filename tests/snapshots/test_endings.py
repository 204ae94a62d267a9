"""What a test says that ended without an answer, for each way to end, with its outcome and id."""

import signal
import sys

import pytest

from autograder.isolation import kernel
from grading import verdicts, worker
from grading.pool import Ending, Finished
from grading.staging import Staged
from grading.worker import Limits
from tests.harness.test_outcomes import FILTERED
from tests.snapshots import check

BASIC, HIDDEN = "3a-0-basic", "3a-1-hidden"
RIGHT = "return 100.0 * keys[j]\n"
FILE = "submission/attention_exploration.py"


def shown(result) -> str:
    kind = "hidden" if result.spec.is_hidden else "basic"
    return f"{kind}: {result.outcome.value} ({result.cause})\n{result.message}\n"


def both(results) -> str:
    return "".join(shown(results[test_id]) for test_id in (BASIC, HIDDEN))


def test_limits_and_signals(runner, tmp_path):
    """A worker without an answer, as the guardian and the kernel describe it."""
    limits, spec = Limits.for_test(30.0), runner.assignment.edition(None).tests[0]
    ends = {f"limit {reason}": (0, 9, reason) for reason in verdicts.BY_REASON}
    ends |= {f"signal {s.name}": (0, s, "") for s in map(signal.Signals, verdicts.SIGNALS)}
    ends |= {"another signal": (0, signal.SIGUSR1, ""), "exit": (1, 0, "")}
    texts = {}
    for title, (code, number, reason) in ends.items():
        finished = Finished(Ending(code, number, reason), True, None, "PRINTED\n")
        verdict = verdicts.of_ending(finished, limits, spec, Staged(tmp_path))
        texts[title] = f"{verdict.outcome.value} ({verdict.cause})\n{verdict.message}"
        texts[title] += f"\nstaff: {verdict.detail.strip()}"
    texts["an answer that is none"] = verdicts.MALFORMED
    here = "Python, {}.{}, ".format(*sys.version_info)
    advice = worker.float_range_advice(f"{FILE}:4", "3.12").replace(here, "Python, 3.N, ")
    texts["a float for a whole number"] = advice
    check("endings_limits", texts)


def test_time_outs(write_query, grade_hastily, monkeypatch):
    monkeypatch.setattr("grading.worker.IMPORT_S", 0.5)
    monkeypatch.setattr("grading.worker.WALL_FACTOR", 1000)  # however busy the machine is
    texts = {"in a function": both(grade_hastily(write_query("while True: pass\n"), BASIC, HIDDEN))}
    endless = write_query(RIGHT, before="while True: pass\n")
    texts["in an import"] = both(grade_hastily(endless, BASIC, HIDDEN))
    check("endings_time_outs", texts)


CRASHES = {
    "an exception": "raise KeyError('lost')",
    "one of their own": "class E(Exception): pass\nraise E('lost')",
    "not written yet": "raise NotImplementedError('[copying] copying_query is yours to write')",
    "not written yet, without a text": "raise NotImplementedError",
    "a float for a whole number": "raise TypeError(\"'float' object cannot be interpreted as\")",
    "input()": "input()",
    "a relative path": "open('src/data/x.tsv', encoding='utf-8')",
    "an absolute path": "open('/no/such/file', encoding='utf-8')",
    "bytes in another encoding": "b'\\x81'.decode('utf-8')",
    "sys.exit": "import sys; sys.exit(0)",
    "os._exit": "import os; os._exit(0)",
    "too much memory": "raise MemoryError",
    "a module that is not installed": "import tensorflow_",
    "a debugger": "breakpoint()",
    "a log next to the code": "open(__file__ + '.log', 'w', encoding='utf-8')",
    "a KeyboardInterrupt": "raise KeyboardInterrupt",
}


def test_crashes(write_query, grade):
    texts = {n: both(grade(write_query(f"{b}\n"), BASIC, HIDDEN)) for n, b in CRASHES.items()}
    before = {"at import": "raise ValueError('lost')", "no Python": "x = = 1"}
    for title, line in before.items():
        texts[title] = both(grade(write_query(RIGHT, before=f"{line}\n"), BASIC, HIDDEN))
    check("endings_crashes", texts)


@pytest.mark.skipif(not kernel.has_seccomp(), reason="this kernel has no seccomp")
def test_processes_are_refused(write_query, grade):
    code = write_query(f"import os; os.fork()\n{RIGHT}")
    check("endings_processes", {"os.fork": both(grade(code, BASIC, HIDDEN, layers=FILTERED))})


def test_what_a_submission_lacks(submission, write_query, grade):
    folder, texts = submission / "submission", {}
    helper = (folder / "helper.py").read_text(encoding="utf-8")

    def ask(title: str, *test_ids: str) -> None:
        found = grade(submission, *test_ids)
        texts[title] = "".join(shown(found[test_id]) for test_id in test_ids)

    renamed = helper.replace("initialize_synthesizer_model", "mine")
    (folder / "helper.py").write_text(renamed, encoding="utf-8")
    ask("a function", "1g-0-basic", "1g-12-hidden")
    write_query(RIGHT, before="from .helper import initialize_synthesizer_model\n")
    ask("a function that an import does not find", BASIC, HIDDEN)
    (folder / "helper.py").unlink()
    ask("a module", "1c-0-basic", "1g-12-hidden")
    (folder / "helper (1).py").write_text(helper, encoding="utf-8")
    ask("a module that has another name", "1c-0-basic", "1g-12-hidden")
    write_query("return keys[j]\n")
    ask("a function of the question", "3b-0-basic", "3b-1-hidden")
    (folder / "attention_exploration.py").unlink()
    ask("the question's module", BASIC, HIDDEN)
    check("endings_lacking", texts)


def test_not_run(submission, write_query, grade, grade_hastily, monkeypatch, runner, tmp_path):
    right = write_query(RIGHT)
    texts = {"out of time": both(grade(right, BASIC, HIDDEN, deadline_s=-1.0))}
    none = tmp_path / "none"
    texts["no data set"] = shown(grade(right, "1d-0-basic", data=none)["1d-0-basic"])
    with monkeypatch.context() as patched:
        patched.setattr("grading.cases.has_torch", lambda: False)
        texts["no torch"] = shown(grade(right, "1e-1-basic")["1e-1-basic"])
    with monkeypatch.context() as patched:
        patched.setattr("questions.attention_exploration.tests.weights_are_right", lambda *_: 1 / 0)
        texts["the grader failed"] = shown(grade(right, BASIC)[BASIC])
    with monkeypatch.context() as patched:
        patched.setattr(runner, "judging", None)
        texts["ran, not graded"] = shown(grade(right, HIDDEN)[HIDDEN])
    endless = write_query("while True: pass\n")
    three = grade_hastily(endless, "3a", patience=2)
    texts["two time-outs before"] = "".join(
        map(shown, [t for t in three.values() if t.is_selected][2:3])
    )
    check("endings_not_run", texts, {tmp_path.name: "FOLDER"})
