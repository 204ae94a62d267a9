"""A class's folder with records like those of a graded class, whose students attack the pages.

Names and texts contain markup, characters that reverse text, and 300 letters. Nothing is graded.
"""

import json
import random
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from classroom.store import Store
from classroom.submissions import Record, Student, Submission

MARKUP = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
TURNED = "evil\u202egnp.exe\u2066"
LONG = "Wolfeschlegelsteinhausenbergerdorff" * 9  # 315 letters
NAMES = (MARKUP, TURNED, LONG, "=cmd|' /C calc'!A0", "محمد بن موسى", "Ngô Bảo Châu", "O'Brien, Zoë")
RELEASE = "0123456789abcdef"
FIRST = datetime(2026, 11, 2, 9, 0, tzinfo=timezone(timedelta(hours=-8)))
SPANS, TRAINING = "span_corruption", "pretraining"
# Test, description, points, topic, and its failure: cause, message.
TESTS = (
    ("1e-0-basic", "ids are sorted", 1.5, SPANS, "failed.vocabulary.order", f"wrong\n  {MARKUP}"),
    ("1e-1-hidden", "the span is a quarter", 4.0, SPANS, "failed.span.too-short", "too short"),
    ("1e-2-hidden", "any alphabet", 2.5, SPANS, "error.KeyError", "dataset.py: KeyError"),
    ("1f-0-basic", "the accuracy on dev", 2.0, TRAINING, "failed.too-few-right", f"few {TURNED}"),
    ("1f-1-hidden", "everybody passes", 1.0, TRAINING, "failed.x", "x"),
)
EXPERIMENT = {
    "prediction": f"I predict {MARKUP} {TURNED} {LONG}",
    "earlier_predictions": [MARKUP],
    "parameters": "0" * 64,
    "seed": 7,
    "results": f"pasted after  MASK\nblock 1  {MARKUP} {LONG}",
}
VERSIONS = {"python": "3.11.2", "torch": "2.5.1", "numpy": "2.1", "system": "Linux"}


def test_of(index: int, passes: bool, rng: random.Random, **changed: Any) -> dict[str, Any]:
    """Return a test's entry in a record."""
    test_id, name, points, topic, cause, message = TESTS[index]
    return {
        "test_id": test_id,
        "name": name,
        "topic": topic,
        "test": name.replace(" ", "_"),
        "kind": test_id.rpartition("-")[2],
        "outcome": "passed" if passes else cause.partition(".")[0],
        "score": points if passes else 0.0,
        "max_score": points,
        "is_extra_credit": False,
        "message": "" if passes else message,
        "wall_s": 1.0,
        "output": f"printed by {test_id} {MARKUP}" if index < 2 else "",
        "detail": "" if passes else f"staff's detail {MARKUP}",
        "cause": "" if passes else cause,
        "where": "submission/dataset.py:3" if cause == "error.KeyError" and not passes else "",
        "look_at": "" if passes else "f in submission/dataset.py",
        "credit": "1" if passes else "0",
        "measured": {"accuracy": 0.3} if test_id == "1f-0-basic" else {},
        "cpu_s": rng.uniform(0.1, 3.0),
        "peak_bytes": rng.randrange(10 << 20, 900 << 20),
        **changed,
    }


def results_of(tests: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return results with these tests."""
    tests = list(tests)
    facts = {"authoritative": True, "versions": VERSIONS, "left": [], "digest": "digest of x"}
    return {
        "edition": "xcs224n",
        "seed": "7",
        "score": sum(test["score"] for test in tests),
        "max_score": sum(test["max_score"] for test in tests),
        "asked": [],
        "tests": tests,
        "facts": facts | {"experiments": {"trace": EXPERIMENT, MARKUP: EXPERIMENT}},
    }


def record_of(submission: str, tests: Iterable[dict[str, Any]]) -> Record:
    """Return a record with these tests."""
    text = json.dumps(results_of(tests))
    return Record(submission, RELEASE, "grade", "graded", "7", "upload", text, processor="Xeon")


def nasty_class(path: Path, count: int = 40, seed: int = 1) -> Path:
    """Write a class; the last submission is a staff fault, and the one before isn't graded."""
    rng = random.Random(seed)
    with Store.create(path) as store, store.transaction():
        for number in range(count):
            name = NAMES[number] if number < len(NAMES) else f"Student {number}"
            students = [Student(f"s{number}@x.edu", name, f"s{number}@x.edu", f"{number:05}")]
            if number % 8 == 7:
                students.append(Student(f"p{number}@x.edu", f"Partner {number}"))
            key = f"submission_{number:02}"
            at = FIRST + timedelta(hours=5 * number)
            made = Submission(key, tuple(students), at, attempt=1 + number % 3)
            store.add_submissions(path.parent / "source", "folder", [made])
            skill = rng.random()
            passes = [index == 4 or rng.random() < skill for index in range(len(TESTS))]
            record = record_of(key, [test_of(i, p, rng) for i, p in enumerate(passes)])
            if number == count - 1:
                why = f"its worker was killed {MARKUP}"
                lost = replace(record, outcome="staff fault", results=None, reason=why)
                store.add_record(lost)
            elif number != count - 2:
                store.count(store.add_record(record))
        store.set("release", RELEASE)
        store.set("edition", "xcs224n")
    return path
