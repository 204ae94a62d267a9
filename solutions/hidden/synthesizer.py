"""The synthesizer: its equation, gradients, dropouts, trained files."""

from functools import partial

import numpy as np

from questions.synthesizer.tests import GRADIENTS, Synthesizer, forward_spec, moved

from .evidence import expect_accuracy, expect_match
from .tolerances import FLOAT32, FLOAT64, expect_close, same_logits


def synthesizer_single_precision(case: Synthesizer, arguments: dict, got: dict) -> None:
    """Expect float32 outputs close to the reference's, which are computed in float64.

    So only the rounding of the student's float32 matters.
    """
    case.expect(
        all(form.startswith("float32[") for form in got["forms"]),
        "the output of a float32 input is not float32",
        id="output.not-float32",
        got=got["forms"],
    )
    _expect_equation(case, arguments, got, tolerance=FLOAT32)


def _expect_equation(case: Synthesizer, arguments: dict, got: dict, tolerance: float) -> None:
    spec = forward_spec(arguments["config"], len(arguments["inputs"]))
    right = case.reference("synthesizer.forward", spec, **arguments)["outputs"]
    sentence = "the output does not match the synthesizer's equation"
    expect_close(case, got["outputs"], right, tolerance, sentence, id="output.equation")


synthesizer_values = partial(_expect_equation, tolerance=FLOAT64)
synthesizer_full_length = synthesizer_values


def synthesizer_gradients(case: Synthesizer, arguments: dict, got: dict) -> None:
    reference = case.reference("synthesizer.gradients", GRADIENTS, **arguments)
    gradients = dict(zip(got["names"], got["arrays"], strict=True))
    columns = arguments["weights"]["w2"].shape[1]  # one column fewer in earlier years
    for name, right in zip(reference["names"], reference["arrays"], strict=True):
        subject = name.replace(".", "-")
        case.expect(
            name in gradients, f"{name} receives no gradient", id=f"gradient.{subject}-missing"
        )
        right = right[..., :columns] if name in ("w2", "b2") else right
        id, sentence = f"gradient.{subject}", f"the gradient with respect to {name} is wrong"
        expect_close(case, [gradients[name]], [right], FLOAT64, sentence, id=id)


def synthesizer_no_leak(case: Synthesizer, runs: list[dict]) -> None:
    for run in runs:
        plain, *changed, first = case.outputs(run["got"], run["inputs"])
        for t, out in enumerate(changed, start=1):
            case.expect(
                bool((np.abs(out - plain)[:, :t] <= FLOAT64).all()),
                "the output at a position depends on a later position",
                id="mask.missing-for-some",
                changed_from=t,
                length=plain.shape[1],
            )
            _expect_own_moved(case, plain, out, t)
        _expect_all_moved(case, plain, first)


def synthesizer_batch_invariance(case: Synthesizer, inputs: list, got: dict) -> None:
    together, first, last, *alone = case.outputs(got, inputs)
    _expect_all_moved(case, together, first)
    _expect_own_moved(case, together, last, -1)
    rows = [together[row : row + 1] for row in range(len(together))]
    sentence = "a sequence's output depends on the others in its batch"
    expect_close(case, alone, rows, FLOAT64, sentence, id="output.depends-on-batch")


def _expect_all_moved(case: Synthesizer, plain: np.ndarray, changed: np.ndarray) -> None:
    """Expect each output to depend on position 0.

    Otherwise a constant, or the input itself, would pass.
    """
    case.expect(
        bool(moved(plain, changed).all()),
        "the output at some position does not depend on the first position of its sequence",
        id="mask.earlier-positions-hidden-for-some",
    )


def _expect_own_moved(
    case: Synthesizer, plain: np.ndarray, changed: np.ndarray, position: int
) -> None:
    """Expect the output at a position to depend on the input there.

    Otherwise the first position's output, repeated, would pass.
    """
    case.expect(
        bool(moved(plain, changed)[:, position].all()),
        "the output at some position does not depend on the input there",
        id="mask.own-position-hidden-for-some",
    )


def synthesizer_dropout(
    case: Synthesizer, x: np.ndarray, plain: dict, evaluation: dict, **training: dict
) -> None:
    """Expect both dropouts, with rates of 1/2, to be active in their places, and only in training.

    None of 2 * 4 * 78 weights, or none of 2 * 12 * 24 channels, is dropped with probability
    2^-576 at most.
    """
    right = case.outputs(plain, [x, x])[0]
    outputs = case.outputs(evaluation, [x, x])
    sentence = "dropout is active in evaluation, where it should not be"
    expect_close(case, outputs, [right, right], FLOAT64, sentence, id="dropout.in-evaluation")
    active = {kind: case.outputs(training[kind], [x, x]) for kind in ("attention", "residual")}
    for kind, (first, second) in active.items():
        case.expect(
            bool(np.abs(first - right).max() > FLOAT64 and np.abs(first - second).max() > FLOAT64),
            f"the {kind} dropout does nothing in training",
            id=f"dropout.{kind}-inactive",
        )
    # At the first position, every head's weight is 1, which a dropout turns into 0 or 2.
    case.expect(
        bool(np.abs(active["attention"][0] - right)[:, 0].max() > FLOAT64),
        "the attention dropout should zero some of the weights, after the softmax",
        id="dropout.attention-place",
    )
    dropped = np.mean(active["residual"][0] == 0.0)
    case.expect(
        0.25 < dropped < 0.75,  # 576 channels at rate 1/2: Hoeffding, 2 exp(-2*576/16) < 1e-30
        "the residual dropout should zero some channels of the output, after the projection",
        id="dropout.residual-place",
        got=float(dropped),
    )


synthesizer_whole_model = same_logits
synthesizer_test_accuracy = expect_accuracy
synthesizer_matches_checkpoint = expect_match
