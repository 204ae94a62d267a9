"""The page of `inspect` is self-contained, escapes what it shows, and is accessible to all."""

import base64
import io
import re
import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from tests.experiments.test_inspect import made_up
from tests.test_report import Checker


@pytest.fixture(scope="module")
def page(source, load):
    """A page about both trained models."""
    dataset, model = load()
    _, second = load("synthesizer")
    question = "Where was Nora Nara born?"
    places = ["London", "Lima", "Oslo", "Rome"]
    look = source.inspection.look_inside
    inspected = [look(n, m, dataset, question, places) for n, m in (("a", model), ("b", second))]
    return source.pages.page(question, None, dataset.MASK_CHAR, inspected)


def parsed(text):
    checker = Checker()
    checker.feed(text)
    checker.close()
    return checker


def test_it_needs_no_network_and_no_script(page):
    found = parsed(page)
    assert "script" not in found.tags and "link" not in found.tags
    addresses = [value for name, value in found.attributes if name in ("href", "src")]
    assert len(addresses) == 2 * 2 * 2 * 2  # models, layers, heads, sizes
    assert all(address.startswith("data:image/png;base64,") for address in addresses)
    assert "http" not in page and "@import" not in page and "url(" not in page
    assert found.tags.count("h1") == 1 and 'lang="en"' in page


def test_what_models_and_people_write_is_escaped(source):
    nasty = "<script>alert('&\"')</script>"
    characters = [*"Q⁇", *nasty]
    size = len(characters)
    even = torch.full((1, size, size), 1 / size)
    layer = source.inspection.Layer(even, nasty)
    steps = [source.inspection.Step(c, 0.5, [("<", 0.1)]) for c in nasty]
    found = made_up(
        source,
        name=nasty,
        answer=nasty,
        characters=characters,
        steps=steps,
        likeliest=[(nasty, 0.5)],
        layers=[layer],
    )
    page = source.pages.page(nasty, nasty, "⁇", [found])
    assert "<script" not in page and "script" not in parsed(page).tags
    assert page.count("&lt;script&gt;") >= 6


def test_spaces_and_line_ends_can_be_seen(source):
    assert source.pages.visible("a b\n") == "a␣b↵"


@pytest.mark.parametrize(
    "share, words",
    [(1.0, "100.0 %"), (0.931, "93.1 %"), (0.0006, "0.1 %"), (0.0001, "< 0.1 %"), (0.0, "0.0 %")],
)
def test_shares_are_said_in_words(source, share, words):
    assert source.pages.percent(share) == words


def test_positions_are_named_with_their_number_from_one(source):
    weights = torch.tensor([0.1, 0.6, 0.0, 0.3])
    assert source.pages.most(weights, list("ab c")) == "b (2) 60.0 %, c (4) 30.0 %, a (1) 10.0 %"


def test_a_map_is_a_picture_of_its_weights(source):
    weights = torch.tensor([[1.0, 0.0], [0.25, 0.75]])
    data = base64.b64decode(source.pages.png(weights).partition(",")[2])
    picture = np.asarray(Image.open(io.BytesIO(data)).convert("L"))
    # 255 (1 - sqrt(weight)), of which the next of 256 shades is taken, and that rounded down
    assert np.abs(picture - [[0, 255], [127.5, 34.2]]).max() < 2


def test_each_map_has_the_characters_on_both_sides(source):
    page = source.pages.page("Q", None, "⁇", [made_up(source)])
    (first, *_) = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert re.findall(r"<text[^>]*>(.*?)</text>", first) == [
        c for character in "Q⁇a␣b" for c in (character, character)
    ]


@pytest.mark.long
@pytest.mark.requires_tool("chromium")
def test_axe_finds_no_fault_with_the_page(page, tmp_path):
    """In light and dark, on a phone and on a large screen, with every map open and closed."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    asked: list[str] = []
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for scheme in ("light", "dark"):
            for width in (390, 1280):
                shown = browser.new_page(
                    color_scheme=scheme, viewport={"width": width, "height": 900}
                )
                shown.on("request", lambda request: asked.append(request.url))
                shown.goto(path.as_uri())
                for opened in ("false", "true"):
                    shown.evaluate(
                        "document.querySelectorAll('details')"
                        f".forEach(each => {{ each.open = {opened} }})"
                    )
                    found = Axe().run(shown)
                    assert found.violations_count == 0, found.generate_report()
                    assert len(found.response["passes"]) > 10
                    wide = shown.evaluate("document.documentElement.scrollWidth")
                    assert wide <= width, "the page scrolls sideways"
        assert asked and all(url.startswith(("file:", "data:")) for url in asked)
        bad = browser.new_page()
        bad.set_content("<html><body><p style='color:#bbb'>pale</p></body></html>")
        assert Axe().run(bad).violations_count > 0  # or else finding nothing would prove nothing
        browser.close()
