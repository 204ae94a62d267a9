"""A class of five with records, another release, and workers whose answers tests determine."""

import json
from dataclasses import dataclass, field, replace
from decimal import Decimal

import pytest

from tests.classroom.nasty import VERSIONS, record_of
from tests.classroom.tiny import class_of
from tools.classroom import shipping
from tools.classroom.__main__ import main
from tools.classroom.deciding import in_environment
from tools.classroom.folder import ClassFolder, Source
from tools.classroom.regrading import regrade, repeat
from tools.classroom.regrading.other_release import Described, Test
from tools.classroom.roster import read_class

HERE = (VERSIONS, "Xeon")
BASELINE = "aaaaaaaaaaaaaaaa"
# Test id, name, points, kind.
TESTS = (
    ("1a-0-basic", "one", "1.00", "basic"),
    ("1a-1-hidden", "two", "3.00", "hidden"),
    ("2b-0-basic", "three", "1.50", "basic"),
)


def described(**changed: dict) -> Described:
    """Return a release; `one={"digest": "new"}` changes one of its tests, None removes it."""
    made = []
    for test_id, name, most, kind in TESTS:
        fields = changed.get(name, {})
        if fields is not None:
            test = Test(test_id, name, "topic", name, kind, Decimal(most), False, f"old {name}")
            made.append(replace(test, **fields))
    made += [
        Test(fields["test_id"], name, "topic", name, "hidden", Decimal(1), False, f"old {name}")
        for name, fields in changed.items()
        if name not in [test[1] for test in TESTS]
    ]
    return Described("tiny", tuple(made))


def entry(name: str, outcome: str = "passed", **changed) -> dict:
    """Return a test in a record of the baseline."""
    test_id, _, most, kind = next(test for test in TESTS if test[1] == name)
    passed = outcome == "passed"
    made = {
        "test_id": test_id,
        "name": name,
        "topic": "topic",
        "test": name,
        "kind": kind,
        "outcome": outcome,
        "score": float(most) if passed else 0.0,
        "max_score": float(most),
        "is_extra_credit": False,
        "message": "" if passed else "wrong",
        "cause": "" if passed else f"{outcome}.cause",
        "credit": "1" if passed else "0",
        "digest": in_environment(f"old {name}", *HERE),
    }
    return made | changed


def record(*outcomes: str, seed: str = "7", **changed) -> dict:
    """Return a record of the baseline with these outcomes; the last one is repeated."""
    padded = [*outcomes, *[outcomes[-1]] * (len(TESTS) - len(outcomes))]
    made = record_of(entry(test[1], end) for test, end in zip(TESTS, padded, strict=True))
    made["results"] |= {"edition": "tiny", "seed": seed}
    return made | changed


def ids_of(release: Described) -> tuple[str, ...]:
    return tuple(test.test_id for test in release.tests)


@dataclass
class Workers:
    """A dispatcher whose workers end each test as in `ends`, by its name; other tests pass.

    Attributes:
        asked: (submission, tests, seed, alone) of each job.
        script: answers to give first, by submission.
    """

    described: Described
    ends: dict[str, str] = field(default_factory=dict)
    script: dict[str, list[dict]] = field(default_factory=dict)
    asked: list[tuple] = field(default_factory=list)
    by_seed: dict[str, dict[str, str]] = field(default_factory=dict)

    def run(self, jobs, say, alone=False):
        for job in jobs:
            wanted, seed = tuple(job.request["wanted"]), job.request["seed"]
            self.asked.append((job.submission_id, wanted, seed, alone))
            answers = self.script.get(job.submission_id, [])
            answer = answers.pop(0) if answers else self.answer(wanted, seed)
            yield job, json.loads(json.dumps(answer))

    def answer(self, wanted, seed) -> dict:
        tests = []
        ends = self.ends | self.by_seed.get(seed, {})
        for test in self.described.tests:
            asked = not wanted or test.test_id in wanted
            end = ends.get(test.test, "passed") if asked else "not run"
            passed = end == "passed"
            tests.append(
                entry("one", end)
                | {"test_id": test.test_id, "test": test.test, "name": test.name}
                | {"score": float(test.max_score) if passed else 0.0}
                | {"max_score": float(test.max_score), "kind": test.kind}
                | {"digest": in_environment(test.digest, *HERE)}
            )
        answer = record_of(tests)["results"] | {"edition": "tiny", "seed": seed}
        return {"results": answer, "refused": ""}


class Made:
    """A class's folder, and the commands that regrade it with scripted workers."""

    def __init__(self, folder: ClassFolder, monkeypatch, capsys) -> None:
        self.folder, self._patch, self._capsys = folder, monkeypatch, capsys
        self.ids = sorted(folder.roll())
        self.workers = Workers(described())
        self.release = "b" * 64
        self.connected = 0

    def __call__(self, word: str, *words: str, new: Described | None = None, **script):
        """Run a command; return (exit code, standard output, standard error)."""
        self.workers = replace(self.workers, described=new or self.workers.described, asked=[])
        self.workers.script = script
        content = shipping.Release(self.release, b"", 5)
        self._patch.setattr(shipping, "make_release", lambda path, edition: content)
        for module in (regrade, repeat):
            self._patch.setattr(module, "describe", lambda *_: self.workers.described)
            self._patch.setattr(module, "Cluster", lambda *_: FakeCluster(self))
        code = main([word, str(self.folder.path), *words])
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def ids_by_name(self) -> list[str]:
        """Return the ids in the order of the folders: right, wrong, raises, slow, right."""
        roll = self.folder.roll()
        return sorted(roll, key=lambda key: roll[key].students[0].name)

    def records(self, name: str) -> dict[str, dict]:
        found = {key: self.folder.read_record(key, name) for key in self.ids}
        return {key: each for key, each in found.items() if each is not None}

    def scores(self, name: str) -> list[float | None]:
        found = [each["results"] for each in self.records(name).values()]
        return [None if each is None else each["score"] for each in found]


class FakeCluster:
    def __init__(self, made: Made) -> None:
        self._made = made

    def environments(self):
        return [HERE]

    def dispatcher(self):
        self._made.connected += 1
        return self._made.workers

    def close(self) -> None:
        pass


@pytest.fixture
def made(tmp_path, monkeypatch, capsys) -> Made:
    """Return a class of five: right, one hidden test wrong, wrong, a staff fault, refused."""
    source = class_of(tmp_path / "source", "right", "wrong", "raises", "slow", "right")
    folder = ClassFolder.create(tmp_path / "class")
    roll = read_class(source)
    found = [
        record("passed"),
        record("passed", "failed", "passed"),
        record("failed"),
        record("passed", results=None, fault="its worker was killed"),
        record("missing file", refused="the upload: no folder"),
    ]
    with folder.locked():
        folder.enroll(roll.submissions)
        folder.remember(Source(source, "latest"))
        by_name = sorted(roll.submissions, key=lambda one: one.students[0].name)
        for submission, each in zip(by_name, found, strict=True):
            each["upload"] = submission.upload.digest()
            folder.write_record(submission.submission_id, BASELINE, each)
    return Made(folder, monkeypatch, capsys)
