"""Grade a class: `python -m tools.classroom COMMAND ...`; `--help` lists the commands.

Exit codes: 0 done, 2 usage or bad input, 130 interrupted. Where a command has others, its `--help`
says so.
"""

import os
import sys

from grading.errors import UsageError
from grading.outcomes import ExitCode

from ..arguments import OneLineParser
from . import grade, listing, privacy, table
from .gradebook import bookkeeping, rubrics
from .regrading import regrade, repeat, stored
from .reports import class_report
from .similarity import command as similar

# Each adds its sub-commands, whose `run` takes the arguments and returns an exit code.
COMMANDS = (
    *(listing, grade, table),
    *(regrade, repeat, stored, class_report),
    *(bookkeeping, rubrics, similar, privacy),
)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit code."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # names are in any script
        stream.reconfigure(encoding="utf-8", errors="replace")
    parser = OneLineParser(
        "python -m tools.classroom",
        description="Grade a class.",
        epilog="exit codes: 0 done, 2 usage or bad input, 130 interrupted",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    asked = parser.parse_args(arguments)
    try:
        code = asked.run(asked)
        sys.stdout.flush()  # here, where a reader that has left makes no traceback
        return code
    except UsageError as error:
        print(f"classroom: {error}", file=sys.stderr)
        return ExitCode.USAGE
    except BrokenPipeError:  # who read our output has left: `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        print("\nclassroom: interrupted", file=sys.stderr)
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
