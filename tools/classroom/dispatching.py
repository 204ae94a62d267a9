"""Workers for commands that grade: on a cluster of this machine's own, or an existing one."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grading import provenance
from grading.errors import GradingError, UsageError

from . import shipping

if TYPE_CHECKING:
    from .dispatch import Dispatcher

Environment = tuple[dict[str, str], str]  # versions, the kind of processor


class NoCluster(Exception):
    """Grading was cut short, or could not begin; `str()` is what to print."""


def add_cluster(command: argparse.ArgumentParser) -> None:
    """Add the arguments that say where to grade."""
    command.add_argument(
        "--slots", type=int, metavar="N", help="submissions at once; default: one for each core"
    )
    command.add_argument("--scheduler", metavar="tls://HOST:PORT", help="an existing cluster")
    command.add_argument(
        "--certificates", type=Path, metavar="DIR", help="for --scheduler; see `certificates`"
    )


def check_cluster(asked: argparse.Namespace) -> None:
    """Refuse arguments that contradict each other.

    Raises:
        UsageError: they do.
    """
    if asked.slots is not None and not 1 <= asked.slots <= 512:
        raise UsageError(f"--slots {asked.slots} should be a number from 1 to 512")
    if asked.slots is not None and asked.scheduler is not None:
        raise UsageError("--slots is for a cluster of this machine's own: leave it out")


class Cluster:
    """Connects when somebody first needs workers; `close` lets go of them."""

    def __init__(
        self,
        asked: argparse.Namespace,
        release: shipping.Release,
        counts: bool,
        say: Callable[[str], None],
    ) -> None:
        self._asked, self._release, self._counts, self._say = asked, release, counts, say
        self._stack = contextlib.ExitStack()
        self._dispatcher: Dispatcher | None = None
        self._workers: Any = None

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """Turn what ends grading early into NoCluster.

        Raises:
            NoCluster: there is no cluster that can grade, or a file can't be written.
        """
        cluster, _ = _modules()
        try:
            yield
        except cluster.ClusterFailed as error:
            raise NoCluster(str(error)) from None
        except OSError as error:
            raise NoCluster(f"{error.filename or 'DIR'}: {error.strerror or error}") from None
        except UsageError:
            raise
        except GradingError as error:  # a disk that is full where submissions are packed
            raise NoCluster(str(error)) from None

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
            self._say(f"{made.wait(self._say)} submissions at once")
            self._dispatcher = made
        return self._dispatcher

    def environments(self) -> list[Environment]:
        """Return versions and kind of processor of each worker; those here need no connection."""
        if self._asked.scheduler is None:
            return [(provenance.versions(), provenance.processor())]
        self.dispatcher()
        facts = [worker.facts for worker in self._workers.able().values()]
        return [(each["versions"], each["processor"]) for each in facts]

    def close(self) -> None:
        """Let go of the workers."""
        self._stack.close()


def _modules() -> tuple[Any, Any]:
    """Import what needs dask.

    Raises:
        UsageError: it is not installed.
    """
    try:
        from . import cluster, dispatch
    except ModuleNotFoundError as error:
        raise UsageError(
            f"{error.name} is not installed: pip install -r requirements-class.txt"
        ) from None
    return cluster, dispatch
