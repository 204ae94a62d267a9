"""Make the problem set's sheet from the description and the templates.

    python -m tools.handout [--edition NAME] [--dataset NAME] [--paper a4|letter]

For each edition, in dist/: EDITION-handout.pdf and .html, EDITION-solutions.pdf (staff only),
EDITION-outline.csv (Gradescope's outline of the written assignment), and in
build/handout/EDITION/written/ what students typeset their answers with.
Exit codes: 0 made, 1 a template or a table has a mistake, or a tool is missing.
"""

import argparse
import sys

from ..described import REPO, UsageError, editions
from . import build
from .templates import HandoutError


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.handout", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--edition", help="default: every edition of assignment.toml")
    parser.add_argument("--dataset", help="default: the installed one")
    parser.add_argument("--paper", choices=["a4", "letter"], default="letter")
    asked = parser.parse_args(arguments)
    try:
        for edition in [asked.edition] if asked.edition else editions(REPO):
            made = build.build(REPO, edition, asked.dataset, asked.paper)
            print("\n".join(made.lines()), flush=True)
    except (HandoutError, UsageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
