"""What hidden tests assert. Staff only: never shipped to students.

One function a hidden test, named TOPIC_TEST; grader.py's method of that test has observed the
submission and calls it. A sentence given to `case.expect` is all that a student reads, so it is
fixed and holds no value; got, expected and the like are for staff.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grading import answers, corruption, exploration
from grading.asking.heads import EXACT
from grading.asking.projections import LIMIT, NEAR
from grading.exploration import weights_are_right

# float64 results of correct code differ by 1e-14, or by 4e-6 where it takes its softmax in
# single precision; a mistake moves them by 0.05 or more (measured: tests/test_tolerances.py).
FLOAT64 = 1e-4
# float32 has 6e-8 of relative rounding; a sum of 32 terms of order 1, passed through scores of
# order 5, stays below 1e-5 (largest measured: see tests/test_tolerances.py).
FLOAT32 = 1e-4


def finetuning_model_output(case: Any, asked: dict, got: dict) -> None:
    _same_logits(case, asked, got)


def synthesizer_whole_model(case: Any, asked: dict, got: dict) -> None:
    _same_logits(case, asked, got)


def _same_logits(case: Any, asked: dict, got: Any) -> None:
    """The model's logits equal those of the reference model with the same parameters."""
    reference = case.reference("synthesizer.model_variant", answers.VARIANT, **_variant(asked))
    shapes = dict(zip(reference["names"], reference["shapes"], strict=True))
    problem = answers.misfit(answers.widen_columns(asked["weights"], shapes), shapes)
    case.expect(not problem, "the model has other parameters than the given GPT", problem=problem)
    wide = asked | {"weights": answers.widen_columns(asked["weights"], shapes)}
    wanted = case.reference("synthesizer.model_logits", answers.LOGITS, **wide)["logits"]
    logits = got.get("logits") if isinstance(got, dict) else None
    _expect_close(
        case, logits, wanted, FLOAT64, "the model's logits are not those of the given GPT"
    )


def _variant(asked: dict) -> dict:
    return {"variant": asked["variant"], "config": asked["config"]}


def _expect_close(case: Any, got: Any, wanted: np.ndarray, tolerance: float, sentence: str) -> None:
    case.expect(
        isinstance(got, np.ndarray) and got.shape == wanted.shape,
        "a result has another shape than it should have",
        got=getattr(got, "shape", type(got)),
        expected=wanted.shape,
    )
    difference = np.abs(got - wanted)  # NaN fails the comparison below
    worst = np.unravel_index(np.argmax(np.nan_to_num(difference, nan=np.inf)), difference.shape)
    case.expect(
        bool((difference <= tolerance).all()),
        sentence,
        first_at=[int(i) for i in worst],
        got=float(got[worst]),
        expected=float(wanted[worst]),
        tolerance=tolerance,
    )


def no_pretraining_london_anywhere(case: Any, got: Any, places: list[str]) -> None:
    case.expect(
        got == [places.count("London"), len(places)],
        "london_baseline returns wrong numbers for another file",
        got=got,
        expected=[places.count("London"), len(places)],
    )


def no_pretraining_remembers_training(case: Any, given: list[str], places: list[str]) -> None:
    """At least 90 % of 50 training questions.

    A checkpoint that knows every training answer can't fail; one that knows 99.4 % of them fails
    with probability C(50, 6) 0.006^6 < 8e-7.
    """
    right = sum(g == p for g, p in zip(given, places, strict=True))
    case.expect(
        right >= 0.9 * len(places),
        "vanilla.model.params doesn't remember the questions it was finetuned on: was it trained "
        "to the end, with the recipe's settings?",
        got=f"{right} of {len(places)}",
        expected="at least 90 %",
    )


def no_pretraining_matches_checkpoint(case: Any, given: list, predicted: list) -> None:
    _expect_match(case, given, predicted)


def pretraining_matches_checkpoint(case: Any, given: list, predicted: list) -> None:
    _expect_match(case, given, predicted)


def synthesizer_matches_checkpoint(case: Any, given: list, predicted: list) -> None:
    _expect_match(case, given, predicted)


