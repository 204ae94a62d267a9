"""Begin a new term: generate a data set, set the term's name and dates, and check the reference.

    python -m tools.new_term --term "Spring 2027" [--due 2027-05-02T23:59:00-07:00] [--seed N]

Generates a data set and its answers, from a new seed unless one is given (see tools/world.py). The
last term's answers, seed and grading secret move to solutions/data/archive/. Writes the term to
course.toml, with release 1, and, with --due, the dates; the time from publication to due date stays
the same. Removes the last term's entries from errata.toml. Then trains the reference on the new
data set and compares its accuracy on dev with the thresholds.
Exit codes: 0 success; 1 the reference failed or is below a threshold; 2 bad input, and nothing was
changed.
"""

import argparse
import contextlib
import datetime
import json
import re
import sys
import tomllib

from autograder.description import COURSE, ERRATA, UsageError, load_assignment, load_course
from pretraining.files import write_atomically

from . import reference, world
from .arguments import OneLineParser, one_of, printable, whole_number, with_one_line_errors
from .commands import pipelines_of
from .datafiles import DEV, REPO


def renewed(text: str, term: str, due: datetime.datetime | None) -> str:
    """Return course.toml's text with a new term and, if given, new dates; keep its comments."""
    if re.search("^release = ", text, re.MULTILINE):
        text = set_line(text, "release", "1")
    text = set_line(text, "term", json.dumps(term, ensure_ascii=False))
    if due is None:
        return text
    dates = tomllib.loads(text)["dates"]
    lead = dates["due"].date() - dates["published"]
    text = set_line(text, "published", (due.date() - lead).isoformat())
    return set_line(text, "due", due.isoformat())


def set_line(text: str, key: str, value: str) -> str:
    """Return course.toml's text with another value on a key's line, or raise UsageError."""
    line = re.compile(rf"^{key} = [^#\n]*?(\s*#.*)?$", re.MULTILINE)
    if not line.search(text):
        raise UsageError(f"{COURSE}: the line {key} = ... is missing")
    return line.sub(lambda found: f"{key} = {value}{found[1] or ''}", text, count=1)


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.new_term", __doc__)
    parser.add_argument("--seed", type=whole_number, help="seed of a data set to generate again")
    term = printable("a term's name, such as Spring 2027")
    parser.add_argument("--term", type=term, required=True, help="its name, such as Spring 2027")
    parser.add_argument("--due", type=_moment, help="due date and time with UTC offset")
    parser.add_argument(
        "--dataset",
        type=one_of(sorted(world.CITIES)),
        default="world",
        help="its kind (default: world)",
    )
    options = parser.parse_args(arguments)
    load_course(REPO)
    load_assignment(REPO)
    text = renewed((REPO / COURSE).read_text(encoding="utf-8"), options.term, options.due)
    seed = ["--force"] if options.seed is None else ["--seed", str(options.seed)]
    if code := world.main([*seed, "--dataset", options.dataset]):
        return code
    write_atomically(REPO / COURSE, text)
    if (REPO / ERRATA).is_file():
        kept = (REPO / ERRATA).read_text(encoding="utf-8").partition("\n[[erratum]]")[0]
        write_atomically(REPO / ERRATA, kept.rstrip("\n") + "\n")
    dates = load_course(REPO).dates
    words = f"{COURSE}: {options.term}, published {dates.published}, due {dates.due}"
    print(words + ("" if options.due else " (same dates as before; DUE=... changes them)"))
    trained = reference.train()
    code = 0
    for variant, least in load_assignment(REPO).datasets[options.dataset].thresholds.items():
        if variant in pipelines_of(REPO):
            predicted = trained / f"{variant}.pretrain.dev.predictions"
            right = reference.right(predicted, REPO / DEV)
            reached = sum(right) / len(right)
            verdict = "ok" if reached >= least else "BELOW THE THRESHOLD: try another seed"
            print(f"{variant:<12} {reached:6.1%} on dev, threshold {least:.0%}: {verdict}")
            code = code if reached >= least else 1
    return code


def _moment(text: str) -> datetime.datetime:
    moment = None
    with contextlib.suppress(ValueError):
        moment = datetime.datetime.fromisoformat(text)
    if moment is None or moment.tzinfo is None:
        raise argparse.ArgumentTypeError(
            f"got {text!r}, expected date, time and UTC offset, such as 2027-05-02T23:59:00-07:00"
        )
    return moment


if __name__ == "__main__":
    sys.exit(main())
