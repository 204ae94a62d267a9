"""Reconstructs the document, prefix and span from which an item of CharCorruptionDataset was made.

An item is the string s = `prefix MASK suffix MASK masked_content [MASK] PAD...`, given as x = s
without its last character and y = s without its first. `read` undoes that, or describes what is
wrong. Nothing here is random, and nothing is secret.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from grading.wire import AnyOf, Array, Where

MASK_CHAR = "\u2047"
PAD_CHAR = "\u25a1"
OUTSIDE = "\ufffd"  # stands for an id that is not in the vocabulary
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
DATASET = {"length": int, "kept": int}
PARTS = {"x": ENTRIES, "y": ENTRIES, "x_sizes": VECTOR, "y_sizes": VECTOR}
DRAWN = DATASET | {"forms": [str]} | PARTS
VOCABULARY = DATASET | {"itos": [str], "stoi_agrees": bool, "vocab_size": int, "block_size": int}


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
    """Return the spec of the probe's answer for these numbers of documents and of repetitions.

    Each run has as many items as were asked for, with all of their entries. Both sizes of an item
    that is not a pair are 0. Nothing is drawn from a dataset of the wrong length.
    """

    def add_up(value: dict[str, Any]) -> bool:
        runs = value["runs"]
        return len(runs) == len(counts) and all(map(_adds_up, runs, counts))

    return Where({"runs": [DRAWN]}, add_up, f"{len(counts)} draws with sizes that add up")


def _adds_up(run: dict[str, Any], asked: tuple[int, int]) -> bool:
    documents, repeat = asked
    count = repeat * documents if run["length"] == documents else 0
    both = [(run[name], run[f"{name}_sizes"]) for name in ("x", "y")]
    fine = all(
        len(sizes) == count and bool(((sizes >= 0) & (sizes <= MOST)).all()) for _, sizes in both
    )
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
            most = longest(example.document, self.block_size)
            allowed = str(most) if most == SHORTEST else f"{SHORTEST} to {most}"
            if not SHORTEST <= example.truncated <= most:
                raise Malformed(
                    "a truncated document is too long or too short",
                    f"{example.truncated} characters of {len(example.document)}: "
                    f"{picture(example)}",
                    f"{allowed} characters (block_size {self.block_size})",
                    id="truncation.bounds",
                )


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
    reading, itos = Reading(block_size), expected_vocabulary(documents)
    for position, (x, y, ids) in enumerate(halves(drawn, itos)):
        document, text = documents[position % len(documents)], x + y[-1:]
        try:
            check_halves(x, y, ids, itos)
            reading.examples.append(read_one(text, document, documents))
        except Malformed as wrong:
            if text:
                wrong.characters = sum(c not in (MASK_CHAR, PAD_CHAR) for c in text)
            else:
                wrong.got = " or ".join(drawn["forms"])
            wrong.with_traceback(None)  # whose frames would stay in memory
            reading.wrong.append(wrong)
    return reading


def halves(
    drawn: dict[str, Any], itos: list[str]
) -> Iterator[tuple[str, str, tuple[np.ndarray, np.ndarray]]]:
    """Yield each item's x and y as strings, and their ids; all are empty if it is not a pair.

    All ids are decoded at once, since this is most of the work.
    """
    code_points = np.array([ord(c) for c in (*itos, OUTSIDE)], dtype="<u4")
    texts, places = [], []
    for name in ("x", "y"):
        ids = drawn[name].astype(np.int64)
        ids[(ids < 0) | (ids >= len(itos))] = len(itos)
        # Without an object for each character: an answer has millions of them.
        texts.append(code_points[ids].tobytes().decode("utf-32-le", "surrogatepass"))
        ends = [0, *np.cumsum(drawn[f"{name}_sizes"]).tolist()]
        places.append([slice(*ends) for ends in itertools.pairwise(ends)])
    for x, y in zip(*places, strict=True):
        yield texts[0][x], texts[1][y], (drawn["x"][x], drawn["y"][y])


def check_halves(x: str, y: str, ids: Sequence[np.ndarray], itos: list[str]) -> None:
    """Raise Malformed unless x and y are in the vocabulary, and y is one character further."""
    if OUTSIDE in x + y:
        both = np.concatenate(ids)
        raise Malformed(
            "an id is outside the vocabulary (0: PAD, 1: MASK, then the sorted characters)",
            f"ids {both.min()} to {both.max()}",
            f"0 to {len(itos) - 1}",
            id="item.outside-vocabulary",
        )
    if x[1:] != y[:-1]:
        raise Malformed(
            "y is not x shifted by one: y[t] should be the character that follows x[t]",
            f"x = {x!r}\n       y = {y!r}",
            "x[1:] equal to y[:-1]",
            id="item.shift",
        )


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


def picture(example: Example) -> str:
    """Return an example as text: the truncated document with its span in brackets."""
    drawn = f"{example.prefix}[{example.masked}]{example.suffix}"
    return drawn if example.masked else f"{drawn} (an empty span)"
