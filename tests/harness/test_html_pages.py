"""Pages show what a student wrote, but nothing in it runs."""

import base64
import hashlib
import re
from html import unescape

import jinja2
import pytest

from grading import html_pages

TEMPLATE = (
    '{% extends "page.html.j2" %}{% block content %}<p id="{{ text }}">{{ text }}{% endblock %}'
)


@pytest.fixture
def template(tmp_path):
    """Return the template of a page that shows a text."""
    (tmp_path / "shown.html.j2").write_text(TEMPLATE, encoding="utf-8")
    (tmp_path / "shown.css").write_text("p { color: red }\n", encoding="utf-8")
    (tmp_path / "shown.js").write_text("document.title = 1 < 2 && 'ö'\n", encoding="utf-8")
    return tmp_path / "shown.html.j2"


def test_what_is_shown_is_escaped_and_what_is_hidden_is_shown(template):
    nasty = "</p></title><script>\"'&\u202e\u2066\u200b\ufeff\u2028\x00\x1b\ud800\r\nساعت\u200cها"
    page = html_pages.render(template, title=nasty, text=nasty)
    shown = "</p></title><script>\"'&" + "".join(
        f"[U+{code}]" for code in "202E 2066 200B FEFF 2028 0000 001B D800".split()
    )
    assert unescape(page).count(shown + "\nساعت\u200cها") == 3
    assert page.count("<script") == page.count("</title") == 1
    assert page.encode("utf-8")  # everything in it can be written


def test_the_policy_allows_the_inlined_styles_and_scripts_alone(template):
    page = html_pages.render(template, title="a", text="b")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    inlined = [
        found
        for tag in ("style", "script")
        for found in re.findall(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
    ]
    assert len(inlined) == 3
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in inlined]
    one, two, three = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    assert unescape(policy).split("; ") == [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        f"style-src {one} {two}",
        f"script-src {three}",
    ]


def test_a_page_is_private_and_whole_or_not_there(template, tmp_path):
    path = tmp_path / "shown.html"
    html_pages.write_page(path, template, title="a", text="b")
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_bytes()
    with pytest.raises(jinja2.UndefinedError):  # a value was forgotten
        html_pages.write_page(path, template, title="a")
    assert path.read_bytes() == before
