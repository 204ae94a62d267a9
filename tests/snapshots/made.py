"""Runs that never happened, shown by every view: terminal, web pages, JSON and Gradescope."""

from dataclasses import replace
from decimal import Decimal
from typing import Any

from grading.verdicts import Outcome, Results, TestResult
from tests import pinned

RELEASE = "2027-spring.2"
# Some of the pinned edition's tests: enough for each thing that a view can say.
KEPT = {
    "1d": (0, 1, 2, 3, 5),
    "1e": (0, 1, 2, 3, 5, 8),
    "1f": (0, 1, 3),
    "1g": (0, 1, 2, 5, 6),
    "3a": (0, 1),
    "3b": (0, 1),
    "3c": (0, 1, 2),
    "4a": (0, 2),
    "4b": (0, 1),
}


WHOLE = pinned.load().edition("xcs224n")
QUESTIONS = [
    replace(question, tests=tuple(question.tests[n] for n in KEPT.get(question.number, ())))
    for question in WHOLE.questions
]
EDITION = replace(WHOLE, questions=tuple(QUESTIONS), release=RELEASE)
FACTS = {
    "submission": "upload.zip",
    "release": RELEASE,
    "copy": {"release": "2027-spring.1", "edition": "xcs224n"},
    "digest": "d" * 64,
    "graded": "2027-01-30 18:02 UTC",
    "judged_by": "f" * 64,
    "versions": {"python": "3.12.2", "torch": "2.13.0"},
    "authoritative": False,
    "layers": ["own uid", "no network"],
    "missing": ["Landlock"],
    "left": ["notes.txt (only submission/*.py is copied)"],
    "place": "a5/src/submission",
    "warnings": ["dataset.py:57 draws from a range with a float, which Python 3.12 refuses"],
}


def failing(outcome: Outcome, message: str, **further: Any) -> dict[str, Any]:
    return {"outcome": outcome, "message": message, "score": Decimal("0.00"), **further}


def unwritten(file: str, line: int, function: str, hidden: bool = False) -> dict[str, Any]:
    """Return the end of a test whose function raises NotImplementedError."""
    place = f"submission/{file}, in {function}"
    shown = f"submission/{file}:{line}: not written yet: {function} is yours to write"
    return failing(
        Outcome.FAILED,
        f"{place}: this part is not written yet" if hidden else shown,
        place=f"NotImplementedError {place}",
        id="NotImplementedError",
        is_unwritten=True,
        where=f"submission/{file}:{line}",
    )


CRASH = failing(
    Outcome.ERROR,
    "submission/dataset.py:57: ValueError: empty range for randrange()",
    place="ValueError submission/dataset.py, in __getitem__",
    detail="Traceback (most recent call last):\n  ...\nValueError: empty range for randrange()",
    id="ValueError",
    where="submission/dataset.py:57",
)
LIKE_IT = CRASH | {
    "message": "submission/dataset.py, in __getitem__: ValueError; its text is not shown for "
    "hidden tests"
}
COMPARED = failing(
    Outcome.FAILED,
    "the item is not arranged as prefix, MASK, suffix, MASK, masked content\n"
    "  got: 'Khatchig Mouradian. Kh'\n  expected: 'Khat<MASK>Mouradian. Kh<MASK>chig '\n"
    "  likely cause: the masked content is put where it was found",
    detail="seed of the case: 17",
    id="arrangement",
)
HIDDEN = failing(
    Outcome.FAILED,
    "some lengths never occur; every length from 4 to the longest allowed should",
    detail="got: 5 to 112\nexpected: 4 to 112\nseed: 17",
    id="lengths",
    measured={"shortest": 5.0},
)
PARTIAL = HIDDEN | {"message": "3 of 100 answers are right", "score": Decimal("0.50")}
LACKING = failing(
    Outcome.MISSING_FILE,
    "vanilla.nopretrain.dev.predictions is missing; the command of question 1d writes it",
    missing_file="vanilla.nopretrain.dev.predictions",
)
HINT = "there is `old/vanilla.nopretrain.test.predictions`: put it next to the folder `submission`"
ELSEWHERE = LACKING | {
    "message": f"vanilla.nopretrain.test.predictions is missing; {HINT}",
    "missing_file": "vanilla.nopretrain.test.predictions",
    "hint": HINT,
}
TIMED_OUT = failing(
    Outcome.TIMED_OUT,
    "your code took longer than 30 seconds of CPU time; it was at submission/attention.py:88",
    detail="exit status 0, signal 9, limit cpu",
    id="cpu",
)
PRINTED = {"output": "".join(f"a line that the code printed, number {n}\n" for n in range(24))}
NOT_HERE = failing(Outcome.RAN_NOT_GRADED, "this counts once you submit")
DROPPED = {
    "outcome": Outcome.DROPPED,
    "message": "everybody gets its points: it refused documents of 4 characters",
}
NO_TORCH = failing(Outcome.NOT_RUN, "not run: this Python has no torch", id="no-torch")
REACHED_NOT = failing(Outcome.NOT_RUN, "")
BROKEN = failing(
    Outcome.GRADER_ERROR,
    "the grader itself failed here; this is not your fault: tell staff",
    detail="Traceback (most recent call last):\n  ...\nKeyError: 'weights'",
)

