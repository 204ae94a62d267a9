"""Pages show what a student wrote, but nothing in it runs."""

import base64
import hashlib
import re
from html import unescape

import jinja2
import pytest

from grading.report import render

TEMPLATE = (
    '{% extends "page.html.j2" %}{% block content %}<p id="{{ text }}">{{ text }}{% endblock %}'
)


@pytest.fixture
def template(tmp_path):
    """Return the template of a page that shows a text."""
    (tmp_path / "shown.html.j2").write_text(TEMPLATE, encoding="utf-8")
    (tmp_path / "shown.css").write_text("p { color: red }\n", encoding="utf-8")
    return tmp_path / "shown.html.j2"


def test_what_is_shown_is_escaped_and_what_is_hidden_is_shown(template):
    nasty = "</p></title><script>\"'&\u202e\u2066\u200b\ufeff\u2028\x00\x1b\ud800\r\nساعت\u200cها"
    page = render(template, title=nasty, text=nasty)
    shown = "</p></title><script>\"'&" + "".join(
        f"[U+{code}]" for code in "202E 2066 200B FEFF 2028 0000 001B D800".split()
    )
    assert unescape(page).count(shown + "\nساعت\u200cها") == 3
    assert page.count("</title") == 1 and "<script" not in page
    assert page.encode("utf-8")  # everything in it can be written


def test_the_policy_allows_the_inlined_styles_alone(template):
    page = render(template, title="a", text="b")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    styles = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    assert len(styles) == 2
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in styles]
    one, two = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    assert unescape(policy).split("; ") == [
        "default-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        f"style-src {one} {two}",
    ]


def test_a_value_that_was_forgotten_is_an_error(template):
    with pytest.raises(jinja2.UndefinedError):
        render(template, title="a")
