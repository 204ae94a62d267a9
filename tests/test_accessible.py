"""The check of pages finds what keeps people out, or else passing it would prove nothing."""

import pytest

from tests.accessible import browser, check, check_files, opened

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Page</title>
<meta name="viewport" content="width=device-width"><style>{}</style></head>
<body><main><h1>Page</h1><p>Text.</p>{}</main></body></html>"""
BARRIERS = {
    "pale text": (
        "@media (prefers-color-scheme: dark) { p { color: #444; background: #000 } }",
        "",
        "color-contrast",
    ),
    "what only a mouse scrolls": (
        "div { overflow-x: auto; white-space: nowrap }",
        "<div>" + "long text " * 99 + "</div>",
        "scrollable-region-focusable",
    ),
    "too wide for a phone": ("p { width: 600px }", "", "scrolls sideways"),
    "a formula without LaTeX": ("", "<math><mi>x</mi></math>", "a formula has no LaTeX"),
    "a script that speaks": ("", "<script>alert('hello')</script>", "hello"),
}


@pytest.mark.requires_tool("chromium")
def test_each_barrier_is_found(tmp_path):
    path = tmp_path / "page.html"
    with browser() as launched:
        for style, more, fault in BARRIERS.values():
            path.write_text(PAGE.format(style, more), encoding="utf-8")
            page = opened(launched, path, "dark", 390)
            with pytest.raises(AssertionError, match=fault):
                check(page)
            page.close()


@pytest.mark.requires_tool("chromium")
@pytest.mark.parametrize(("scheme", "is_narrow"), [("light", False), ("dark", True)])
def test_files_are_checked_in_light_and_dark_wide_and_narrow(tmp_path, scheme, is_narrow):
    path = tmp_path / "page.html"
    width = "max-width: 400px" if is_narrow else "min-width: 1000px"
    style = f"@media (prefers-color-scheme: {scheme}) and ({width}) {{ p {{ color: #bbb }} }}"
    path.write_text(PAGE.format(style, ""), encoding="utf-8")
    with pytest.raises(AssertionError, match="color-contrast"):
        check_files([path])
