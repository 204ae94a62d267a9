"""The synthesizer: shapes, values, gradients, trained files."""

from __future__ import annotations

import numpy as np

from grading.cases import graded
from questions.shared.handed_in import AsksFiles
from questions.shared.setups import AsksHelper

from .running import AsksSynthesizer, moved

FORWARD = "SynthesizerAttention.forward in submission/attention.py"


class Synthesizer(AsksSynthesizer, AsksHelper, AsksFiles):
    topic = "synthesizer"
    of_files = ("dev_accuracy", "test_accuracy", "matches_checkpoint")

    @graded()
    def test_uses_synthesizer(self) -> None:
        """initialize_synthesizer_model returns a GPT with SynthesizerAttention."""
        self.expect_attention("synthesizer", "attention.SynthesizerAttention")

    @graded()
    def test_shapes(self) -> None:
        """The output has the input's shape (B, T, C), and is computed from the input."""
        shapes = [(1, 1, 12), (2, 5, 12), (3, 9, 12)]
        first = [self.rng.normal(size=s) for s in shapes]
        inputs = [*first, *(self.changed_at(x, -1) for x in first)]
        out = self.forward(12, 3, 10, inputs)
        for form, shape in zip(out["forms"], shapes * 2, strict=False):
            expected = f"float64[{', '.join(map(str, shape))}]"
            self.expect(
                form == expected,
                "the output's shape or dtype differs from the input's",
                id="output.shape",
                got=form,
                expected=expected,
                look_at=FORWARD,
            )
        outputs = self.outputs(out, inputs, look_at=FORWARD)
        pairs = zip(outputs[:3], outputs[3:], strict=True)
        self.expect(
            all(moved(plain, other)[:, -1].all() for plain, other in pairs),
            "the output at the last position is the same for a different input there",
            id="output.constant",
            cause="a constant, or the same output for all positions, is returned",
            look_at=FORWARD,
        )
        self.expect(
            not any(np.array_equal(x, y) for x, y in zip(inputs, outputs, strict=True)),
            "the output is the input, unchanged",
            id="output.unchanged-input",
            look_at=FORWARD,
        )

    @graded()
    def test_causality(self) -> None:
        """The output at a position depends on earlier positions, but not on later ones."""
        inputs = self.changes(self.rng.normal(size=(1, 8, 12)))
        got = self.forward(12, 3, 10, inputs)
        plain, *later, first = self.outputs(got, inputs, look_at=FORWARD)
        # Nothing before position t should move at all; 1e-9 leaves room for kernels that sum in a
        # different order. A leak moves the output by 0.01 to 1.
        for t, out in enumerate(later, start=1):
            at = moved(plain, out)[0]
            self.expect(
                not at[:t].any(),
                f"a change from position {t} on changed the output before it",
                id="mask.missing",
                got=f"positions that changed: {np.flatnonzero(at).tolist()}",
                expected=f"only {t} to 7",
                cause="the causal mask is missing, or applied to the wrong axis",
                look_at=FORWARD,
            )
            self.expect(
                at[t:].all(),
                f"a change from position {t} on did not change the output there",
                id="mask.own-position-hidden",
                got=f"positions that changed: {np.flatnonzero(at).tolist()}",
                expected=f"{t} to 7",
                cause="a position should see itself, too",
                look_at=FORWARD,
            )
        at = moved(plain, first)[0]
        self.expect(
            at.all(),
            "a change at position 0 did not change the output at every position",
            id="mask.earlier-positions-hidden",
            got=f"positions that changed: {np.flatnonzero(at).tolist()}",
            expected="all positions from 0 to 7",
            cause="a position should see all positions before it, not only itself",
            look_at=FORWARD,
        )

    @graded()
    def test_plain_average(self) -> None:
        """If w2 and b2 are zero, each position averages the values up to its own."""
        x = self.rng.normal(size=(1, 6, 12))
        out, weights = self.plain_average(x)
        values = x @ weights["value.weight"].T + weights["value.bias"]
        counts = np.arange(1, 7)[None, :, None]
        mean = np.cumsum(values, axis=1) / counts
        expected = mean @ weights["proj.weight"].T + weights["proj.bias"]
        # Rounding moves results by 1e-14, a softmax in float32 by 1e-7, a mistake by 0.01 to 1.
        wrong = np.abs(out - expected).max(axis=(0, 2)) > 1e-5
        first = int(np.argmax(wrong))
        self.expect(
            not wrong.any(),
            "with w2 = 0 and b2 = 0 all scores are 0, so each position should average the "
            "values up to its own, before the output projection",
            id="output.plain-average",
            got=f"position {first}: {np.round(out[0, first, :4], 4).tolist()} ...",
            expected=f"position {first}: {np.round(expected[0, first, :4], 4).tolist()} ...",
            cause="softmax over the wrong axis, a missing mask or a missing projection",
            look_at=FORWARD,
        )

    @graded()
    def test_dev_accuracy(self) -> None:
        """synthesizer.pretrain.dev.predictions reaches the threshold."""
        self.expect_accuracy("synthesizer.pretrain.dev.predictions", "synthesizer")

    @graded(is_hidden=True)
    def test_values(self) -> None:
        """The output matches the equation for shorter sequences."""
        self.judge(**self.comparison(24, 4, 16, lengths=[1, 2, 7, 13]))

    @graded(is_hidden=True)
    def test_full_length(self) -> None:
        """The output matches the equation at the greatest length."""
        self.judge(**self.comparison(24, 4, 16, lengths=[16]))

    @graded(is_hidden=True)
    def test_single_precision(self) -> None:
        """The output is also right in float32."""
        self.judge(**self.comparison(32, 8, 24, lengths=[5, 20], dtype="float32"))

    @graded(is_hidden=True)
    def test_gradients(self) -> None:
        """The gradients with respect to the input and every parameter are right."""
        self.judge(**self.gradient_comparison(24, 4, 16, T=11))

    @graded(is_hidden=True)
    def test_no_leak(self) -> None:
        """No position sees a later one, at any length."""
        self.judge(runs=self.perturbed(24, 4, 16, lengths=[3, 8, 15]))

    @graded(is_hidden=True)
    def test_batch_invariance(self) -> None:
        """Each sequence of a batch gives the same output as it does alone."""
        x = self.rng.normal(size=(5, 9, 24))
        changed = [self.changed_at(x, position) for position in (0, -1)]
        inputs = [x, *changed, *(x[i : i + 1] for i in range(5))]
        self.judge(inputs=inputs, got=self.forward(24, 4, 16, inputs))

    @graded(is_hidden=True)
    def test_dropout(self) -> None:
        """Dropouts are active in training, and only there."""
        self.judge(**self.dropouts(24, 4, 16))

    @graded(is_hidden=True)
    def test_whole_model(self) -> None:
        """The synthesizer model computes the same as the given GPT with the right attention."""
        self.judge(**self.model_logits("synthesizer"))

    @graded(is_hidden=True)
    def test_test_accuracy(self) -> None:
        """synthesizer.pretrain.test.predictions reaches the threshold."""
        self.judge(**self.test_split("synthesizer.pretrain.test.predictions", "synthesizer"))

    @graded(is_hidden=True)
    def test_matches_checkpoint(self) -> None:
        """The predictions are the answers of synthesizer.finetune.params."""
        self.judge(**self.regenerated("synthesizer.finetune.params", "synthesizer.pretrain"))
