"""Reads items of a CharCorruptionDataset back: which document, which prefix, which span?

An item is the string s = `prefix MASK suffix MASK masked_content [MASK] PAD...`, given as x = s
without its last character and y = s without its first. `read_examples` undoes that, or says in
words what is not as it should be. Nothing here is random, and nothing is secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .schema import Array, Where

MASK_CHAR = "\u2047"
PAD_CHAR = "\u25a1"
SHORTEST = 4  # characters that a document is truncated to at least

MOST = 4096  # entries of an item that the probe sends

VECTOR = Array("int64", (None,))
DRAWN = {"forms": [str], "x": VECTOR, "y": VECTOR, "x_sizes": VECTOR, "y_sizes": VECTOR}
VOCABULARY = {
    "itos": [str],
    "stoi_agrees": bool,
    "vocab_size": int,
    "block_size": int,
    "length": int,
}


def drawn(count: int) -> Where:
    """What the probe answers that draws `count` items; none of them if one is no pair."""

    def adds_up(value: dict[str, Any]) -> bool:
        both = [(value[name], value[f"{name}_sizes"]) for name in ("x", "y")]
        if len({len(sizes) for _, sizes in both}) > 1 or len(both[0][1]) not in (0, count):
            return False
        fine = all(bool(((sizes >= 0) & (sizes <= MOST)).all()) for _, sizes in both)
        return fine and all(len(entries) == int(sizes.sum()) for entries, sizes in both)

    return Where(DRAWN, adds_up, f"sizes of {count} items that add up")


class Malformed(Exception):
    """An item that is not as the handout pins it.

    Attributes:
        sentence: what is wrong, fixed words without values.
        got, expected: the item's string and what would be right.
    """

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
    def truncated(self) -> int:
        """T, the real length of the truncated document."""
        return len(self.prefix) + len(self.masked) + len(self.suffix)

    @property
    def span(self) -> int:
        return len(self.masked)

    @property
    def start(self) -> int:
        return len(self.prefix)


def longest(document: str, block_size: int) -> int:
    """The greatest length that a document may be truncated to."""
    return min(len(document), int(block_size * 7 / 8))


def expected_vocabulary(documents: list[str]) -> list[str]:
    """PAD, MASK, then the sorted characters of the whole text, the newline included."""
    return [PAD_CHAR, MASK_CHAR, *sorted(set("\n".join(documents)))]


def items(drawn: dict[str, Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The pairs (x, y) of a probe's answer."""
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
    if len(drawn["forms"]) > 1:
        raise Malformed("items differ in length", " and ".join(drawn["forms"]), right[0])
    _check_pairs(drawn)


def _check_pairs(drawn: dict[str, Any]) -> None:
    if not len(drawn["x_sizes"]):
        sentence = "an item is no pair (x, y) of vectors of whole numbers"
        raise Malformed(sentence, str(drawn["forms"]), "a pair of Long tensors")


def read_examples(
    drawn: dict[str, Any],
    documents: list[str],
    indices: list[int],
    block_size: int,
    form: bool = True,
    bounds: bool = True,
) -> list[Example]:
    """Read all items back, checking everything that is pinned about each of them alone.

    Args:
        drawn: the answer of `span_corruption.draw` for these documents and indices.
        indices: which document each item should come from, repeated as often as was asked.
        form, bounds: whether to check dtypes and lengths of items, and lengths of truncated
            documents. Tests of something else don't: one mistake should cost one pin's points.

    Raises:
        Malformed: for the first item that is wrong.
    """
    if form:
        check_form(drawn, block_size)
    _check_pairs(drawn)
    examples = []
    for position, text in enumerate(_strings(drawn, expected_vocabulary(documents))):
        document = documents[indices[position % len(indices)]]
        example = read_one(text, document, documents)
        if bounds:
            _check_bounds(example, block_size)
        examples.append(example)
    return examples


def _strings(drawn: dict[str, Any], itos: list[str]) -> Iterator[str]:
    """Each item's string. Where all is well, ids become characters all at once: it is the most
    of the work; else one by one, up to the one that is wrong."""
    x, y, sizes = drawn["x"], drawn["y"], drawn["x_sizes"]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    inner = np.ones(len(x), dtype=bool)
    inner[starts[sizes > 0]] = False  # x[t] of these has a y[t - 1] to be equal to
    whole = np.array_equal(sizes, drawn["y_sizes"]) and bool(sizes.all())
    if whole and np.array_equal(x[inner], y[:-1][inner[1:]]) and _are_ids(x, y, len(itos)):
        table = np.array(itos)
        text = "".join(table[x].tolist())
        lasts = table[y[ends - 1]].tolist()
        yield from (text[i:j] + c for i, j, c in zip(starts, ends, lasts, strict=True))
    else:
        yield from (joined(one_x, one_y, itos) for one_x, one_y in items(drawn))


def _are_ids(x: np.ndarray, y: np.ndarray, count: int) -> bool:
    return all(0 <= ids.min() and ids.max() < count for ids in (x, y))


def joined(x: np.ndarray, y: np.ndarray, itos: list[str]) -> str:
    """x and y put together again."""
    if not np.array_equal(x[1:], y[:-1]):
        sentence = "y is not x shifted by one: y[t] should be the character that follows x[t]"
        got = f"x = {_text(x, itos)!r}\n       y = {_text(y, itos)!r}"
        raise Malformed(sentence, got, "x[1:] equal to y[:-1]")
    return _text(x, itos) + _text(y[-1:], itos)


def _text(ids: np.ndarray, itos: list[str]) -> str:
    if len(ids) and (ids.min() < 0 or ids.max() >= len(itos)):
        sentence = "an id is outside the vocabulary (0: PAD, 1: MASK, then the sorted characters)"
        raise Malformed(sentence, f"ids {ids.min()} to {ids.max()}", f"0 to {len(itos) - 1}")
    return "".join(map(itos.__getitem__, ids.tolist()))


def read_one(text: str, document: str, documents: list[str]) -> Example:
    """Read one item's string back; see the module's docstring for its arrangement."""
    body = text.rstrip(PAD_CHAR)
    shape = "prefix ⁇ suffix ⁇ masked_content [⁇] □..."
    parts = body.split(MASK_CHAR)
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3]):
        sentence = "an item is not prefix MASK suffix MASK masked_content, with MASK or PADs behind"
        raise Malformed(sentence, text, shape)
    example = Example(document, parts[0], parts[2], parts[1])
    original = example.prefix + example.masked + example.suffix
    if document.startswith(original):
        return example
    right = _drawn_rightly(document, len(original), len(example.prefix), len(example.masked))
    raise Malformed(_misplaced(original, document, documents), text, right)


def _drawn_rightly(document: str, length: int, start: int, span: int) -> str:
    """What an item with these lengths would be, and the span that it hides, for a message."""
    kept = document[:length]
    prefix, masked, suffix = kept[:start], kept[start : start + span], kept[start + span :]
    item = MASK_CHAR.join((prefix, suffix, masked, ""))
    return f"such as {item} for the span in {prefix}[{masked}]{suffix}"


def _misplaced(original: str, document: str, documents: list[str]) -> str:
    """Why the characters of an item are no prefix of its document."""
    if PAD_CHAR in original:
        return "PADs stand before the end of an item"
    if original in document:
        return "a document was cut at its front: truncation keeps the beginning"
    if any(other.startswith(original) for other in documents):
        return "an item shows another document than the one asked for"
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
    return f"{example.prefix}[{example.masked}]{example.suffix}"
