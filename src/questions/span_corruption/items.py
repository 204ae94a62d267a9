"""Reconstructs the document, prefix and span from which an item of CharCorruptionDataset was made.

An item is the string s = `prefix MASK suffix MASK masked_content [MASK] PAD...`, given as x = s
without its last character and y = s without its first. `read` undoes that, or describes what is
wrong. Nothing here is random, and nothing is secret.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grading.wire import AnyOf, Array, Where

MASK_CHAR = "\u2047"
PAD_CHAR = "\u25a1"
SHORTEST = 4  # characters that a document is truncated to at least
MALFORMED = 0.05  # the share of malformed items that tests of something else tolerate

MOST = 4096  # entries of an item that the probe sends

FRIENDLY = "abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,"
FOREIGN = "äéîøğşčžΩλДя東京ñçÅ–’"  # as they occur in a corpus of names and places

FRIENDLY_DOCUMENTS = [
    "Ada Byron was born in London, and wrote the first program.",
    "Born in Warsaw, Maria went to Paris to study physics.",
    "Srinivasa grew up in Kumbakonam; he was born in Erode.",
    "The painter Frida comes from Coyoacan.",
]

VECTOR = Array("int64", (None,))
ENTRIES = AnyOf((Array("uint8", (None,)), VECTOR))  # ids as bytes, or any integers
DRAWN = {
    "length": int,
    "kept": int,
    "forms": [str],
    "x": ENTRIES,
    "y": ENTRIES,
    "x_sizes": VECTOR,
    "y_sizes": VECTOR,
}
VOCABULARY = {
    "kept": int,
    "itos": [str],
    "stoi_agrees": bool,
    "vocab_size": int,
    "block_size": int,
    "length": int,
}


def draw_documents(
    rng: np.random.Generator, lengths: list[int], alphabet: str = FRIENDLY
) -> list[str]:
    """Draw documents of these lengths (2 or more), no two with the same beginning.

    Each starts with a different character, so that every prefix identifies its document, and
    neither starts nor ends with a blank, since a constructor may strip its lines: one test is
    about that (`span_corruption.short_documents`).
    """
    visible = list(alphabet.replace(" ", ""))
    firsts = rng.choice(visible, size=len(lengths), replace=False)
    rows = ["".join(rng.choice(list(alphabet), size=length - 2)) for length in lengths]
    lasts = rng.choice(visible, size=len(lengths))
    return [f"{a}{row}{z}" for a, row, z in zip(firsts, rows, lasts, strict=True)]


def drawn(counts: list[tuple[int, int]]) -> Where:
    """Return the spec of the probe's answer for these numbers of documents and of repetitions."""

    def all_add_up(value: dict[str, Any]) -> bool:
        runs = value["runs"]
        fits = len(runs) == len(counts)
        return fits and all(_adds_up(run, *pair) for run, pair in zip(runs, counts, strict=True))

    return Where({"runs": [DRAWN]}, all_add_up, f"{len(counts)} draws with sizes that add up")


def _adds_up(value: dict[str, Any], documents: int, repeat: int) -> bool:
    """Return whether an answer has as many items as were asked for, with all of their entries.

    Both sizes of an item that is not a pair are 0. Nothing is drawn from a dataset of the wrong
    length.
    """
    both = [(value[name], value[f"{name}_sizes"]) for name in ("x", "y")]
    count = repeat * documents if value["length"] == documents else 0
    if not len(both[0][1]) == len(both[1][1]) == count:
        return False
    fine = all(bool(((sizes >= 0) & (sizes <= MOST)).all()) for _, sizes in both)
    return fine and all(len(entries) == int(sizes.sum()) for entries, sizes in both)


class Malformed(Exception):
    """An item that does not follow the handout.

    Attributes:
        id: the name of this way to be wrong; see `grading.verdicts.Verdict`.
        sentence: what is wrong, in fixed words without values.
        got, expected: the item's string, and what would be right.
        characters: how many characters of a document the item has; infinite if unknown.
    """

    characters: float = math.inf

    def __init__(self, sentence: str, got: str, expected: str, *, id: str) -> None:
        super().__init__(sentence)
        self.id = id
        self.sentence, self.got, self.expected = sentence, got, expected


