"""`make new-term`: a new name, new dates, a data set, and a check of the reference."""

import re
import shutil

import pytest

from autograder.description import load_course
from tests.interpreter import python
from tests.project import ROOT
from tests.snapshots import check, printed
from tools import new_term

DATES = {"release": "3", "published": "2027-01-18", "due": "2027-01-31T23:59:00-08:00"}


def test_a_new_term_has_another_name_other_dates_and_keeps_the_comments():
    text = (ROOT / "course.toml").read_text(encoding="utf-8")
    for key, value in DATES.items():
        text = new_term.set_line(text, key, value)
    due = new_term._moment("2027-05-02T23:59:00-07:00")
    changed = new_term.renewed(text, 'Spring "27"', due)
    lines = zip(text.splitlines(), changed.splitlines(), strict=True)
    assert [new for old, new in lines if old != new] == [
        'term = "Spring \\"27\\""',
        "release = 1  # of this term; only `make release` and `make new-term` change it",
        "published = 2027-04-19",
        "due = 2027-05-02T23:59:00-07:00",
    ]


@pytest.mark.requires_tool("make")
def test_a_new_term_trains_and_compares_with_the_thresholds(tree, reference, tmp_path):
    # With the world's present seed, so that the trained files are up to date: saves a minute.
    copy = shutil.copytree(tree, tmp_path / "term", symlinks=True)
    errata = (copy / "errata.toml").read_text(encoding="utf-8")
    entry = '\n[[erratum]]\nrelease = 2\ndate = 2027-02-03\nsentence = "s"\n'
    (copy / "errata.toml").write_text(errata + entry, encoding="utf-8")
    words = ("--seed", "1", "--term", "Spring 2028", "--dataset", "smoke")
    ran = python(copy, "-m", "tools.new_term", *words)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"due {load_course(ROOT).dates.due} (same dates as before" in ran.stdout
    rows = re.findall(r"^(vanilla|synthesizer) +([\d.]+)% on dev, .*: ok$", ran.stdout, re.M)
    assert [name for name, _ in rows] == ["vanilla", "synthesizer"]
    assert all(float(reached) >= 10 for _, reached in rows)
    assert 'term = "Spring 2028"' in (copy / "course.toml").read_text(encoding="utf-8")
    assert (copy / "errata.toml").read_text(encoding="utf-8") == errata
    assert (copy / "solutions/data/seed.txt").read_text(encoding="utf-8").strip() == "1"
    path = copy / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    smoke = text.index("[datasets.smoke]")
    least = re.compile(r"(?<=thresholds = \{ vanilla = )[0-9.]+")
    changed = text[:smoke] + least.sub("0.99", text[smoke:], count=1)
    path.write_text(changed, encoding="utf-8")
    ran = python(copy, "-m", "tools.new_term", *words)
    assert ran.returncode == 1 and "BELOW THE THRESHOLD" in ran.stdout


WRONG = (
    "--seed 3",
    "--seed 3 --term Spring",  # can be found by brute force
    "--seed x --term S",
    "--seed 3 --term S --due tomorrow",
    "--seed 3 --term S --due 2027-05-02T23:59:00",
)


def test_a_new_term_asked_for_wrongly_changes_nothing(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["new_term"])
    before = (ROOT / "course.toml").read_bytes()
    found = {}
    for words in WRONG:
        try:
            code = new_term.main(words.split())
        except SystemExit as ended:  # argparse's
            code = ended.code
        found[words] = printed(code, *capsys.readouterr())
    assert (ROOT / "course.toml").read_bytes() == before
    check("new_term", found)
