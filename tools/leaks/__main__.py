"""Look for parts of the solutions in what students get; `tools/leaks/__init__.py` says how."""

import sys
from pathlib import Path

from autograder.description import UsageError

from ..arguments import OneLineParser
from ..regions import RegionError
from . import check, facts_of, secrets_of


def main(arguments: list[str] | None = None) -> int:
    """Print a line for each leak in files and folders; return the exit code."""
    parser = OneLineParser("python -m tools.leaks", __doc__)
    parser.add_argument(
        "--edition", help="whose graded facts to look for (default: every edition's)"
    )
    parser.add_argument("paths", nargs="+", type=Path, metavar="FILE-OR-FOLDER")
    asked = parser.parse_args(arguments)
    missing = [path for path in asked.paths if not path.exists()]
    if missing:
        print(f"error: {missing[0]}: there is no such file or folder", file=sys.stderr)
        return 2
    try:
        found = check(asked.paths, secrets_of(), facts_of(edition=asked.edition))
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 2
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except RegionError as error:
        print("\n".join(error.faults), file=sys.stderr)
        return 2
    for leak in found:
        print(leak)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
