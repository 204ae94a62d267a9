"""Caches results while a class is graded, so that nothing is computed twice.

Answers of the reference: all submissions of a class get the same inputs. An answer's name is a
digest of everything on which it depends: what judges (the reference, probes, data), versions, the
kind of processor, the probe, its seed and its arguments. Only probes that get nothing from a
student are remembered (`QuestionSet.seeded_probes`).

Findings of judges: what a judge has found out about a student's parameters at length is valid
whenever they are submitted, also when a later release grades them. A finding's key is a digest of
its subject, the code that found it, the data, versions and the kind of processor, but not of the
release or the seed. It is plain data, which a class's records keep.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autograder import solutions
from autograder.provenance import processor
from grading import paths, wire
from grading.cases import QuestionSet
from grading.pool import Ending, Finished, Job, Pool
from grading.results import replacing, versions

from . import import_graph

Findings = dict[str, Any]  # plain data, by key


class Remembered:
    """Answers of the reference, one file each, in a folder that several graders may share."""

    def __init__(self, folder: Path, questions: QuestionSet, judged_by: str) -> None:
        """
        Args:
            folder: must exist, and be readable only by this user.
            judged_by: the hash of everything that decides a verdict.
        """
        self._folder, self._probes = folder, questions.seeded_probes
        self._machine = [versions(), processor()]
        self._facts = [judged_by, *self._machine]
        self._known: Findings = {}
        self._used: Findings = {}

    def answer(self, probe: str, args: dict[str, Any], seed: int, ask: Callable[[], Any]) -> Any:
        """Return the reference's answer: the remembered one, or that of `ask`, which may raise."""
        if probe not in self._probes:
            return ask()
        path = self._folder / self._key(probe, args, seed)
        try:
            return wire.decode(path.read_bytes())
        except FileNotFoundError:
            pass
        value = ask()
        self._write(path, wire.encode(value))
        return value

    def begin(self, known: Findings) -> None:
        """Begin with another submission.

        Args:
            known: earlier findings about it, as returned by `used`.
        """
        self._known, self._used = known, {}

    def used(self) -> Findings:
        """Return the findings on which this submission's results are based."""
        return self._used

    def finding(self, about: Any, code: tuple[str, ...], find: Callable[[], Any]) -> Any:
        """Return a judge's finding: the remembered one, or that of `find`, which may raise.

        Args:
            about: everything on which it depends besides code, data and machine, for `wire`.
            code: the modules that find it.

        Returns:
            plain data, as read back from JSON.
        """
        facts = [*self._machine, import_graph.digest_of(code), _data_digest()]
        known = json.dumps(facts, sort_keys=True).encode("utf-8")
        key = hashlib.sha256(known + wire.encode(about)).hexdigest()
        path = self._folder / f"finding-{key}"
        if key not in self._known:
            try:
                self._known[key] = json.loads(path.read_bytes())
            except FileNotFoundError:
                content = json.dumps(find(), allow_nan=False).encode("utf-8")
                self._write(path, content)
                self._known[key] = json.loads(content)
        self._used[key] = self._known[key]
        return self._used[key]

    def _write(self, path: Path, content: bytes) -> None:
        with replacing(path) as writer:
            writer.write(content)

    def _key(self, probe: str, args: dict[str, Any], seed: int) -> str:
        known = json.dumps([*self._facts, probe, str(seed)], sort_keys=True)
        return hashlib.sha256(known.encode("utf-8") + wire.encode(args)).hexdigest()


class RememberingPool:
    """A pool that asks the reference only what is not remembered."""

    def __init__(self, pool: Pool, remembered: Remembered) -> None:
        self.pool, self._remembered = pool, remembered

    def run(self, job: Job) -> Finished:
        if job.role != "reference":
            return self.pool.run(job)
        module, _, function = job.request["probe"].partition(":")
        name = f"{module.split('.')[-2]}.{function}"  # of questions.rope.probe: rope
        args, seed = job.request["args"], job.request["seed"]
        try:
            value = self._remembered.answer(name, args, seed, lambda: self._ask(job))
        except _NoAnswer as none:
            return none.finished
        frame = wire.encode({"ok": True, "value": value})
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

    def _ask(self, job: Job) -> Any:
        finished = self.pool.run(job)
        envelope = {} if finished.frame is None else wire.decode(finished.frame)
        if envelope.get("ok") is not True or finished.ending.reason:
            raise _NoAnswer(finished)
        return envelope["value"]

    def warm(self, with_torch: bool) -> None:
        self.pool.warm(with_torch)

    def admit(self, work: Path, staged: Path, private: Sequence[Path]) -> dict[str, Any]:
        return self.pool.admit(work, staged, private)

    def abandon(self) -> None:
        self.pool.abandon()

    def close(self) -> None:
        self.pool.close()


class _NoAnswer(Exception):
    """The reference's worker ended without an answer."""

    def __init__(self, finished: Finished) -> None:
        super().__init__()
        self.finished = finished


def _data_digest() -> str:
    """Return one hash of the data set and its answers."""
    digest = hashlib.sha256()
    for path in [*sorted(paths.DATA.glob("*")), *sorted(solutions.ANSWERS.glob("*.tsv"))]:
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).digest()
            digest.update(f"\0{path.name}\0".encode() + content)
    return digest.hexdigest()
