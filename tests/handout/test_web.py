"""The web page: it is self-contained, says what the sheet says, and is accessible to everybody."""

import re
import shutil
from html import unescape

import numpy as np
import pytest

from tests.project import ROOT
from tools.handout import build, description, sheet, web

needs_tex = pytest.mark.requires_tool("latexmk")
needs_drawings = pytest.mark.requires_tool("pdftocairo")
needs_browser = pytest.mark.requires_tool("chromium")
EDITIONS = build.editions(ROOT)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The text of each edition's page."""
    texts = {}
    for edition in EDITIONS:
        described = description.describe(ROOT, edition, "world")
        one = sheet.Sheet(ROOT, described, "letter")
        folder = tmp_path_factory.mktemp("web") / edition
        texts[edition] = build._page(ROOT, described, one, folder)
    return texts


@pytest.fixture(scope="module")
def opened(pages, tmp_path_factory):
    """opened(edition, ...): the page in a browser, with a context's options; records errors."""
    from playwright.sync_api import sync_playwright

    folder = tmp_path_factory.mktemp("pages")
    for edition, text in pages.items():
        (folder / f"{edition}.html").write_text(text, encoding="utf-8")
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)

        def opened(edition, width=1280, **options):
            size = {"width": width, "height": 900}
            page = browser.new_page(viewport=size, **options)
            page.errors = []
            page.on("pageerror", lambda error: page.errors.append(str(error)))
            page.goto((folder / f"{edition}.html").as_uri())
            return page

        yield opened
        browser.close()


@needs_tex
@needs_drawings
def test_the_page_stands_alone_and_says_what_the_sheet_says(pages):
    for edition, text in pages.items():
        assert not re.search(r'(src|href)="(https?:|//|(?!#|data:)[^"])', text)
        questions = description.describe(ROOT, edition).questions
        assert text.count("<math") > 60 and text.count("<h3") == len(questions)
        alts = re.findall(r'<img [^>]*alt="([^"]*)"', text)
        starts = ("A coordinate system with one arrow", "Four lines over the number of blocks")
        assert all(any(alt.startswith(start) for alt in alts) for start in starts)
        assert len(alts) == len(starts)
        anchors = set(re.findall(r'id="([^"]+)"', text))
        assert set(re.findall(r'href="#([^"]+)"', text)) <= anchors
        assert "python src/run.py pretrain vanilla wiki.txt" in text
        assert "⁇" in text and "equations" in text


@needs_tex
@needs_drawings
def test_captions_have_one_number_and_references_are_links(pages):
    for text in pages.values():
        captions = re.findall(r"<figcaption>(Figure \d+: (?!Figure))", text)
        numbers = [int(re.search(r"\d+", caption)[0]) for caption in captions]
        assert len(numbers) >= 2 and numbers == list(range(1, len(numbers) + 1))
        assert text.count("<figcaption>Figure") == len(numbers)
        for number in numbers:
            assert re.search(rf'<a href="#fig:[\w-]+">{number}</a>', text)
        linked = dict(re.findall(r'<a href="#(eq:[\w-]+)">\((\d+)\)</a>', text))
        assert {"eq:values", "eq:queries", "eq:attention"} <= linked.keys()
        for label, number in linked.items():
            place = text.index(f'display="block" id="{label}"')
            formula = text[place : text.index("</math>", place)]
            assert rf"\qquad ({number})" in unescape(formula)


@needs_tex
@needs_drawings
def test_the_contents_list_sections_and_questions_without_points(pages):
    for edition, text in pages.items():
        contents = re.search(r"<nav.*?</nav>", text, re.DOTALL)[0]
        links = re.findall(r'<a href="#([^"]+)">(.*?)</a>', contents)
        described = description.describe(ROOT, edition)
        for number in (question.number for question in described.edition.questions):
            (title,) = [words for key, words in links if key == f"q:{number}"]
            shown = description.shown_number(number)
            assert unescape(title) == f"{shown} {described_title(described, number)}"
        sections = [f"part:{part.key}" for part in described.parts]
        assert [key for key, _ in links if key.startswith("part:")] == sections


