"""Grade a class: `python -m classroom COMMAND ...`; `--help` lists the commands.

Exit codes: 0 done, 1 something is left to do or failed (a command's `--help` says what), 2 wrong
usage or bad input, 3 the cluster or grader failed or a file can't be written, 130 interrupted.
"""

import environment

if __name__ == "__main__":
    environment.check("distributed", "jinja2", "numpy", "pydantic", "yaml")

import os
import signal
import sys
from types import ModuleType

from grading.errors import GradingError, UsageError
from grading.upload import MACHINE_ERRNOS
from grading.verdicts import ExitCode

from . import exports, grade, privacy, regrade, stored
from .arguments import USUAL, Parser
from .grades import commands as grades
from .report import command as report
from .similar import command as similar

# Each adds its commands (see `arguments.add_command`), and imports large packages only to run them.
COMMANDS: tuple[ModuleType, ...]
COMMANDS = (exports, grade, grades, regrade, report, stored, similar, privacy)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit code."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # names may be in any script
        stream.reconfigure(encoding="utf-8", errors="replace")
    parser = Parser(
        "python -m classroom",
        description="Grade a class, and turn the results into grades.",
        epilog=f"{USUAL}. `COMMAND --help` lists those of a command.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    asked = parser.parse_args(arguments)
    try:
        code = asked.run(asked)
        sys.stdout.flush()  # here, so that a closed pipe doesn't end in a traceback
        return code
    except BrokenPipeError:  # the reader of our output has gone, as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        why, code = "interrupted", ExitCode.INTERRUPTED
    except UsageError as error:
        why, code = str(error), ExitCode.USAGE
    except (GradingError, OSError) as error:
        if isinstance(error, OSError) and error.errno not in MACHINE_ERRNOS:
            raise
        why, code = str(error), ExitCode.GRADER_ERROR
    print(f"classroom: {why}", file=sys.stderr)
    return code


if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as below nohup
            signal.signal(number, signal.default_int_handler)
    sys.exit(main())
