"""README.md's picture and the tables of benchmarks/README.md show the committed measurements."""

import math
import re
import statistics
from xml.etree import ElementTree

import pytest

from autograder.description import load_assignment
from benchmarks import chance, picture, tables
from tests.interpreter import python
from tests.project import ROOT

RUNS = tables.rows_of("training.jsonl")
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


@pytest.mark.long
def test_the_tables_are_what_their_script_writes():
    text = tables.README.read_text(encoding="utf-8")
    assert tables.all_replaced(text) == text, "run `python -m benchmarks.tables`"


@pytest.mark.long
def test_equal_worlds_miss_a_threshold_as_a_binomial_does():
    """The grid's least correlation, 1e-4, makes the variance only a hundredth larger."""
    mean, correlation, fitted, bound = chance.estimate([100] * 12, 200, 0.3)
    assert mean == pytest.approx(0.5, abs=0.002) and correlation == pytest.approx(1e-4)
    below = 2 * sum(math.comb(100, k) for k in range(30)) / 2**100
    assert below < fitted < 1.2 * below < bound


@pytest.mark.long
def test_worlds_that_differ_miss_a_threshold_more_often():
    """A beta distribution with a = b = 2 has its k-th of 12 quantiles at these shares."""
    quantiles = [0.12, 0.22, 0.29, 0.35, 0.41, 0.47, 0.53, 0.59, 0.65, 0.71, 0.78, 0.88]
    right = [round(200 * share) for share in quantiles]
    mean, correlation, fitted, bound = chance.estimate(right, 200, 0.3)
    assert mean == pytest.approx(0.5, abs=0.01) and 0.15 < correlation < 0.25  # 1 / (2 + 2 + 1)
    missed = 2 * (3 * 0.3**2 - 2 * 0.3**3)  # twice the beta distribution's share below 0.3
    assert fitted == pytest.approx(missed, rel=0.2) and fitted < bound < 1


def test_a_beta_binomial_distribution_adds_up_to_one():
    m, rho = chance.MEANS[100:400:100], chance.CORRELATIONS[50:200:50]
    total = sum(chance.log_chance(k, 20, m, rho).exp() for k in range(21))
    assert total.tolist() == pytest.approx([1.0] * 3)


def test_a_benchmark_finds_what_it_measures():
    """Without a PYTHONPATH: the package puts src/ on the path."""
    asked = python(ROOT, "-m", "benchmarks.similarity", "--help")
    assert asked.returncode == 0 and "--solutions" in asked.stdout, asked.stderr


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
    assert f"\n## {heading}\n" in tables.README.read_text(encoding="utf-8")


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
