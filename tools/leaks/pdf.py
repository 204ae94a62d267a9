"""Extract the texts of a PDF: pages, metadata, bookmarks, annotations, attached files, the rest.

Not covered: text in pictures, and fonts that don't say which letters they draw.
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
    """A text, and its place in the PDF, which may be empty."""

    where: str
    text: str


class Attached(NamedTuple):
    """A file within a PDF."""

    name: str
    content: bytes


def texts(content: bytes) -> Iterator[Text | Attached]:
    """Yield all texts and attached files in a PDF.

    Raises:
        Unreadable: raised after everything readable was yielded.
    """
    # pypdf warns of what it has already repaired.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(content))
        if not reader.pages:
            raise Unreadable("it has no page")
        pages = [page.extract_text() for page in reader.pages]
        yield from (Text(f"page {number}", text) for number, text in enumerate(pages, 1))
        yield Text("", "\n".join(pages))  # a sentence may continue on the next page
        if "/Info" in reader.trailer:
            yield Text("metadata", _strings(reader.trailer["/Info"]))
        yield from _of_objects(reader)
    except Unreadable:
        raise
    except Exception as error:  # of any kind: broken files make pypdf raise anything
        raise Unreadable(f"{type(error).__name__}: {error}") from error


def _of_objects(reader: PdfReader) -> Iterator[Text | Attached]:
    """Yield the texts of every object of the file, whether or not a page shows it."""
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
    """Return the kind of an object, in the words of a PDF's reader."""
    if isinstance(thing, dict):
        if thing.get("/Type") == "/Metadata":
            return "metadata"
        if "/Title" in thing and "/Parent" in thing:
            return "bookmark"
        if "/Rect" in thing and "/Subtype" in thing:
            return "annotation"
    return ""


def _is_drawing(stream: StreamObject) -> bool:
    """Return whether a stream is an image or a font, which have no text to search."""
    kind = stream.get("/Subtype")
    return kind in ("/Image", "/Type1C", "/CIDFontType0C", "/OpenType") or "/Length1" in stream


def _strings(thing: Any) -> str:
    """Return the strings of an object, one per line."""
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
