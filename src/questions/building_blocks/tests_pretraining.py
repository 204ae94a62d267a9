"""The building blocks of pretraining: each function on examples that can be checked by hand."""

from __future__ import annotations

import math

import numpy as np

from grading.cases import graded

from . import expected
from .calling import AsksPretraining


class BlocksSentinels(AsksPretraining):
    topic = "blocks_sentinels"

    @graded()
    def test_example(self) -> None:
        """span_corruption returns T5's example."""
        text = "Thank you for inviting me to your party last week"
        wanted = ("Thank you <X> me to your party <Y> week", "<X> for inviting <Y> last <Z>")
        (answer,) = self.ask("span_corruption", [[text.split(), [[2, 4], [8, 9]]]])
        for part, name in enumerate(("input", "target")):
            got = " ".join(self.words(answer, part))
            self.expect(
                got == wanted[part],
                f"the {name} of the example is wrong",
                id=f"span-corruption.{name}",
                got=got,
                expected=wanted[part],
                look_at=answer.look_at,
            )

    @graded(is_hidden=True)
    def test_random(self) -> None:
        """span_corruption is right for any text and spans."""
        self.judge(answers=self.ask("span_corruption", expected.spans(self.rng)))


class BlocksBertMask(AsksPretraining):
    topic = "blocks_bert_mask"

    @graded()
    def test_places(self) -> None:
        """Chosen positions have targets, and tokens at the others do not change."""
        for inputs, targets, tokens, answer in self.masked(sizes=[(4, 60), (1, 500)]):
            chosen = targets != expected.IGNORED
            # 240 tokens or more: none has probability .85^240 < 1e-16, all .15^240.
            self.expect(
                0 < chosen.sum() < chosen.size,
                "none or all of hundreds of tokens are chosen: a target other than IGNORED "
                "marks a chosen token",
                id="bert-mask.none-or-all-chosen",
                got=f"{chosen.sum()} of {chosen.size}",
                expected="about 15 %",
                look_at=answer.look_at,
            )
            self.expect(
                bool((inputs == tokens)[~chosen].all()),
                "an input differs from its token although the target is IGNORED",
                id="bert-mask.unchosen-input",
                cause="only chosen tokens may be replaced, and no token may move",
                look_at=answer.look_at,
            )
            self.expect(
                bool((targets == tokens)[chosen].all()),
                "a target is not the original token at its position",
                id="bert-mask.target",
                cause="targets are the original tokens; inputs are returned first, then targets",
                look_at=answer.look_at,
            )

    @graded(is_hidden=True)
    def test_shares(self) -> None:
        """15 % are chosen; of these, 80 % are masked, 10 % drawn, 10 % left."""
        self.judge(drawn=self.masked(sizes=[(40, 1000), (2, 20_000)]))

    @graded(is_hidden=True)
    def test_randomness(self) -> None:
        """Other random numbers choose other tokens; the same ones choose the same tokens."""
        asked = expected.masked(self.rng, [(3, 200)])[0]
        others = [*asked[:3], {"seed": asked[3]["seed"] + 1}]
        self.judge(answers=self.ask("bert_mask", [asked, asked, others]))

    def masked(self, sizes: list[tuple[int, int]]) -> list[tuple]:
        """Return (inputs, targets, tokens, answer) for batches of tokens other than 0 and 1."""
        found = []
        for answer in self.ask("bert_mask", expected.masked(self.rng, sizes)):
            tokens = answer.arguments[0]
            both = [self.array(answer, tokens.shape, "i", part) for part in (0, 1)]
            found.append((*both, tokens, answer))
        return found


class BlocksPerplexity(AsksPretraining):
    topic = "blocks_perplexity"

    @graded()
    def test_uniform(self) -> None:
        """perplexity is 8 where each word has probability 1/8."""
        words, letters = np.full(20, -math.log(8)), np.full(60, -math.log(2))
        for answer in self.ask("perplexity", [[words, 20], [letters, 20]]):
            self.expect_close(
                answer,
                8.0,
                "20 words with probability 1/8 each, or with three tokens of probability 1/2 each, "
                "should have a perplexity of 8",
                id="perplexity.uniform",
                cause="the mean is over words, not tokens; log_probs are natural logarithms",
            )

    @graded(is_hidden=True)
    def test_long(self) -> None:
        """perplexity is right for texts of any length."""
        self.judge(answers=self.ask("perplexity", expected.texts(self.rng)))

    @graded()
    def test_bits(self) -> None:
        """bits_per_character turns nats per token into bits per character."""
        wanted = {(math.log(2), 10, 10): 1.0, (math.log(16), 25, 100): 1.0, (3.0, 7, 35): 0.8656}
        for answer, bits in zip(
            self.ask("bits_per_character", [list(given) for given in wanted]),
            wanted.values(),
            strict=True,
        ):
            self.expect_close(
                answer,
                bits,
                f"bits_per_character{tuple(answer.arguments)} is wrong",
                id="bits-per-character.values",
                cause="the text's loss in nats is loss * tokens; a bit is ln 2 = 0.693 nats",
            )

    @graded(is_hidden=True)
    def test_any_bits(self) -> None:
        """bits_per_character is right for any loss and numbers of tokens and characters."""
        counts = self.rng.integers(1, 10_000, size=(5, 2)).tolist()
        asked = [[float(self.rng.uniform(0.1, 8)), *each] for each in counts]
        self.judge(answers=self.ask("bits_per_character", asked))
