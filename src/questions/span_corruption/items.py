"""Finds out which document, prefix and span an item of a CharCorruptionDataset was made of.

An item is the string s = `prefix MASK suffix MASK masked_content [MASK] PAD...`, given as x = s
without its last character and y = s without its first. `read` undoes that, or says in words what
is not as it should be. Nothing here is random, and nothing is secret.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grading.schema import Array, Where

MASK_CHAR = "\u2047"
PAD_CHAR = "\u25a1"
SHORTEST = 4  # characters that a document is truncated to at least
MALFORMED = 0.05  # the share of items that a test of something else leaves aside

MOST = 4096  # entries of an item that the probe sends

VECTOR = Array("int64", (None,))
DRAWN = {
    "length": int,
    "forms": [str],
    "x": VECTOR,
    "y": VECTOR,
    "x_sizes": VECTOR,
    "y_sizes": VECTOR,
}
VOCABULARY = {
    "itos": [str],
    "stoi_agrees": bool,
    "vocab_size": int,
    "block_size": int,
    "length": int,
}


def drawn(documents: int, repeat: int) -> Where:
    """Return the spec of what the probe answers that draws from so many documents, `repeat` times.

    Both sizes of an item that is no pair are 0. From a dataset of another length nothing is drawn.
    """

    def adds_up(value: dict[str, Any]) -> bool:
        both = [(value[name], value[f"{name}_sizes"]) for name in ("x", "y")]
        count = repeat * documents if value["length"] == documents else 0
        if not len(both[0][1]) == len(both[1][1]) == count:
            return False
        fine = all(bool(((sizes >= 0) & (sizes <= MOST)).all()) for _, sizes in both)
        return fine and all(len(entries) == int(sizes.sum()) for entries, sizes in both)

    return Where(DRAWN, adds_up, f"sizes of {repeat} times {documents} items that add up")


class Malformed(Exception):
    """An item that is not as the handout pins it.

    Attributes:
        sentence: what is wrong, fixed words without values.
        got, expected: the item's string and what would be right.
        characters: how many characters of a document the item holds; infinite where nobody knows.
    """

    characters: float = math.inf

    def __init__(self, sentence: str, got: str, expected: str) -> None:
        super().__init__(sentence)
        self.sentence, self.got, self.expected = sentence, got, expected


@dataclass(frozen=True)
class Example:
    """One item, read back. Lengths are in characters."""

    document: str
    prefix: str
    masked: str
    suffix: str

    @property
    def original(self) -> str:
        """The truncated document."""
        return self.prefix + self.masked + self.suffix

    @property
    def truncated(self) -> int:
        """T, the real length of the truncated document."""
        return len(self.prefix) + len(self.masked) + len(self.suffix)

    @property
    def span(self) -> int:
        return len(self.masked)

    @property
    def start(self) -> int:
        return len(self.prefix)


@dataclass
class Reading:
    """A draw, read back: the well-formed items, and what is wrong with the others."""

    documents: list[str]
    block_size: int
    examples: list[Example] = field(default_factory=list)
    wrong: list[Malformed] = field(default_factory=list)

    def check_each(self) -> None:
        """Raise Malformed for the first item that is wrong."""
        if self.wrong:
            raise self.wrong[0]

    def check_bounds(self) -> None:
        """Raise Malformed unless every document was truncated to a length that is possible."""
        for example in self.examples:
            _check_bounds(example, self.block_size)


def well_formed(readings: list[Reading], shortest: int = 0) -> list[Example]:
    """Return the well-formed items with `shortest` characters or more, to test something else.

    At least 95 % must be well formed, of all items and of those with `shortest` characters or
    more alike: however malformed items are spread, the ones that are judged lack no more than one
    in twenty of their kind.

    Raises:
        Malformed: more are malformed; the first of them.
    """
    for least in (0, shortest):
        examples = [e for r in readings for e in r.examples if e.truncated >= least]
        wrong = [w for r in readings for w in r.wrong if w.characters >= least]
        if len(wrong) > MALFORMED * (len(examples) + len(wrong)):
            raise wrong[0]
    return examples


def longest(document: str, block_size: int) -> int:
    """Return the greatest length that a document may be truncated to."""
    return min(len(document), int(block_size * 7 / 8))


def expected_vocabulary(documents: list[str]) -> list[str]:
    """Return PAD, MASK, then the sorted characters of the whole text, newline included."""
    return [PAD_CHAR, MASK_CHAR, *sorted(set("\n".join(documents)))]


def items(drawn: dict[str, Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the pairs (x, y) of a probe's answer; both are empty where an item is no pair."""
    xs = np.split(drawn["x"], np.cumsum(drawn["x_sizes"])[:-1])
    ys = np.split(drawn["y"], np.cumsum(drawn["y_sizes"])[:-1])
    yield from zip(xs, ys, strict=True)


def check_form(drawn: dict[str, Any], block_size: int) -> None:
    """Raise Malformed unless every item is a pair of Long vectors of one right length.

    block_size entries are what we ask for; one less (padded to block_size, as the public course
    does) is accepted.
    """
    right = [f"tuple of int64[{n}], int64[{n}]" for n in (block_size, block_size - 1)]
    for form in drawn["forms"]:
        if form not in right and form.replace("list of", "tuple of", 1) not in right:
            sentence = "an item is not a pair (x, y) of Long tensors with block_size entries each"
            raise Malformed(sentence, form, right[0])
    if len(drawn["forms"]) != 1:
        raise Malformed("items differ in length", " and ".join(drawn["forms"]), right[0])


