"""The autograder: one class a topic, what is asked of it and what basic tests assert.

    python grader.py                 all tests (in src/; from the root: python src/grader.py)
    python grader.py 1e              one question
    python grader.py 3a-0-basic      one test
    python grader.py --list          every test with its points

Student code runs in a worker process and answers with plain data; what is right is decided here.
Hidden tests draw their inputs here and are judged by staff's solutions/hidden.py; without it they
run and say so. Numbers, points and time limits are in assignment.toml.
"""

from __future__ import annotations

import sys

import numpy as np

from grading import corruption, material
from grading.asking import (
    AsksAttention,
    AsksCorruption,
    AsksFiles,
    AsksHeads,
    AsksHelper,
    AsksProjections,
    AsksSynthesizer,
)
from grading.cases import GradedTestCase, graded
from grading.cli import main

CORRUPTION = "CharCorruptionDataset.__getitem__ in submission/dataset.py"
FORWARD = "SynthesizerAttention.forward in submission/attention.py"


class Finetuning(AsksHelper, GradedTestCase):
    topic = "finetuning"

    @graded()
    def test_vanilla_model(self):
        """initialize_vanilla_model returns a GPT with CausalSelfAttention"""
        self.expect_attention("vanilla", "attention.CausalSelfAttention")

    @graded()
    def test_configuration(self):
        """finetune without pretraining prepares a NameDataset, the recipe's settings, a Trainer"""
        self.expect_training(self.finetuning("vanilla", pretrained=False), "finetune_scratch")

    @graded(is_hidden=True)
    def test_model_output(self):
        """The vanilla model computes what the given GPT computes"""
        self.judge(**self.model_logits("vanilla"))


class NoPretraining(AsksFiles, GradedTestCase):
    topic = "no_pretraining"

    @graded()
    def test_dev_predictions(self):
        """vanilla.nopretrain.dev.predictions has a place for each question of birth_dev.tsv"""
        self.predictions("vanilla.nopretrain.dev.predictions", "dev")

    @graded()
    def test_test_predictions(self):
        """vanilla.nopretrain.test.predictions has a place for each question of the test set"""
        self.predictions("vanilla.nopretrain.test.predictions", "test")

    @graded()
    def test_london_baseline(self):
        """london_baseline counts how often "London" is right"""
        places = ["London", "Paris", "London", "Rome", "New London"]
        got = self.london_baseline(places)
        self.expect(
            got == [2, 5],
            "london_baseline returns wrong numbers",
            got=got,
            expected="[2, 5] (right answers, questions) for the places " + ", ".join(places),
            look_at="submission/london_baseline.py",
        )

    @graded(is_hidden=True)
    def test_london_anywhere(self):
        """london_baseline is right on other files, too"""
        others = ["London Colney", "Londonderry", "london", "Łódź", "São Paulo", "Oslo"]
        places = [str(p) for p in self.rng.choice(["London", *others], size=40)]
        self.judge(got=self.london_baseline(places), places=places)

    @graded(is_hidden=True)
    def test_remembers_training(self):
        """vanilla.model.params answers the questions it was finetuned on"""
        pairs = self.lab.data.train_pairs()
        chosen = self.rng.choice(len(pairs), size=min(50, len(pairs)), replace=False)
        questions = [pairs[i][0] for i in chosen]
        given = self.model_answers("vanilla.model.params", "vanilla", questions)
        self.judge(given=given, places=[pairs[i][1] for i in chosen])

    @graded(is_hidden=True)
    def test_matches_checkpoint(self):
        """The predictions are what vanilla.model.params answers"""
        self.judge(**self.regenerated("vanilla.model.params", "vanilla.nopretrain"))


