"""The check of pages finds what keeps people out, or else passing it would prove nothing."""

import pytest

from tests.accessible import check_files

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Page</title>
<meta name="viewport" content="width=device-width"><style>{}</style></head>
<body><main><h1>Page</h1><p>Text.</p>{}</main></body></html>"""
PALE = "@media (prefers-color-scheme: {}) and ({}) {{ p {{ color: #888; background: #777 }} }}"
# The words with which each is found, styles, and what stands below a text.
BARRIERS = {
    "pale on a wide, light screen": (
        "color-contrast",
        PALE.format("light", "min-width: 1000px"),
        "",
    ),
    "pale on a phone in the dark": ("color-contrast", PALE.format("dark", "max-width: 400px"), ""),
    "what only a mouse scrolls": (
        "scrollable-region-focusable",
        "div { overflow-x: auto; white-space: nowrap }",
        "<div>" + "long text " * 199 + "</div>",
    ),
    "too wide for a phone": ("scrolls sideways", "p { width: 600px }", ""),
    "a formula without LaTeX": ("a formula has no LaTeX", "", "<math><mi>x</mi></math>"),
    "a script that speaks": ("hello", "", "<script>alert('hello')</script>"),
}


@pytest.mark.requires_tool("chromium")
@pytest.mark.parametrize(("fault", "style", "more"), BARRIERS.values(), ids=BARRIERS)
def test_each_barrier_is_found(tmp_path, fault, style, more):
    path = tmp_path / "page.html"
    path.write_text(PAGE.format(style, more), encoding="utf-8")
    with pytest.raises(AssertionError, match=fault):
        check_files([path])
