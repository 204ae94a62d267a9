"""What the reference answered, kept for other submissions of a class: they get the same inputs.

An answer's name is a digest of all that it depends on: what judges (the reference, probes, data),
versions, the kind of processor, the probe, its seed and its arguments. Only probes are remembered
that get nothing of a student's (`QuestionSet.seeded_probes`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import provenance, wire, writing
from .question_set import QuestionSet


class Remembered:
    """Answers of the reference, a file each, in a folder that may be shared by several graders."""

    def __init__(self, folder: Path, questions: QuestionSet) -> None:
        """
        Args:
            folder: exists, and only this user can read it.
        """
        self._folder, self._probes = folder, questions.seeded_probes
        judged_by = provenance.judged_by(questions.provided)
        self._facts = [judged_by, provenance.versions(), provenance.processor()]

    def answer(self, probe: str, args: dict[str, Any], seed: int, ask: Callable[[], Any]) -> Any:
        """Return what the reference answers: as remembered, or by `ask`, which may raise."""
        if probe not in self._probes:
            return ask()
        path = self._folder / self._key(probe, args, seed)
        try:
            return wire.decode(path.read_bytes())
        except FileNotFoundError:
            pass
        value = ask()
        with writing.replacing(path, mode=0o600) as writer:
            writer.write(wire.encode(value))
        return value

    def _key(self, probe: str, args: dict[str, Any], seed: int) -> str:
        known = json.dumps([*self._facts, probe, str(seed)], sort_keys=True)
        return hashlib.sha256(known.encode("utf-8") + wire.encode(args)).hexdigest()
