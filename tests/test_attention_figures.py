"""The exploration's command draws readable figures, or says in one line what is missing."""

import json
import os
import re
import shutil

import numpy as np
import pytest

import grading
from tests.snapshots import check
from tools.reference import GIVEN, compose


@pytest.fixture
def laid_out(tmp_path):
    """The command beside the reference."""
    compose(grading.ROOT, tmp_path / "src")
    (tmp_path / "src" / "grading").mkdir()
    for name in GIVEN:
        shutil.copy(grading.SRC / name, tmp_path / "src" / name)
    return tmp_path


# The places of dots and crosses along the horizontal axis, panel by panel.
PLACES = """
import json, attention_exploration
figures, drawn = [], attention_exploration.svg
def svg(axes, title):
    figures.append(axes.figure)
    return drawn(axes, title)
attention_exploration.svg = svg
assert attention_exploration.main(["figures"]) == 0
print(json.dumps([[line.get_xdata().tolist() for line in axes.lines] for axes in figures[1].axes]))
"""


def test_figures_show_one_head_swing_and_two_stay(laid_out, run_python):
    done = run_python("-c", PLACES, cwd=laid_out / "src")
    assert done.returncode == 0, done.stderr
    names = sorted(os.listdir(laid_out / "src" / "figures"))
    assert names == ["attention_lengths.svg", "attention_samples.svg"]
    (single, crosses), (two, same_crosses) = json.loads(done.stdout.splitlines()[-1])
    assert crosses == same_crosses == [-1, 1, 0]  # at v_a, v_b and the other value
    # Dots are moved by .05 of the 2 between v_a and v_b at one standard deviation, with a fixed
    # seed.
    assert np.mean(np.abs(np.abs(single) - 1) < 0.3) > 0.95
    assert np.mean(np.abs(two) < 0.3) > 0.9


BODIES = {
    "unwritten": "raise NotImplementedError('yours to write')",
    "a part of a query": "return means[a, :2]",
    "not finite": "return means[a] * np.nan",
}


def test_the_command_says_in_a_line_what_is_missing(laid_out, run_python):
    path = laid_out / "src" / "submission" / "attention_exploration.py"
    text = path.read_text(encoding="utf-8")
    found = {}
    for title, body in BODIES.items():
        lines = f"\n\ndef single_head_query(means, a, b):\n    {body}\n"
        path.write_text(text + lines, encoding="utf-8")
        done = run_python("src/attention_exploration.py", cwd=laid_out)
        assert done.returncode == 2 and done.stderr.count("\n") == 1
        assert os.listdir(laid_out) == ["src"]
        found[title] = re.sub(r"\.py:\d+", ".py:LINE", done.stderr)
    check("attention_figures_refused", found, {str(laid_out): "A5"})
