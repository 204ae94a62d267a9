"""Handing in: lines changed outside the markers are named."""

import re

import pytest

from grading.markers import END, START, find_regions, fingerprints, outside_regions
from tests.student.collecting import REFERENCE, STARTER, number_of, texts
from tools import regions


def test_a_line_changed_outside_the_markers_is_named(desk):
    desk.replace("dataset.py", "import random\n", "import random\nimport math\n")
    desk.replace("dataset.py", "PAD_CHAR = ", "MY_CHAR = ")
    number = number_of(desk.code / "dataset.py", "import math")
    assert desk.warnings() == [
        f"src/submission/dataset.py:{number}: changed outside the markers (lines in this file: 2 "
        "added, 1 removed); change only what is between the markers"
    ]


def test_lines_cut_off_at_the_end_are_named(desk):
    path = desk.code / "utils.py"
    text = path.read_text(encoding="utf-8")
    kept = text[: text.rindex("\ndef ")].rstrip() + "\n"
    path.write_text(kept, encoding="utf-8")
    last, gone = kept.count("\n"), [line for line in text[len(kept) :].split("\n") if line.strip()]
    (line,) = desk.warnings()
    assert line.startswith(f"src/submission/utils.py:{last}: changed outside the markers")
    assert f"(lines in this file: 0 added, {len(gone)} removed)" in line


def test_a_given_module_that_is_gone_is_named(desk):
    (desk.code / "utils.py").unlink()
    assert desk.warnings() == ["src/submission/utils.py is missing; take it from the course's zip"]


def test_an_edited_pretraining_is_named_since_it_is_not_packed(desk):
    path = desk.root / "src" / "pretraining" / "fast.py"
    path.write_text(path.read_text(encoding="utf-8") + "print('mine')\n", encoding="utf-8")
    line = "src/pretraining/fast.py was changed; the grader uses the course's version"
    assert desk.warnings() == [line]
    assert not [name for name in desk.packed() if "pretraining/" in name]
    path.unlink()
    assert desk.warnings() == ["src/pretraining/fast.py is missing; take it from the course's zip"]


@pytest.mark.parametrize("name", ["mine.py", "mine/inner.py"])
def test_a_module_of_ones_own_among_the_given_ones_is_named(desk, name):
    path = desk.root / "src" / "pretraining" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x = 1\n", encoding="utf-8")
    line = f"src/pretraining/{name} is not packed, and the grader lacks it"
    assert desk.warnings() == [f"{line}; move what you import to src/submission/"]


@pytest.mark.parametrize("kind", [START, END])
def test_a_lost_marker_is_named(desk, kind):
    path = desk.code / "london_baseline.py"
    desk.replace(path.name, f"    {kind}\n", "")
    left = END if kind == START else START
    assert desk.warnings() == [
        f"src/submission/london_baseline.py:{number_of(path, left)}: `{left}` has no "
        f"`{kind}`; put it back"
    ]


def test_a_lost_pair_of_markers_is_named(desk):
    for kind in (START, END):
        desk.replace("london_baseline.py", f"    {kind}\n", "")
    (line,) = desk.warnings()
    assert "markers are missing: got 0 pairs, expected 1" in line


@pytest.mark.parametrize(
    "slip", ["### END CODE HERE", "# End code here", "###END_CODE_HERE###", "## END  CODE HERE ##"]
)
def test_an_altered_marker_is_named(desk, slip):
    path = desk.code / "london_baseline.py"
    desk.replace(path.name, END, slip)
    assert desk.warnings() == [
        f"src/submission/london_baseline.py:{number_of(path, slip)}: got the marker `{slip}`, "
        f"expected `{END}`"
    ]


def test_staffs_checkout_has_nothing_to_compare_with(desk):
    (desk.root / "src" / "submission_lines.json").unlink()
    desk.replace("dataset.py", "import random\n", "import random\nimport math\n")
    assert desk.warnings() == []


def test_damaged_fingerprints_are_named(desk):
    (desk.root / "src" / "submission_lines.json").write_text("{", encoding="utf-8")
    assert desk.warnings() == [
        "src/submission_lines.json is damaged: lines outside the markers are not checked"
    ]


def test_markers_are_those_of_the_starter():
    assert (START, END) == (regions.START, regions.END)
    for folder in (STARTER, REFERENCE):
        for name, text in texts(folder).items():
            found, faults = find_regions(text)
            assert faults == []
            assert found == [(r.start, r.end) for r in regions.find_regions(text, name)]


def test_filling_in_the_regions_changes_no_fingerprint():
    complete = texts(REFERENCE)
    starter = fingerprints({name: texts(STARTER)[name] for name in complete})
    assert starter == fingerprints(complete)
    assert all(re.fullmatch("[0-9a-f]{8}", line) for lines in starter.values() for line in lines)


def test_outside_regions_keeps_markers_and_drops_what_is_between():
    text = f"a = 1  \r\n\r\n    {START}\r\n    b = 2\r\n    {END}\r\nc = 3"
    assert outside_regions(text) == f"a = 1\n{START}\n{END}\nc = 3\n"
