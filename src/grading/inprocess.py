"""`--in-process`: probes run in the grader's own process, only for debugging.

In a checkout, the files themselves are imported, so that a debugger's breakpoints work. There is no
isolation and there are no limits, so the result doesn't count, and can't be written to a file.
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
        before, path, finders = os.getcwd(), list(sys.path), list(sys.meta_path)
        os.chdir(job.scratch)
        try:
            frame = worker.prepare(job.request, in_process=True)()
        finally:
            os.chdir(before)
            sys.path[:], sys.meta_path[:] = path, finders
            _forget(root)
        return Finished(Ending(0, 0, "", 0.0, 0.0, 0), True, frame, "")

    def abandon(self) -> None:
        """Do nothing: the job ran in the thread that was interrupted."""

    def warm(self, with_torch: bool) -> None:
        """Do nothing: there is no process to start."""

    def close(self) -> None:
        """Do nothing: there is no process to end."""


def own_package(submission: Path, staged: Staged) -> Path | None:
    """Return the folder of a checkout's own package `submission`, where breakpoints work.

    None means that its copy has to be imported, because it is not a complete package: a zip, loose
    files, or a submission without the given modules.
    """
    package = staged.package
    if package is None or package.name != "submission" or staged.added or not submission.is_dir():
        return None
    return package.parent


def _forget(root: Path) -> None:
    """Forget a submission's packages: the next job may use the reference's, for instance.

    Its modules may also be known by their bare names.
    """
    packages = {path.name for path in root.iterdir() if path.is_dir()}
    for name, module in list(sys.modules.items()):
        for each in (name, str(getattr(module, "__name__", name))):
            if each.partition(".")[0] in packages:
                sys.modules.pop(name, None)
