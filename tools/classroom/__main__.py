"""Grade a class: `python -m tools.classroom COMMAND ...`; `--help` lists the commands.

Exit codes: 0 done, 2 wrong usage or bad input, 130 interrupted. If a command has others, its
`--help` lists them.
"""

import os
import sys

from grading.errors import UsageError
from grading.verdicts import ExitCode

from ..arguments import OneLineParser
from . import grade, listing
from .parsers import USUAL

# Each adds its commands (see `arguments.add_command`).
COMMANDS = (*(listing, grade),)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit code."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # names may be in any script
        stream.reconfigure(encoding="utf-8", errors="replace")
    parser = OneLineParser(
        "python -m tools.classroom",
        description="Grade a class, and turn the results into grades.",
        epilog=f"{USUAL}. `COMMAND --help` lists those of a command.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    asked = parser.parse_args(arguments)
    try:
        code = asked.run(asked)
        sys.stdout.flush()  # here, so that a closed pipe doesn't end in a traceback
        return code
    except UsageError as error:
        print(f"classroom: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        print("\nclassroom: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