class SpanCorruption(AsksCorruption, GradedTestCase):
    topic = "span_corruption"

    @graded()
    def test_vocabulary(self):
        """Ids: 0 is PAD, 1 is MASK, then the sorted characters of the whole text"""
        documents = material.FRIENDLY_DOCUMENTS
        got = self.probe(
            "span_corruption.vocabulary", corruption.VOCABULARY, documents=documents, block_size=64
        )
        itos = corruption.expected_vocabulary(documents)
        self.expect(
            got["itos"] == itos and got["stoi_agrees"] and got["vocab_size"] == len(itos),
            "the vocabulary is not PAD, MASK, sorted characters",
            got="".join(got["itos"]),
            expected="".join(itos),
            cause="CharCorruptionDataset.__init__ is given: has it been changed?",
        )

    @graded()
    def test_pairs(self):
        """Items are pairs (x, y) of Long tensors, y one character further than x"""
        drawn = self.draw(material.FRIENDLY_DOCUMENTS, 64, repeat=5)
        with self.explaining(CORRUPTION):
            corruption.check_form(drawn, 64)
            itos = corruption.expected_vocabulary(material.FRIENDLY_DOCUMENTS)
            for x, y in corruption.items(drawn):
                corruption.joined(x, y, itos)

    @graded()
    def test_arrangement(self):
        """An item is prefix MASK suffix MASK masked_content MASK, then PADs"""
        with self.explaining(CORRUPTION):
            self.examples(material.FRIENDLY_DOCUMENTS, 64, repeat=25)

    @graded()
    def test_truncation(self):
        """Documents are cut to a prefix of 4 to int(block_size * 7/8) characters"""
        documents = [
            d[:n] for d, n in zip(material.FRIENDLY_DOCUMENTS, (58, 28, 12, 4), strict=True)
        ]
        with self.explaining(CORRUPTION):
            self.examples(documents, 32, repeat=100, bounds=True)

    @graded()
    def test_randomness(self):
        """Drawing the same document again gives another truncation and another span"""
        # At block_size 64 this document has 53 possible lengths, each of probability 1/256 or
        # more, so that none has more than 1 - 52/256 = 0.797. All 90 draws have one length with
        # probability at most 0.797^89 < 2e-9.
        documents = material.FRIENDLY_DOCUMENTS[:1]
        with self.explaining(CORRUPTION):
            examples = self.examples(documents, 64, repeat=90)
        distinct = {(e.truncated, e.span, e.start) for e in examples}
        self.expect(
            len(distinct) > 1,
            "90 draws of one document are all the same",
            got=corruption.picture(examples[0]) + " each time",
            expected="another truncation and another span at each draw",
            look_at=CORRUPTION,
        )

    @graded(is_hidden=True)
    def test_block_sizes(self):
        """The arrangement holds for other block sizes, from 24 on"""
        documents = material.documents(self.rng, [30, 45, 64, 90, 128, 200])
        sizes = [24, 25, 31, 40, 57, 100, 128, 161]
        self.judge(runs=[self.drawing(documents, size, repeat=30) for size in sizes])

    @graded(is_hidden=True)
    def test_short_documents(self):
        """The arrangement holds for short documents, too"""
        documents = material.documents(self.rng, [4, 4, 5, 6, 7, 8, 9, 11, 13, 17, 21])
        sizes = [24, 32, 128]
        self.judge(runs=[self.drawing(documents, size, repeat=40) for size in sizes])

    @graded(is_hidden=True)
    def test_any_alphabet(self):
        """The arrangement and the vocabulary hold for any characters"""
        alphabet = material.FRIENDLY + material.FOREIGN
        documents = material.documents(self.rng, [5, 12, 33, 60, 75, 140], alphabet)
        vocabulary = self.probe(
            "span_corruption.vocabulary", corruption.VOCABULARY, documents=documents, block_size=48
        )
        self.judge(vocabulary=vocabulary, runs=[self.drawing(documents, 48, repeat=40)])

    @graded(is_hidden=True)
    def test_every_length(self):
        """Every length from 4 to the greatest possible one is drawn"""
        long, short = material.documents(self.rng, [50, 13])
        # 2,172 draws: see the judge for the derivation.
        runs = [self.drawing([d], 32, repeat=2172) for d in (long, short)]
        self.judge(runs=runs)

    @graded(is_hidden=True)
    def test_span_share(self):
        """A quarter of the truncated document is masked on average"""
        # Mostly documents far shorter than 7/8 of the block: there a quarter of a length drawn
        # first, in place of the real one, is a third.
        lengths = [int(n) for n in self.rng.integers(60, 67, size=18)]
        lengths += [int(n) for n in self.rng.integers(140, 161, size=6)]
        documents = material.documents(self.rng, lengths)
        self.judge(examples=self.long_examples(documents, 128, wanted=8000, most=60000))

    @graded(is_hidden=True)
    def test_span_random(self):
        """The span's length is random, whatever the length of the document"""
        self.judge(runs=[self.drawing(material.documents(self.rng, [60]), 64, repeat=2000)])

    @graded(is_hidden=True)
    def test_position(self):
        """The span's position is random"""
        self.judge(runs=[self.drawing(material.documents(self.rng, [60]), 64, repeat=4000)])


