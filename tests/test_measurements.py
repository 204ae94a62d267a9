"""README.md's picture shows the committed measurements."""

import re
import statistics
from xml.etree import ElementTree

from benchmarks import picture
from tests.project import ROOT


def test_the_picture_is_what_its_script_draws_and_is_described_with_its_numbers():
    committed = picture.PICTURE.read_text(encoding="utf-8")
    assert committed == picture.picture(picture.measured()), "run `python -m benchmarks.picture`"
    drawn = ElementTree.fromstring(committed)
    title = drawn.findtext("{http://www.w3.org/2000/svg}title")
    readme = re.sub(r"\s+", " ", (ROOT / "README.md").read_text(encoding="utf-8"))
    alternative, file = re.search(r"!\[(.*?)\]\((.*?)\)", readme).groups()
    assert (ROOT / file) == picture.PICTURE and drawn.get("role") == "img"
    numbers = re.findall(r"\d+ %", title)
    assert len(numbers) == 5 and re.findall(r"\d+ %", alternative) == numbers
    equal = {"changes": picture.EQUAL_STEPS["synthesizer"]}  # its own recipe trains it longer
    own = [run for run in picture.measured() if not run["changes"] and picture.shown(run | equal)]
    answered = [run["dev"] for run in own if run["pipeline"] == "synthesizer"]
    assert f"then it answers {100 * statistics.median(answered):.0f} %" in readme
