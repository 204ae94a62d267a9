"""A digest of everything that decides a test: if it is the same, the test judges in the same way.

It covers too much rather than too little: the harness, the reference, what every submission gets,
data, recipes, the test with all modules that it or its judge can reach, its description without its
points, versions and the kind of processor. A data set's thresholds and its requirements for
evidence count if a module in reach reads them. Points, titles and numbers of questions decide
nothing: no run is needed after they change.

    digests = Deciding(assignment, questions, hidden).of(edition)        by test id
    digest = in_environment(digests["1e-0-basic"], versions(), processor())
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

from autograder import provenance, solutions
from autograder.judging import load_hidden
from grading import paths
from grading.cases import BoundTest, QuestionSet, bind
from grading.edition import Assignment, Edition, TestSpec, load_assignment

from . import import_graph

PROBE = re.compile(r"[\"']([a-z_0-9]+)\.")
ASKS_STAFF = re.compile(r"\.hidden\b")
INIT = "__init__.py"
READ_BY_SOME = ("thresholds", "evidence")  # of a data set's table


class Deciding:
    """Hashes of an assignment's tests; its files are read once."""

    def __init__(
        self, assignment: Assignment, questions: QuestionSet, hidden: ModuleType | None
    ) -> None:
        self._assignment, self._hidden = assignment, hidden
        self._cases = questions.cases()
        files = {path: path.read_bytes() for path in sorted(provenance.files(questions.provided))}
        self._hashes = {
            path: hashlib.sha256(content).hexdigest() for path, content in files.items()
        }
        self._names = {p: Path(os.path.relpath(p, paths.ROOT)).as_posix() for p in files}
        self._texts = {
            path: content.decode("utf-8", "replace")
            for path, content in files.items()
            if path.is_relative_to(paths.QUESTIONS) or path.parent == solutions.HIDDEN
        }
        self._links: dict[Path, set[Path]] = {}
        self._reach: dict[tuple[str, str], list[Path]] = {}
        datasets = {name: asdict(dataset) for name, dataset in assignment.datasets.items()}
        self._read_by_some = {
            name: {key: fields.pop(name) for key, fields in datasets.items()}
            for name in READ_BY_SOME
        }
        self._datasets = datasets  # without what is read by some alone

    def of(self, edition: Edition) -> dict[str, str]:
        """Return the digest of each test of an edition, by id, before versions and processor."""
        common = _digest_of(self._common(edition))
        return {t.spec.test_id: self._digest(t, common) for t in bind(edition.tests, self._cases)}

    def _common(self, edition: Edition) -> dict[str, Any]:
        """Return everything that decides all tests."""
        described = self._assignment
        return {
            "files": self._named(path for path in self._hashes if self._decides_all(path)),
            "recipes": described.for_training(),
            "datasets": self._datasets,
            "default": described.default_dataset,
            "edition": edition.name,
            "required": edition.required_files,
        }

    def _decides_all(self, path: Path) -> bool:
        """Return whether a file belongs to all topics.

        Files next to the topics' folders do, and so do those that topics share.
        """
        if path.parent == solutions.HIDDEN:
            return path.name == INIT
        shared = (paths.QUESTIONS, paths.QUESTIONS / "shared")
        is_common = path.parent in shared or path.name == INIT
        return is_common or not path.is_relative_to(paths.QUESTIONS)

    def _digest(self, test: BoundTest, common: str) -> str:
        reached = self._reached(test)
        texts = [self._texts[path] for path in reached]
        read = [name for name in READ_BY_SOME if any(f".{name}" in text for text in texts)]
        limits = {name: self._read_by_some[name] for name in read}
        return _digest_of([common, self._named(reached), _described(test.spec), limits])

    def _named(self, files: Iterable[Path]) -> dict[str, str]:
        return {self._names[path]: self._hashes[path] for path in files}

    def _reached(self, test: BoundTest) -> list[Path]:
        """Return the modules that a test, its probes and its judge reach."""
        key = test.spec.topic, test.spec.name
        if key not in self._reach:
            self._reach[key] = sorted(self._find_reached(test))
        return self._reach[key]

    def _find_reached(self, test: BoundTest) -> set[Path]:
        own = paths.SRC.joinpath(*test.case.__module__.split(".")).with_suffix(".py")
        found = self._closed([own])
        hidden = self._hidden
        if hidden is not None and test.spec.is_hidden:
            name = f"{test.spec.topic}_{test.spec.name}"
            judging = [path for path in self._of_staff() if name in self._texts[path]]
            found = self._closed([*found, *judging])
        if hidden is not None and any(ASKS_STAFF.search(self._texts[path]) for path in found):
            found = self._closed([*found, solutions.HIDDEN / INIT])
        return found

    def _of_staff(self) -> list[Path]:
        return [path for path in self._texts if path.parent == solutions.HIDDEN]

    def _closed(self, paths_: Iterable[Path]) -> set[Path]:
        """Return files with everything that they import or ask, recursively."""
        found, waiting = set(), list(paths_)
        while waiting:
            path = waiting.pop()
            if path not in found:
                found.add(path)
                if path not in self._links:
                    self._links[path] = self._linked(path)
                waiting.extend(self._links[path])
        return found

    def _linked(self, path: Path) -> set[Path]:
        """Return the files that a module imports, or names as the place of a probe."""
        topics = set(PROBE.findall(self._texts[path]))
        probes = {o for o in self._texts if o.stem == "probe" and o.parent.name in topics}
        imported = {o for o in import_graph.imports_of(path) & self._texts.keys() if o.name != INIT}
        return probes | imported


def _described(spec: TestSpec) -> dict[str, Any]:
    """Return the deciding parts of a test's description: not its points or its position."""
    return {
        "topic": spec.topic,
        "name": spec.name,
        "kind": spec.kind,
        "timeout_s": spec.timeout_s,
        "torch": spec.torch,
    }


def describe(questions: QuestionSet, edition: str) -> dict[str, Any]:
    """Return what a regrade needs of this release, as plain data: tests, points, digests."""
    assignment = load_assignment(paths.ROOT)
    digests = Deciding(assignment, questions, load_hidden(solutions.HIDDEN))
    chosen = assignment.edition(edition)
    of = digests.of(chosen)
    tests = [
        {
            "test_id": test.spec.test_id,
            "name": test.description,
            "topic": test.spec.topic,
            "test": test.spec.name,
            "kind": test.spec.kind,
            "max_score": str(test.spec.max_score),
            "is_extra_credit": test.spec.is_extra_credit,
            "digest": of[test.spec.test_id],
        }
        for test in bind(chosen.tests, questions.cases())
    ]
    return {"edition": chosen.name, "tests": tests}


def in_environment(digest: str, versions: Mapping[str, str], processor: str) -> str:
    """Return a test's full digest for a run with these versions on this kind of processor.

    A mere update of the system's kernel is no reason to grade a class again.
    """
    known = {name: version for name, version in versions.items() if name != "system"}
    return _digest_of([digest, known, processor])


def _digest_of(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