class Pretraining(AsksHelper, AsksFiles, GradedTestCase):
    topic = "pretraining"

    @graded()
    def test_pretrain_configuration(self):
        """pretrain prepares a Trainer on the corrupted corpus with the recipe's settings"""
        self.expect_training(self.pretraining("vanilla"), "pretrain")

    @graded()
    def test_finetune_configuration(self):
        """finetune starts from the pretrained parameters, with the recipe's settings"""
        self.expect_training(self.finetuning("vanilla", pretrained=True), "finetune_pretrained")

    @graded()
    def test_dev_accuracy(self):
        """vanilla.pretrain.dev.predictions reaches the threshold"""
        self.expect_accuracy("vanilla.pretrain.dev.predictions", "vanilla")

    @graded(is_hidden=True)
    def test_loads_pretrained(self):
        """Both variants start from the pretrained parameters, and only then"""
        variants = ("vanilla", "synthesizer")
        runs = [
            (variant, pretrained, self.finetuning(variant, pretrained))
            for variant in variants
            for pretrained in (True, False)
        ]
        self.judge(runs=runs, pretrainings=[(v, self.pretraining(v)) for v in variants])

    @graded(is_hidden=True)
    def test_test_accuracy(self):
        """vanilla.pretrain.test.predictions reaches the threshold"""
        self.judge(**self.test_split("vanilla.pretrain.test.predictions", "vanilla"))

    @graded(is_hidden=True)
    def test_matches_checkpoint(self):
        """The predictions are what vanilla.finetune.params answers"""
        self.judge(**self.regenerated("vanilla.finetune.params", "vanilla.pretrain"))


