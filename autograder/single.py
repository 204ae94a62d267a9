"""Grades one submission of a class, in a process of its own that `classroom` starts on a worker.

The request is a line of JSON on standard input, the answer is JSON on standard output:

    {"submission": FILE, "name": ..., "seed": ...,          {"results": {...}, "refused": "",
     "edition": ..., "tests": [], "counts": true}            "processor": ...}
    {"counts": true}                                        {"obstacles": []}

`refused` says why there was nothing to grade; a request may say so, too, and then has no file.
`obstacles` are the reasons why this machine can't grade. The input stays open: when it closes,
because the worker has ended, this process tidies up and ends as well.
Exit codes: 0 answered, 3 the grader failed, 130 interrupted.
"""

import contextlib
import json
import os
import platform
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

import grading
from grading.cases import QuestionSet
from grading.edition import load_assignment
from grading.errors import GradingError, SubmissionError
from grading.runner import Options, Runner, require_data, require_judging
from grading.verdicts import ExitCode, Outcome, has_torch

from . import authoritative, isolation, solutions
from .judging import course_runner

TIDY_UP_S = 30.0
CPUINFO = Path("/proc/cpuinfo")
INSTRUCTIONS = ("avx2", "avx512f", "avx512_bf16", "amx_bf16")  # which torch's kernels use
KERNELS = ("ONEDNN_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY")  # variables that choose among them


def main(questions: QuestionSet) -> int:
    """Answer the request; return the exit code."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is not the answer
    isolation.hide_memory()
    for number in (signal.SIGINT, signal.SIGTERM):  # our parent may ignore them
        signal.signal(number, signal.default_int_handler)
    request = json.loads(sys.stdin.readline() or "{}")
    threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        runner = course_runner(load_assignment(grading.ROOT), questions)
        if "name" in request:
            answer = _grade(runner, **request)
        else:
            answer = {"obstacles": _obstacles(runner, request["counts"])}
        with replies:
            json.dump(answer, replies, allow_nan=False)
        return ExitCode.OK
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except Exception:
        traceback.print_exc()
        return ExitCode.GRADER_ERROR


def _end_with_input() -> None:
    """Interrupt this process when its input closes; end it if that takes too long."""
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(TIDY_UP_S)
    os.kill(os.getpid(), signal.SIGKILL)


def _obstacles(runner: Runner, counts: bool) -> list[str]:
    if not has_torch():
        return ["this Python has no torch"]
    if not counts:
        return []
    if not isolation.is_available():
        return ["scores can count only on Linux"]
    try:
        require_judging(runner.judging)
        require_data(runner.questions.open_data(runner.assignment, grading.DATA, solutions.ANSWERS))
    except GradingError as error:
        return [str(error)]
    return isolation.obstacles(isolation.detect())


def _grade(
    runner: Runner,
    name: str,
    seed: str,
    edition: str,
    tests: list[str],
    counts: bool,
    submission: str,
    refused: str = "",
) -> dict[str, Any]:
    """Grade a submission; raise a GradingError if there is no result that could count."""
    path = Path(submission)
    options = Options(path, "the upload", name, edition, tuple(tests), private=(path,))
    try:
        if refused:
            raise SubmissionError(refused)
        results = authoritative.grade(runner, options, int(seed), counts=counts)
    except SubmissionError as error:
        refused, known = str(error), runner.assignment.edition(edition)
        results = authoritative.nothing_to_grade(runner.blank(known, int(seed), name))
        results.facts["authoritative"] = counts
    faults = [test for test in results.tests if test.outcome is Outcome.GRADER_ERROR]
    if faults:
        raise GradingError("\n".join(f"{t.spec.test_id}: {t.detail.strip()}" for t in faults))
    shown = results.as_dict(staff=True)
    return {"results": shown, "refused": refused, "processor": processor()}


def processor() -> str:
    """Return the kind of processor, as far as it can change the last bits of a sum.

    This is its name, its instruction sets, and which of them the environment lets libraries use.
    """
    found = {"model name": platform.processor() or platform.machine(), "flags": ""}
    with contextlib.suppress(OSError):  # only Linux has it
        for line in reversed(CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()):
            name, _, value = line.partition(":")
            found[name.strip()] = value.strip()
    kinds = [kind for kind in INSTRUCTIONS if kind in found["flags"].split()]
    chosen = [os.environ[name] for name in KERNELS if name in os.environ]
    return " ".join([found["model name"], *kinds, *chosen])
