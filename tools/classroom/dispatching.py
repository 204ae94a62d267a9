"""Workers for commands that grade: on this machine, or on an existing cluster."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm  # type: ignore[import-untyped]

from autograder.provenance import processor
from grading.errors import GradingError, UsageError
from grading.results import versions
from grading.verdicts import ExitCode

from . import shipping
from .folder import ClassFolder

if TYPE_CHECKING:
    from .dispatch import Dispatcher

Environment = tuple[dict[str, str], str]  # versions, the kind of processor
Say = Callable[[str], None]
CONTINUE = "run the same command again to continue"


class ClusterFailed(Exception):
    """No cluster is available, or none of its workers can grade; `str()` is what to print."""


def add_cluster(command: argparse.ArgumentParser) -> None:
    """Add the arguments that say where to grade."""
    command.add_argument(
        "--slots",
        type=int,
        metavar="N",
        help="how many submissions to grade at once on this machine; default: one more than it "
        "has cores",
    )
    command.add_argument(
        "--scheduler", metavar="tls://HOST:PORT", help="grade on an existing cluster"
    )
    command.add_argument(
        "--certificates",
        type=Path,
        metavar="DIR",
        help="the folder that `certificates` made, for --scheduler",
    )


def check_cluster(asked: argparse.Namespace) -> None:
    """Refuse arguments that contradict each other.

    Raises:
        UsageError: if they do.
    """
    if asked.slots is not None and not 1 <= asked.slots <= 512:
        raise UsageError(f"--slots {asked.slots} should be a number from 1 to 512")
    if asked.slots is not None and asked.scheduler is not None:
        raise UsageError("--slots is for grading on this machine: leave it out with --scheduler")


def teller(bar: tqdm) -> Say:
    """Return a function that prints a line to standard error, above a progress bar."""
    return lambda line: bar.write(line, file=sys.stderr)


def cut_short(work: Callable[[], None], folder: ClassFolder) -> str:
    """Call a function that grades; return what cut it short, or "".

    Raises:
        UsageError: as `work` does.
    """
    try:
        work()
    except ClusterFailed as error:
        return str(error)
    except OSError as error:
        return f"{error.filename or folder.path}: {error.strerror or error}"
    except UsageError:
        raise
    except GradingError as error:  # the disk is full where submissions are packed
        return str(error)
    return ""


def report_failure(failed: str, advice: str = CONTINUE) -> ExitCode:
    """Print what cut grading short, and what to do; return the exit code."""
    print(f"classroom: {failed}; {advice}", file=sys.stderr)
    return ExitCode.GRADER_ERROR


class Cluster:
    """Connects when workers are first needed; `close` releases them."""

    def __init__(
        self, asked: argparse.Namespace, release: shipping.Release, counts: bool, say: Say
    ) -> None:
        self._asked, self._release, self._counts, self._say = asked, release, counts, say
        self._stack = contextlib.ExitStack()
        self._dispatcher: Dispatcher | None = None
        self._workers: Any = None

    def dispatcher(self) -> Dispatcher:
        """Return the dispatcher, connected to workers that have the release."""
        if self._dispatcher is None:
            cluster, dispatch = _modules()
            asked = self._asked
            client = self._stack.enter_context(
                cluster.connected(asked.scheduler, asked.certificates, asked.slots)
            )
            name = self._stack.enter_context(
                cluster.installed(client, self._release, counts=self._counts)
            )
            self._workers = cluster.Workers(client, name)
            made = dispatch.Dispatcher(client, name, self._workers)
            slots = made.wait(self._say)
            self._say(f"grading {slots} submission{'s' * (slots != 1)} at once")
            self._dispatcher = made
        return self._dispatcher

    def environments(self) -> list[Environment]:
        """Return the versions and the kind of processor of each worker.

        Without --scheduler, they are this machine's, and nothing is connected.
        """
        if self._asked.scheduler is None:
            return [(versions(), processor())]
        self.dispatcher()
        facts = [worker.facts for worker in self._workers.able().values()]
        return [(each["versions"], each["processor"]) for each in facts]

    def close(self) -> None:
        """Release the workers."""
        self._stack.close()


def _modules() -> tuple[Any, Any]:
    """Import the modules that need dask.

    Raises:
        UsageError: if it is not installed.
    """
    try:
        from . import cluster, dispatch
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed: pip install -r requirements-class.txt"
        ) from None
    return cluster, dispatch