def _expect_match(case: Any, given: list[str], predicted: list[str]) -> None:
    """At most one line in ten may differ.

    Decoding is greedy: only rounding can flip a character, where the two likeliest are within
    1e-5. Even if that befell one answer in 1,000, 5 of 40 would differ with probability
    C(40, 5) 0.001^5 < 7e-10.
    """
    differing = [(g, p) for g, p in zip(given, predicted, strict=True) if g != p]
    case.expect(
        len(differing) * 10 <= len(given),
        "the predictions are not what the parameters answer: were both files written by the same "
        "training?",
        got=f"{len(differing)} of {len(given)} differ, e.g. {differing[:3]}",
    )


def span_corruption_block_sizes(case: Any, runs: list[dict]) -> None:
    _read_all(case, runs, strict=True)


def span_corruption_short_documents(case: Any, runs: list[dict]) -> None:
    _read_all(case, runs, strict=True)


def span_corruption_any_alphabet(case: Any, vocabulary: dict, runs: list[dict]) -> None:
    itos = corruption.expected_vocabulary(runs[0]["documents"])
    case.expect(
        vocabulary["itos"] == itos and vocabulary["stoi_agrees"],
        "the vocabulary is not PAD, MASK and the sorted characters of the whole text",
        got=vocabulary["itos"],
        expected=itos,
    )
    _read_all(case, runs)


def _read_all(case: Any, runs: list[dict], strict: bool = False) -> list[corruption.Example]:
    """Read all examples; `strict`: with all that is pinned about single items."""
    examples = []
    for run in runs:
        try:
            examples += corruption.read_examples(**run, form=strict, bounds=strict)
        except corruption.Malformed as wrong:
            block_size = run["block_size"]
            case.fail(wrong.sentence, got=wrong.got, expected=wrong.expected, block_size=block_size)
    return examples


def span_corruption_every_length(case: Any, runs: list[dict]) -> None:
    """Each possible length occurs at least once in 2,172 draws of a document at block_size 32.

    Each has probability at least 1/(4*32) = 1/128. One of 25 lengths is missed with probability at
    most 25 (1 - 1/128)^2172 < 1e-6; of the short document's 10, less.
    """
    for run in runs:
        seen = {e.truncated for e in _read_all(case, [run])}
        most = corruption.longest(run["documents"][0], run["block_size"])
        missing = sorted(set(range(corruption.SHORTEST, most + 1)) - seen)
        case.expect(
            not missing,
            "some length that a document may be truncated to never occurs; every one from 4 to "
            "min(len(document), int(block_size*7/8)) should",
            missing=missing,
            document_length=len(run["documents"][0]),
        )


def span_corruption_span_share(case: Any, examples: list[dict]) -> None:
    """The mean of span/T lies in 0.22 to 0.28 over 8,000 draws with T >= 40.

    Shares lie in [0, 1] with mean m, so that their variance is at most m (1 - m) <= 0.1875 at
    m = .25, and Bernstein's bound on a deviation of 0.03 is 2 exp(-8000 * 0.03^2 /
    (2 (0.1875 + 0.01))) < 2.5e-8. Rounding the span down shifts m to .237 at worst (T = 40 to 43:
    less than 1/40 * 1/2 on average): uniform spans then have variance 0.021, and 0.017 is missed
    with probability 2 exp(-8000 * 0.017^2 / (2 (0.021 + 0.006))) < 1e-18.

    A code may prefer short prefixes, and yield fewer. But each length has probability 1/512 or
    more, so that draws from our 18 short documents have T >= 40 with probability 21/512 or more,
    from the 6 long ones with 73/512, together .066: a share below .05 among 12,000 draws or more
    has probability below exp(-797 * .24^2 / 2) < 1e-9 (Chernoff). Then at least 3,000 remain of
    60,000, for which 0.20 to 0.30 is missed with probability 2 exp(-3000 * 0.05^2 /
    (2 (0.1875 + 0.017))) < 3e-8.
    """
    every = _read_all(case, examples)
    shares = [e.span / e.truncated for e in every if e.truncated >= 40][:8000]
    case.expect(
        len(shares) >= min(0.05 * len(every), 8000),
        "documents are (almost) never truncated to 40 characters or more, where they could be",
        got=f"{len(shares)} of {len(every)} draws",
    )
    low, high = (0.22, 0.28) if len(shares) == 8000 else (0.20, 0.30)
    mean = float(np.mean(shares))
    case.expect(
        low <= mean <= high,
        "the masked span is not a quarter of the truncated document on average (is it a quarter "
        "of the real length, after truncation?)",
        got=mean,
        expected=f"{low} to {high}",
    )


