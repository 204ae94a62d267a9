"""The web page: it is self-contained, says what the sheet says, and is accessible to everybody."""

import re
from functools import cache
from html import unescape
from types import SimpleNamespace

import numpy as np
import pytest

from autograder.description import editions
from tests import accessible
from tests.accessible import WINDOWS
from tests.project import ROOT, write_files
from tools import commands
from tools.handout import build, description, sheet, web
from tools.handout.templates import HandoutError

EDITIONS = editions(ROOT)
SHEET = ("xcs224n", "sheet")  # `make test` opens this page
DOCUMENTS = [(edition, name) for edition in EDITIONS for name in ("sheet", "practice")]
pytestmark = [pytest.mark.requires_tool("latexmk"), pytest.mark.requires_tool("pdftocairo")]
in_a_browser = pytest.mark.requires_tool("chromium")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """made(edition, name): a page, its text and its questions; it is made once."""

    @cache
    def made(edition, name):
        folder = tmp_path_factory.mktemp(name)
        described = description.describe(ROOT, edition, "world")
        source = sheet.Sheet(ROOT, described).render("web", name)
        page = build._page(ROOT, described, name, source, folder / name)
        (folder / "page.html").write_bytes(page)
        questions = described.edition.questions
        return SimpleNamespace(
            edition=edition,
            name=name,
            file=folder / "page.html",
            text=page.decode(),
            figures=described.figures,
            questions=[q for q in questions if description.is_unscored(q) == (name == "practice")],
        )

    return made


@pytest.fixture(
    scope="module",
    params=[pytest.param(d, marks=() if d == SHEET else pytest.mark.long) for d in DOCUMENTS],
    ids="-".join,
)
def document(request, made):
    return made(*request.param)


@pytest.fixture(scope="module")
def opened():
    """opened(document, ...): a page in a browser, which records errors."""
    with accessible.browser() as launched:
        yield lambda document, *window: accessible.opened(launched, document.file, *window)


DRAWN = {
    "sheet": ["key_range", "pipeline", "span", "synthesizer"],
    "practice": ["gradient_over_depth", "masks"],
}
LINKS = (("id", ""), ("href", "#"))


def test_the_page_stands_alone_and_says_what_the_sheet_says(document):
    text, in_sheet = document.text, document.name == "sheet"
    assert ("<title>Practice for " in text) != in_sheet
    assert not re.search(r'(src|href)="(https?:|//|(?!#|data:)[^"])', text)
    assert text.count("<math") > 60 and text.count("<h3") == len(document.questions)
    alts = [unescape(alt) for alt in re.findall(r'<img [^>]*alt="([^"]*)"', text)]
    rotation = ["rotation"] if in_sheet == (document.edition == "current") else []
    assert sorted(alts) == sorted(document.figures[n].alt for n in DRAWN[document.name] + rotation)
    anchors, links = (set(re.findall(f'{key}="{at}([^"]+)"', text)) for key, at in LINKS)
    assert {f"q:{question.number}" for question in document.questions} <= links <= anchors
    if in_sheet:
        assert "python src/run.py pretrain vanilla wiki.txt" in text
        assert "⁇" in text and "equations" in text


def test_the_pipelines_drawing_and_its_text_name_the_files_of_the_commands():
    drawn = (ROOT / "handout/figures/pipeline.tex").read_text(encoding="utf-8")
    drawn = re.sub(r"\\\\\n? *", "", drawn).replace(r"\_", "_")
    said = description.describe(ROOT, EDITIONS[0]).figures["pipeline"].alt
    for pretrained in (True, False):
        for command in commands.pipeline("vanilla", pretrained):
            files = [word for word in command.words if re.search(r"\.(txt|tsv|params|pred)", word)]
            assert command.writes in files
            assert all(file in drawn and file in said for file in files), files


def test_captions_have_one_number_and_references_are_links(document):
    text = document.text
    captions = re.findall(r"<figcaption>(Figure \d+: (?!Figure))", text)
    numbers = [int(re.search(r"\d+", caption)[0]) for caption in captions]
    assert numbers and numbers == list(range(1, len(numbers) + 1))
    assert text.count("<figcaption>Figure") == len(numbers)
    for number in numbers:
        assert re.search(rf'<a href="#fig:[\w-]+">{number}</a>', text)
    equations = [int(n) for n in re.findall(r"\\qquad \((\d+)\)", unescape(text))]
    assert equations == list(range(1, len(equations) + 1))
    linked = dict(re.findall(r'<a href="#(eq:[\w-]+)">\((\d+)\)</a>', text))
    if document.name == "sheet":
        assert {"eq:values", "eq:queries", "eq:attention"} <= linked.keys()
    for label, number in linked.items():
        place = text.index(f'display="block" id="{label}"')
        formula = text[place : text.index("</math>", place)]
        assert rf"\qquad ({number})" in unescape(formula)


