"""Reads another release's tests, their points and the digest of what decides each of them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from grading.cases import in_scope
from grading.errors import UsageError
from tools.classroom.deciding import in_environment

from ..dispatching import Environment

# In a process of its own, because another checkout has other modules with the same names.
ASK = (
    "import json, sys; sys.path[:0] = [sys.argv[1], sys.argv[1] + '/src']; "
    "from tools.classroom import deciding; "
    "from questions.course import Course; "
    "print(json.dumps(deciding.describe(Course(), sys.argv[2])))"
)
WITHIN_S = 120


@dataclass(frozen=True)
class Test:
    """A test of a release; `digest` covers what decides it, except versions and processor."""

    __test__ = False

    test_id: str
    name: str
    topic: str
    test: str
    kind: str
    max_score: Decimal
    is_extra_credit: bool
    digest: str

    def digests(self, environments: Iterable[Environment]) -> set[str]:
        """Return the digests of results from workers with these versions and processors."""
        return {in_environment(self.digest, *each) for each in environments}


@dataclass(frozen=True)
class Described:
    """A release's edition."""

    edition: str
    tests: tuple[Test, ...]

    def scope(self, words: Iterable[str]) -> frozenset[str]:
        """Return the ids of the tests that these words name; without words, of all tests.

        Raises:
            UsageError: if a word names none.
        """
        wanted = list(words)
        for word in wanted:
            if not any(in_scope(word, test.test_id) for test in self.tests):
                known = sorted({test.test_id.partition("-")[0] for test in self.tests})
                raise UsageError(
                    f"--only {word}: the release has no such test or question; its questions with "
                    f"tests are {', '.join(known)}"
                )
        return frozenset(
            test.test_id
            for test in self.tests
            if not wanted or any(in_scope(word, test.test_id) for word in wanted)
        )


def describe(release: Path, edition: str) -> Described:
    """Return the tests of a checkout, from a process that runs its own code.

    Raises:
        UsageError: if it isn't a checkout, or its description has a mistake.
    """
    if not (release / "tools" / "classroom" / "deciding.py").is_file():
        raise UsageError(
            f"--release {release}: expected a checkout of this repository that has "
            "tools/classroom/deciding.py"
        )
    asked = subprocess.run(
        [sys.executable, "-P", "-s", "-B", "-X", "utf8", "-c", ASK, release, edition],
        cwd=release,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=WITHIN_S,
    )
    if asked.returncode:
        said = asked.stderr.strip().splitlines() or ["no error message"]
        raise UsageError(f"--release {release}: can't read its tests: {said[-1]:.300}")
    found = json.loads(asked.stdout)
    tests = [Test(**each | {"max_score": Decimal(each["max_score"])}) for each in found["tests"]]
    return Described(found["edition"], tuple(tests))
