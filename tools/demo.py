"""Train the reference, grade it with the students' command, and report scores and accuracies.

    python -m tools.demo [--recipe NAME]

Exit codes: 0 the reference earned every point; 1 it did not, or a training failed; 2 bad input.
"""

import json
import subprocess
import sys
import time

from . import reference
from .arguments import Failed, OneLineParser, add_recipe, with_one_line_errors
from .commands import pipelines_of
from .datafiles import DEV, REPO

KINDS = {"nopretrain": "without pretraining", "pretrain": "pretrained"}


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 when the reference earned every point."""
    parser = OneLineParser("python -m tools.demo", __doc__)
    add_recipe(parser)
    options = parser.parse_args(arguments)
    started = time.monotonic()
    trained = reference.train(recipe=options.recipe)
    trained_s = time.monotonic() - started

    print("\nGrading what the reference would hand in: python src/grader.py\n", flush=True)
    result_file = REPO / "build" / "demo.json"
    command = ["src/grader.py", "--submission", str(trained), "--json", str(result_file)]
    status = subprocess.run([sys.executable, *command], cwd=REPO, check=False).returncode
    if status not in (0, 1):
        raise Failed(f"the grader ended with exit code {status}")
    result = json.loads(result_file.read_text(encoding="utf-8"))

    print("\nShare of right answers on birth_dev.tsv")
    for name in (c.writes for commands in pipelines_of(REPO).values() for c in commands):
        if name.endswith(".dev.predictions"):
            variant, kind, *_ = name.split(".")
            title = f"{variant}, {KINDS[kind]}"
            right = reference.right(trained / name, REPO / DEV)
            print(f"  {title:<30}{sum(right) / len(right):6.1%}")
    rows = (REPO / DEV).read_text(encoding="utf-8").splitlines()
    london = sum(row.endswith("\tLondon") for row in rows) / len(rows)
    print(f"  {'always London':<30}{london:6.1%}")
    took = time.monotonic() - started
    print(f"Score {result['score']:g} of {result['max_score']:g}")
    print(f"Took {took / 60:.1f} minutes, {trained_s / 60:.1f} of them for training")
    return 0 if status == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
