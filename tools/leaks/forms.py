"""The forms in which texts are compared: typesetting, quoting and line breaks hide nothing."""

import html
import re
import unicodedata

from . import latex

# TeX, word processors and Markdown replace plain quotes and hyphens by these.
_PLAIN = str.maketrans(
    dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u00b4\u2032", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u2033", '"')
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
    | dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")  # have no width: removed
)
_MARKUP = re.compile(r"<[a-zA-Z/]|&#?\w+;")
_HYPHENATED = re.compile(r"-[ \t]*\r?\n[ \t]*")
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # a terminal's, as in tracebacks of notebooks
_ESCAPE = re.compile(r'\\(u[0-9a-fA-F]{4}|["/nrt]|[_%&#{}$*])')  # JSON's; TeX's and Markdown's
_TEX_SPACE = re.compile(r"\\[,;:! ()\[\]]")  # and the brackets of TeX's formulas
# Alpha to omega; one number among them belongs to no letter.
_GREEK = {
    code: unicodedata.name(chr(code)).split()[-1]
    for code in (*range(0x391, 0x3AA), *range(0x3B1, 0x3CA))
    if unicodedata.name(chr(code), "")
}
_NOT_FLAT = re.compile(r"[^a-z0-9+*/=<>()\[\].-]")
# Text within binary data: in UTF-8, or plain letters in UTF-16.
_STRETCH = re.compile(rb"(?:[\t\r\n -~]|[\xc2-\xf4][\x80-\xbf]{1,3}){8,}")
_UTF16 = re.compile(rb"(?:[\t\r\n -~]\0){8,}[\t\r\n -~]?")  # of either byte order


def squeezed(text: str) -> str:
    """Return a text without its white space, and with plain quotes, letters and single hyphens."""
    flat = "".join(unicodedata.normalize("NFKC", text.translate(_PLAIN)).split())
    return re.sub("-{2,}", "-", flat)  # TeX may set two as one dash


def letters(text: str) -> str:
    """Return nothing but a text's letters, in lower case and without accents."""
    return re.sub(r"[\W\d_]+", "", unicodedata.normalize("NFKD", text).lower())


def flat(text: str) -> str:
    """Return a text in the form in which facts.py searches it: formulas and words alike.

    The text is in lower case, with Greek letters by name; only letters, digits, points and
    + - * / = < > ( ) [ ] are kept.
    """
    plain = unicodedata.normalize("NFKC", _TEX_SPACE.sub("", text).translate(_PLAIN))
    return _NOT_FLAT.sub("", plain.translate(_GREEK).lower())


def text_of(content: bytes) -> str:
    """Return bytes as text; of binary data, only the stretches that are text."""
    if b"\0" not in content:
        return content.decode("utf-8", errors="replace")
    found = _STRETCH.findall(content) + [s.replace(b"\0", b"") for s in _UTF16.findall(content)]
    return b"\n".join(found).decode("utf-8", errors="replace")


def readings(text: str) -> set[str]:
    """Return a text as it is, and as it reads without markup, hyphenation or escapes."""
    text = _COLOURS.sub("", text)
    found = {text, _ESCAPE.sub(_character, text), _HYPHENATED.sub("", text)}
    if _MARKUP.search(text):
        found |= {html.unescape(text), html.unescape(re.sub(r"<[^<>]*>", "", text))}
    return found


def prose(text: str) -> set[str]:
    """Return the letters of each reading of a text, and of its prose where it is LaTeX."""
    found = readings(text) | ({latex.without_commands(text)} if "\\" in text else set())
    return {letters(reading) for reading in found}


def _character(escape: re.Match[str]) -> str:
    """Return what an escape within a string or markup stands for."""
    code = escape[1]
    if len(code) > 1:
        return chr(int(code[1:], 16))
    return {"n": "\n", "r": "\r", "t": "\t"}.get(code, code)