@dataclass(slots=True)
class Example:
    """One item, read back. Lengths are in characters.

    Attributes:
        truncated: T, the real length of the truncated document; judges ask for it so often that it
            is computed once.
    """

    document: str
    prefix: str
    masked: str
    suffix: str
    truncated: int = field(init=False)

    def __post_init__(self) -> None:
        self.truncated = len(self.prefix) + len(self.masked) + len(self.suffix)

    @property
    def original(self) -> str:
        """The truncated document."""
        return self.prefix + self.masked + self.suffix

    @property
    def unpadded(self) -> str:
        """The item without its PADs and its last, optional MASK."""
        return MASK_CHAR.join((self.prefix, self.suffix, self.masked))

    @property
    def span(self) -> int:
        return len(self.masked)

    @property
    def start(self) -> int:
        return len(self.prefix)


@dataclass
class Reading:
    """A draw, read back: the well-formed items, and the mistakes in the others."""

    documents: list[str]
    block_size: int
    examples: list[Example] = field(default_factory=list)
    wrong: list[Malformed] = field(default_factory=list)

    def check_each(self) -> None:
        """Raise Malformed for the first item that is wrong."""
        if self.wrong:
            raise self.wrong[0]

    def check_bounds(self) -> None:
        """Raise Malformed unless every document was truncated to an allowed length."""
        for example in self.examples:
            _check_bounds(example, self.block_size)


def well_formed(readings: list[Reading], shortest: int = 0) -> list[Example]:
    """Return the well-formed items with `shortest` characters or more, to test something else.

    At least 95 % must be well formed, both of all items and of those with `shortest` characters or
    more: however malformed items are distributed, no more than one in twenty of the kind to be
    judged is missing.

    Raises:
        Malformed: more are malformed; it describes the first of them.
    """
    for least in (0, shortest):
        examples = [e for r in readings for e in r.examples if e.truncated >= least]
        wrong = [w for r in readings for w in r.wrong if w.characters >= least]
        if len(wrong) > MALFORMED * (len(examples) + len(wrong)):
            raise wrong[0]
    return examples


def longest(document: str, block_size: int) -> int:
    """Return the greatest length to which a document may be truncated."""
    return min(len(document), int(block_size * 7 / 8))


def expected_vocabulary(documents: list[str]) -> list[str]:
    """Return PAD, MASK, then the sorted characters of the whole text, newline included."""
    return [PAD_CHAR, MASK_CHAR, *sorted(set("\n".join(documents)))]


