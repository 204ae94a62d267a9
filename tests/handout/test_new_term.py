"""`make new-term`: a new name, new dates, a data set, and a check of the reference."""

import re
import shutil

import pytest

from tests.interpreter import call, python
from tests.project import ROOT
from tests.snapshots import check, printed
from tools import new_term

DATES = {"release": "3", "published": "2027-01-18", "due": "2027-01-31T23:59:00-08:00"}


@pytest.mark.requires_tool("make")
def test_a_new_term_has_other_dates_trains_and_compares_with_the_thresholds(
    tree, reference, tmp_path
):
    # With the world's present seed, so that the trained files are up to date: saves a minute.
    copy = shutil.copytree(tree, tmp_path / "term", symlinks=True)
    before = (copy / "course.toml").read_text(encoding="utf-8")
    for key, value in DATES.items():
        before = new_term.set_line(before, key, value)
    (copy / "course.toml").write_text(before, encoding="utf-8")
    errata = (copy / "errata.toml").read_text(encoding="utf-8")
    entry = '\n[[erratum]]\nrelease = 2\ndate = 2027-02-03\nsentence = "s"\n'
    (copy / "errata.toml").write_text(errata + entry, encoding="utf-8")
    words = ("-m", "tools.new_term", "--seed", "1", "--dataset", "smoke", "--term", 'Spring "27"')
    ran = python(copy, *words, "--due", "2027-05-02T23:59:00-07:00")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    rows = re.findall(r"^(vanilla|synthesizer) +([\d.]+)% on dev, .*: ok$", ran.stdout, re.M)
    assert [name for name, _ in rows] == ["vanilla", "synthesizer"]
    assert all(float(reached) >= 10 for _, reached in rows)
    now = (copy / "course.toml").read_text(encoding="utf-8").splitlines()
    assert [new for old, new in zip(before.splitlines(), now, strict=True) if old != new] == [
        'term = "Spring \\"27\\""',
        "release = 1  # of this term; only `make release` and `make new-term` change it",
        "published = 2027-04-19",
        "due = 2027-05-02T23:59:00-07:00",
    ]
    assert (copy / "errata.toml").read_text(encoding="utf-8") == errata
    assert (copy / "solutions/data/seed.txt").read_text(encoding="utf-8").strip() == "1"
    path = copy / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    smoke = text.index("[datasets.smoke]")
    least = re.compile(r"(?<=thresholds = \{ vanilla = )[0-9.]+")
    changed = text[:smoke] + least.sub("0.99", text[smoke:], count=1)
    path.write_text(changed, encoding="utf-8")
    ran = python(copy, *words)
    assert "due 2027-05-02 23:59:00-07:00 (same dates as before" in ran.stdout
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
        found[words] = printed(*call(new_term.main, capsys, *words.split()))
    assert (ROOT / "course.toml").read_bytes() == before
    check("new_term", found)
