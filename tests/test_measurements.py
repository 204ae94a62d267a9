"""README.md's picture shows the committed measurements."""

import re
import statistics
from xml.etree import ElementTree

import pytest

from autograder.description import load_assignment
from benchmarks import picture
from tests.interpreter import python
from tests.project import ROOT

RUNS = picture.measured()
SVG = "{http://www.w3.org/2000/svg}"
README = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
# Of the runs with the generated data set and its unchanged recipe, in percent.
SHARES = {
    "nopretrain": [1, 1, 5],
    "vanilla": [86, 94, 93],
    "synthesizer": [60, 61, 76],
    "rope": [88],
}


@pytest.fixture(scope="module")
def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(picture.PICTURE.read_text(encoding="utf-8"))


def test_the_picture_is_what_its_script_draws():
    committed = picture.PICTURE.read_text(encoding="utf-8")
    assert committed == picture.picture(RUNS), "run `python -m benchmarks.picture`"


def test_a_benchmark_finds_what_it_measures():
    """Without a PYTHONPATH: the package puts src/ on the path."""
    asked = python(ROOT, "-m", "benchmarks.training", "--help")
    assert asked.returncode == 0 and "--seeds" in asked.stdout, asked.stderr


def test_another_measurement_makes_another_picture():
    worse = [run | {"dev": 0.5} if run["pipeline"] == "vanilla" else run for run in RUNS]
    assert picture.picture(worse) != picture.picture(RUNS)


def test_bars_and_dots_are_as_high_as_the_accuracies(monkeypatch):
    seen = []
    monkeypatch.setattr(picture, "svg", lambda *given: seen.append(given))
    picture.picture(RUNS)
    ((axes, _),) = seen
    assert [bar.get_height() for bar in axes.patches] == [
        pytest.approx(statistics.median(shares)) for shares in SHARES.values()
    ]
    *dots, london = axes.lines
    assert [line.get_ydata() for line in dots] == [pytest.approx(s) for s in SHARES.values()]
    assert [*london.get_ydata()] == [4, 4] and axes.get_ylim() == (0, 100)


def test_the_text_below_the_picture_has_the_same_numbers():
    alternative, file = re.search(r"!\[(.*?)\]\((.*?)\)", README).groups()
    assert (ROOT / file) == picture.PICTURE
    medians = [f"{statistics.median(shares):.0f} %" for shares in SHARES.values()]
    assert re.findall(r"\d+ %", alternative) == [*medians, "4 %"]
    caption = re.search(r"\) \*(`make demo`.*?)\* ", README)[1]
    assert "(100 people in dev)" in caption
    xeon = "Intel(R) Xeon(R) Processor, avx512_bf16, amx_bf16, 2 cores, Linux"
    machines = {(run["pipeline"], run["machine"]) for run in RUNS if picture.shown(run)}
    others = {("nopretrain", "AMD EPYC, avx512_bf16, 2 cores, Linux")}
    assert machines == {(name, xeon) for name in ("vanilla", "synthesizer", "rope")} | others
    assert "two cores of an Intel Xeon with avx512_bf16 and amx_bf16 " in caption
    assert "(without pretraining: of an AMD EPYC with avx512_bf16)" in caption
    counts = {len(shares) for name, shares in SHARES.items() if name != "rope"}
    assert counts == {3} and "medians of three trainings with different seeds (one for RoPE)" in (
        caption
    )


def test_the_caption_says_that_the_variants_are_not_trained_for_equally_long():
    caption = re.search(r"\) \*(`make demo`.*?)\* ", README)[1]
    recipe = load_assignment().recipes["laptop"]["pretrain"]
    epochs = recipe["max_epochs"], recipe["synthesizer"]["max_epochs"]
    assert f"the synthesizer for {epochs[1]} epochs, the two others for {epochs[0]}" in caption
    heading = re.search(r'"(Three variants .*?)"', caption)[1]
    assert f"\n## {heading}\n" in (ROOT / "docs/measurements.md").read_text(encoding="utf-8")


def test_the_picture_can_be_read_on_a_dark_page(drawn):
    """It brings an opaque white background along, on which no word has a colour of its own."""
    background = next(drawn.iter(f"{SVG}path"))
    assert "fill: #ffffff" in background.get("style") and "opacity" not in background.get("style")
    corners = set(re.findall(r"[\d.]+", background.get("d")))
    assert {*drawn.get("viewBox").split()} == corners
    assert not any("fill" in word.get("style", "") for word in drawn.iter(f"{SVG}text"))


def test_the_picture_says_to_a_screen_reader_what_it_shows(drawn):
    title = drawn.findtext(f"{SVG}title")
    assert drawn.get("role") == "img"
    assert re.findall(r"\d+ %", title) == ["1 %", "93 %", "61 %", "88 %", "4 %"]