class Synthesizer(AsksSynthesizer, AsksHelper, AsksFiles, GradedTestCase):
    topic = "synthesizer"

    @graded()
    def test_uses_synthesizer(self):
        """initialize_synthesizer_model returns a GPT with SynthesizerAttention"""
        self.expect_attention("synthesizer", "attention.SynthesizerAttention")

    @graded()
    def test_shapes(self):
        """The output has the shape (B, T, C) of the input"""
        shapes = [(1, 1, 12), (2, 5, 12), (3, 9, 12)]
        out = self.forward(12, 3, 10, [self.rng.normal(size=s) for s in shapes])
        for form, shape in zip(out["forms"], shapes, strict=True):
            expected = f"float64[{', '.join(map(str, shape))}]"
            self.expect(
                form == expected,
                "the output has another shape or dtype than the input",
                got=form,
                expected=expected,
                look_at=FORWARD,
            )

    @graded()
    def test_causality(self):
        """The output at a position depends on no later position"""
        x = self.rng.normal(size=(1, 8, 12))
        changed = x.copy()
        changed[:, 5:] = self.rng.normal(size=(1, 3, 12))
        outputs = self.outputs(self.forward(12, 3, 10, [x, changed]), look_at=FORWARD)
        # Nothing before position 5 has any reason to move at all; 1e-9 leaves room for kernels
        # that sum in another order. A leak moves the output by 0.01 to 1.
        moved = np.abs(outputs[0] - outputs[1]).max(axis=(0, 2)) > 1e-9
        self.expect(
            not moved[:5].any(),
            "a change at position 5 moved the output before it",
            got=f"positions that moved: {np.flatnonzero(moved).tolist()}",
            expected="only 5, 6, 7",
            cause="the causal mask is missing, or lies on the wrong axis",
            look_at=FORWARD,
        )
        self.expect(
            moved[5:].all(),
            "a change at positions 5, 6, 7 did not move the output there",
            got=f"positions that moved: {np.flatnonzero(moved).tolist()}",
            expected="5, 6, 7",
            look_at=FORWARD,
        )

    @graded()
    def test_plain_average(self):
        """With w2 and b2 zero, each position averages the values up to its own"""
        x = self.rng.normal(size=(1, 6, 12))
        out, weights = self.plain_average(x)
        values = x @ weights["value.weight"].T + weights["value.bias"]
        counts = np.arange(1, 7)[None, :, None]
        mean = np.cumsum(values, axis=1) / counts
        expected = mean @ weights["proj.weight"].T + weights["proj.bias"]
        # Rounding moves results by 1e-14, a softmax in float32 by 1e-7; a mistake by 0.01 to 1.
        wrong = np.abs(out - expected).max(axis=(0, 2)) > 1e-5
        first = int(np.argmax(wrong))
        self.expect(
            not wrong.any(),
            "with w2 = 0 and b2 = 0 all scores are 0, so that each position should average the "
            "values up to its own; then comes the output projection",
            got=f"position {first}: {np.round(out[0, first, :4], 4).tolist()} ...",
            expected=f"position {first}: {np.round(expected[0, first, :4], 4).tolist()} ...",
            cause="softmax over the wrong axis, a missing mask or a missing projection",
            look_at=FORWARD,
        )

    @graded()
    def test_dev_accuracy(self):
        """synthesizer.pretrain.dev.predictions reaches the threshold"""
        self.expect_accuracy("synthesizer.pretrain.dev.predictions", "synthesizer")

    @graded(is_hidden=True)
    def test_values(self):
        """The output is that of the equation, for shorter sequences"""
        self.judge(**self.comparison(24, 4, 16, lengths=[1, 2, 7, 13]))

    @graded(is_hidden=True)
    def test_full_length(self):
        """The output is that of the equation at the greatest length"""
        self.judge(**self.comparison(24, 4, 16, lengths=[16]))

    @graded(is_hidden=True)
    def test_single_precision(self):
        """The output is right in float32, too"""
        self.judge(**self.comparison(32, 8, 24, lengths=[5, 20], dtype="float32"))

    @graded(is_hidden=True)
    def test_gradients(self):
        """The gradients by the input and by every parameter are right"""
        self.judge(**self.gradient_comparison(24, 4, 16, T=11))

    @graded(is_hidden=True)
    def test_no_leak(self):
        """No position sees a later one, at any length"""
        self.judge(runs=[self.perturbed(24, 4, 16, T) for T in (3, 8, 15)])

    @graded(is_hidden=True)
    def test_batch_invariance(self):
        """Each sequence of a batch is computed as if it were alone"""
        x = self.rng.normal(size=(5, 9, 24))
        together = [x, *(x[i : i + 1] for i in range(5))]
        self.judge(outputs=self.forward(24, 4, 16, together)["outputs"])

    @graded(is_hidden=True)
    def test_dropout(self):
        """Dropouts act in training, and only there"""
        self.judge(**self.dropouts(24, 4, 16))

    @graded(is_hidden=True)
    def test_whole_model(self):
        """The synthesizer model computes what the given GPT with the right attention computes"""
        self.judge(**self.model_logits("synthesizer"))

    @graded(is_hidden=True)
    def test_test_accuracy(self):
        """synthesizer.pretrain.test.predictions reaches the threshold"""
        self.judge(**self.test_split("synthesizer.pretrain.test.predictions", "synthesizer"))

    @graded(is_hidden=True)
    def test_matches_checkpoint(self):
        """The predictions are what synthesizer.finetune.params answers"""
        self.judge(**self.regenerated("synthesizer.finetune.params", "synthesizer.pretrain"))


class AttentionCopying(AsksAttention, GradedTestCase):
    topic = "attention_copying"

    @graded()
    def test_perpendicular(self):
        """copying_query puts all weight on one of several perpendicular keys"""
        keys = material.orthonormal_keys(self.rng, 3, 5)
        self.expect_weights("copying_query", [[np.eye(4), 2], [keys, 0]])

    @graded(is_hidden=True)
    def test_oblique(self):
        """copying_query works for any keys with cosines up to one half"""
        self.judge(tried=self.copying(trials=20))

    @graded()
    def test_given_query(self):
        """copying_keys puts all weight on one key, for a query that is given"""
        queries = [np.array([0.6, 0.0, 0.8]), np.array([0.03, -0.04])]
        self.expect_weights("copying_keys", [[queries[0], 4, 2], [queries[1], 3, 0]])

    @graded(is_hidden=True)
    def test_any_query(self):
        """copying_keys works for any query, short or long"""
        self.judge(tried=self.copying_backwards(trials=20))


