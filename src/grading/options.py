"""What a run is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from . import paths, sandbox

# Gradescope's time-out, 600 s, throws everything away. Staging counts; a worker that runs into the
# deadline is killed, and what follows is bounded: twice GRACE_S, a scratch folder's few thousand
# files, the results.
DEADLINE_S = 540.0


@dataclass(frozen=True)
class Options:
    """What a run was asked for; see `python grader.py --help`."""

    submission: Path
    name: str = ""  # of the submission, for results; by default, that of its folder or zip
    edition: str | None = None
    wanted: tuple[str, ...] = ()  # test ids or questions; empty: all
    jobs: int = 1  # how many tests run side by side
    in_process: bool = False
    patience: int | None = None  # time-outs in a question before its other tests are left out
    authoritative: bool = False
    complete: bool = False  # refuse to run without the whole data set; an authoritative run does
    private: tuple[Path, ...] = ()  # files that no student's code may read: results, ...
    deadline_s: float = DEADLINE_S
    data: Path = paths.DATA
    answers: Path = paths.ANSWERS  # staff only; used where solutions/hidden/ is
    layers: sandbox.Layers = field(default_factory=sandbox.detect)

    @property
    def counts(self) -> bool:
        """Whether a test that lacks its data would cost a student points."""
        return self.authoritative or self.complete
