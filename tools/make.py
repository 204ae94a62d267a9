"""Run a command of the Makefile, with the variables of make's command line as its options.

    python -m tools.make TARGET [ARGUMENT...]      run `python ARGUMENT... --edition=cs224n`

The help of each target in the Makefile names its variables. Those in brackets become options of
the command, EDITION=NAME as --edition=NAME and FORCE=1 as --force. The others are required; the
recipe puts them into the command itself, as well as ARGS. Any other name is rejected, so that a
typing error is never ignored.

The Makefile passes on GOALS, the requested targets, and GIVEN, the variables on its command line.
Those of the environment are no options: TERM, for example, describes the terminal there.
Exit codes: 2 a variable is unknown, missing or wrong; otherwise the command's.
"""

import os
import re
import sys
from pathlib import Path

MAKEFILE = Path(__file__).resolve().parent.parent / "Makefile"
OF_SETUP = ("PYTHON", "TORCH_INDEX", "UV")  # nearly every target may have to create .venv
HELP = re.compile(r"^([a-z-]+):.*?## (.*)$", re.MULTILINE)
VARIABLE = re.compile(r'\b([A-Z_]+)=("[^"]*"|[^]\s]*)')


def variables(target: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that a target requires, and its others, with the values in its help."""
    helps = dict(HELP.findall(MAKEFILE.read_text(encoding="utf-8")))
    required, _, optional = helps.get(target, "").partition("[")
    return dict(VARIABLE.findall(required)), dict(VARIABLE.findall(optional))


def given(command_line: str) -> dict[str, str]:
    r"""Return the variables of a command line as make writes it: `TERM=Spring\ 2027 DUE=...`."""
    words = re.findall(r"(?:\\.|\S)+", command_line)
    names = [word.partition("=")[0].rstrip(":?+!") for word in words]
    return {name: os.environ.get(name, "") for name in names}


def fault(goals: list[str], values: dict[str, str]) -> str:
    """Return what is wrong with the variables given for these targets; nothing if all is well."""
    required: dict[str, str] = {}
    optional = dict.fromkeys(OF_SETUP, "")
    for goal in goals:
        of_goal = variables(goal)
        required |= of_goal[0]
        optional |= of_goal[1]
    known = required.keys() | optional.keys()
    unknown = [name for name in values if name not in known]
    if unknown:
        return f"unknown variable {' '.join(unknown)}; known: {' '.join(sorted(known))}"
    for name, form in required.items():
        if not values.get(name, "").strip():
            return f"{name} is missing, expected: make {' '.join(goals)} {name}={form}"
    for name, value in values.items():
        if optional.get(name) == "1" != value:
            return f"{name}={value}, expected {name}=1 or no {name}"
    return ""


def options(target: str, values: dict[str, str]) -> list[str]:
    """Return the options of a target's command."""
    forms = {name: form for name, form in variables(target)[1].items() if name in values}
    return [
        f"--{name.lower()}" + ("" if form == "1" else f"={values[name]}")
        for name, form in forms.items()
        if name not in ("ARGS", *OF_SETUP)
    ]


def main() -> int:
    """Check the variables and become the command; return only if there is none, or for a fault."""
    target, *words = sys.argv[1:]
    goals, values = os.environ["GOALS"].split(), given(os.environ["GIVEN"])
    wrong = fault(goals, values)
    if wrong:
        print(f"error: make {' '.join(goals)}: {wrong}", file=sys.stderr)
        return 2
    if words:
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = options(target, values)
        os.execv(sys.executable, [sys.executable, *words])
    return 0


if __name__ == "__main__":
    sys.exit(main())
