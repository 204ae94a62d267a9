"""Classes that are graded by a cluster whose answers tests determine."""

import contextlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from classroom import cluster
from classroom.cluster import ClusterFailed
from classroom.exports import read_export
from classroom.grade import Release
from classroom.store import Store
from classroom.submissions import is_named

# Test id, name, points.
TESTS = (("1a-0-basic", "one", 1.0), ("1a-1-hidden", "two", 3.0), ("2b-0-basic", "three", 1.5))
NOT_RUN = {"outcome": "not run", "score": 0.0, "credit": "0"}


def entry(test_id: str, name: str, most: float, outcome="passed", **changed: Any) -> dict[str, Any]:
    """Return a test's entry in results."""
    passed = outcome == "passed"
    return {
        "test_id": test_id,
        "name": name,
        "topic": "topic",
        "test": name,
        "kind": test_id.rpartition("-")[2],
        "outcome": outcome,
        "score": most if passed else 0.0,
        "max_score": most,
        "is_extra_credit": False,
        "message": "" if passed else "wrong",
        "cause": "" if passed else f"{outcome}.cause",
        "credit": "1" if passed else "0",
    } | changed


def results_of(tests: Iterable[dict[str, Any]], **changed: Any) -> dict[str, Any]:
    """Return results with these tests, as the autograder writes them for staff."""
    tests = list(tests)
    sums = {key: sum(test[key] for test in tests) for key in ("score", "max_score")}
    return (
        {"edition": "tiny", "seed": "7", "asked": [], "tests": tests, "facts": {}} | sums | changed
    )


def answer(*tests, refused="", asked=()) -> dict[str, Any]:
    """Return a worker's answer; a test is an entry, or how the test at that place ended."""
    tests = [entry(*TESTS[i], t) if isinstance(t, str) else t for i, t in enumerate(tests)]
    if asked:
        tests = [t if is_named(t["test_id"], asked) else t | NOT_RUN for t in tests]
    results = results_of(tests, asked=[*asked])
    return {"results": results, "refused": refused, "took_s": 1.0, "processor": "X"}


def release_named(letter: str, edition: str = "tiny") -> Release:
    """Return a packed autograder that only `Workers` know."""
    questions = [{"tests": [{"test_id": test[0]} for test in TESTS]}]
    description = json.dumps({"editions": {edition: {"questions": questions}}})
    return Release(letter * 64, edition, "Tiny", description, letter.encode(), b"zip")


class Workers:
    """Stands in for a cluster.

    Attributes:
        release: what `--release FILE` means.
        usual: the tests of an answer; `answers` has others for some submissions, in order.
        requests: the submission, tests and seed of each task.
        ends_after: how many tasks it does.
    """

    def __init__(self) -> None:
        self.release = release_named("a")
        self.usual = ["passed"] * 3
        self.answers: dict[str, list] = {}
        self.requests: list[tuple[str, tuple[str, ...], str]] = []
        self.ends_after = 1000

    def __call__(self, *_):
        return contextlib.nullcontext(self)

    def run(self, tasks, most=512):
        for task, _, request in tasks:
            if not self.ends_after:
                raise ClusterFailed("no worker could grade")
            self.ends_after -= 1
            key, tests = request["name"], request["tests"]
            self.requests.append((key, tuple(tests), request["seed"]))
            queue = self.answers.get(key, [])
            made = queue.pop(0) if queue else self.usual
            yield task, made if isinstance(made, dict) else answer(*made, asked=tests)


class ScriptedClass:
    """A class's folder, what was handed in, and the commands.

    Attributes:
        ids: of the submissions, in the order of their names.
    """

    def __init__(self, folder: Path, names, workers: Workers, command) -> None:
        self.path, self.source, self.workers = folder / "class", folder / "source", workers
        self._command = command
        for name in names:
            self.hand_in(name)
        ids = {one.students[0].name: one.id for one in read_export(self.source).submissions}
        self.ids = [ids[name] for name in names]

    def hand_in(self, name: str, text: str = "") -> None:
        """Write a submission of one module; the same name again is the same submission."""
        folder = self.source / name / "submission"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.py").write_text(text or f"x = '{name}'\n", encoding="utf-8")

    def __call__(self, word: str, *words: str):
        """Run a command; return (exit code, standard output, standard error)."""
        self.workers.requests.clear()
        reads = word in ("grade", "similar")
        places = [self.source, "--into", self.path] if reads else [self.path]
        chosen = ["--release", "x.zip"] if word in ("grade", "regrade") else []
        return self._command(word, *places, *words, *chosen)

    def rows(self, sql: str, *values) -> list[tuple]:
        with Store.existing(self.path) as store:
            return [tuple(row) for row in store.rows(sql, *values)]

    def counted(self) -> list:
        """Return the score that counts for each submission; None if it has no result."""
        scores = dict(self.rows("SELECT submission, score FROM scores"))
        return [scores[key] and float(scores[key]) for key in self.ids]


@pytest.fixture
def workers(monkeypatch) -> Workers:
    made = Workers()
    monkeypatch.setattr(cluster, "connected", made)
    monkeypatch.setattr(Release, "read", lambda path: made.release)
    return made