def span_corruption_span_random(case: Any, runs: list[dict]) -> None:
    """Given T, the span's length is random: see `_expect_not_constant`."""
    _expect_not_constant(
        case,
        [(e.truncated, e.span) for e in _read_all(case, runs) if e.truncated >= 8],
        "the masked span always has the same length for documents of one length",
    )


def span_corruption_position(case: Any, runs: list[dict]) -> None:
    """The span starts in each half of its room with probability at least 1/10.

    Of n = 4,000 draws less than 0.07 n start there with probability at most
    exp(-0.1 n * 0.3^2 / 2) < 2e-8 (Chernoff). Draws that leave no room (the span is the whole
    document) don't count; at most one in eight may be such for the bound to stay below 1e-6.
    """
    examples = [e for e in _read_all(case, runs) if e.truncated > e.span]
    relative = np.array([e.start / (e.truncated - e.span) for e in examples])
    for share, half in ((np.mean(relative < 0.5), "first"), (np.mean(relative > 0.5), "second")):
        case.expect(
            share >= 0.07,
            f"the masked span (almost) never starts in the {half} half of where it could",
            got=float(share),
            expected="at least 0.1",
        )
    _expect_not_constant(
        case,
        [((e.truncated, e.span), e.start) for e in examples if e.truncated - e.span >= 6],
        "the masked span always starts at the same place for a given length",
    )


def _expect_not_constant(case: Any, pairs: list[tuple], sentence: str) -> None:
    """Among draws with the same first entry, the second one varies.

    Over all groups of 10 draws or more, less than 98 % may have their group's commonest value.
    Where no value has more than 90 %, n draws reach 98 % with probability at most
    exp(-n D(.98 || .9)) = exp(-0.051 n) (Chernoff): below 3e-7 from 300 on. Fewer aren't judged.
    """
    groups: dict[Any, list] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    large = [values for values in groups.values() if len(values) >= 10]
    commonest = sum(max(values.count(v) for v in set(values)) for values in large)
    total = sum(map(len, large))
    case.expect(
        total < 300 or commonest / total < 0.98,
        sentence,
        got=f"{commonest} of {total} draws have the commonest value of their group",
    )


def pretraining_loads_pretrained(case: Any, runs: list[tuple], pretrainings: list[tuple]) -> None:
    for variant, pretrained, got in runs:
        stage = "finetune_pretrained" if pretrained else "finetune_scratch"
        case.expect_training(got, stage, synthesizer=variant == "synthesizer")
    for variant, got in pretrainings:
        case.expect_training(got, "pretrain", synthesizer=variant == "synthesizer")


def pretraining_test_accuracy(case: Any, **observed: Any) -> None:
    _expect_accuracy(case, **observed)


def synthesizer_test_accuracy(case: Any, **observed: Any) -> None:
    _expect_accuracy(case, **observed)


def _expect_accuracy(case: Any, predicted: list, places: list | None, threshold: float) -> None:
    """Counted over the answers' lines. Without answers (real data that holds them back) nobody
    can judge."""
    if places is None:
        case.not_graded("the answers of the test split are not here: nobody can judge")
    correct = answers.count_correct(predicted, places)
    case.expect(
        correct >= threshold * len(places),
        "too few right answers on the test set",
        got=f"{correct} of {len(places)}",
        expected=f"at least {threshold:.0%}",
    )


def synthesizer_values(case: Any, **observed: Any) -> None:
    _expect_equation(case, FLOAT64, **observed)


def synthesizer_full_length(case: Any, **observed: Any) -> None:
    _expect_equation(case, FLOAT64, **observed)


def synthesizer_single_precision(case: Any, asked: dict, got: dict) -> None:
    """The reference computes in float64: what is compared is the student's float32 alone."""
    forms = [form.startswith("float32[") for form in got["forms"]]
    case.expect(all(forms), "the output of a float32 input is not float32", got=got["forms"])
    _expect_equation(case, FLOAT32, asked, got)


def _expect_equation(case: Any, tolerance: float, asked: dict, got: dict) -> None:
    wanted = case.reference("synthesizer.forward", answers.ATTENTION, **asked)["outputs"]
    case.expect(len(got["outputs"]) == len(wanted), "outputs are missing")
    for out, right in zip(got["outputs"], wanted, strict=True):
        sentence = "the output is not that of the synthesizer's equation"
        _expect_close(case, out, right, tolerance, sentence)