def described_title(described, number):
    return next(q.title for q in described.edition.questions if q.number == number)


@pytest.mark.parametrize(
    ("code", "shown"),
    [
        ("src/data/wiki.txt", '<code class="whole">src/data/wiki.txt</code>'),
        (
            "vanilla.pretrain.dev.predictions",
            "<code>vanilla.<wbr>pretrain.<wbr>dev.<wbr>predictions</code>",
        ),
        ("a&lt;b", '<code class="whole">a&lt;b</code>'),
    ],
)
def test_code_is_broken_nowhere_or_behind_its_joints(code, shown):
    assert web._unbroken(f"<p><code>{code}</code></p>") == f"<p>{shown}</p>"
    block = f"<pre><code>{code}</code></pre>"
    assert web._unbroken(block) == block


COS = '<mrow><mi mathvariant="normal">cos</mi><mo>&#8289;</mo></mrow>'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"{COS}<mi>i</mi>", f"{COS}{web.THIN}<mi>i</mi>"),
        (f"<mi>L</mi>{COS}<mn>2</mn>", f"<mi>L</mi>{web.THIN}{COS}{web.THIN}<mn>2</mn>"),
        (f'{COS}<mo form="prefix">(</mo>', f'{COS}<mo form="prefix">(</mo>'),
        (f"<msub>{COS}<mn>2</mn></msub>", f"<msub>{COS}<mn>2</mn></msub>"),
        (f"<msup>{COS}<mn>2</mn></msup>", f"<msup>{COS}<mn>2</mn></msup>"),
    ],
)
def test_functions_stand_apart_from_what_they_are_of(text, shown):
    assert web._spaced(text) == shown


FORMULA = '<math display="inline" xmlns="x"><mi>n</mi></math>'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"some {FORMULA} here", f"some {FORMULA} here"),
        (f"some {FORMULA}.", f'some <span class="whole">{FORMULA}.</span>'),
        (f"({FORMULA}), {FORMULA}", f'<span class="whole">({FORMULA}),</span> {FORMULA}'),
        (FORMULA.replace("inline", "block") + ".", FORMULA.replace("inline", "block") + "."),
    ],
)
def test_punctuation_stays_with_its_formula(text, shown):
    assert web._punctuated(text) == shown


@needs_tex
@needs_browser
@needs_drawings
@pytest.mark.parametrize("width", [390, 1280])
def test_no_file_name_is_broken_in_mid_word(opened, width):
    """In the layout, each piece of code between possible breaks has one rectangle, on one line."""
    page = opened("xcs224n", width)
    broken = page.evaluate(
        """() => [...document.querySelectorAll("code")].filter(c => !c.closest("pre")).flatMap(
          code => [...code.childNodes].filter(n => n.nodeType === 3).filter(piece => {
            const range = document.createRange(); range.selectNodeContents(piece);
            return range.getClientRects().length > 1 && !piece.data.includes(" ");
          }).map(piece => piece.data))"""
    )
    assert broken == []
    assert page.locator("code:not(pre code)").count() > 50


@needs_tex
@needs_browser
@needs_drawings
@pytest.mark.filterwarnings("ignore::EncodingWarning")  # axe's package reads its own file
def test_axe_finds_no_fault_with_the_page(opened):
    """Headings, alternatives, contrast (4.5:1 at least), in light and dark, wide and narrow."""
    from axe_playwright_python.sync_playwright import Axe

    for edition in EDITIONS:
        for scheme, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)):
            page = opened(edition, width, color_scheme=scheme)
            form = page.locator(".heads form")
            form.get_by_label("a second head").check()
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
            found = Axe().run(page)
            assert found.violations_count == 0, found.generate_report()
            assert len(found.response["passes"]) > 15
            wide = "document.documentElement.scrollWidth"
            assert page.evaluate(wide) <= width, "the page scrolls sideways"
            assert page.errors == []
            page.close()
    bad = opened(EDITIONS[0])
    bad.set_content("<html><body><p style='color:#bbb'>pale</p></body></html>")
    assert Axe().run(bad).violations_count > 0  # or else finding nothing would prove nothing


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