def read(
    drawn: dict[str, Any], documents: list[str], indices: list[int], block_size: int
) -> Reading:
    """Read items back, dtypes and lengths of items aside; see `Reading` for what can be asked.

    Args:
        drawn: the answer of `span_corruption.draw` for these documents and indices.
        indices: which document each item should come from, repeated as often as was asked.
    """
    reading = Reading(documents, block_size)
    for position, text in enumerate(texts(drawn, expected_vocabulary(documents))):
        try:
            if isinstance(text, Malformed):
                raise text
            document = documents[indices[position % len(indices)]]
            reading.examples.append(read_one(text, document, documents))
        except Malformed as wrong:
            if isinstance(text, str) and text:
                wrong.characters = sum(c not in (MASK_CHAR, PAD_CHAR) for c in text)
            reading.wrong.append(wrong)
    return reading


def texts(drawn: dict[str, Any], itos: list[str]) -> Iterator[str | Malformed]:
    """Return each item's string, or what is wrong with it.

    Where all is well, ids become characters all at once, since it is the most of the work; else one
    by one.
    """
    x, y, sizes = drawn["x"], drawn["y"], drawn["x_sizes"]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    inner = np.ones(len(x), dtype=bool)
    inner[starts[sizes > 0]] = False  # x[t] of these has a y[t - 1] to be equal to
    whole = np.array_equal(sizes, drawn["y_sizes"]) and bool(sizes.all())
    if whole and np.array_equal(x[inner], y[:-1][inner[1:]]) and _are_ids(x, y, len(itos)):
        code_points = np.array([ord(c) for c in itos], dtype="<u4")

        def decoded(ids: np.ndarray) -> str:
            # Without an object for each character: an answer has millions of them.
            return code_points[ids].tobytes().decode("utf-32-le", "surrogatepass")

        text, lasts = decoded(x), decoded(y[ends - 1])
        yield from (text[i:j] + c for i, j, c in zip(starts, ends, lasts, strict=True))
    else:
        for one_x, one_y in items(drawn):
            try:
                yield joined(one_x, one_y, itos)
            except Malformed as wrong:
                yield wrong


def _are_ids(x: np.ndarray, y: np.ndarray, count: int) -> bool:
    return all(0 <= ids.min() and ids.max() < count for ids in (x, y))


def joined(x: np.ndarray, y: np.ndarray, itos: list[str]) -> str:
    """Put x and y together again; "" where they are no pair, or empty."""
    try:
        if not np.array_equal(x[1:], y[:-1]):
            sentence = "y is not x shifted by one: y[t] should be the character that follows x[t]"
            got = f"x = {_text(x, itos)!r}\n       y = {_text(y, itos)!r}"
            raise Malformed(sentence, got, "x[1:] equal to y[:-1]")
        return _text(x, itos) + _text(y[-1:], itos)
    except Malformed as wrong:
        wrong.characters = int((x > 1).sum())  # 0 is PAD, 1 is MASK
        raise


def _text(ids: np.ndarray, itos: list[str]) -> str:
    if len(ids) and (ids.min() < 0 or ids.max() >= len(itos)):
        sentence = "an id is outside the vocabulary (0: PAD, 1: MASK, then the sorted characters)"
        raise Malformed(sentence, f"ids {ids.min()} to {ids.max()}", f"0 to {len(itos) - 1}")
    return "".join(map(itos.__getitem__, ids.tolist()))


def read_one(text: str, document: str, documents: list[str]) -> Example:
    """Read one item's string back; see the module's docstring for its arrangement.

    Raises:
        Malformed: it is arranged in another way, or shows no prefix of its document.
    """
    body = text.rstrip(PAD_CHAR)
    shape = "prefix ⁇ suffix ⁇ masked_content [⁇] □..."
    parts = body.split(MASK_CHAR)
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3]):
        sentence = "an item is not prefix MASK suffix MASK masked_content, with MASK or PADs behind"
        sentence = sentence if text else "an item is no pair (x, y) of vectors of whole numbers"
        raise Malformed(sentence, text, shape)
    example = Example(document, parts[0], parts[2], parts[1])
    if document.startswith(example.original):
        return example
    right = _drawn_rightly(document, example)
    raise Malformed(_misplaced(example.original, document, documents), text, right)


def _drawn_rightly(document: str, wrong: Example) -> str:
    """Draw what an item with these lengths would be, and the span that it hides, for a message."""
    kept, end = document[: wrong.truncated], wrong.start + wrong.span
    right = Example(document, kept[: wrong.start], kept[wrong.start : end], kept[end:])
    item = MASK_CHAR.join((right.prefix, right.suffix, right.masked, ""))
    return f"such as {item} for the span in {picture(right)}"


def _misplaced(original: str, document: str, documents: list[str]) -> str:
    """Say why the characters of an item are no prefix of its document."""
    if PAD_CHAR in original:
        return "PADs stand before the end of an item"
    if original in document:
        return "a document was cut at its front: truncation keeps the beginning"
    if any(other.startswith(original) for other in documents):
        return "an item shows another document than the one asked for"
    if "".join(c for c in document if c.isascii()).startswith(original):
        return "characters that are not ASCII, such as é or 東, are missing from an item"
    if sorted(original) == sorted(document[: len(original)]):
        return "the right characters in the wrong order: is it prefix, suffix, masked_content?"
    return "prefix + masked_content + suffix is not how the document begins"


def _check_bounds(example: Example, block_size: int) -> None:
    most = longest(example.document, block_size)
    if not SHORTEST <= example.truncated <= most:
        raise Malformed(
            "a truncated document is too long or too short",
            f"{example.truncated} characters of {len(example.document)}: {picture(example)}",
            f"{SHORTEST} to {most} (block_size {block_size})",
        )


def picture(example: Example) -> str:
    """Draw an example: the truncated document with its span in brackets."""
    drawn = f"{example.prefix}[{example.masked}]{example.suffix}"
    return drawn if example.masked else f"{drawn} (an empty span)"