def synthesizer_gradients(case: Any, asked: dict, got: dict) -> None:
    wanted = case.reference("synthesizer.gradients", answers.GRADIENTS, **asked)
    found = dict(zip(got["names"], got["arrays"], strict=True))
    for name, right in zip(wanted["names"], wanted["arrays"], strict=True):
        case.expect(name in found, "a parameter gets no gradient", missing=name)
        mine = found[name]
        if isinstance(mine, np.ndarray) and name in ("w2", "b2"):
            right = right[..., : mine.shape[-1]]  # earlier years have a column less
        _expect_close(case, mine, right, FLOAT64, "a gradient is wrong")


def synthesizer_no_leak(case: Any, runs: list[dict]) -> None:
    for run in runs:
        plain, *changed = case.outputs(run)
        for t, out in enumerate(changed, start=1):
            case.expect(out.shape == plain.shape, "the output has another shape than the input")
            case.expect(
                bool((np.abs(out - plain)[:, :t] <= FLOAT64).all()),
                "the output at a position depends on a later position",
                changed_from=t,
                length=plain.shape[1],
            )


def synthesizer_batch_invariance(case: Any, outputs: list) -> None:
    together, *alone = outputs
    for row, out in enumerate(alone):
        fine = isinstance(together, np.ndarray) and together.shape[0] == len(alone)
        case.expect(fine, "the output of a batch has another shape than the batch")
        sentence = "a sequence's output depends on the others in its batch"
        _expect_close(case, out, together[row : row + 1], FLOAT64, sentence)


def synthesizer_dropout(case: Any, plain: dict, evaluation: dict, **training: dict) -> None:
    """Rates of 1/2. That no weight of 2 * 4 * 78, or no channel of 2 * 12 * 24, is dropped has
    probability 2^-576 at most."""
    right = case.outputs(plain)[0]
    for out in case.outputs(evaluation):
        sentence = "dropout acts in evaluation, where it shouldn't"
        _expect_close(case, out, right, FLOAT64, sentence)
    for kind in ("attention", "residual"):
        first, second = case.outputs(training[kind])
        for out in (first, second):
            case.expect(out.shape == right.shape, "the output has another shape in training")
        case.expect(
            bool(np.abs(first - right).max() > FLOAT64 and np.abs(first - second).max() > FLOAT64),
            f"the {kind} dropout does nothing in training",
        )
    dropped = np.mean(case.outputs(training["residual"])[0] == 0.0)
    case.expect(
        0.25 < dropped < 0.75,  # 576 channels at rate 1/2: Hoeffding, 2 exp(-2*576/16) < 1e-30
        "the residual dropout should zero some channels of the output, after the projection",
        got=float(dropped),
    )


def attention_copying_oblique(case: Any, tried: list) -> None:
    _expect_weights(case, tried)


def attention_copying_any_query(case: Any, tried: list) -> None:
    _expect_weights(case, tried)


def attention_averaging_oblique(case: Any, tried: list) -> None:
    _expect_weights(case, tried)


def _expect_weights(case: Any, tried: list) -> None:
    """What is drawn is within what the docstrings promise: a right code can't fail."""
    for answer in tried:
        alpha, places = case.weights(answer)
        case.expect(
            weights_are_right(alpha, places),
            f"what {answer.function} returns gives other attention weights for some inputs",
            got=np.round(alpha, 3).tolist(),
            expected=places,
        )


def attention_single_head_any_means(case: Any, tried: list) -> None:
    """400 samples; each fails a right code with probability below 1e-50: see near_means."""
    for answer, keys in tried:
        alpha = case.sampled_weights(answer, keys)
        case.expect(
            weights_are_right(alpha, answer.arguments[1:]),
            "the query of single_head_query gives other attention weights for some keys near "
            "their means",
            got=np.round(alpha[:3], 3).tolist(),
            expected=answer.arguments[1:],
        )


