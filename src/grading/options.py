"""The options of a run."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from . import paths, sandbox

# At Gradescope's time-out, 600 s, all results are lost. Staging counts; a worker that reaches the
# deadline is killed, and the rest is bounded: twice GRACE_S, a scratch folder's few thousand files,
# the results.
DEADLINE_S = 540.0


@dataclass(frozen=True)
class Options:
    """The options of a run; see `python grader.py --help`."""

    submission: Path
    name: str = ""  # the submission's name in results; default: its folder or zip
    edition: str | None = None
    wanted: tuple[str, ...] = ()  # test ids or questions; empty: all
    jobs: int = 1  # how many tests run in parallel
    in_process: bool = False
    patience: int | None = None  # time-outs in a question before its other tests are skipped
    authoritative: bool = False
    complete: bool = False  # refuse to run without the whole data set; an authoritative run does
    private: tuple[Path, ...] = ()  # files that student code must not read: results, ...
    deadline_s: float = DEADLINE_S
    data: Path = paths.DATA
    answers: Path = paths.ANSWERS  # staff only; used if there is solutions/hidden/
    layers: sandbox.Layers = field(default_factory=sandbox.detect)

    @property
    def counts(self) -> bool:
        """Whether missing data would cost a student points."""
        return self.authoritative or self.complete