@needs_tex
@needs_browser
@needs_drawings
@pytest.mark.parametrize("query", [(1, 0, 0), (1, 1, 0), (0, 0, -1), (-1, 1, 1), (0, 0, 0)])
def test_the_figure_computes_what_attention_gives(opened, query):
    page = opened("xcs224n")
    choose(page, 1, query)
    for scale, length in ((0, 1.0), (7, 1.25), (40, -0.5), (40, 2.5)):
        page.locator("#heads-s").fill(str(scale))
        page.locator("#heads-length").fill(str(length))
        assert column(page, 1) == expected(query, scale, length)
    assert page.locator(".heads .first").is_hidden() and page.errors == []


@needs_tex
@needs_browser
@needs_drawings
def test_two_heads_give_the_mean_of_their_outputs(opened):
    page = opened("cs224n")
    page.get_by_label("a second head").check()
    choose(page, 1, (1, 0, -1))
    choose(page, 2, (0, 1, 1))
    page.locator("#heads-s").fill("3")
    page.locator("#heads-length").fill("0.5")
    heads = [expected((1, 0, -1), 3, 0.5), expected((0, 1, 1), 3, 0.5)]
    assert [column(page, 1), column(page, 2)] == heads
    mean = (
        softmax(np.array([1.5, 0, -3])) + softmax(np.array([0.0, 3, 3]))
    ) / 2  # by hand, unrounded
    assert column(page, 3) == [f"{weight:.3f}" for weight in mean]
    place = mean @ np.array([[50, 190], [250, 190], [150, 40]])
    output = page.locator(".heads .output")
    drawn = [float(output.get_attribute(name)) for name in ("cx", "cy")]
    assert drawn == pytest.approx(place, abs=0.006)  # they are written with two digits
    assert page.locator(".heads .second").is_visible()


@needs_tex
@needs_browser
@needs_drawings
def test_the_figure_is_used_by_keyboard_and_heard(opened):
    page = opened("current")
    page.locator("#heads-length").focus()
    before = column(page, 1)
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.id") == "heads-s"
    page.keyboard.press("End")
    assert page.locator("#heads-s").input_value() == "40"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # the first choice, from 0 to 1
    assert column(page, 1) == expected((1, 0, 0), 40, 1) != before
    status = page.get_by_role("status")
    status.get_by_text("a 1.00, b 0.00, other 0.00").wait_for(timeout=5000)
    image = page.get_by_role("img", name="The three values as the corners of a triangle")
    assert image.count() == 1
    assert "a 1.00" in page.locator(".heads desc").text_content()


@needs_tex
@needs_browser
@needs_drawings
def test_without_javascript_the_figure_stands_still(opened):
    page = opened("xcs224n", java_script_enabled=False)
    assert page.locator(".heads svg").is_visible()
    assert column(page, 1) == ["0.333"] * 3
    assert page.locator(".heads form").is_hidden() and page.locator(".heads .second").is_hidden()
    assert "With JavaScript" in page.locator(".heads noscript").inner_text()


def test_the_figure_stands_once_and_print_points_to_the_page(rendered):
    page, _ = rendered("xcs224n", "web")
    assert page.count("@interactive:heads@") == 1
    sheet, _ = rendered("xcs224n", "print")
    assert sheet.count("has an interactive figure") == 1 and "@interactive" not in sheet


def test_equations_and_figures_get_the_numbers_of_the_print():
    source = (
        r"\begin{equation}\label{eq:one} a \end{equation} \begin{equation}\label{eq:two} b "
        r"\end{equation} see \eqref{eq:two} and \eqref{eq:one}"
    )
    text = web.prepare(source)
    assert r"see \hyperref[eq:two]{(2)} and \hyperref[eq:one]{(1)}" in text
    assert text.count(r"\qquad (1)") == 1
    figures = "".join(
        rf"\begin{{figure}}[H]\caption{{{name}}}\label{{fig:{name}}}\end{{figure}}" for name in "ab"
    )
    text = web.prepare(rf"{figures} See \ref{{fig:b}}.")
    assert r"\caption{Figure 1: a}" in text and r"\caption{Figure 2: b}" in text
    assert r"See \hyperref[fig:b]{2}." in text