def attention_single_head_sampled_lengths(case: Any, tried: list) -> None:
    """Weights are exact, and those of keys that were drawn.

    What the function isn't told is noise of 1e-7 in each direction: it moves scores a and b apart
    by sqrt(3) * 1e-7 * 5,000 = 9e-4 at most at one standard deviation, and weights by a quarter
    of that: .005 is 23 standard deviations, for 30 samples.
    """
    for answer, sampled in tried:
        got = np.stack(case.checked(answer, ()))
        wanted = case.exact_weights(*answer.arguments)[:2]
        exact = np.abs(got - wanted).max() <= EXACT
        case.expect(
            bool(exact and np.abs(got - sampled[:2]).max() <= 0.005),
            "single_head_weights returns other weights than attention gives to keys of some scale "
            "and length",
            got=got.tolist(),
            expected=wanted.tolist(),
            of_keys_that_were_drawn=sampled[:2].tolist(),
            arguments=answer.arguments,
        )


def attention_two_heads_spread(case: Any, tried: list) -> None:
    """The mean squared distance of two heads' weights from (1/2, 1/2) is at most 1/16 of that of
    a single head with the query 100 (mu_a + mu_b), over the same samples.

    Let L be k_a's length, normal with mean 1 and variance 1/2, given L > 0. A squared distance is
    at most 1/2.
    - Single head: 2 (alpha_a - 1/2)^2 = (1/2) tanh^2(50 (L - 1)). 1 - tanh^2 has the integral
      .04, L a density below .62: the mean exceeds .487. Of 1,000 samples at least 800 are kept (of
      probability .921 each: 14 standard deviations), and their mean is below .45 with probability
      exp(-800 KL(.90 || .974)) < 1e-20 (Chernoff, for values in [0, 1/2]).
    - Two heads: with 12 keys and s >= 50, head 1 leaves 1 - alpha = 11 / (e^(s L) + 11) to others
      than a, and the distance squared is (1 - alpha)^2 (1 + 1/121) / 4. Where that matters, L is
      below .15, the density below .3, and the integral of (1 - alpha)^2 over s L is
      ln 12 - 11/12 < 1.57: the mean is below .3 * 1.57 * .2521 / 50 < .0024 (with fewer keys it is
      less). It exceeds .45/16 = .028 with probability exp(-800 KL(.056 || .0048)) < 1e-29.
    For 5 sets together: below 1e-18.
    """
    for answer, keys in tried:
        means, a, b = answer.arguments
        average = sum(case.both_heads(answer, means)) / 2
        case.expect(
            weights_are_right(average, [a, b]),
            "the average of both heads is not that of the two values when keys are their means",
            got=np.round(average, 3).tolist(),
            expected=[a, b],
        )
        average = sum(case.both_heads(answer, keys)) / 2
        single = exploration.attention_weights(100.0 * means[[a, b]].sum(axis=0), keys)
        spread, reference = _from_middle(average[:, [a, b]]), _from_middle(single[:, [a, b]])
        case.expect(
            spread <= reference / 4,  # nan is not
            "the average of both heads swings nearly as much as a single head when one key is "
            "longer or shorter",
            got=spread,
            expected=f"at most a quarter of {reference}",
        )


def _from_middle(weights: np.ndarray) -> float:
    """Root mean square distance of rows from (1/2, 1/2)."""
    return float(np.sqrt(np.mean(np.sum((weights - 0.5) ** 2, axis=1))))


def attention_key_query_value_unprojected_any(case: Any, tried: list) -> None:
    _expect_limits(case, tried)


def attention_key_query_value_added_any(case: Any, tried: list) -> None:
    _expect_limits(case, tried)


def _expect_limits(case: Any, tried: list) -> None:
    """What is drawn is rotated only: a right code can't fail."""
    for answers_ in tried:
        distances = case.distances(answers_)
        case.expect(
            max(distances) <= LIMIT,
            f"{answers_[0].function} is not what attention's c_2 tends to as beta grows",
            got=distances,
            expected=f"at most {LIMIT} of beta",
        )


def attention_key_query_value_matrices_any(case: Any, tried: list) -> None:
    """Lengths from 5 to 100, as the docstring promises: a right code can't fail."""
    for answer in tried:
        _, alpha, misses = case.projected(answer)
        for miss, sentence in zip(
            misses, ("c_1 is not close to ub - uc", "c_2 is not close to ub"), strict=True
        ):
            case.expect(
                miss <= NEAR,
                f"with the K, Q and V of key_query_value, {sentence} for some orthogonal vectors",
                got=f"{miss} beta",
                weights=np.round(alpha, 3).tolist(),
            )
