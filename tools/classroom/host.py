"""A grader host: one process that grades submission after submission (Linux, for staff).

    host.main(Course(), place, own)

It answers each line on its standard input with one on its standard output, both JSON, and ends when
its input closes because the process that started it has ended. Zygotes are kept from one submission
to the next, so that libraries are imported once. `tools/classroom/slots.py` starts hosts.

    {"do": "examine", "seed": "7", "counts": true}       {"obstacles": [...], "facts": {...}}
    {"do": "grade", "seed": "7", "counts": true,         {"results": {...}, "refused": "..."}
     "submission": FILE, "name": ..., "edition": ...,     "findings": {}}
     "wanted": [], "findings": {}}                       {"fault": "..."}

With "last": true in an answer, the host asks to be replaced: it has graded its share of
submissions, uses too much memory, or had a grader error.
"""

from __future__ import annotations

import fcntl
import functools
import gc
import json
import os
import queue
import signal
import sys
import tempfile
import threading
import time
import traceback
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from autograder import isolation, solutions
from autograder.isolation import authority, confined_pool, hide_memory, leftovers, sandbox
from autograder.isolation.guardian import resident_bytes
from autograder.isolation.pool import ConfinedPool
from autograder.judging import Judging, course_runner
from autograder.provenance import judged_by, processor
from grading import paths
from grading.cases import QuestionSet, derive_seed
from grading.edition import load_assignment
from grading.errors import GradingError, SubmissionError
from grading.results import Results, has_torch, versions
from grading.runner import Observer, Options, Runner, require_data, require_judging
from grading.verdicts import Outcome

from .deciding import Deciding, in_environment
from .remembered import Remembered, RememberingPool

MOST_SUBMISSIONS = 50
MOST_GROWTH_BYTES = 200 << 20
MAX_FAULT = 8_000  # characters
NOTHING = "not run: nothing to grade was found"
# The report of a canary for which everything forbidden failed.
NOT_SENT: dict[str, Any] = dict.fromkeys(
    ("read", "written", "signalled", "sockets", "linked"), []
) | {"scratch": True}
END = ""  # no line is empty
LOCK, ANSWERS = "lock", "answers"  # in the folder that hosts share


