"""Keep pyproject.toml's lists of packages equal to requirements*.txt and constraints.txt.

    python -m tools.pins              write them
    python -m tools.pins --check      fail if one differs              (make check)

pip, conda and Gradescope read the text files, and uv reads pyproject.toml; the text files are the
source. Each list is an array that begins with `NAME = [` and ends with `]`, on lines of their own.

Exit codes: 0 written, or equal; 1 a list differs (--check); 2 a list is missing.
"""

import difflib
import re
import sys
from pathlib import Path

from .arguments import OneLineParser

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "pyproject.toml"
# What each array of pyproject.toml is made from.
SOURCES = {
    "dependencies": "requirements.txt",
    "autograder": "requirements-autograder.txt",
    "class": "requirements-class.txt",
    "staff": "requirements-staff.txt",
    "constraint-dependencies": "constraints.txt",
}


class ListMissing(Exception):
    """pyproject.toml has no such array."""


def entries(text: str) -> list[str]:
    """Return the elements of an array, as TOML, for the lines of a requirements file.

    `-r requirements-NAME.txt` becomes the group NAME. `-r requirements.txt` needs no entry, since
    the project's own dependencies are installed with every group.
    """
    lines = [line.partition("#")[0].strip() for line in text.splitlines()]
    groups = [re.fullmatch(r"-r requirements-(\w+)\.txt", line) for line in lines]
    included = [f'{{ include-group = "{group[1]}" }}' for group in groups if group]
    return included + [f'"{line}"' for line in lines if line and not line.startswith("-")]


def rewritten(root: Path) -> str:
    """Return pyproject.toml's text with all lists up to date.

    Raises:
        ListMissing: an array is missing.
    """
    text = (root / PROJECT).read_text(encoding="utf-8")
    for name, source in SOURCES.items():
        listed = entries((root / source).read_text(encoding="utf-8"))
        array = "\n".join([f"{name} = [", *(f"    {entry}," for entry in listed), "]"])
        pattern = re.compile(rf"^{name} = \[$.*?^\]$", re.MULTILINE | re.DOTALL)
        found = pattern.findall(text)
        if len(found) != 1:
            raise ListMissing(f"{PROJECT}: {len(found)} arrays `{name} = [`, expected one")
        text = text.replace(found[0], array)
    return text


def differences(root: Path) -> list[str]:
    """Return a line for each entry of pyproject.toml to add (`+`) or to remove (`-`)."""
    old = (root / PROJECT).read_text(encoding="utf-8").splitlines()
    compared = difflib.ndiff(old, rewritten(root).splitlines())
    return [f"{line[0]} {line[2:].strip()}" for line in compared if line[0] in "+-"]


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write or check the lists; return the exit code."""
    parser = OneLineParser("python -m tools.pins", __doc__)
    parser.add_argument("--check", action="store_true", help="fail if a list differs")
    check = parser.parse_args(arguments).check
    try:
        differing, text = differences(root), rewritten(root)
    except ListMissing as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if check and differing:
        print(f"{PROJECT} differs from the text files; run `python -m tools.pins` to update it:")
        print("\n".join(f"  {line}" for line in differing))
        return 1
    if not check:
        (root / PROJECT).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
