"""Score the answer "London" to every question.

    python src/london_baseline.py                 on birth_dev.tsv
    python src/london_baseline.py other.tsv

Run it from the assignment's root. Exit codes: 0 done, 2 usage or bad input.
"""

import environment

if __name__ == "__main__":
    environment.check("torch", "numpy", "tqdm")
    environment.find_submission()

import sys

from inputs import find_data
from pretraining import returned
from submission.london_baseline import london_baseline


def show(path: str) -> None:
    """Print correct, total and percent."""
    answer = london_baseline(str(find_data(path)))
    correct, total = returned.counts(london_baseline, answer)
    if total > 0:
        print(f"Correct: {correct} of {total}, {100 * correct / total:.1f} percent")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = environment.parser(__doc__)
    parser.add_argument("eval_corpus_path", nargs="?", default="birth_dev.tsv")
    args = parser.parse_args(arguments)
    return environment.report_errors(lambda: show(args.eval_corpus_path))


if __name__ == "__main__":
    sys.exit(main())