def main(questions: QuestionSet, place: Path, own: Path) -> None:
    """Serve until standard input closes.

    Args:
        place: a folder that hosts share; the last to leave removes it.
        own: this host's folder of temporary files, removed at the end.
    """
    tempfile.tempdir = str(own)
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # whatever else is printed is not an answer
    hide_memory()
    for number in (signal.SIGINT, signal.SIGTERM):  # our parent may ignore them
        signal.signal(number, signal.default_int_handler)
    with open(place / LOCK, "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        requests: queue.SimpleQueue[str] = queue.SimpleQueue()
        host = None
        try:
            threading.Thread(target=_read, args=(requests,), daemon=True).start()
            host = Host(questions, place)
            while True:
                request = requests.get()
                if request == END:
                    raise KeyboardInterrupt
                _answer(replies, host.serve(json.loads(request)))
        except (KeyboardInterrupt, BrokenPipeError):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        finally:
            if host is not None:
                host.close()
            leftovers.remove_tree(own)
            if is_last(lock):
                leftovers.remove_tree(place)


def _read(requests: queue.SimpleQueue[str]) -> None:
    """Pass requests on; at the end of the input, interrupt whatever is being graded.

    Python ignores an interrupt that arrives in a callback, such as an import's, so the end of the
    input is also passed on.
    """
    for line in sys.stdin:
        requests.put(line)
    os.kill(os.getpid(), signal.SIGINT)
    requests.put(END)


def _answer(replies: TextIO, answer: dict[str, Any]) -> None:
    replies.write(json.dumps(answer) + "\n")
    replies.flush()


def is_last(lock: Any) -> bool:
    """Return whether no other process holds its lock on a shared file."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


class Host:
    """Grades one submission at a time; keeps its pool of zygotes."""

    def __init__(self, questions: QuestionSet, place: Path) -> None:
        self._runner = course_runner(load_assignment(paths.ROOT), questions)
        answers = place / ANSWERS
        answers.mkdir(mode=0o700, exist_ok=True)
        release = judged_by(self._runner.assignment, questions.provided)
        self._remembered = Remembered(answers, questions, release)
        judging = self._runner.judging
        if isinstance(judging, Judging):
            judging.remember = self._remembered.finding
        self._digests = functools.cache(self._find_digests)  # once for each edition
        self._layers = sandbox.detect()
        self._pool: ConfinedPool | None = None
        self._hash_seed = -1
        self._served, self._first_bytes = 0, 0

    def serve(self, request: dict[str, Any]) -> dict[str, Any]:
        """Serve a request; a grader error is also an answer."""
        try:
            if request["do"] == "examine":
                return self._examine(int(request["seed"]), request["counts"])
            return self._grade(request)
        except Exception:
            return {"fault": traceback.format_exc()[-MAX_FAULT:], "last": True}

    def close(self) -> None:
        if self._pool is not None:
            self._pool.close()

    def _examine(self, seed: int, counts: bool) -> dict[str, Any]:
        """Find what prevents grading on this machine, as `--authoritative` does if scores count.

        The pool is kept, so that the first submission can use its zygotes.
        """
        facts = {
            "layers": self._layers.names(),
            "missing": self._layers.missing(),
            "versions": versions(),
            "processor": processor(),
            "torch": has_torch(),
        }
        obstacles = [] if facts["torch"] else ["this Python has no torch"]
        if counts:
            obstacles += self._obstacles(seed)
        return {"obstacles": obstacles, "facts": facts}

    def _obstacles(self, seed: int) -> list[str]:
        """List the reasons why scores can't count here."""
        if not self._layers.root:
            return authority.faults(self._layers, NOT_SENT)
        questions, assignment = self._runner.questions, self._runner.assignment
        try:
            require_judging(self._runner.judging)
            require_data(questions.open_data(assignment, paths.DATA, solutions.ANSWERS))
        except GradingError as error:
            return [str(error)]
        return isolation.obstacles(self._layers, self._pool_of(seed))

    def _grade(self, request: dict[str, Any]) -> dict[str, Any]:
        started = time.monotonic()
        seed = int(request["seed"])
        options = Options(
            submission=Path(request["submission"]),
            alias="the upload",
            name=request["name"],
            edition=request["edition"],
            selection=tuple(request["wanted"]),
            counts=True,
            private=(Path(request["submission"]),),
            data=paths.DATA,
        )
        refused = ""
        self._remembered.begin(request.get("findings", {}))
        try:
            pool = self._pool_of(seed)
            pool.authoritative = request["counts"]
            asked_once = RememberingPool(pool, self._remembered)
            results = self._runner.run(options, seed, Observer(), asked_once)
        except SubmissionError as error:
            refused = str(error)
            results = nothing_to_grade(self._runner, options.edition, seed, options.name)
            results.facts["authoritative"] = request["counts"]
        gc.collect()  # this also closes a run's descriptors
        ours = any(test.outcome is Outcome.GRADER_ERROR for test in results.tests)
        shown = results.as_dict(staff=True)
        digests = self._digests(results.edition.name)
        for test in shown["tests"]:
            test["digest"] = digests[test["test_id"]]
        return {
            "results": shown,
            "refused": refused,
            "findings": self._remembered.used(),
            "processor": processor(),
            "took_s": round(time.monotonic() - started, 3),
            "last": self._is_used_up() or ours,
        }

    def _find_digests(self, edition: str) -> dict[str, str]:
        """Return the digest of what decides each test (`deciding.py`), by id."""
        runner = self._runner
        assert runner.judging is not None  # `Options.counts` requires it
        deciding = Deciding(runner.assignment, runner.questions, runner.judging.hidden)
        here = versions(), processor()
        by_id = deciding.of(runner.assignment.edition(edition))
        return {test_id: in_environment(digest, *here) for test_id, digest in by_id.items()}

    def _pool_of(self, seed: int) -> ConfinedPool:
        """Return the pool whose zygotes have this seed's hash seed, replacing any other."""
        hash_seed = derive_seed(seed, "hash")
        if self._pool is None or hash_seed != self._hash_seed:
            self.close()
            self._pool = confined_pool(hash_seed, self._layers)
            self._hash_seed = hash_seed
        return self._pool

    def _is_used_up(self) -> bool:
        self._served += 1
        now = resident_bytes()
        self._first_bytes = self._first_bytes or now
        grown = now - self._first_bytes > MOST_GROWTH_BYTES
        return grown or self._served >= MOST_SUBMISSIONS


def nothing_to_grade(runner: Runner, edition: str | None, seed: int, name: str) -> Results:
    """Return the results, without points, of an upload that can't be graded at all."""
    results = runner.blank(runner.assignment.edition(edition), seed, name)
    results.tests = [
        replace(test, outcome=Outcome.MISSING_FILE, message=NOTHING) for test in results.tests
    ]
    return results
