"""Communication between the grader and a worker: a request one way, a frame and prints back."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from typing import Any

from . import importing, wire
from .errors import WireError
from .guardian import Ending
from .worker import READY

MAX_STACK_BYTES = 64 << 10
MAX_OUTPUT_BYTES = 64 << 10  # of a test's prints, which are kept
MAX_FRAME_BYTES = (
    wire.MAX_ANSWER_HEADER_BYTES
    + wire.MAX_ANSWER_BODY_BYTES
    + importing.MAX_NOTES_BYTES
    + 1024  # READY and the frame's prefix
)


@dataclass(frozen=True)
class Finished:
    """How a worker ended, its frame if there is a complete one, prints, notes.

    `ready` tells whether it reached the student's code: any failure before that is the grader's.
    The frame is a view of what was read, so that an answer is never in memory twice.
    """

    ending: Ending
    ready: bool
    frame: bytes | memoryview | None
    output: str
    notes: importing.Notes = importing.read_notes(b"")
    stack: str = ""  # of a worker that timed out, as faulthandler writes it, if at all


class Reader(threading.Thread):
    """Drains a descriptor to its end, keeping the first `keep` bytes."""

    def __init__(self, fd: int, keep: int) -> None:
        super().__init__(daemon=True)
        self._fd, self._keep = fd, keep
        self.data = bytearray()
        self.start()

    def run(self) -> None:
        try:
            while chunk := os.read(self._fd, 1 << 16):
                self.data += chunk[: max(0, self._keep - len(self.data))]
        finally:
            os.close(self._fd)


def start(target: Any, *args: Any) -> threading.Thread:
    """Run a function in a thread."""
    thread = threading.Thread(target=target, args=args, daemon=True)
    thread.start()
    return thread


def send(fd: int, data: bytes) -> None:
    """Write all data, as long as somebody reads, and close the descriptor."""
    view = memoryview(data)
    try:
        while view:
            view = view[os.write(fd, view[: 1 << 16]) :]
    except OSError:
        pass  # the worker died first; its ending says how
    finally:
        os.close(fd)


def finished(ending: Ending, frame: Reader, output: Reader) -> Finished:
    """Collect what a worker that has ended left behind."""
    ready = frame.data.startswith(READY)
    view = memoryview(frame.data)[len(READY) :]
    notes = importing.read_notes(bytes(view[: importing.MAX_NOTES_BYTES]))
    whole = _whole_frame(view[notes.size :])
    stack = b"" if whole is not None else bytes(view[notes.size :][:MAX_STACK_BYTES])
    said = stack.decode("utf-8", errors="replace")
    return Finished(ending, ready, whole, _decode(output.data), notes, said)


def _whole_frame(data: memoryview) -> memoryview | None:
    """Return the frame after READY and the notes, if it is complete."""
    try:
        return wire.find_frame(data)
    except WireError:
        return None


def _decode(data: bytes | bytearray) -> str:
    text = data.decode("utf-8", errors="replace")
    return text + "\n[... cut]" if len(data) >= MAX_OUTPUT_BYTES else text
