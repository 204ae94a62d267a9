"""Build the problem set's sheet and its practice from the description and the templates.

    python -m tools.handout [--edition NAME] [--dataset NAME] [--paper a4|letter]

For each edition, writes to dist/: EDITION-handout.pdf and .html, the sheet; EDITION-practice.pdf
and .html, the questions without points; EDITION-solutions.pdf (staff only), on both; and
EDITION-outline.csv (Gradescope's outline of the written assignment). The files with which students
typeset their answers go to build/handout/EDITION/written/. Files in dist/ are replaced only when
those of all editions are built.
Exit codes: 0 built; 1 a template or a table of handout/ has a mistake, or a tool is missing;
2 wrong usage, or a mistake in assignment.toml or course.toml.
"""

import sys

from autograder.description import REPO, editions

from ..arguments import OneLineParser, add_editions, add_paper, with_one_line_errors
from ..exchange import adding
from . import build, checks


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.handout", __doc__)
    add_editions(parser)
    parser.add_argument("--dataset", help="default: the installed data set")
    add_paper(parser)
    options = parser.parse_args(arguments)
    names = editions(REPO, options.edition)
    for edition in names:
        checks.check(REPO, edition, options.dataset)
    with adding(REPO / "dist", REPO / "build" / "handout.new") as draft:
        for edition in names:
            made = build.build(REPO, edition, options.dataset, options.paper, draft)
            print("\n".join(made.lines()), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
