"""Look for parts of the solutions in what students get; `tools/leaks/__init__.py` says how."""

import sys
from pathlib import Path

from autograder.description import UsageError

from ..arguments import OneLineParser
from ..regions import RegionError
from . import Search, facts_of, secrets_of


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each leak in files and folders; return the exit code."""
    parser = OneLineParser("python -m tools.leaks", __doc__)
    words = "whose graded facts to look for (default: every edition's)"
    parser.add_argument("--edition", help=words)
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE-OR-FOLDER")
    options = parser.parse_args(arguments)
    try:
        search = Search(secrets_of(), facts_of(edition=options.edition))
        leaks = search.check(options.paths)
    except (OSError, UsageError, RegionError) as error:
        words = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        print(f"error: {words}", file=sys.stderr)
        return 2
    print("".join(f"{leak}\n" for leak in leaks), end="")
    return 1 if leaks else 0


if __name__ == "__main__":
    sys.exit(main())
