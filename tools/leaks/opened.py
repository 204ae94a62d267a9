"""Extract the texts of a file, and of zips, PDFs, web pages, notebooks and pictures."""

import base64
import binascii
import io
import json
import re
import struct
import urllib.parse
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from . import pdf
from .forms import text_of

_PACKED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz", b"7z\xbc\xaf": "7z"}
_PNG = b"\x89PNG\r\n\x1a\n"
_DATA_URI = re.compile(r"data:[\w/+.-]*(?:;[\w=.-]+)*?(;base64)?,([^\"'<>()\s\\]+)")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]{16,}={0,2}\s*")


class Part(NamedTuple):
    """A text within a file, or what is wrong with a part that can't be read."""

    file: str  # within zips: zip/file
    where: str  # such as "page 3"; empty for the whole file, which comes last
    text: str
    problem: str = ""


def parts(file: str, content: bytes, where: str = "") -> Iterator[Part]:
    """Yield all texts in a file; what is packed in it comes before the file as a whole.

    Args:
        file: its name, which need not be a path.
        where: the part of the file that `content` is.
    """
    if file.endswith((".pyc", ".pyo")):
        yield Part(file, where, "", "compiled Python")
        return
    packing = next((name for magic, name in _PACKED.items() if content.startswith(magic)), None)
    if packing:
        yield Part(file, where, "", f"packed with {packing}, which is not opened: use zip")
    elif zipfile.is_zipfile(io.BytesIO(content)):
        yield from _of_zip(file, content, where)
    elif b"%PDF-" in content[:1024] or file.endswith(".pdf"):
        yield from _of_pdf(file, content, where)
    elif content.startswith(_PNG):
        yield from _of_png(file, content, where)
    else:
        yield from of_text(file, text_of(content), where)


def of_text(file: str, text: str, where: str = "") -> Iterator[Part]:
    """Yield the texts in data URIs and JSON (notebooks, too) of a text, then the text itself."""
    for number, uri in enumerate(_DATA_URI.finditer(text), 1):
        data = urllib.parse.unquote_to_bytes(uri[2])
        content = _from_base64(data) if uri[1] else data
        if content:
            yield from parts(file, content, _within(where, f"data {number}"))
    if text.lstrip()[:1] in ("{", "["):
        try:
            tree = json.loads(text)
        except (ValueError, RecursionError):
            tree = None  # then it is a text like any other
        for place, string in _strings(tree):
            packed = _from_base64(string.encode()) if _BASE64.fullmatch(string) else None
            if packed:
                yield from parts(file, packed, _within(where, place))
            yield from of_text(file, string, _within(where, place))
    yield Part(file, where, text)


def _strings(node: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Yield the strings in a tree of JSON; a list of strings is one text, as in notebooks."""
    if isinstance(node, str):
        yield place, node
    elif isinstance(node, dict):
        for key, value in node.items():
            yield from _strings(value, f"{place}.{key}".lstrip("."))
    elif isinstance(node, list) and all(isinstance(value, str) for value in node):
        yield place, "".join(node)
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from _strings(value, f"{place}[{number}]")


def _of_zip(file: str, content: bytes, where: str) -> Iterator[Part]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            for entry in opened.infolist():
                inner = f"{file}/{entry.filename}"
                yield Part(inner, "name", entry.filename)
                yield from of_text(inner, text_of(entry.comment), "comment")
                yield from parts(inner, opened.read(entry))
            yield from of_text(file, text_of(opened.comment), _within(where, "comment"))
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError) as error:
        yield Part(file, where, "", f"a zip that can't be read: {error}")


def _of_pdf(file: str, content: bytes, where: str) -> Iterator[Part]:
    try:
        for found in pdf.texts(content):
            if isinstance(found, pdf.Attached):
                yield Part(f"{file}/{found.name}", "name", found.name)
                yield from parts(f"{file}/{found.name}", found.content)
            else:
                yield Part(file, _within(where, found.where), found.text)
    except pdf.Unreadable as error:
        yield Part(file, where, "", f"a PDF that can't be read: {error}")
    yield Part(file, where, text_of(content))


def _of_png(file: str, content: bytes, where: str) -> Iterator[Part]:
    """Yield the texts of a picture's chunks, and then the whole file."""
    start = len(_PNG)
    while start + 8 <= len(content):
        size, kind = struct.unpack(">I4s", content[start : start + 8])
        data = content[start + 8 : start + 8 + size]
        start += 12 + size
        if kind in (b"tEXt", b"zTXt", b"iTXt", b"eXIf", b"iCCP"):
            text = text_of(data + b"\n" + _inflated(data))
            yield from of_text(file, text, _within(where, kind.decode()))
    yield Part(file, where, text_of(content))


def _inflated(data: bytes) -> bytes:
    """Return a chunk's decompressed data, which follow fields that end in a zero byte."""
    for zero in re.finditer(b"\0", data):
        try:
            return zlib.decompress(data[zero.end() :])
        except zlib.error:
            continue
    return b""


def _from_base64(data: bytes) -> bytes | None:
    try:
        return base64.b64decode(b"".join(data.split()), validate=True)
    except binascii.Error:
        return None


def _within(where: str, inner: str) -> str:
    return f"{where}, {inner}" if where else inner
