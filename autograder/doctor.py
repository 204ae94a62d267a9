"""`python grader.py --doctor`: a screenful on what works on this computer."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from grading.cli import print_machine
from grading.errors import GradingError

from . import paths
from .isolation import authority, confined_pool, is_available, sandbox


def examine() -> None:
    """Print the interpreter, the libraries, how workers start and how they are confined."""
    print_machine()
    way = (
        "forked from a process that has imported torch once"
        if is_available()
        else "started from scratch"
    )
    print(f"Workers      {way}")
    layers = sandbox.detect()
    print(f"Layers       {', '.join(layers.names())}")
    if layers.missing():
        print(f"Missing      {', '.join(layers.missing())}")
    if is_available():
        _canary(layers)
    else:
        print("Authority    no: a run here is only for your own information")


def _canary(layers: sandbox.Layers) -> None:
    work = Path(tempfile.mkdtemp(prefix="grading-"))
    work.chmod(0o711)
    staged = work / "staged"
    (staged / "submission").mkdir(parents=True)
    pool = confined_pool(0, layers)
    try:
        found = authority.faults(layers, authority.send_canary(pool, work, staged))
        found += authority.exposed(layers, authority.secrets())
    except GradingError as error:
        found = [str(error)]
    finally:
        pool.close()
        shutil.rmtree(work, ignore_errors=True)
    hidden = (
        ""
        if os.path.isdir(paths.SOLUTIONS)
        else " (there are no solutions here, so hidden tests aren't judged)"
    )
    print(f"Authority    {'yes' if not found else 'no'}{hidden}")
    for fault in found:
        print(f"             {fault}")