MIXED = {
    "1d-0-basic": LACKING,
    "1d-1-basic": ELSEWHERE,
    "1d-3-hidden": PARTIAL,
    "1e-1-basic": CRASH,
    "1e-2-basic": COMPARED | PRINTED,
    "1e-5-hidden": LIKE_IT,
    "1e-8-hidden": HIDDEN,
    "1f-0-basic": CRASH,
    "1g-1-basic": TIMED_OUT,
    "1g-2-basic": unwritten("attention.py", 60, "forward"),
    "1g-5-hidden": unwritten("attention.py", 60, "forward", hidden=True),
    "3a-0-basic": unwritten("attention_exploration.py", 9, "copying_query"),
    "3c-0-basic": COMPARED | {"message": "the mean should be near 0\n  got: 3.0"},
    "4a-0-basic": CRASH | {"message": "submission/building_blocks.py:8: TypeError: f(<b>*x*</b>)"},
    "4b-0-basic": {"output": "shape (2, 3)\n"},
}
FIRST_UNWRITTEN = {
    "1e": ("dataset.py", 57, "__getitem__"),
    "1g": ("attention.py", 60, "forward"),
    "3": ("attention_exploration.py", 9, "copying_query"),
    "4": ("building_blocks.py", 8, "attend"),
}


def starter() -> dict[str, dict[str, Any]]:
    """Return the ends of all tests of an untouched starter."""
    ends = {}
    for spec in EDITION.tests:
        number = spec.number if spec.number == "1g" else spec.number[0]
        place = FIRST_UNWRITTEN.get(number, FIRST_UNWRITTEN["1e"])
        ends[spec.test_id] = LACKING if spec.number == "1d" else unwritten(*place, spec.is_hidden)
    return ends


def cut_off() -> dict[str, dict[str, Any]]:
    """Return the ends of tests of a run that was interrupted in question 1e."""
    tests = list(EDITION.tests)
    first = next(place for place, spec in enumerate(tests) if spec.test_id == "1e-3-basic")
    return {"1e-1-basic": CRASH} | {spec.test_id: REACHED_NOT for spec in tests[first:]}


RUNS: dict[str, tuple[dict[str, dict[str, Any]], tuple[str, ...]]] = {
    "some of everything": (MIXED, ()),
    "the untouched starter": (starter(), ()),
    "everything is right": ({}, ()),
    "one question": (MIXED, ("1e",)),
    "two questions": (MIXED, ("1e", "3a")),
    "a question without points": (MIXED, ("3b",)),
    "a basic test that is graded elsewhere, one that was not run": (
        {"1f-1-basic": NOT_HERE, "1e-2-basic": NO_TORCH},
        ("1e", "1f"),
    ),
    "a basic and a hidden test are dropped": (
        {"1e-1-basic": DROPPED, "1e-5-hidden": DROPPED, "4a-0-basic": DROPPED},
        (),
    ),
    "one question with dropped tests": ({"1e-1-basic": DROPPED, "1e-5-hidden": DROPPED}, ("1e",)),
    "interrupted": (cut_off(), ()),
    "one question, interrupted": (cut_off(), ("1e",)),
    "the grader failed": ({"1e-1-basic": BROKEN, "4a-0-basic": BROKEN}, ()),
}


def results(run: str, is_judged: bool) -> Results:
    """Return one of RUNS.

    Args:
        is_judged: False on a student's computer: hidden tests that do not crash are not judged.
    """
    ends, wanted = RUNS[run]
    made = Results(EDITION, 5, [], dict(FACTS), wanted)
    for spec in EDITION.tests:
        result = TestResult(spec=spec, description=f"does {spec.name}")
        if wanted and spec.number not in wanted:
            made.tests.append(replace(result, is_selected=False))
            continue
        passed = {"outcome": Outcome.PASSED, "score": spec.max_score, "message": "", "wall_s": 0.5}
        end = passed | ends.get(spec.test_id, {})
        is_by_judge = end["outcome"] in (Outcome.PASSED, Outcome.FAILED) and not end.get("place")
        if spec.is_hidden and is_by_judge and not is_judged:
            end = failing(Outcome.RAN_NOT_GRADED, "it ran, and is graded when you submit")
        made.tests.append(replace(result, **end))
    if run != "some of everything":
        made.facts |= {"warnings": [], "left": [], "place": "", "layers": [], "missing": []}
    return made
