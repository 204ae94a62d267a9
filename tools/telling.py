"""Print progress of long work: a line at its start, and one every ten seconds until it ends."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY_S = 10.0
Say = Callable[[str], None]


def say(line: str) -> None:
    """Print a line at once, even if the output is a file, and whole, whoever else prints."""
    print(f"{line}\n", end="", flush=True)


@contextmanager
def telling(
    words: str,
    tell: Say = say,
    progress: Callable[[float], str] | None = None,
) -> Iterator[None]:
    """Print what the block does, and at intervals that it is still running.

    Args:
        words: such as "xcs224n: making solutions.pdf".
        progress: returns what to print instead, given the seconds since the start.
    """
    tell(f"{words} ...")
    started, ended = time.monotonic(), threading.Event()

    def go_on() -> None:
        while not ended.wait(EVERY_S):
            seconds = time.monotonic() - started
            so_far = progress(seconds) if progress else f"still {words}: {seconds:.0f} s so far"
            tell(f"  {so_far}")

    teller = threading.Thread(target=go_on, daemon=True)
    teller.start()
    try:
        yield
    finally:
        ended.set()
        teller.join()
