"""Write the lists of packages that pip, conda and uv read, from pyproject.toml and constraints.txt.

    python -m tools.requirements              write them
    python -m tools.requirements --check      fail if one is out of date       (make check)

pyproject.toml lists what students need, and in groups what the autograder, a class and staff need
besides; constraints.txt pins exact versions. From both come requirements*.txt for pip,
environment.yml for conda, and in pyproject.toml the pins for uv. The Python of conda's environment
is the one of assignment.toml that grades on Gradescope.

Exit codes: 0 written, or up to date; 1 out of date (--check).
"""

import re
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pretraining.files import write_atomically

from .arguments import OneLineParser

ROOT = Path(__file__).resolve().parent.parent
PROJECT = "pyproject.toml"
HEAD = "# Generated from pyproject.toml and constraints.txt."
CONDA = """\
# conda env create -f environment.yml && conda activate pretraining
# pip installs the packages, so that installing with conda and without it gives the same versions.
name: pretraining
channels:
  - conda-forge
dependencies:
  - python ={python}
  - pip
  - pip:
      - -r requirements.txt
"""


def pins(root: Path) -> list[str]:
    """Return the lines of constraints.txt that pin a version."""
    lines = (root / "constraints.txt").read_text(encoding="utf-8").splitlines()
    return [pin for line in lines if (pin := line.partition("#")[0].strip())]


def with_array(text: str, name: str, entries: Iterable[str]) -> str:
    """Return TOML with these strings in its array NAME, which begins and ends a line."""
    array = "\n".join([f"{name} = [", *(f'    "{entry}",' for entry in entries), "]"])
    pattern = rf"^{name} = \[(\n.*?^)?\]$"
    changed, count = re.subn(pattern, array, text, flags=re.MULTILINE | re.DOTALL)
    if count != 1:
        raise ValueError(f"{count} arrays `{name} = [`, expected one")
    return changed


def written(root: Path) -> dict[str, str]:
    """Return the content of each file that this command writes."""
    text = (root / PROJECT).read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)
    with (root / "assignment.toml").open("rb") as file:
        python = tomllib.load(file)["assignment"]["gradescope_python"]
    students = ["-c constraints.txt", *project["project"]["dependencies"]]
    files = {
        PROJECT: with_array(text, "constraint-dependencies", pins(root)),
        "requirements.txt": "\n".join([HEAD, *students, ""]),
        "environment.yml": f"{HEAD}\n{CONDA.format(python=python)}",
    }
    for name, packages in project["dependency-groups"].items():
        lines = [
            each if isinstance(each, str) else f"-r requirements-{each['include-group']}.txt"
            for each in packages
        ]
        files[f"requirements-{name}.txt"] = "\n".join([HEAD, "-r requirements.txt", *lines, ""])
    return files


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write or check the lists; return the exit code."""
    parser = OneLineParser("python -m tools.requirements", __doc__)
    parser.add_argument("--check", action="store_true", help="fail if a list is out of date")
    check = parser.parse_args(arguments).check
    old = {
        name: text
        for name, text in written(root).items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != text
    }
    if check and old:
        names = ", ".join(old)
        print(f"out of date: {names}; run `python -m tools.requirements`, which writes these lists")
        return 1
    for name, text in old.items():
        write_atomically(root / name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
