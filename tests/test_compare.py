"""`make compare`: the variants trained for equally many steps, as a table and a figure."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.interpreter import python
from tests.project import copy_of_the_project, make
from tools import compare
from tools.reference import TrainingFailed

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def quick_tree(tmp_path_factory) -> Path:
    """Return a copy of the project with a smoke world, whose recipe trains for a few steps."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("quick"))
    path = tree / "assignment.toml"
    before, smoke, recipe = path.read_text(encoding="utf-8").partition("[recipes.smoke]")
    recipe, count = re.subn("max_epochs = [0-9]+", "max_epochs = 2", recipe)
    assert count >= 3, "one for each stage"
    path.write_text(before + smoke + recipe, encoding="utf-8")
    for target in (("starter",), ("world", "DATASET=smoke", "SEED=1")):
        made = make(tree, *target)
        assert made.returncode == 0, made.stderr
    return tree


@pytest.mark.long
@pytest.mark.requires_tool("make")
def test_three_variants_are_compared_at_equal_steps(quick_tree):
    made = make(quick_tree, "compare", "RECIPE=smoke", "ARGS=--marks 2", timeout=900)
    assert made.returncode == 0, made.stdout + made.stderr
    folder = quick_tree / "build" / "compare"
    assert {path.name for path in folder.iterdir()} == {
        f"compare.{e}" for e in ("json", "md", "svg")
    }
    found = json.loads((folder / "compare.json").read_text(encoding="utf-8"))["variants"]
    assert [one["variant"] for one in found] == ["vanilla", "synthesizer", "rope"]
    steps = [[mark["steps"] for mark in one["marks"]] for one in found]
    assert (
        steps[0] == steps[1] == steps[2] and len(steps[0]) == 2 and steps[0][1] == 2 * steps[0][0]
    )
    for one in found:
        first, last = one["marks"]
        assert 0 < first["seconds"] < last["seconds"] and 0 < first["tokens"] < last["tokens"]
        assert all(0 <= mark["dev"] <= 1 for mark in one["marks"])
        assert one["recipe"] == "smoke"
    vanilla, _, rope = (one["parameters"] for one in found)
    assert vanilla - rope == 96 * 64  # the table of learned positions: block_size * n_embd
    table = (folder / "compare.md").read_text(encoding="utf-8")
    assert table in made.stdout
    assert re.search(rf"^\| rope +\| +{rope:,} \| +{steps[2][1]} \|", table, re.MULTILINE)
    drawing = ElementTree.fromstring((folder / "compare.svg").read_text(encoding="utf-8"))
    words = {text.text for text in drawing.iter(f"{SVG}text")}
    assert {"vanilla", "synthesizer", "rope", "always London"} <= words


def test_a_training_that_fails_is_one_clear_line(quick_tree):
    path = quick_tree / "solutions" / "submission" / "helper.py"
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text('raise SystemExit("out of order")\n', encoding="utf-8")
        ran = python(quick_tree, "-m", "tools.compare", "--recipe", "smoke")
    finally:
        path.write_text(text, encoding="utf-8")
    assert ran.returncode == 1 and ran.stderr.count("\n") == 1
    assert "failed with exit code 1: out of order (see " in ran.stderr


def test_a_comparison_that_fails_leaves_the_last_table(tmp_path, monkeypatch):
    def fail(*_):
        raise TrainingFailed("no")

    table = tmp_path / "compare.md"
    table.write_text("of an earlier call", encoding="utf-8")
    monkeypatch.setattr(compare, "TARGET", tmp_path)
    monkeypatch.setattr(compare, "lay_out", lambda *_: None)
    monkeypatch.setattr(compare, "require_data_set", lambda *_: None)
    monkeypatch.setattr(compare, "run", fail)
    with pytest.raises(TrainingFailed):
        compare.compare(None, 0, 1)
    assert table.read_text(encoding="utf-8") == "of an earlier call"


def test_marks_must_be_at_least_one(quick_tree):
    ran = python(quick_tree, "-m", "tools.compare", "--marks", "0")
    assert ran.returncode == 2 and "got --marks 0, expected 1 or more" in ran.stderr


def test_the_table_tells_speed_and_time():
    mark = {"steps": 1805, "seconds": 300.0, "tokens": 4_500_000, "dev": 0.75}
    one = {"variant": "rope", "parameters": 800_000, "marks": [mark]}
    last = compare.table([one]).splitlines()[-1]
    cells = [
        "rope   ",
        "   800,000",
        "1,805",
        "  5 min 0 s",
        "           15,000",
        "          75.0%",
    ]
    assert last == f"| {' | '.join(cells)} |"


def test_each_line_has_its_points_and_its_name(monkeypatch):
    seen = []
    monkeypatch.setattr(compare, "svg", lambda *given: seen.append(given))
    lines = {name: [(1.0, 10.0), (2.0, 50.0 + n)] for n, name in enumerate("ab<")}
    compare.draw_lines(lines, "A title", "seconds")
    ((axes, title),) = seen
    assert [[*map(tuple, line.get_xydata())] for line in axes.lines] == [*lines.values()]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [*lines]
    assert len({line.get_color() for line in axes.lines}) == 3
    assert title == "A title: a 50, b 51, < 52"