class AttentionAveraging(AsksAttention, GradedTestCase):
    topic = "attention_averaging"

    @graded()
    def test_perpendicular(self):
        """average_query puts half of the weight on each of two keys"""
        keys = material.orthonormal_keys(self.rng, 5, 6)
        self.expect_weights("average_query", [[np.eye(4), 0, 2], [keys, 4, 1]])

    @graded(is_hidden=True)
    def test_oblique(self):
        """average_query works for other keys, too"""
        self.judge(tried=self.averaging(trials=20))


class AttentionSingleHead(AsksHeads, GradedTestCase):
    topic = "attention_single_head"

    @graded()
    def test_near_means(self):
        """single_head_query averages two values when keys are near their means"""
        means = material.orthonormal_keys(self.rng, 5, 6)
        self.expect_average([[np.eye(4), 0, 2], [means, 4, 1]], samples=10)

    @graded()
    def test_lengths(self):
        """single_head_weights are attention's, for some scales and lengths"""
        lengths = [[1.0, 0.5, 4], [20.0, 0.9, 5], [20.0, 1.0, 2], [1000.0, 1.2, 3]]
        self.expect_exact(lengths)

    @graded(is_hidden=True)
    def test_any_means(self):
        """single_head_query works for any means"""
        self.judge(tried=self.near_means(self.many_means(trials=20), samples=20))

    @graded(is_hidden=True)
    def test_sampled_lengths(self):
        """single_head_weights are those of keys that were drawn, and right in the limit"""
        self.judge(tried=self.stretched(30, limits=[-0.5, 0.5, 1.0, 1.5]))


class AttentionTwoHeads(AsksHeads, GradedTestCase):
    topic = "attention_two_heads"

    @graded()
    def test_lengths(self):
        """two_head_queries average two values, however long one of the keys is"""
        means = material.orthonormal_keys(self.rng, 5, 6)
        self.expect_average_of_heads([[np.eye(4), 0, 2], [means, 4, 1]], [1.0, 0.5, 2.5])

    @graded(is_hidden=True)
    def test_spread(self):
        """The average of two heads stays near the middle, where a single head swings"""
        self.judge(tried=self.with_samples(trials=5, samples=1000))


class AttentionKeyQueryValue(AsksProjections, GradedTestCase):
    topic = "attention_key_query_value"

    @graded()
    def test_unprojected(self):
        """unprojected_output is what attention's c_2 tends to"""
        self.expect_limit("unprojected_output", [np.eye(4), *self.directions(1)])

    @graded()
    def test_added(self):
        """added_output is what c_2 tends to when ud or uc is added to x_2"""
        self.expect_limit("added_output", [np.eye(4), *self.directions(1)], 3, 2)

    @graded()
    def test_matrices(self):
        """key_query_value gives K, Q, V with which c_2 is ub and c_1 is ub - uc"""
        self.expect_projected([np.eye(4), np.eye(6)[1:5], *self.directions(1)], [5.0, 20.0, 8.0])

    @graded(is_hidden=True)
    def test_unprojected_any(self):
        """unprojected_output is right for any orthogonal vectors"""
        self.judge(tried=self.outputs("unprojected_output", self.directions(10)))

    @graded(is_hidden=True)
    def test_added_any(self):
        """added_output is right for any orthogonal vectors"""
        self.judge(tried=self.outputs("added_output", self.directions(10), 2, 3))

    @graded(is_hidden=True)
    def test_matrices_any(self):
        """key_query_value is right for any orthogonal vectors of length 5 or more"""
        betas = [5.0, *(float(b) for b in 5 * 20 ** self.rng.random(19))]
        self.judge(tried=self.matrices(self.directions(20), betas))


CASES = [
    Finetuning,
    NoPretraining,
    SpanCorruption,
    Pretraining,
    Synthesizer,
    AttentionCopying,
    AttentionAveraging,
    AttentionSingleHead,
    AttentionTwoHeads,
    AttentionKeyQueryValue,
]

if __name__ == "__main__":
    sys.exit(main(CASES))
