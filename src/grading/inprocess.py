"""`--in-process`: probes run in the grader's own process, for a debugger and for nothing else.

No isolation, no limits: a result of such a run is worth nothing, and can't be written to a file.
"""

from __future__ import annotations

import os
import sys

from . import worker
from .exchange import Finished
from .guardian import Ending
from .processes import Job


class InProcessPool:
    """Runs jobs by calling the probe; breakpoints in student code work."""

    def run(self, job: Job) -> Finished:
        worker.preload(job.torch)
        _forget_submission()
        before, path = os.getcwd(), list(sys.path)
        os.chdir(job.scratch)
        try:
            frame = worker.prepare(job.request)()
        finally:
            os.chdir(before)
            sys.path[:] = path
            _forget_submission()
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

    def abandon(self) -> None:
        """The job runs in the thread that was interrupted."""

    def warm(self, with_torch: bool) -> None:
        """Nothing to start."""

    def close(self) -> None:
        """Nothing to close."""


def _forget_submission() -> None:
    """The next job may be about another submission: the reference's, say."""
    for name in [n for n in sys.modules if n.partition(".")[0] in ("submission", "pretraining")]:
        del sys.modules[name]
