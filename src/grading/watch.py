"""`grader.py --watch`: runs the tests again whenever a file of the submission is saved.

Modification times and sizes are polled, which works on every system and for folders on a network.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from .errors import UsageError
from .upload import is_litter
from .staging import OUTPUT_SUFFIXES

TICK_S = 0.3  # between two looks; files that don't change for so long are completely written
USUAL = ("", "src", "submission", "src/submission")  # folders of a submission with files to grade
WAITING = "{}: watching for the next save; Ctrl-C ends the watch"


def watch(submission: Path, run: Callable[[], Iterable[Path]]) -> None:
    """Run now, and after each save until Ctrl-C.

    What is saved during a run is graded after it. The run is not abandoned: with an editor that
    saves at every pause, none would reach its end, and a question takes only seconds.

    Args:
        run: returns further folders with the submission's files.

    Raises:
        UsageError: the first run couldn't begin. Later ones may have met a folder that is being
            renamed, so the watch goes on.
        KeyboardInterrupt: Ctrl-C during a run.
    """
    places = {submission, *(submission / folder for folder in USUAL)}
    saved = _saved(places)
    further = {*run()}
    while True:
        saved |= _saved(further - places)
        places |= further
        print(WAITING.format(time.strftime("%H:%M:%S")), flush=True)
        try:
            saved = _next_save(places, saved)
        except KeyboardInterrupt:
            print("\nThe watch has ended.")
            return
        try:
            further = {*run()}
        except (UsageError, OSError) as error:
            print(f"grader.py: {error}", file=sys.stderr)


def _next_save(
    places: set[Path], before: dict[Path, tuple[int, int]]
) -> dict[Path, tuple[int, int]]:
    """Wait until the files differ from those before, and don't change any more."""
    last = _saved(places)
    while True:
        time.sleep(TICK_S)
        now = _saved(places)
        if now == last and now != before:
            return now
        last = now


def _saved(places: set[Path]) -> dict[Path, tuple[int, int]]:
    """Return when the files in some folders, or files, were modified, and their sizes."""
    files = {place for place in places if place.is_file()}
    for folder in places - files:
        with suppress(OSError):  # there is none at present
            inside = (path for path in folder.iterdir() if not is_litter(path.name))
            files |= {path for path in inside if path.suffix in (".py", *OUTPUT_SUFFIXES)}
    saved = {}
    for file in files:
        with suppress(OSError):  # it was deleted just now
            stat = file.stat()
            saved[file] = (stat.st_mtime_ns, stat.st_size)
    return saved
