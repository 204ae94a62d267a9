"""The texts in a file of any kind, and the forms in which they are compared."""

import base64
import binascii
import html
import io
import logging
import re
import unicodedata
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from pypdf import PdfReader
from pypdf.generic import IndirectObject, StreamObject

COMMENT = re.compile(r"(?m)(?:^|[ \t])#.*$")
_HYPHENATED = re.compile(r"[-\u00ad][ \t]*\r?\n[ \t]*")
_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|([nrt\"\\/]))")  # of JSON
_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")  # a terminal's, as in tracebacks of notebooks
_MARKUP = re.compile(r"<[a-zA-Z/!][^<>]*>")
_TEX_SPACE = re.compile(r"\\[,;:! ()\[\]]")  # and the brackets of TeX's formulas
_NOT_FLAT = re.compile(r"[^a-z0-9+*/=<>()\[\].-]|-(?=-)")
_BRACKETS = str.maketrans("", "", "()[]")
# Alpha to omega, by name; one number among them belongs to no letter.
_LETTERS = dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-") | {
    code: unicodedata.name(chr(code)).split()[-1]
    for code in (*range(0x391, 0x3AA), *range(0x3B1, 0x3CA))
    if unicodedata.name(chr(code), "")
}
SPLIT = "\0"
_BLOCKS = (
    r"equation|align|alignat|flalign|gather|multline|eqnarray|displaymath|math"
    r"|[vV]erbatim|lstlisting|listing|shell"
)
_ASIDE = re.compile(r"<\#.*?\#>|<%.*?%>|<<.*?>>|\\label\{[^{}]*\}|(?<!\\)%[^\n]*", re.DOTALL)
_SHOWN = re.compile(
    rf"\\begin\{{(?P<name>(?:{_BLOCKS})\*?)\}}(?P<a>.*?)\\end\{{(?P=name)\}}"
    r"|\\\[(?P<b>.*?)\\\]|\\\((?P<c>.*?)\\\)|\$\$(?P<d>.*?)\$\$|\$(?P<e>(?:\\.|[^$\\])*)\$",
    re.DOTALL,
)
# LaTeX's prose is split at mathematics, jinja and all commands but these.
_TYPE = re.compile(r"\\(?:emph|text(?!color)[a-z]*|underline|mbox|file|code|lit)\s*\{([^{}]*)\}")
_COMMAND = re.compile(r"\\[a-zA-Z@]+\*?(?:\[[^\]]*\])?|\\\\|(?<!\\)[&{}]|\n[ \t]*\n")
# Text within binary data: in UTF-8, or plain letters in UTF-16 of either byte order.
_STRETCH = re.compile(rb"(?:[\t\r\n -~]|[\xc2-\xf4][\x80-\xbf]{1,3}){8,}")
_UTF16 = re.compile(rb"(?:[\t\r\n -~]\0){8,}[\t\r\n -~]?")
_BASE64 = re.compile(r"(?:[A-Za-z0-9+/]{40,}(?:\\n|\s)*)+[A-Za-z0-9+/]*={0,2}")
_LONG = 1000  # characters of an encoding: no word or number is as long
_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]")
_PACKED = re.compile(
    rb"\x1f\x8b|BZh|\xfd7zXZ|7z\xbc\xaf|Rar!|\x28\xb5\x2f\xfd|.{257}ustar", re.DOTALL
)


class Part(NamedTuple):
    """A text in a file, or what is wrong with a part that can't be read."""

    place: str  # zip/file for files in zips; file (page 3)
    text: str
    problem: str = ""


def parts(file: str, content: bytes) -> Iterator[Part]:
    """Yield all texts in a file; what is packed in it comes before the file as a whole."""
    yield Part(f"{file} (name)", file, "lies in `solutions`" if "/solutions/" in file else "")
    if file.endswith((".pyc", ".pyo")):
        yield Part(file, "", "compiled Python")
    elif _PACKED.match(content):
        yield Part(file, "", "a tar, gzip, bzip2, xz, 7z, rar or zstd, which is not opened")
    elif b"%PDF-" in content[:1024]:
        yield from _of_pdf(file, content)
    elif zipfile.is_zipfile(io.BytesIO(content)):
        yield from _of_zip(file, content)
    else:
        text = text_of(content)
        for encoded in _BASE64.findall(text):  # pictures in web pages and notebooks
            with suppress(binascii.Error):
                yield from parts(file, base64.b64decode(encoded.replace("\\n", "") + "=="))
                if len(encoded) > _LONG:  # the greater part of a page, and nothing to read
                    text = text.replace(encoded, SPLIT)
        for start in _ZLIB.finditer(content) if b"\0" in content else ():
            with suppress(zlib.error):
                data = zlib.decompressobj().decompress(content[start.start() :], 2**26)
                yield from parts(file, data)
        yield Part(file, text)


