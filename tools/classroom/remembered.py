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
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import import_graph, paths, provenance, wire, writing
from .question_set import QuestionSet

Findings = dict[str, Any]  # plain data, by key


class Remembered:
    """Answers of the reference, one file each, in a folder that several graders may share."""

    def __init__(self, folder: Path, questions: QuestionSet) -> None:
        """
        Args:
            folder: must exist, and be readable only by this user.
        """
        self._folder, self._probes = folder, questions.seeded_probes
        judged_by = provenance.judged_by(questions.provided)
        self._machine = [provenance.versions(), provenance.processor()]
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
        with writing.replacing(path, mode=0o600) as writer:
            writer.write(content)

    def _key(self, probe: str, args: dict[str, Any], seed: int) -> str:
        known = json.dumps([*self._facts, probe, str(seed)], sort_keys=True)
        return hashlib.sha256(known.encode("utf-8") + wire.encode(args)).hexdigest()


def _data_digest() -> str:
    """Return one hash of the data set and its answers."""
    digest = hashlib.sha256()
    for path in [*sorted(paths.DATA.glob("*")), *sorted(paths.ANSWERS.glob("*.tsv"))]:
        if path.is_file():
            content = hashlib.sha256(path.read_bytes()).digest()
            digest.update(f"\0{path.name}\0".encode() + content)
    return digest.hexdigest()
