"""The check of pages finds what keeps people out, or else passing it would prove nothing."""

import pytest

from tests.accessible import check_files

PAGE = """<!DOCTYPE html><html lang="en"><head><title>Page</title>
<meta name="viewport" content="width=device-width"><style>{}</style></head>
<body><main><h1>Page</h1><p>Text.</p>{}</main></body></html>"""
PALE = "@media (prefers-color-scheme: {}) and ({}) {{ p {{ color: #888; background: #777 }} }}"
# A word of the message, styles, and what stands below a text.
BARRIERS = [
    ("color-contrast", PALE.format("light", "min-width: 1000px"), ""),
    ("color-contrast", PALE.format("dark", "max-width: 400px"), ""),
    ("scrollable", "div { overflow-x: auto; white-space: nowrap }", f"<div>{'long ' * 400}</div>"),
    ("scrolls sideways", "p { width: 600px }", ""),
    ("a formula has no LaTeX", "", "<math><mi>x</mi></math>"),
]


@pytest.mark.requires_tool("chromium")
def test_each_barrier_is_found(tmp_path):
    path = tmp_path / "page.html"
    for fault, style, more in BARRIERS:
        path.write_text(PAGE.format(style, more), encoding="utf-8")
        with pytest.raises(AssertionError, match=fault):
            check_files([path])