def items(drawn: dict[str, Any]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Return the pairs (x, y) of a probe's answer; both are empty if an item is not a pair."""
    xs = np.split(drawn["x"], np.cumsum(drawn["x_sizes"])[:-1])
    ys = np.split(drawn["y"], np.cumsum(drawn["y_sizes"])[:-1])
    yield from zip(xs, ys, strict=True)


def check_form(drawn: dict[str, Any], block_size: int) -> None:
    """Raise Malformed unless every item is a pair of Long vectors of the same, right length.

    The handout asks for block_size entries; one fewer (padded to block_size, as in the public
    course) is accepted.
    """
    right = [f"tuple of int64[{n}], int64[{n}]" for n in (block_size, block_size - 1)]
    for form in drawn["forms"]:
        if form not in right and form.replace("list of", "tuple of", 1) not in right:
            sentence = "an item is not a pair (x, y) of Long tensors with block_size entries each"
            raise Malformed(sentence, form, right[0], id="item.form")
    if len(drawn["forms"]) != 1:
        raise Malformed(
            "items have different lengths",
            " and ".join(drawn["forms"]),
            right[0],
            id="item.different-lengths",
        )


def read(drawn: dict[str, Any], documents: list[str], block_size: int) -> Reading:
    """Read items back, ignoring their dtypes and lengths; see `Reading` for the results.

    Args:
        drawn: a run in the answer of `span_corruption.draw`, which draws documents in turn.
    """
    reading = Reading(documents, block_size)
    for position, text in enumerate(texts(drawn, expected_vocabulary(documents))):
        try:
            if isinstance(text, Malformed):
                raise text
            document = documents[position % len(documents)]
            reading.examples.append(read_one(text, document, documents))
        except Malformed as wrong:
            if isinstance(text, str) and text:
                wrong.characters = sum(c not in (MASK_CHAR, PAD_CHAR) for c in text)
            elif text == "":
                wrong.got = " or ".join(drawn["forms"])
            reading.wrong.append(wrong)
    return reading


def texts(drawn: dict[str, Any], itos: list[str]) -> Iterator[str | Malformed]:
    """Return each item's string, or what is wrong with it.

    If all is well, all ids are decoded at once, since this is most of the work; otherwise one item
    at a time.
    """
    x, y, sizes = drawn["x"], drawn["y"], drawn["x_sizes"]
    ends = np.cumsum(sizes)
    starts = ends - sizes
    inner = np.ones(len(x), dtype=bool)
    inner[starts[sizes > 0]] = False  # x[t] of these should equal a y[t - 1]
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
    """Put x and y together again; "" if they are not a pair, or empty."""
    try:
        if not np.array_equal(x[1:], y[:-1]):
            sentence = "y is not x shifted by one: y[t] should be the character that follows x[t]"
            got = f"x = {_text(x, itos)!r}\n       y = {_text(y, itos)!r}"
            raise Malformed(sentence, got, "x[1:] equal to y[:-1]", id="item.shift")
        return _text(x, itos) + _text(y[-1:], itos)
    except Malformed as wrong:
        wrong.characters = int((x > 1).sum())  # 0 is PAD, 1 is MASK
        raise


def _text(ids: np.ndarray, itos: list[str]) -> str:
    if len(ids) and (ids.min() < 0 or ids.max() >= len(itos)):
        sentence = "an id is outside the vocabulary (0: PAD, 1: MASK, then the sorted characters)"
        raise Malformed(
            sentence,
            f"ids {ids.min()} to {ids.max()}",
            f"0 to {len(itos) - 1}",
            id="item.outside-vocabulary",
        )
    return "".join(map(itos.__getitem__, ids.tolist()))


def read_one(text: str, document: str, documents: list[str]) -> Example:
    """Read one item's string back; see the module's docstring for its arrangement.

    Raises:
        Malformed: the arrangement is wrong, or the item is not from a prefix of its document.
    """
    body = text.rstrip(PAD_CHAR)
    shape = "prefix ⁇ suffix ⁇ masked_content [⁇] □..."
    parts = body.split(MASK_CHAR)
    if len(parts) not in (3, 4) or (len(parts) == 4 and parts[3]):
        id = "item.arrangement"
        sentence = "an item is not prefix MASK suffix MASK masked_content, then MASK or PADs"
        if not text:
            text = "something else"
            id, sentence = "item.kind", "an item is not a pair (x, y) of vectors of integers"
        raise Malformed(sentence, text, shape, id=id)
    example = Example(document, parts[0], parts[2], parts[1])
    if document.startswith(example.original):
        return example
    right = _drawn_rightly(document, example)
    id, sentence = _misplaced(example.original, document, documents)
    raise Malformed(sentence, text, right, id=id)


def _drawn_rightly(document: str, wrong: Example) -> str:
    """Return, for a message, an item with these lengths, and the span that it hides."""
    kept, end = document[: wrong.truncated], wrong.start + wrong.span
    right = Example(document, kept[: wrong.start], kept[wrong.start : end], kept[end:])
    return f"{right.unpadded}{MASK_CHAR}, if the span is the part in brackets: {picture(right)}"


def _misplaced(original: str, document: str, documents: list[str]) -> tuple[str, str]:
    """Say, with an id, why the characters of an item are not a prefix of its document."""
    if PAD_CHAR in original:
        return "item.early-padding", "there are PADs before the end of an item"
    if original in document:
        sentence = "a document was cut at its beginning: truncation should keep the beginning"
        return "truncation.window", sentence
    if any(other.startswith(original) for other in documents):
        return "item.other-document", "an item shows a different document from the one requested"
    if "".join(c for c in document if c.isascii()).startswith(original):
        sentence = "characters that are not ASCII, such as é or 東, are missing from an item"
        return "item.ascii-only", sentence
    if sorted(original) == sorted(document[: len(original)]):
        sentence = (
            "the characters are right, but in the wrong order: prefix, suffix, masked_content"
        )
        return "item.order", sentence
    return "item.text", "the document does not begin with prefix + masked_content + suffix"


def _check_bounds(example: Example, block_size: int) -> None:
    most = longest(example.document, block_size)
    allowed = str(most) if most == SHORTEST else f"{SHORTEST} to {most}"
    if not SHORTEST <= example.truncated <= most:
        raise Malformed(
            "a truncated document is too long or too short",
            f"{example.truncated} characters of {len(example.document)}: {picture(example)}",
            f"{allowed} characters (block_size {block_size})",
            id="truncation.bounds",
        )


def picture(example: Example) -> str:
    """Return an example as text: the truncated document with its span in brackets."""
    drawn = f"{example.prefix}[{example.masked}]{example.suffix}"
    return drawn if example.masked else f"{drawn} (an empty span)"
