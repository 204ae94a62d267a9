"""Make the problem set's sheet from the description and the templates.

    python -m tools.handout [--edition NAME] [--dataset NAME] [--paper a4|letter]

For each edition, in dist/: EDITION-handout.pdf and .html, EDITION-solutions.pdf (staff only),
EDITION-outline.csv (Gradescope's outline of the written assignment), and in
build/handout/EDITION/written/ what students typeset their answers with. Files of dist/ change only
when those of all editions are made.
Exit codes: 0 made, 1 a template or a table of handout/ has a mistake, or a tool is missing,
2 usage, or a mistake in assignment.toml or course.toml.
"""

import sys

from ..arguments import OneLineParser, add_editions, add_paper
from ..described import REPO, UsageError, editions
from ..exchange import adding
from . import build, checks
from .templates import HandoutError


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.handout", __doc__)
    add_editions(parser)
    parser.add_argument("--dataset", help="default: the installed one")
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
