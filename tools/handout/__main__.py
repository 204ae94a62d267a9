"""Build the problem set's sheet from the description and the templates.

    python -m tools.handout [--edition NAME] [--dataset NAME] [--paper a4|letter]

For each edition, writes EDITION-handout.pdf and .html, EDITION-solutions.pdf (staff only) and
EDITION-outline.csv (Gradescope's outline of the written assignment) to dist/, and the files with
which students typeset their answers to build/handout/EDITION/written/. Files in dist/ are replaced
only when those of all editions are built.
Exit codes: 0 built; 1 a template or a table of handout/ has a mistake, or a tool is missing;
2 wrong usage, or a mistake in assignment.toml or course.toml.
"""

import sys

from autograder.description import REPO, UsageError, editions

from ..arguments import OneLineParser, add_editions, add_paper
from ..exchange import adding
from . import build, checks
from .templates import HandoutError


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.handout", __doc__)
    add_editions(parser)
    parser.add_argument("--dataset", help="default: the installed data set")
    add_paper(parser)
    asked = parser.parse_args(arguments)
    try:
        names = editions(REPO, asked.edition)
        for edition in names:
            checks.check(REPO, edition, asked.dataset)
        with adding(REPO / "dist", REPO / "build" / "handout.new") as draft:
            for edition in names:
                made = build.build(REPO, edition, asked.dataset, asked.paper, draft)
                print("\n".join(made.lines()), flush=True)
    except (HandoutError, UsageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
