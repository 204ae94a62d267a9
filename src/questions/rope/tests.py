"""RoPE: angles, rotations, relative positions, trained files."""

from typing import Any

import numpy as np

from grading.cases import graded
from questions.shared.models import VariantCase, outputs

from . import rotations
from .rotations import CLOSE

TURN = "apply_rotary_emb in submission/attention.py"
ANGLES = "precompute_rotary_emb in submission/attention.py"


class Rope(VariantCase):
    topic = "rope"
    variant = "rope"

    @graded()
    def test_uses_rope(self) -> None:
        """initialize_rope_model returns a GPT with rope and without learned positions."""
        got = self.expect_attention("rope", "attention.CausalSelfAttention")
        self.expect(
            "pos_emb" not in got["names"],
            "the rope model has learned position embeddings, pos_emb",
            id="rope-model.learned-positions",
            cause="GPTConfig's rope is not True when the model is made",
            look_at="initialize_rope_model in submission/helper.py",
        )

    @graded()
    def test_angles(self) -> None:
        """precompute_rotary_emb(4, 3) has the cosines and sines of 0, 1, 2 and 0, .01, .02."""
        got = self.rope_angles([[4, 3]])
        (out,), (form,) = got["outputs"], got["forms"]
        self.expect(
            isinstance(out, np.ndarray) and out.shape == (3, 2, 2),
            "precompute_rotary_emb(4, 3) should have the shape (max_positions, dim/2, 2)",
            id="angles.shape",
            got=form,
            expected="float32[3, 2, 2]",
            look_at=ANGLES,
        )
        theta = np.array([1.0, 0.01])
        right = rotations.cache(theta, 3)
        wrong = ~(np.abs(out - right) <= CLOSE)  # True for NaN
        t, k, i = np.argwhere(wrong)[0] if wrong.any() else (0, 0, 0)
        self.expect(
            not wrong.any(),
            "precompute_rotary_emb(4, 3) is wrong, where theta is 1 and 1/100",
            id="angles.values",
            got=f"{out[t, k, i]:.4f} at position {t}, pair {k}, place {i}",
            expected=f"{('cos', 'sin')[i]} {t * theta[k]:g} = {right[t, k, i]:.4f}",
            cause=rotations.cause_of_angles(out),
            look_at=ANGLES,
        )

    @graded()
    def test_turned(self) -> None:
        """apply_rotary_emb rotates (1, 0) and (0, 1) by the angle of each position."""
        axes = np.repeat(np.eye(2)[None, :, None, :], 4, axis=2)  # (1, 2, 4, 2)
        (out,) = self.turned_arrays([axes], theta=np.ones(1))
        t = np.arange(4)
        right = [[np.cos(t), np.sin(t)], [-np.sin(t), np.cos(t)]]
        expected: np.ndarray = np.array(right).swapaxes(1, 2)[None]  # (1, 2, 4, 2)
        wrong = ~(np.abs(out - expected) <= CLOSE).all(axis=(0, 1, 3))
        first = int(np.argmax(wrong))
        self.expect(
            not wrong.any(),
            "with hs = 2, (1, 0) and (0, 1) should be rotated by the angle t at position t",
            id="rotation.values",
            got=f"position {first}: {np.round(out[0, :, first], 4).tolist()}",
            expected=f"position {first}: {(np.round(expected[0, :, first], 4) + 0.0).tolist()}",
            cause=rotations.cause_of_turned(axes, out, np.ones(1)),
            look_at=TURN,
        )

    @graded()
    def test_relative(self) -> None:
        """Position 0 is unchanged, lengths stay, and scores depend only on distances."""
        x, y = np.repeat(self.rng.normal(size=(2, 1, 2, 1, 8)), 9, axis=3)
        theta = np.array([1.0, 0.6, 0.4, 0.1])
        q, k = self.turned_arrays([x, y], theta)
        self.expect(
            np.abs(q[:, :, 0] - x[:, :, 0]).max() <= CLOSE,
            "at position 0, where all angles are 0, x should not change",
            id="rotation.position-0",
            cause=rotations.cause_of_turned(x, q, theta),
            look_at=TURN,
        )
        # A vector's product with itself, at distance 0, is its length squared.
        products = [first @ second.swapaxes(-2, -1) for first, second in ((q, k), (q, q))]
        moved = max(np.abs(s[..., 1:, 1:] - s[..., :-1, :-1]).max() for s in products)
        self.expect(
            moved <= CLOSE,
            "with the same query and the same key everywhere, the score of positions i and j "
            "should depend only on i - j, and lengths should not change",
            id="rotation.distances",
            got=f"scores that differ by up to {moved:.3f} at the same distance",
            cause="both coordinates of a pair need the same angle: are the pairings mixed?",
            look_at=TURN,
        )
        # At positions 4 and 8, the pair (a, b) with theta = 0.1 moves its coordinates by .08 a +
        # .39 b and .30 a + .72 b, others by more at some positions. Neither exceeds 1e-6 only if a
        # and b are below 2e-5, which has a probability below 3e-10 for each of eight coordinates.
        still = (np.abs(q - x).max(axis=(0, 1, 2)) <= 1e-6).nonzero()[0]
        self.expect(
            not len(still),
            "x should be rotated, but some of its coordinates are the same at all positions",
            id="rotation.unchanged-coordinates",
            got=f"coordinates {still.tolist()} of 8 never change",
            look_at=TURN,
        )

    @graded(is_hidden=True)
    def test_any_angles(self) -> None:
        """precompute_rotary_emb is right for any size."""
        dims, counts = self.rng.integers(1, 33, size=4), self.rng.integers(1, 257, size=4)
        drawn = [[2 * int(d), int(n)] for d, n in zip(dims, counts, strict=True)]
        sizes = [*drawn, [2, 256], [64, 1]]
        self.judge(sizes=sizes, got=self.rope_angles(sizes))

    @graded(is_hidden=True)
    def test_values(self) -> None:
        """apply_rotary_emb is right for any shape, in one pairing throughout."""
        shapes = [(2, 3, 7, 8), (1, 1, 12, 4), (3, 2, 1, 6), (2, 4, 16, 10)]
        self.judge(**self.turned([self.rng.normal(size=s) for s in shapes]))

    @graded(is_hidden=True)
    def test_shorter(self) -> None:
        """A sequence may be shorter than the cache."""
        shapes = [(2, 3, 5, 8), (1, 2, 1, 4)]
        self.judge(**self.turned([self.rng.normal(size=s) for s in shapes], spare=6))

    @graded(is_hidden=True)
    def test_single_precision(self) -> None:
        """The result is also right in float32."""
        inputs = [self.rng.normal(size=(2, 3, 9, 8))]
        self.judge(**self.turned(inputs, spare=2, dtype="float32"))

    @graded(is_hidden=True)
    def test_gradients(self) -> None:
        """The gradient with respect to x is right."""
        x, upstream = self.rng.normal(size=(2, 2, 3, 6, 8))
        arguments = {"x": x, "cache": self._cache(8, 9), "upstream": upstream}
        self.judge(arguments=arguments, got=self._outputs("rope.gradient", 1, **arguments))

    @graded(is_hidden=True)
    def test_whole_model(self) -> None:
        """The rope model computes the same as the given GPT with the right rotations."""
        self.judge(**self.model_logits("rope"))

    def readings(
        self, weights: dict[str, np.ndarray], config: dict[str, Any]
    ) -> list[dict[str, np.ndarray]]:
        """Return them for both pairings of coordinates, since a file does not say which it is."""
        return [weights, rotations.halves_as_neighbours(weights, config["n_head"])]

    def rope_angles(self, sizes: list[list[int]]) -> dict[str, Any]:
        """Return what precompute_rotary_emb returns for each pair (dim, max_positions)."""
        return self._outputs("rope.angles", len(sizes), sizes=sizes)

    def turned(
        self, inputs: list[np.ndarray], spare: int = 0, dtype: str = "float64"
    ) -> dict[str, Any]:
        """Return apply_rotary_emb's outputs for inputs (B, n_head, T, hs), and the arguments.

        The angles are not RoPE's own: any will do, and these do not reveal RoPE's.

        Args:
            spare: how many more positions than T the cache has.
        """
        caches = [self._cache(x.shape[3], x.shape[2] + spare) for x in inputs]
        arguments = {"inputs": inputs, "caches": caches}
        got = self._outputs("rope.turned", len(inputs), **arguments, dtype=dtype)
        return {"arguments": arguments, "got": got}

    def _cache(self, hs: int, positions: int) -> np.ndarray:
        """Draw angles: t * theta_k for pair k, with theta_k from .3 to 1.3."""
        return rotations.cache(self.rng.uniform(0.3, 1.3, size=hs // 2), positions)

    def turned_arrays(self, inputs: list[np.ndarray], theta: np.ndarray) -> list[np.ndarray]:
        """Return apply_rotary_emb's outputs for angles t * theta_k, for basic tests.

        The test fails unless the arrays have the inputs' shapes.
        """
        caches = [rotations.cache(theta, x.shape[2]) for x in inputs]
        got = self._outputs("rope.turned", len(inputs), inputs=inputs, caches=caches)
        for x, out, form in zip(inputs, got["outputs"], got["forms"], strict=True):
            self.expect(
                isinstance(out, np.ndarray)
                and out.shape == x.shape
                and bool(np.isfinite(out).all()),
                "apply_rotary_emb should return a tensor of finite numbers with the shape of x",
                id="rotation.shape",
                got=form,
                expected=list(x.shape),
                look_at=TURN,
            )
        return got["outputs"]

    def _outputs(self, probe: str, count: int, **arguments: Any) -> dict[str, Any]:
        return self.probe(probe, outputs(count), **arguments)
