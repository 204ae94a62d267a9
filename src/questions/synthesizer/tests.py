"""The synthesizer: shapes, values, gradients, trained files."""

from typing import Any

import numpy as np

from grading.cases import graded
from grading.wire import Where, table
from questions.shared.models import ANY_REAL, MEDIUM, SMALL, VariantCase, attention_config

from .weights import cut, draw_weights, is_given_shape

GRADIENTS = table({"names": str, "arrays": ANY_REAL}, w2=[int])
# Whether an output depends on position 0. If it doesn't, kernels that sum in a different order move
# it by 1e-15; if it does, it moves by about the largest weight that a head gives to position 0. In
# 2 million draws that was below 1e-6 with probability 2e-6, and each further decade divides this by
# 5 to 10: 2e-8 for 1e-9 and 7 positions, in the basic test; 1e-9 with 4 heads (63 positions). That
# an output depends on its own position is surer still, since the scores change with it.
MOVED = 1e-9
FORWARD = "SynthesizerAttention.forward in submission/attention.py"


class Synthesizer(VariantCase):
    topic = "synthesizer"
    variant = "synthesizer"

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
        out = self.forward(SMALL, inputs)
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
        got = self.forward(SMALL, inputs)
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
        weights = draw_weights(self.rng, SMALL)
        weights["w2"][:] = 0.0
        weights["b2"][:] = 0.0
        (out,) = self.outputs(self.forward(SMALL, [x], weights), [x])
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

    @graded(is_hidden=True)
    def test_values(self) -> None:
        """The output matches the equation for shorter sequences."""
        self.judge(**self.comparison(MEDIUM, lengths=[1, 2, 7, 13]))

    @graded(is_hidden=True)
    def test_full_length(self) -> None:
        """The output matches the equation at the greatest length."""
        self.judge(**self.comparison(MEDIUM, lengths=[16]))

    @graded(is_hidden=True)
    def test_single_precision(self) -> None:
        """The output is also right in float32."""
        self.judge(**self.comparison(attention_config(32, 8, 24), [5, 20], "float32"))

    @graded(is_hidden=True)
    def test_gradients(self) -> None:
        """The gradients with respect to the input and every parameter are right."""
        weights = draw_weights(self.rng, MEDIUM)
        x, upstream = self.rng.normal(size=(2, 2, 11, MEDIUM["n_embd"]))
        arguments = {"config": MEDIUM, "weights": weights, "x": x, "upstream": upstream}
        got = self.probe("synthesizer.gradients", GRADIENTS, **arguments)
        narrow = cut(weights, self.expect_given_shape(got, MEDIUM))
        self.judge(arguments=arguments | {"weights": narrow}, got=got)

    @graded(is_hidden=True)
    def test_no_leak(self) -> None:
        """No position sees a later one, at any length."""
        groups = [self.changes(self.rng.normal(size=(1, T, MEDIUM["n_embd"]))) for T in (3, 8, 15)]
        self.judge(runs=[{"inputs": group, "got": self.forward(MEDIUM, group)} for group in groups])

    @graded(is_hidden=True)
    def test_batch_invariance(self) -> None:
        """Each sequence of a batch gives the same output as it does alone."""
        x = self.rng.normal(size=(5, 9, 24))
        changed = [self.changed_at(x, position) for position in (0, -1)]
        inputs = [x, *changed, *(x[i : i + 1] for i in range(5))]
        self.judge(inputs=inputs, got=self.forward(MEDIUM, inputs))

    @graded(is_hidden=True)
    def test_dropout(self) -> None:
        """Dropouts are active in training, and only there."""
        x = self.rng.normal(size=(2, 12, MEDIUM["n_embd"]))
        weights = draw_weights(self.rng, MEDIUM)

        def outputs(training: bool, **rates: float) -> dict[str, Any]:
            return self.forward(MEDIUM | rates, [x, x], weights, training=training)

        self.judge(
            x=x,
            plain=outputs(training=False),
            evaluation=outputs(training=False, attn_pdrop=0.5, resid_pdrop=0.5),
            attention=outputs(training=True, attn_pdrop=0.5),
            residual=outputs(training=True, resid_pdrop=0.5),
        )

    @graded(is_hidden=True)
    def test_whole_model(self) -> None:
        """The synthesizer model computes the same as the given GPT with the right attention."""
        self.judge(**self.model_logits("synthesizer"))

    def expect_given_shape(self, got: dict[str, Any], config: dict[str, Any]) -> int:
        """Fail unless w2 has the shape that a given `__init__` makes; return its columns."""
        self.expect(
            is_given_shape(got["w2"], config),
            "w2 does not have the shape that the given __init__ makes",
            id="w2.shape",
            got=got["w2"] or None,
            expected=[config["n_embd"] // config["n_head"], config["block_size"]],
            cause="__init__ is given; has it been changed?",
            look_at="SynthesizerAttention.__init__ in submission/attention.py",
        )
        return got["w2"][1]

    def forward(
        self,
        config: dict[str, Any],
        inputs: list[np.ndarray],
        weights: dict[str, np.ndarray] | None = None,
        **more: Any,
    ) -> dict[str, Any]:
        """Return the probe's answer; fail unless w2 has the shape that is given.

        Args:
            weights: by default, random ones.
            more: further arguments of the probe.
        """
        weights = draw_weights(self.rng, config) if weights is None else weights
        spec = forward_spec(config, len(inputs))
        asked = {"config": config, "weights": weights, "inputs": inputs} | more
        got = self.probe("synthesizer.forward", spec, **asked)
        self.expect_given_shape(got, config)
        return got

    def outputs(
        self, got: dict[str, Any], inputs: list[np.ndarray], **detail: Any
    ) -> list[np.ndarray]:
        """Return the outputs; fail unless each is finite and has its input's shape."""
        outputs = got["outputs"]
        fine = [
            isinstance(out, np.ndarray) and out.shape == x.shape and bool(np.isfinite(out).all())
            for out, x in zip(outputs, inputs, strict=True)
        ]
        self.expect(
            all(fine),
            "the output is not a tensor of finite numbers with the input's shape (B, T, C)",
            id="output.form",
            got=", ".join(got["forms"][:8]),
            **detail,
        )
        return outputs

    def comparison(
        self, config: dict[str, Any], lengths: list[int], dtype: str = "float64"
    ) -> dict[str, Any]:
        """Return outputs for several lengths, and what to ask the reference."""
        weights = draw_weights(self.rng, config)
        inputs = [self.rng.normal(size=(2, T, config["n_embd"])) for T in lengths]
        got = self.forward(config, inputs, weights, dtype=dtype)
        # Models of earlier years have one column fewer, and are never called at full length.
        columns = got["w2"][1]
        narrow = [np.ascontiguousarray(x[:, :columns]) for x in inputs]
        arguments = {"config": config, "weights": cut(weights, columns), "inputs": narrow}
        return {"arguments": arguments, "got": got}

    def changes(self, x: np.ndarray) -> list[np.ndarray]:
        """Return x, copies of it changed from each position on, and one changed at the first."""
        inputs = [x]
        for t in range(1, x.shape[1]):
            other = x.copy()
            other[:, t:] = self.rng.normal(size=other[:, t:].shape)
            inputs.append(other)
        return [*inputs, self.changed_at(x, 0)]

    def changed_at(self, x: np.ndarray, position: int) -> np.ndarray:
        """Copy x with other vectors at a position; on the first one each output depends."""
        other = x.copy()
        other[:, position] = self.rng.normal(size=other[:, position].shape)
        return other


def forward_spec(config: dict[str, Any], rows: int) -> Where:
    """Return the spec of `synthesizer.forward`'s answer with this many outputs."""

    def all_or_nothing(value: dict[str, Any]) -> bool:
        return len(value["outputs"]) == (rows if is_given_shape(value["w2"], config) else 0)

    spec = table({"forms": str, "outputs": ANY_REAL}, w2=[int])
    return Where(spec, all_or_nothing, f"{rows} outputs, or none for another w2")


def moved(out: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return for each position of each sequence whether two outputs differ there: bool (B, T)."""
    return np.abs(out - other).max(axis=2) > MOVED