def text_of(content: bytes) -> str:
    """Return bytes as text; of binary data, only the stretches that are text."""
    if b"\0" not in content:
        return content.decode("utf-8", errors="replace")
    found = _STRETCH.findall(content) + [s.replace(b"\0", b"") for s in _UTF16.findall(content)]
    return b"\n".join(found).decode("utf-8", errors="replace")


def flat(text: str) -> str:
    """Return a text in lower case, Greek letters by name, without white space and punctuation.

    Letters, digits, points and + - * / = < > ( ) [ ] are kept: formulas and words look alike.
    """
    plain = unicodedata.normalize("NFKC", _TEX_SPACE.sub("", text))
    return _NOT_FLAT.sub("", plain.translate(_LETTERS).lower())


def bare(text: str) -> str:
    """Return a text in the form `flat` without brackets, which a formatter adds and removes."""
    return flat(text).translate(_BRACKETS)


def letters(text: str) -> str:
    """Return nothing but a text's letters, in lower case and without accents."""
    return re.sub(r"[\W\d_]+", "", unicodedata.normalize("NFKD", text).lower())


def readings(text: str) -> set[str]:
    """Return a text, and how it reads without escapes, markup, hyphenation, comments or LaTeX."""

    def character(escape: re.Match[str]) -> str:
        return chr(int(escape[1], 16)) if escape[1] else re.sub("[nrt]", "\n", escape[2])

    plain = _COLOURS.sub("", _ESCAPE.sub(character, text))
    shown = html.unescape(_MARKUP.sub("", urllib.parse.unquote(plain)))
    parted = {pattern.sub("", plain) for pattern in (_HYPHENATED, COMMENT)}
    return {text, plain, html.unescape(plain), shown, printed(text), printed(plain)} | parted


def printed(source: str) -> str:
    """Return a source's prose, split where something else stood; it has as many lines."""
    text, before = _split(_SHOWN, _split(_ASIDE, source)), ""
    while text != before:  # types within types
        text, before = _TYPE.sub(r"\1", text), text
    return _split(_COMMAND, text)


def formulas(source: str) -> str:
    """Return a source's mathematics and listings, split between them; it has as many lines."""
    text, end, bodies = _split(_ASIDE, source), 0, ""
    for shown in _SHOWN.finditer(text):
        kind = shown.lastgroup or ""
        bodies += SPLIT + "\n" * text.count("\n", end, shown.start(kind)) + shown[kind]
        end = shown.end(kind)
    return bodies


def _split(pattern: re.Pattern[str], text: str) -> str:
    def replaced(match: re.Match[str]) -> str:
        unseen = match[0].startswith(("%", "\\label{"))
        return ("" if unseen else SPLIT) + "\n" * match[0].count("\n")

    return pattern.sub(replaced, text)


def _of_zip(file: str, content: bytes) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            for entry in opened.infolist():
                yield from parts(f"{file}/{entry.filename}", opened.read(entry))
            comments = [opened.comment, *(entry.comment for entry in opened.infolist())]
            yield Part(f"{file} (comments)", text_of(b"\n".join(comments)))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        yield Part(file, "", f"a zip that can't be read: {error}")


def _of_pdf(file: str, content: bytes) -> Iterator[Part]:
    """Yield the texts of pages and metadata, then every string and stream, shown or not."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it warns of what it has repaired
    try:
        reader = PdfReader(io.BytesIO(content))
        pages = [page.extract_text() for page in reader.pages]
        yield from (Part(f"{file} (page {number})", text) for number, text in enumerate(pages, 1))
        yield Part(file, "\n".join(pages))  # a sentence may continue on the next page
        yield Part(f"{file} (metadata)", _strings(reader.metadata or ""))
        numbers = {number for table in reader.xref.values() for number in table}
        for thing in map(reader.get_object, sorted(numbers | set(reader.xref_objStm))):
            yield Part(file, _strings(thing))
            if isinstance(thing, StreamObject) and thing.get("/Subtype") != "/Image":
                yield from parts(file, thing.get_data())
    except Exception as error:  # of any kind: broken files make pypdf raise anything
        yield Part(file, "", f"a PDF that can't be read: {str(error) or type(error).__name__}")
    yield Part(file, text_of(content))


def _strings(thing: Any) -> str:
    """Return the strings of a PDF's object, one per line; of others it refers to, only strings."""
    if isinstance(thing, IndirectObject):
        thing = thing.get_object()
        thing = "" if isinstance(thing, dict | list) else thing
    if isinstance(thing, dict | list):
        items = dict.values(thing) if isinstance(thing, dict) else list.__iter__(thing)
        return "\n".join(map(_strings, items))
    return thing.decode("latin-1") if isinstance(thing, bytes) else str(thing)
