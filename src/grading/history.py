"""What a run changed since the last one: `.grading/last.json` keeps which tests were fine.

Only runs of a student's own folder are compared. Another edition, or other tests, begin anew.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress

from . import paths
from .results import Results, State, write_atomically
from .staging import listed

FOLDER, FILE = ".grading", "last.json"  # git ignores the folder, because it says so itself
DID_NOT_RUN = (State.NOT_RUN, State.NOT_REACHED, State.GRADER_FAILED)
# How a result changed, of one test and of several. A hidden test passes nowhere but on Gradescope.
WORDS = {
    State.PASSED: ("newly passes", "newly pass"),
    State.GRADED_LATER: ("runs now", "run now"),
    State.FAILED: ("fails now", "fail now"),
}


def since_last(results: Results) -> str:
    """Return a line on what changed since the last run, or ""; keep the results for the next one.

    Nothing depends on the file: where it can't be read or written, nothing is compared.
    """
    file = paths.ROOT / FOLDER / FILE
    tests, last = _fingerprint(results), dict[str, bool]()
    with suppress(OSError, ValueError, LookupError, TypeError, RecursionError):
        content = json.loads(file.read_text(encoding="utf-8"))
        last = dict(content["fine"]) if content["tests"] == tests else {}
    ran = [test for test in results.selected_tests if test.state not in DID_NOT_RUN]
    fine = last | {test.spec.test_id: test.is_fine for test in ran}
    with suppress(OSError):
        file.parent.mkdir(exist_ok=True)
        (file.parent / ".gitignore").write_text("*\n", encoding="utf-8")
        write_atomically(file, json.dumps({"tests": tests, "fine": fine}, indent=1) + "\n")
    changed: dict[State, list[str]] = {state: [] for state in WORDS}
    for test in ran:
        if last.get(test.spec.test_id, test.is_fine) != test.is_fine:
            changed[test.state if test.is_fine else State.FAILED].append(test.spec.test_id)
    clauses = [f"{listed(ids)} {WORDS[s][len(ids) > 1]}" for s, ids in changed.items() if ids]
    return f"Since the last run: {'; '.join(clauses)}" if clauses else ""


def _fingerprint(results: Results) -> str:
    """Return a hash of the edition and of its tests."""
    digest = hashlib.sha256(repr(results.edition).encode())
    for path in sorted(paths.QUESTIONS.rglob("*.py")):
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()
