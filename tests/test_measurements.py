"""README.md's picture shows the committed measurements."""

import re
import statistics
from xml.etree import ElementTree

import pytest

from benchmarks import picture
from tests.project import ROOT

RUNS = picture.measured()
SVG = "{http://www.w3.org/2000/svg}"
README = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
# Of the runs with the generated data set and its unchanged recipe, in percent.
SHARES = {"nopretrain": [1, 1, 5], "vanilla": [86, 94, 93], "synthesizer": [26], "rope": [88]}


@pytest.fixture(scope="module")
def drawn() -> ElementTree.Element:
    return ElementTree.fromstring(picture.PICTURE.read_text(encoding="utf-8"))


def test_the_picture_is_what_its_script_draws():
    committed = picture.PICTURE.read_text(encoding="utf-8")
    assert committed == picture.picture(RUNS), "run `python -m benchmarks.picture`"


def test_the_text_below_the_picture_has_the_same_numbers():
    alternative, file = re.search(r"!\[(.*?)\]\((.*?)\)", README).groups()
    assert (ROOT / file) == picture.PICTURE
    medians = [f"{statistics.median(shares):.0f} %" for shares in SHARES.values()]
    assert re.findall(r"\d+ %", alternative) == [*medians, "4 %"]
    caption = re.search(r"\) \*(All pretrained.*?)\* ", README)[1]
    assert "with 100 people in dev" in caption
    xeon = "Intel(R) Xeon(R) Processor, avx512_bf16, amx_bf16, 2 cores, Linux"
    machines = {(run["pipeline"], run["machine"]) for run in RUNS if picture.shown(run)}
    epyc = "AMD EPYC, avx512_bf16, 2 cores, Linux"
    others = {("nopretrain", epyc), ("synthesizer", epyc)}
    assert machines == {(name, xeon) for name in ("vanilla", "rope")} | others
    assert (
        "two cores of an Intel Xeon with avx512_bf16 and amx_bf16; without pretraining" in caption
    )
    assert "and with the synthesizer, of an AMD EPYC with avx512_bf16." in caption
    assert {name for name, shares in SHARES.items() if len(shares) == 1} == {"synthesizer", "rope"}
    assert (
        "medians of three trainings with different seeds (one each for the synthesizer" in caption
    )


def test_the_picture_says_to_a_screen_reader_what_it_shows(drawn):
    title = drawn.findtext(f"{SVG}title")
    assert drawn.get("role") == "img"
    assert re.findall(r"\d+ %", title) == ["1 %", "93 %", "26 %", "88 %", "4 %"]
