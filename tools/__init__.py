"""The staff's commands. Code that they share with students is imported from src/.

If this Python is too old or lacks a package, `python -m tools.NAME` prints one line and exits.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType

SRC = Path(__file__).resolve().parent.parent / "src"
sys.path.insert(0, str(SRC))

import environment  # noqa: E402  # from src/; any Python can parse it


def _end(lacks: str) -> None:
    mend = "`make setup` creates .venv, whose python runs the command"
    print(f"error: this Python ({sys.executable}) {lacks}; {mend}", file=sys.stderr)
    sys.exit(environment.USAGE)


def _say_what_is_missing(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print one line for a missing package, in place of sys.excepthook's traceback."""
    package = (getattr(error, "name", None) or "").partition(".")[0]
    ours = ("", "autograder", "tools", *(path.stem for path in SRC.iterdir()))
    if not issubclass(kind, ModuleNotFoundError) or package in ours:
        sys.__excepthook__(kind, error, trace)
    else:
        _end(f"has no {package}")


if sys.argv[:1] == ["-m"]:  # `python -m tools.NAME` is starting; later, this is its file's name
    if sys.version_info < environment.OLDEST:
        _end("is {}.{}, expected {}.{} or newer".format(*sys.version_info[:2], *environment.OLDEST))
    sys.excepthook = _say_what_is_missing
    environment.explain_uncaught()
