"""Span corruption: items of CharCorruptionDataset."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from grading.cases import GradedTestCase, graded

from . import items

MOST_ENTRIES = 1_536_000  # of x, and of y, in one answer: 25 MB
OTHER_LENGTH = "the dataset has more or fewer documents than its text has lines"
CORRUPTION = "CharCorruptionDataset.__getitem__ in submission/dataset.py"
EMPTY = {  # for each part of an example, the likely cause if it is always empty
    "masked": "was the span left where it is, and not moved behind the second MASK, or is its "
    "length always 0?",
    "prefix": "does the span always start at the document's beginning, or was the prefix left out?",
    "suffix": "does the span always end at the document's end, or was the suffix left out?",
}


class SpanCorruption(GradedTestCase):
    topic = "span_corruption"

    @graded()
    def test_vocabulary(self) -> None:
        """Ids: 0 is PAD, 1 is MASK, then the sorted characters of the whole text."""
        documents = items.FRIENDLY_DOCUMENTS
        got = self.probe(
            "span_corruption.vocabulary", items.VOCABULARY, documents=documents, block_size=64
        )
        self.expect_length(got, len(documents))
        itos = items.expected_vocabulary(documents)
        self.expect(
            got["itos"] == itos and got["stoi_agrees"] and got["vocab_size"] == len(itos),
            "the vocabulary is not PAD, MASK, sorted characters",
            id="vocabulary.order",
            got="".join(got["itos"]),
            expected="".join(itos),
            cause="CharCorruptionDataset.__init__ is given; has it been changed?",
        )

    @graded()
    def test_pairs(self) -> None:
        """Items are pairs (x, y) of Long tensors, y one character further than x."""
        (drawing,) = self.drawings((items.FRIENDLY_DOCUMENTS, 64, 5))
        drawn = drawing["drawn"]
        with self.explaining(look_at=CORRUPTION):
            items.check_form(drawn, 64)
            itos = items.expected_vocabulary(items.FRIENDLY_DOCUMENTS)
            halves = list(items.halves(drawn, itos))
            for x, y, ids in halves:
                items.check_halves(x, y, ids, itos)
        texts = [x + y[-1:] for x, y, _ in halves]
        self.expect(
            all(text.strip(items.PAD_CHAR + items.MASK_CHAR) for text in texts),
            "an item contains nothing from its document",
            id="item.empty",
            got=min(texts, key=lambda text: len(text.strip(items.PAD_CHAR))),
            expected="characters of the document and MASKs, then PADs",
            look_at=CORRUPTION,
        )

    @graded()
    def test_arrangement(self) -> None:
        """An item is prefix MASK suffix MASK masked_content MASK, then PADs."""
        documents = items.FRIENDLY_DOCUMENTS
        with self.explaining(look_at=CORRUPTION):
            reading = self.reading(documents, 64, repeat=300)
            reading.check_each()
        # An item whose parts are arranged wrongly can read like one of which a part is empty. Right
        # code leaves no part empty in all 1,200 draws. masked_content: each document can keep 20
        # to 38 characters, 19 lengths of probability 1/256 or more, and a quarter of so many,
        # rounded down, is a fifth or more on average: empty in all draws with probability below
        # (1 - 19/256 * 1/5)^1200 < 2e-8. Prefix and suffix: as in the hidden test of positions,
        # which draws from a document with the same lengths as the first one, seven of eight spans
        # have a choice, and each half of it a probability of 1/10: (1 - 0.0875)^300 < 2e-12.
        drawn = reading.examples
        for name, cause in EMPTY.items():
            part = "masked_content" if name == "masked" else name
            self.expect(
                any(getattr(example, name) for example in drawn),
                f"{part} is empty in all items",
                id=f"{name}-part.always-empty",
                got=f"{len(drawn)} items such as {drawn[0].unpadded}",
                cause=cause,
                look_at=CORRUPTION,
            )

    @graded()
    def test_truncation(self) -> None:
        """Documents are cut to a prefix of 4 to int(block_size * 7/8) characters."""
        # Cut where neither end becomes a blank: a constructor may strip its lines.
        documents = [d[:n] for d, n in zip(items.FRIENDLY_DOCUMENTS, (58, 28, 4, 11), strict=True)]
        with self.explaining(look_at=CORRUPTION):
            reading = self.reading(documents, 32, repeat=100)
            reading.check_bounds()
            items.well_formed([reading])

    @graded()
    def test_randomness(self) -> None:
        """Drawing the same document again gives a different truncation and a different span."""
        # At block_size 64 this document has 53 possible lengths, each with a probability of at
        # least 1/256, so that none has more than 1 - 52/256 = 0.797. All 2,000 draws have the same
        # length with probability at most 0.797^1999. A length of 8 or more has a probability of
        # 49/256 or more: fewer than 230 such draws have a probability below exp(-382 * .39^2 / 2)
        # < 1e-12 (Chernoff). At most nine of ten of these have their length's commonest span, as in
        # the hidden test: 230 in 49 groups are alike with probability at most 0.9^181 < 1e-8.
        documents = items.FRIENDLY_DOCUMENTS[:1]
        # Leaving malformed items aside makes draws look more alike, not less.
        with self.explaining(look_at=CORRUPTION):
            examples = items.well_formed([self.reading(documents, 64, repeat=2000)])
        first = examples[0]
        spans: dict[int, set[tuple[int, int]]] = {}
        for e in examples:
            spans.setdefault(e.truncated, set()).add((e.start, e.span))
        self.expect(
            len(spans) > 1,
            f"{len(examples)} draws of one document are all cut to the same length",
            id="truncation.not-random",
            got=f"{first.truncated} characters each time: {items.picture(first)}",
            expected="a different truncation at each draw",
            look_at=CORRUPTION,
        )
        self.expect(
            any(len(places) > 1 for places in spans.values()),
            "whenever a document is cut to the same length, the same span is masked",
            id="span.not-random",
            got=f"{items.picture(first)} for each draw with {first.truncated} characters",
            expected="a different span at each draw",
            cause="the span's length and start are computed from the length, not drawn at random",
            look_at=CORRUPTION,
        )

    @graded(is_hidden=True)
    def test_block_sizes(self) -> None:
        """The arrangement is right for other block sizes, from 24 on."""
        documents = items.draw_documents(self.rng, [30, 45, 64, 90, 128, 200])
        sizes = [24, 25, 31, 40, 57, 100, 128, 161]
        self.judge(runs=self.drawings(*((documents, size, 30) for size in sizes)))

    @graded(is_hidden=True)
    def test_short_documents(self) -> None:
        """The arrangement is right for short documents, too."""
        documents = items.draw_documents(self.rng, [4, 4, 5, 6, 7, 8, 9, 11, 13, 17, 21])
        sizes = [24, 32, 128]
        # Two documents of 5 characters with a blank, which is at the end of the second. Both are
        # drawn 1,400 times, often enough for each of their lengths: see the judge.
        first, second = items.draw_documents(self.rng, [4, 4])
        ends = [f"{first[:2]} {first[2:]}", f"{second} "]
        short = [(documents, size, 40) for size in sizes]
        *runs, of_ends = self.drawings(*short, (ends, 24, 1400))
        self.judge(runs=runs, ends=of_ends)

    @graded(is_hidden=True)
    def test_any_alphabet(self) -> None:
        """The arrangement and the vocabulary are right for any characters."""
        alphabet = items.FRIENDLY + items.FOREIGN
        documents = items.draw_documents(self.rng, [5, 12, 33, 60, 75, 140], alphabet)
        vocabulary = self.probe(
            "span_corruption.vocabulary", items.VOCABULARY, documents=documents, block_size=48
        )
        self.judge(vocabulary=vocabulary, runs=self.drawings((documents, 48, 40)))

    @graded(is_hidden=True)
    def test_every_length(self) -> None:
        """Every length from 4 to the greatest possible one is drawn."""
        long, short = items.draw_documents(self.rng, [50, 13])
        # 2,172 draws: see the judge for the derivation.
        self.judge(runs=self.drawings(([long], 32, 2172), ([short], 32, 2172)))

    @graded(is_hidden=True)
    def test_span_share(self) -> None:
        """A quarter of the truncated document is masked on average."""
        lengths = [int(n) for n in self.rng.integers(60, 67, size=18)]
        lengths += [int(n) for n in self.rng.integers(140, 161, size=6)]
        self.judge(
            common=self.long_examples(lengths, 128, shortest=40, enough=8000, most=60000),
            # Far shorter than the block: a span placed within a length drawn first masks a
            # different share of the document.
            short=self.long_examples([48] * 6, 512, shortest=20, enough=4000, most=12000),
            # Far longer: a span placed before truncation is cut off.
            long=self.long_examples([1000] * 6, 64, shortest=20, enough=4000, most=12000),
        )

    @graded(is_hidden=True)
    def test_span_random(self) -> None:
        """The span's length is random, whatever the length of the document."""
        self.judge(runs=self.drawings((items.draw_documents(self.rng, [60]), 64, 2000)))

    @graded(is_hidden=True)
    def test_position(self) -> None:
        """The span's position is random."""
        self.judge(runs=self.drawings((items.draw_documents(self.rng, [60]), 64, 4000)))

    def drawings(self, *runs: tuple[list[str], int, int]) -> list[dict[str, Any]]:
        """Return drawings of (documents, block_size, repeat), for `items.read`, from one worker.

        To start a worker takes longer than to draw hundreds of items.
        """
        got = self.probe(
            "span_corruption.draw",
            items.drawn([(len(documents), repeat) for documents, _, repeat in runs]),
            runs=[{"documents": d, "block_size": size, "repeat": n} for d, size, n in runs],
        )
        drawings = []
        for drawn, (documents, block_size, _) in zip(got["runs"], runs, strict=True):
            self.expect_length(drawn, len(documents))
            drawings.append({"drawn": drawn, "documents": documents, "block_size": block_size})
        return drawings

    def expect_length(self, got: dict[str, Any], expected: int) -> None:
        """Fail unless the dataset has a document for each line of its text.

        If the list `data` has them all, `__len__` is wrong.
        """
        method = "len" if got["kept"] == expected else "init"
        self.expect(
            got["length"] == expected,
            f"{OTHER_LENGTH}: was `__{method}__` changed?",
            id=f"documents.changed-{method}" + "-hidden" * self.spec.is_hidden,
            got=f"{got['length']} documents",
            expected=expected,
        )

    def reading(self, documents: list[str], block_size: int, repeat: int) -> items.Reading:
        """Draw items and read them back."""
        (drawing,) = self.drawings((documents, block_size, repeat))
        return items.read(**drawing)

    def long_examples(
        self, lengths: list[int], block_size: int, shortest: int, enough: int, most: int
    ) -> list[items.Reading]:
        """Draw until `enough` items have `shortest` characters or more, or `most` were drawn.

        Less than a twentieth is enough for the judge to decide.
        """
        documents = items.draw_documents(self.rng, lengths)
        readings: list[items.Reading] = []
        long, drawn, size = 0, 0, 3 * enough // 2
        while long < enough and drawn < most and 20 * long >= drawn:
            size = min(size, most - drawn, MOST_ENTRIES // block_size)
            repeat = -(-size // len(documents))
            readings.append(self.reading(documents, block_size, repeat))
            drawn += repeat * len(documents)
            long += sum(e.truncated >= shortest for e in readings[-1].examples)
            size = int(1.1 * (enough - long) * drawn / max(long, 1)) + 100
        return readings

    @contextmanager
    def explaining(self, **detail: Any) -> Iterator[None]:
        """Turn Malformed into a failure that shows the item and other details."""
        try:
            yield
        except items.Malformed as wrong:
            self.fail(wrong.sentence, id=wrong.id, got=wrong.got, expected=wrong.expected, **detail)