def test_signs_in_code_are_shown_and_pandocs_complaint_is_an_error(tmp_path):
    page = web.page(r"\code{a<b}", "", "", {}, tmp_path, ROOT / "handout/web")
    assert '<code class="whole">a&lt;b</code>' in page
    with pytest.raises(HandoutError, match="pandoc: .*eq:nowhere is of no equation or figure"):
        web.page(r"See \eqref{eq:nowhere}.", "", "", {}, tmp_path, ROOT / "handout/web")


def test_a_figure_is_drawn_once_until_it_changes(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(web, "_draw", lambda names, _: drawn.append(names) or dict.fromkeys(names))
    figure = tmp_path / "figures/span.tex"
    write_files(tmp_path, {"figures/span.tex": "1", "handout.sty": "", "letters.tex": ""})
    for _ in range(2):
        assert web.draw(["span"], tmp_path) == {"span": None}
    figure.write_text("2", encoding="utf-8")
    web.draw(["span"], tmp_path)
    assert drawn == [["span"], ["span"]]


@in_a_browser
@pytest.mark.parametrize(("scheme", "width"), WINDOWS)
def test_the_pages_are_for_everybody(document, opened, scheme, width):
    page = opened(document, scheme, width)
    for box in page.get_by_label("a second head").all():
        box.check()
    # Colours depend on the scheme alone; what is shown only in a narrow window is in all
    # editions, and checked in one.
    accessible.check(page, contrast=width == 1280 or document.edition == SHEET[0])
    page.close()


# ---------------------------------------------------------------- the interactive figure


def softmax(scores):
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()


def expected(query, scale, length):
    """The weights of values a, b and the other, to the three digits that are shown."""
    weights = softmax(scale * np.array(query, float) * np.array([length, 1, 1]))
    return [f"{weight:.3f}" for weight in weights]


def choose(page, head, query):
    for name, value in zip(("a", "b", "other"), query, strict=True):
        select = page.get_by_label(f"Head {head}: multiple of the mean of key {name}")
        select.select_option(str(value))


def column(page, number):
    return page.locator(f".heads tbody tr td:nth-of-type({number})").all_inner_texts()


@in_a_browser
def test_the_figure_computes_what_attention_gives_and_is_used_by_keyboard(made, opened):
    page = opened(made(*SHEET))
    assert page.locator(".heads .first").is_hidden() and page.acts == []
    choose(page, 1, (0, 0, 0))
    page.locator("#heads-length").focus()
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "heads-s"
    page.keyboard.press("Home")
    page.keyboard.press("End")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # the first choice, from 0 to 1
    assert column(page, 1) == expected((1, 0, 0), 40, 1)
    # What is heard.
    page.get_by_role("status").get_by_text("a 1.00, b 0.00, other 0.00").wait_for()
    assert "a 1.00" in page.locator(".heads desc").text_content()
    page.get_by_label("a second head").check()
    choose(page, 1, (1, 0, -1))
    choose(page, 2, (0, 1, 1))
    page.locator("#heads-s").fill("3")
    page.locator("#heads-length").fill("0.5")
    heads = [expected((1, 0, -1), 3, 0.5), expected((0, 1, 1), 3, 0.5)]
    assert [column(page, 1), column(page, 2)] == heads
    by_hand = np.array([1.5, 0, -3]), np.array([0.0, 3, 3])  # unrounded
    mean = (softmax(by_hand[0]) + softmax(by_hand[1])) / 2
    assert column(page, 3) == [f"{weight:.3f}" for weight in mean]
    place = mean @ np.array([[50, 190], [250, 190], [150, 40]])
    output = page.locator(".heads .output")
    drawn = [float(output.get_attribute(name)) for name in ("cx", "cy")]
    assert drawn == pytest.approx(place, abs=0.006)  # they are written with two digits
