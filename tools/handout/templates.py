"""Render LaTeX templates, with jinja2 and delimiters that do not occur in TeX.

The delimiters are `<< value >>`, `<% statement %>` and `<# comment #>`. An undefined name is an
error. Every error names the template, its line, and the word.
"""

import traceback
import unicodedata
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import jinja2

from ..arguments import Failed

SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: "\\" + character for character in "&%$#_{}"},
}


class HandoutError(Failed):
    """A mistake in a template or a table; `str()` is the line to print."""


class PlacedError(HandoutError):
    """A mistake whose line begins with its place in a template."""


def tex(text: object) -> str:
    """Return plain text, escaped for LaTeX, with each accent joined to its letter."""
    joined = unicodedata.normalize("NFC", str(text))
    return "".join(SPECIAL.get(character, character) for character in joined)


def percent(share: float) -> str:
    """Return a share in percent: `30\\,\\%` for 0.3."""
    return rf"{100 * share:.3g}\,\%"


def grouped(number: int) -> str:
    """Return a number as `2{,}000`, which is right in text and in mathematics."""
    return f"{number:,}".replace(",", "{,}")


def fixed(number: float, digits: int) -> str:
    """Return a number with `digits` decimal places."""
    return f"{number:.{digits}f}"


def plain(number: Decimal) -> str:
    """Return a number of points without needless zeros."""
    return f"{number.normalize():f}"


class Templates:
    """The templates below some folders."""

    def __init__(self, repo: Path, folders: tuple[str, ...]) -> None:
        self._repo = repo
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([repo / folder for folder in folders]),
            variable_start_string="<<",
            variable_end_string=">>",
            block_start_string="<%",
            block_end_string="%>",
            comment_start_string="<#",
            comment_end_string="#>",
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            undefined=jinja2.StrictUndefined,
            autoescape=False,
        )
        self._environment.filters |= {
            "tex": tex, "percent": percent, "grouped": grouped, "fixed": fixed
        }  # fmt: skip

    def render(self, name: str, values: Mapping[str, Any]) -> str:
        """Render a template; raise HandoutError if it is missing, malformed or inconsistent."""
        try:
            return self._environment.get_template(name).render(values)
        except PlacedError:
            raise
        except jinja2.TemplateNotFound as error:
            # The sheet makes the names of answers from topics, without a folder.
            missing = error.name or "?"
            is_handout = "/" in missing or missing in ("sheet.tex.j2", "practice.tex.j2")
            folder = "handout" if is_handout else "solutions/written"
            raise self._placed(error, f"the template {folder}/{missing} is missing") from None
        except jinja2.TemplateSyntaxError as error:
            place = f"{self._named(error.filename or error.name)}:{error.lineno}"
            raise PlacedError(f"{place}: {error.message}") from None
        except (HandoutError, jinja2.UndefinedError) as error:
            raise self._placed(error, str(error)) from None
        except (TypeError, ValueError, AttributeError, KeyError, IndexError) as error:
            raise self._placed(error, f"{type(error).__name__}: {error}") from None

    def _placed(self, error: BaseException, words: str) -> HandoutError:
        """Return an error with its innermost template line, `handout/topics/x.tex.j2:7: `."""
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame for frame in frames if frame.filename.endswith(".j2")]
        if not lines:
            return HandoutError(words)
        return PlacedError(f"{self._named(lines[-1].filename)}:{lines[-1].lineno}: {words}")

    def _named(self, path: str | None) -> str:
        place = Path(path or "?")
        return place.relative_to(self._repo).as_posix() if place.is_absolute() else place.name
