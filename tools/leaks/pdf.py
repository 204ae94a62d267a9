"""The texts in a PDF: pages, metadata, bookmarks, annotations, attached files, all else it holds.

What is not covered: text that a picture shows, and fonts that don't say which letters they draw.
"""

import io
import logging
from collections.abc import Iterator
from typing import Any, NamedTuple

from pypdf import PdfReader
from pypdf.generic import ByteStringObject, IndirectObject, StreamObject, TextStringObject

from .forms import text_of

_STRINGS = (TextStringObject, ByteStringObject)


class Unreadable(Exception):
    """A PDF, or a part of it, can't be read; `str()` says why."""


class Text(NamedTuple):
    """A text, and where it stands: nowhere in particular where that is empty."""

    where: str
    text: str


class Attached(NamedTuple):
    """A file within a PDF."""

    name: str
    content: bytes


def texts(content: bytes) -> Iterator[Text | Attached]:
    """All that a PDF holds.

    Raises:
        Unreadable: after what could be read.
    """
    # What pypdf warns of, it has mended.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(content))
        if not reader.pages:
            raise Unreadable("it has no page")
        pages = [page.extract_text() for page in reader.pages]
        yield from (Text(f"page {number}", text) for number, text in enumerate(pages, 1))
        yield Text("", "\n".join(pages))  # a sentence may go on on the next
        if "/Info" in reader.trailer:
            yield Text("metadata", _strings(reader.trailer["/Info"]))
        yield from _of_objects(reader)
    except Unreadable:
        raise
    except Exception as error:  # of any kind: a broken file sends pypdf astray
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def _of_objects(reader: PdfReader) -> Iterator[Text | Attached]:
    """Every object of the file, whether or not a page shows it."""
    numbers = {number for table in reader.xref.values() for number in table}
    held = {n: reader.get_object(n) for n in sorted(numbers | set(reader.xref_objStm))}
    dictionaries = [inner for thing in held.values() for inner in _nested(thing)]
    dictionaries = [inner for inner in dictionaries if isinstance(inner, dict)]
    names = {
        reference.idnum: str(entry.get("/UF", entry.get("/F", "attachment")))
        for entry in dictionaries
        if "/EF" in entry
        for reference in dict.values(entry["/EF"])
        if isinstance(reference, IndirectObject)
    }
    for number, thing in held.items():
        yield Text(_place(thing), _strings(thing))
        if isinstance(thing, StreamObject) and not _is_drawing(thing):
            data = thing.get_data()
            if number in names or thing.get("/Type") == "/EmbeddedFile":
                yield Attached(names.get(number, f"object {number}"), data)
            else:
                yield Text(_place(thing), text_of(data))


def _place(thing: Any) -> str:
    """Return what a reader of the PDF would call an object."""
    if isinstance(thing, dict):
        if thing.get("/Type") == "/Metadata":
            return "metadata"
        if "/Title" in thing and "/Parent" in thing:
            return "bookmark"
        if "/Rect" in thing and "/Subtype" in thing:
            return "annotation"
    return ""


def _is_drawing(stream: StreamObject) -> bool:
    """Images and fonts hold no text, and not all can be unpacked."""
    kind = stream.get("/Subtype")
    return kind in ("/Image", "/Type1C", "/CIDFontType0C", "/OpenType") or "/Length1" in stream


def _strings(thing: Any) -> str:
    """Return the strings of an object, a line each."""
    found = [inner for inner in _nested(thing) if isinstance(inner, _STRINGS)]
    return "\n".join(s.decode("latin-1") if isinstance(s, bytes) else str(s) for s in found)


def _nested(thing: Any) -> Iterator[Any]:
    """Yield an object and all within it; of objects it refers to, only strings (TeX's titles)."""
    if isinstance(thing, IndirectObject):
        referred = thing.get_object()
        thing = referred if isinstance(referred, _STRINGS) else None
    yield thing
    if isinstance(thing, dict):
        for value in dict.values(thing):
            yield from _nested(value)
    elif isinstance(thing, list):
        for value in list.__iter__(thing):
            yield from _nested(value)
