"""Writes self-contained HTML pages in which nothing that a student wrote can run.

    write_page(folder / "report.html", HERE / "report.html.j2", title="Homework 5", rows=rows)

A template begins with `{% extends "page.html.j2" %}` and fills the block `content`.
`templates/page.css` is part of every page; `NAME.css` and `NAME.js` beside `NAME.html.j2`, if they
exist, are part of that page.

Three things keep a student's text from doing anything. jinja2 escapes every value. The page's
Content-Security-Policy allows only the scripts and styles above, by their hashes, so a template
can't use `style="..."`, `onclick="..."` or pictures. Characters that would reverse or hide text are
shown as `[U+202E]`. Names may be in any script: put them into `<bdi>`.
"""

from __future__ import annotations

import base64
import hashlib
import unicodedata
from functools import cache
from pathlib import Path
from typing import Any

import jinja2

from .writing import replacing

TEMPLATES = Path(__file__).with_name("templates")
# Control and format characters, halves of surrogate pairs, and line ends that editors don't show.
ODD = ("Cc", "Cf", "Cs", "Zl", "Zp")
# Joiners are part of the spelling of Persian and Indian names, and of emoji.
HARMLESS = "\n\t\u200c\u200d"


def write_page(path: Path, template: Path, **values: Any) -> None:
    """Write a page that only its owner may read, completely or not at all.

    Args:
        template: a file whose name ends in `.html.j2`.
        values: what the template shows; `title` is the page's title.

    Raises:
        OSError: if it can't be written.
    """
    text = render(template, **values)
    with replacing(path, 0o600) as writer:
        writer.write(text.encode("utf-8"))


def render(template: Path, **values: Any) -> str:
    """Return the page that `write_page` would write."""
    own = template.with_suffix("").with_suffix("")
    styles = _inlined(TEMPLATES / "page.css", own.with_suffix(".css"))
    scripts = _inlined(own.with_suffix(".js"))
    policy = _policy(styles, scripts)
    return visible(
        _template(template).render(values, policy=policy, styles=styles, scripts=scripts)
    )


@cache
def _template(path: Path) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([path.parent, TEMPLATES], encoding="utf-8"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


def visible(text: str) -> str:
    """Return a text in which characters that would reverse or hide text look like `[U+202E]`."""
    plain = text.replace("\r\n", "\n")
    odd = {c for c in set(plain) if unicodedata.category(c) in ODD and c not in HARMLESS}
    return plain.translate({ord(c): f"[U+{ord(c):04X}]" for c in odd}) if odd else plain


def _inlined(*paths: Path) -> list[str]:
    """Return the contents of those of these files that exist."""
    return [path.read_text(encoding="utf-8") for path in paths if path.is_file()]


def _policy(styles: list[str], scripts: list[str]) -> str:
    """Return a Content-Security-Policy (W3C, level 3) that allows only these."""
    rules = ["default-src 'none'", "base-uri 'none'", "form-action 'none'"]
    for name, allowed in (("style-src", styles), ("script-src", scripts)):
        hashes = [hashlib.sha256(text.encode("utf-8")).digest() for text in allowed]
        sources = [f"'sha256-{base64.b64encode(digest).decode('ascii')}'" for digest in hashes]
        rules += [" ".join([name, *sources])] if sources else []
    return "; ".join(rules)
