"""What staff read about a run with an unexpected score: its first grader error, in full."""

import dataclasses

from autograder import console
from grading.verdicts import Outcome, TestResult
from tests import pinned
from tools import container, emulate

RUN = container.Run(3, 1.0, 1.0, peak_bytes=0, limits=container.GRADESCOPE, limited=True)
TRACEBACK = "Traceback:\n" + "\n".join(f"  frame {i}" for i in range(90)) + "\nOSError: first cause"


def seen(capsys, details: list[str]) -> emulate.Result:
    """A run whose tests ended as grader errors with these details, "" for a pass."""
    tests = []
    print("Taken: 1 files\n")
    for spec, detail in zip(pinned.load().edition(None).tests, details, strict=False):
        outcome = Outcome.GRADER_ERROR if detail else Outcome.PASSED
        result = TestResult(
            spec=spec, description="a test", outcome=outcome, message="ours", detail=detail
        )
        console.show_result(result)
        tests.append(result.as_dict(staff=True))
    print("\nTHE GRADER FAILED in at least one test")
    return emulate.Result(None, tests, capsys.readouterr().out, RUN, isolated=True)


def test_the_first_grader_error_is_shown_from_its_first_to_its_last_line(capsys):
    shown = seen(capsys, ["", TRACEBACK, *[TRACEBACK.replace("first", "later")] * 9]).reasons()
    assert all(f"frame {i}\n" in shown for i in range(90))
    assert shown.index("OSError: first cause") < shown.index("[...]")
    assert shown.count("first cause") == 1
    assert shown.endswith("THE GRADER FAILED in at least one test")
    assert len(shown.splitlines()) < 200  # of later ones, what the end holds


def test_a_run_that_failed_is_shown_whole_and_of_a_long_one_the_end(capsys):
    ran = seen(capsys, [""])
    why = "grader.py: the grader failed: the canary did not return\n" + "a line of its\n" * 90
    failed = dataclasses.replace(ran, details=[], stdout="a line\n" * 50 + why)
    assert failed.reasons() == failed.stdout.rstrip("\n")
    long = dataclasses.replace(ran, stdout="a line\n" * 500)
    assert long.reasons().splitlines() == ["a line"] * emulate.LAST_LINES
