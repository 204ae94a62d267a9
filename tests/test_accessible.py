"""The check of pages finds what keeps people out, or else passing it would prove nothing."""

import pytest

from tests.accessible import check_files

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Page</title>
<meta name="viewport" content="width=device-width"><style>{}</style></head>
<body><main><h1>Page</h1><p>Text.</p>{}</main></body></html>"""
BARRIERS = {
    "nothing": ("", "", None),
    "pale text": ("p { color: #bbb }", "", "color-contrast"),
    "pale text in the dark": (
        "@media (prefers-color-scheme: dark) { p { color: #444; background: #000 } }",
        "",
        "color-contrast",
    ),
    "a picture without words": ("", '<img src="data:,">', "image-alt"),
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
@pytest.mark.parametrize(("style", "more", "fault"), BARRIERS.values(), ids=BARRIERS)
def test_each_barrier_is_found(style, more, fault, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(PAGE.format(style, more), encoding="utf-8")
    if fault is None:
        check_files([page])
    else:
        with pytest.raises(AssertionError, match=fault):
            check_files([page])
