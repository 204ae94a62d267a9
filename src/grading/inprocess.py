"""`--in-process`: probes run in the grader's own process, for a debugger and for nothing else.

Of a checkout, the files themselves are imported, so that a debugger's breakpoints bind.
No isolation, no limits: a result of such a run is worth nothing, and can't be written to a file.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from . import worker
from .frames import Finished
from .guardian import Ending
from .processes import Job
from .staging import Staged


class InProcessPool:
    """Runs jobs by calling the probe; breakpoints in student code work."""

    def run(self, job: Job) -> Finished:
        worker.preload(job.torch)
        root = Path(job.request["submission"])
        _forget(root)
        before, path = os.getcwd(), list(sys.path)
        os.chdir(job.scratch)
        try:
            frame = worker.prepare(job.request)()
        finally:
            os.chdir(before)
            sys.path[:] = path
            _forget(root)
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

    def abandon(self) -> None:
        """Do nothing: the job ran in the thread that was interrupted."""

    def warm(self, with_torch: bool) -> None:
        """Do nothing: there is no process to start."""

    def close(self) -> None:
        """Do nothing: there is no process to end."""


def own_package(submission: Path, staged: Staged) -> Path | None:
    """Return the folder of a checkout's own package `submission`, where breakpoints bind.

    None: its copy is to be imported, since it is no package by itself: a zip, loose files, or a
    submission without the given modules.
    """
    package = staged.package
    if package is None or package.name != "submission" or staged.added or not submission.is_dir():
        return None
    return package.parent


def _forget(root: Path) -> None:
    """Forget a submission's packages: the next job may be about the reference's, say."""
    packages = {path.name for path in root.iterdir() if path.is_dir()}
    for name in [n for n in sys.modules if n.partition(".")[0] in packages]:
        del sys.modules[name]
