"""Open pages in a browser, and check that they are for everybody: axe's rules, with WCAG 2.1 AA."""

import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

WINDOWS = (("light", 1280), ("dark", 390))  # scheme and width
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
# Contrast takes axe most of its time, for thousands of letters in formulas. Those with the colour
# of the words around them, on nothing of their own, have the contrast of these, which axe checks.
MARK_LIKE_WORDS = """() => document.querySelectorAll("math").forEach(formula => {
  const around = formula.parentElement, colour = getComputedStyle(around).color;
  const words = [...around.childNodes].some(n => n.nodeType === 3 && n.data.trim());
  const alike = [formula, ...formula.querySelectorAll("*")].every(part => {
    const style = getComputedStyle(part);
    return style.color === colour && style.opacity === "1" && style.backgroundImage === "none"
      && style.backgroundColor === "rgba(0, 0, 0, 0)";
  });
  // A heading is large: it may have less contrast than what is small in it.
  if (words && alike && !around.closest("h1, h2, h3, h4, h5, h6")) formula.dataset.likeWords = "";
})"""
# In a way that a page's own policy of contents allows.
NO_GRADIENTS = """() => {
  const style = new CSSStyleSheet(); style.replaceSync("* { background-image: none !important }");
  document.adoptedStyleSheets = [style];
}"""
CONTRAST = """
axe.configure({rules: [{id: "color-contrast", selector: "*:not([data-like-words] *)"}]});
"""


@contextmanager
def browser() -> Iterator:
    """Start a browser."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as started:
        launched = started.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield launched
        launched.close()


def opened(browser, path: Path, scheme: str = "light", width: int = 1280, **options):
    """Open a file; `page.acts` lists its errors, dialogs, and what it loads from elsewhere."""
    size = {"width": width, "height": 900}
    page = browser.new_page(color_scheme=scheme, viewport=size, **options)
    page.set_default_timeout(0)  # a test has a limit for all that it does
    page.acts = []
    page.on("pageerror", lambda error: page.acts.append(str(error)))
    page.on("dialog", lambda dialog: (page.acts.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: page.acts.append(request.url))
    page.goto(path.as_uri())
    page.acts = [act for act in page.acts if not act.startswith(("file:", "data:"))]
    return page


def check(page, contrast: bool = True) -> None:
    """Fail if axe finds a fault in a page with everything open, or if the page itself scrolls.

    Every region that scrolls can be reached by keyboard, which is one of axe's rules. Every formula
    is MathML that carries its LaTeX.
    """
    from axe_playwright_python.sync_playwright import Axe

    axe = Axe()
    axe.axe_script += CONTRAST
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true })")
    # axe judges no text over a gradient: the colour below the shadows is what counts.
    page.evaluate(NO_GRADIENTS)
    page.evaluate(MARK_LIKE_WORDS)
    rules = {"color-contrast": {"enabled": contrast}}
    found = axe.run(page, options={"resultTypes": ["violations"], "rules": rules})
    assert found.violations_count == 0, f"{page.url}: {found.generate_report()}"
    assert len(found.response["passes"]) > 10
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= page.viewport_size["width"], f"{page.url} scrolls sideways"
    bare = "math:not(:has(annotation[encoding='application/x-tex']))"
    assert page.locator(bare).count() == 0, f"{page.url}: a formula has no LaTeX"
    assert not page.acts, f"{page.url}: {page.acts}"


def check_files(paths: Iterable[Path], windows: Iterable[tuple[str, int]] = WINDOWS) -> None:
    """Check pages in light and wide windows, and in dark and narrow ones."""
    with browser() as launched:
        for path in paths:
            for window in windows:
                page = opened(launched, path, *window)
                check(page)
                page.close()
