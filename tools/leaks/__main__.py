"""The command: see the package."""

import sys
from pathlib import Path

from ..described import UsageError
from ..regions import RegionError
from . import check, facts_of, secrets_of


def main(arguments: list[str]) -> int:
    """Print a line for each leak in files and folders; return the exit code."""
    edition = None
    if arguments[:1] == ["--edition"]:
        edition, arguments = "".join(arguments[1:2]), arguments[2:]
    paths = [Path(argument) for argument in arguments]
    missing = [path for path in paths if not path.exists()]
    if missing or not paths:
        words = f"{missing[0]}: there is no such file or folder" if missing else "nothing to check"
        print(f"error: {words}", file=sys.stderr)
        return 2
    try:
        found = check(paths, secrets_of(), facts_of(edition=edition))
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
    sys.exit(main(sys.argv[1:]))
