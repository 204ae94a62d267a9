"""The table of docs/measurements.md: how many trainings bear an effect out."""

import json

from tests.interpreter import python
from tests.project import ROOT


def test_a_training_whose_sign_differs_from_that_of_most_counts_against_an_effect(tmp_path):
    """Five of six means harm, one helps; each is clear by itself."""
    rows = []
    for number, value in enumerate((-0.26, -0.35, 0.18, -0.10, -0.09, -0.09)):
        values = {"slot means": [value, 0.03], f"worst head (block {number})": [2.0, 1.0]}
        training = f"world-{5_000_000_001 + number // 3}/seed-{number % 3 + 1}"
        rows.append({"experiment": "ablate", "training": training, "values": values})
    text = "\n".join(map(json.dumps, rows))
    (tmp_path / "measured.jsonl").write_text(text, encoding="utf-8")
    done = python(ROOT, "-m", "benchmarks.experiments", tmp_path, "--table")
    assert (done.returncode, done.stderr) == (0, "")
    _, _, means, worst = done.stdout.split("\n\n")[0].splitlines()
    assert means.endswith(" 5 of 6 |") and worst.endswith(" 0 of 6 |")
    assert "2.00 ± 1.00, block 2 |" in worst
