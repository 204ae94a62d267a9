"""Evidence of pretraining: masked spans, the permutation test, and what a model answers."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from autograder import solutions
from autograder.judging import load_hidden
from grading.edition import Evidence, Strong
from questions.shared import probe
from questions.span_corruption.probe import draw

CONFIG = {"n_layer": 1, "n_head": 2, "n_embd": 16, "block_size": 96}
DOCUMENTS = [
    "Ada Byron was born in London, and wrote the first program.",
    "Born in Warsaw, Maria Curie went to Paris to study physics.",
    "Paris Hilton was born in New York.",
    "Where was somebody born?",
]


@pytest.fixture(scope="module")
def spans():
    load_hidden(solutions.HIDDEN)
    return sys.modules["hidden.spans"]


@pytest.fixture
def rng():
    return np.random.default_rng(5)


@pytest.fixture
def model(s):
    """Return an untrained model's parameters; its scores differ enough for clear favourites."""
    dataset = s.dataset.CharCorruptionDataset("\n".join(DOCUMENTS), CONFIG["block_size"])
    gpt = s.model.GPT(s.model.GPTConfig(vocab_size=dataset.vocab_size, **CONFIG))
    weights = {name: 5 * p.detach().numpy() for name, p in gpt.named_parameters()}
    return {
        "variant": "vanilla",
        "config": CONFIG,
        "weights": weights,
        "corpus": "\n".join(DOCUMENTS),
    }


# -- what the model thinks ------------------------------------------------------------------------


def test_log_probabilities_are_those_of_the_model(s, model):
    text = "Born in ⁇, Maria⁇Warsaw"
    wanted = {"texts": [text, "Ada ⁇on was⁇Byr"], "starts": [17, 12], "stops": [23, 15]}
    got = probe.span_log_probabilities(None, model, **wanted)["log_probabilities"]
    dataset, gpt = probe.loaded(**model)
    ids = torch.tensor([[dataset.stoi[c] for c in text]])
    log_p = torch.log_softmax(gpt(ids)[0][0].double(), dim=-1)
    alone = sum(float(log_p.detach()[t - 1, ids[0, t]]) for t in range(17, 23))
    assert got[0] == pytest.approx(alone, abs=1e-4)
    assert got[1] < 0


QUESTIONS = [f"Where was {name} born?" for name in ("Ada", "Maria", "Paris", "Byron")]


def differing(model, questions: list[str], predicted: list[str]) -> dict:
    return probe.differing(None, model, questions=questions, predicted=predicted, most=2)


def test_a_line_differs_if_the_model_does_not_answer_it(model, rng):
    """An untrained model answers anything: at any length, with blanks, newlines and no end."""
    letters = sorted(set("".join(DOCUMENTS)))
    odd = ["".join(rng.choice(letters, size=n)) for n in rng.integers(4, 60, size=80)]
    questions = [*QUESTIONS, *odd]
    given = probe.answers(None, model, questions)["places"]
    assert len(set(given)) > 10
    assert differing(model, questions, given) == {"lines": [], "given": []}
    for wrong in ("London", "", "Łódź", "⁇", given[2] + "x", given[2][:-1]):
        found = differing(model, questions, [*given[:2], wrong, *given[3:]])
        assert found == {"lines": [2], "given": [given[2]]}


def test_answers_as_long_as_they_may_be_are_not_decoded(model, monkeypatch):
    """A model that never writes MASK gives such answers; decoding all of them takes minutes."""
    dataset, _ = probe.loaded(**model)
    always = {name: np.zeros_like(array) for name, array in model["weights"].items()}
    always["ln_f.bias"][0] = always["head.weight"][dataset.stoi["a"], 0] = 1.0
    model = model | {"weights": always}
    with monkeypatch.context() as changed:
        changed.setattr("submission.utils.predict_places", None)
        assert differing(model, QUESTIONS, ["a" * 32] * 4) == {"lines": [], "given": []}
    for wrong in ("a" * 31, "a" * 33, "a" * 31 + "b"):
        assert len(differing(model, QUESTIONS, [wrong] * 4)["lines"]) == 3


def test_tiny_parameters_are_taken_for_zero(model):
    """On some processors, they take a hundred times as long, and the reference would time out."""
    torch.set_flush_denormal(False)
    assert torch.tensor([1e-39]) * 1.0 > 0
    probe.loaded(**model)
    assert torch.tensor([1e-39]) * 1.0 == 0
    torch.set_flush_denormal(False)


def test_fresh_corruptions_are_the_references(s, spans):
    case = SimpleNamespace(reference=lambda name, answer, runs: draw(None, runs))
    texts = sys.modules["hidden.evidence"].corruptions(case, DOCUMENTS[:3] * 40, 96)
    content = spans.content_spans(texts)
    assert 10 < len(content) < 120
    for span in content:
        prefix, suffix, masked = span.text.split("⁇")
        assert span.text[span.start : span.stop] == masked != ""
        assert any(d.startswith(prefix + masked + suffix) for d in DOCUMENTS)
        assert len(prefix + masked + suffix) >= spans.SHORTEST


# -- sentences that hide a place ------------------------------------------------------------------


def test_a_place_is_hidden_with_at_most_a_quarter_of_its_sentence_and_never_the_name(spans, rng):
    people = {"Ada Byron": "London", "Maria Curie": "Warsaw", "Paris Hilton": "New York"}
    lines = [*DOCUMENTS[:3], "Ada of Rome, " + "x" * 40, "x" * 40 + ", in Rome Ada"]
    # A place that is part of the name is not mistaken for it.
    lines.append("Paris Hilton was born in Paris.")
    people = [*people.items(), ("Ada", "Rome"), ("Ada", "Rome"), ("Paris Hilton", "Paris")]
    for _ in range(100):
        for line, (name, place) in zip(lines, people, strict=True):
            asked = [(f"Where was {name} born?", place), ("Where was Nobody born?", "Oslo")]
            (each,) = spans.hidden_places(rng, [line, "Nobody"], asked, 96)
            assert each.place == place and name in each.prefix + "|" + each.suffix
            span = each.with_place("Elsewhere")
            assert span.text[span.start : span.stop] == "Elsewhere"
            assert place not in span.text or place in name
            told = each.prefix + each.before + each.place
            assert line.startswith(told) and line.endswith(each.suffix)
            hidden = len(line) - len(each.prefix + each.suffix)
            assert hidden <= max(len(line) // 4, len(place))


def test_sentences_that_prove_nothing_are_left_out(spans, rng):
    lines = (
        "Ada Byron of London was born in London.",  # the sentence says it elsewhere
        "Ada Byron was born in Londonderry.",
        "Ada Byron was born in " + "x" * 80 + " London",  # truncated as in span corruption
    )
    for line in lines:
        asked = [("Where was Ada Byron born?", "London")]
        assert spans.hidden_places(rng, [line], asked, 96) == []


def test_people_who_exchange_have_places_of_one_length(spans, rng):
    places = rng.choice(["Oslo", "Rome", "Lima", "Baku", "Paris", "Tokyo", "Kyiv"], size=90)
    hidden = [spans.Hidden(str(place), "a", "b", "") for place in places]
    blocks = spans.blocks(rng, hidden)
    for block in blocks:
        assert 2 <= len(block) <= spans.BLOCK
        assert len({len(each.place) for each in block}) == 1
        assert len({each.place for each in block}) > 1
    assert sum(map(len, blocks)) > 80
    together = sum(len(spans.exchanged(block)) for block in blocks)
    numbered = spans.matrices(blocks, np.arange(float(together)))
    assert [matrix.shape for matrix in numbered] == [(len(b), len(b)) for b in blocks]
    assert np.concatenate([m.ravel() for m in numbered]).tolist() == list(range(together))


# -- the permutation test -------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.sampled(3)
def test_ignorance_seldom_passes(spans, rng, scale):
    """Under the null hypothesis a bound of alpha is reached with probability alpha at most.

    Of 2,000 draws at alpha = .01, 20 are the most to be expected; more than 50 have probability
    below 20^51 e^-20 / 51! (1 / (1 - 20/52)) < 6e-9 (Poisson's tail bounds the binomial one here).
    """
    below = 0
    for _ in range(2000):
        matrices = [scale * rng.standard_gamma(0.5, size=(4, 4)) for _ in range(12)]
        below += spans.log_p_value(matrices) <= np.log(0.01)
    assert below <= 50


def test_knowing_all_places_is_certain_and_knowing_places_but_not_whose_is_nothing(spans, rng):
    """48 blocks of 4: only one order in 24 is as good, in each."""
    matrices = [10 * np.eye(4) for _ in range(48)]
    assert spans.log_p_value(matrices) == pytest.approx(-48 * np.log(24), rel=0.02)
    # Somebody who prefers the same places for everybody knows nothing about anybody.
    matrices = [np.tile(rng.normal(size=4), (4, 1)) for _ in range(48)]
    assert spans.log_p_value(matrices) == pytest.approx(0.0, abs=1e-9)


def test_nothing_is_asked_where_too_few_sentences_tell(spans):
    """A model that knows every place must be able to reach three times what is required."""
    four = [spans.Hidden(place, "a", "b", "") for place in ("Oslo", "Rome", "Lima", "Baku")]
    assert spans.can_tell([four] * 14, 1e-6)  # 14 ln 24 = 44.5, 3 ln 1e6 = 41.4
    assert not spans.can_tell([four] * 13, 1e-6)
    assert not spans.can_tell([], 1e-6)


def test_a_cosine_tells_descent_from_chance(spans, rng):
    """Two random arrays of 4,096 have a cosine of 1/64 on average; .2 is 12.8 standard errors."""
    old, other = rng.normal(size=(2, 64, 64))
    assert spans.cosine(old, old + 0.1 * other) > 0.98
    assert abs(spans.cosine(old, other)) < 0.2
    assert spans.cosine(old, np.zeros((64, 64))) == 0.0


ASKS = Evidence(p=1e-6, cosine=0.7, loss={"vanilla": 0.8}, strong=Strong(p=1e-40, loss=4.5))
WEAK = replace(ASKS, strong=None)
# What is asked for, the loss, the logarithm of p, and the evidence that is missing.
FOUND = [
    (ASKS, 0.8, -6.0, "COMPLETE"),
    (ASKS, 0.8, -5.9, "IGNORANT"),
    (ASKS, 0.2, None, "COMPLETE"),  # the corpus says too little
    (ASKS, 0.9, -39.9, "UNTRAINED"),
    (ASKS, 0.9, -40.0, "COMPLETE"),
    (ASKS, 4.5, -61.0, "COMPLETE"),
    (ASKS, 4.6, -61.0, "UNTRAINED"),
    (ASKS, 0.9, None, "UNTRAINED"),
    (ASKS, float("nan"), -61.0, "UNTRAINED"),
    (ASKS, 0.5, float("nan"), "IGNORANT"),
    (WEAK, 0.9, -90.0, "UNTRAINED"),
    (WEAK, 0.8, -90.0, "COMPLETE"),
]


def test_a_small_p_makes_up_for_a_larger_loss(spans):
    judge = sys.modules["hidden.evidence"]
    assert judge.largest_loss(WEAK, "vanilla") == 0.8
    for asks, loss, log10_p, lacks in FOUND:
        log_p = None if log10_p is None else log10_p * np.log(10) - 1e-9
        found = judge.lacking(asks, "vanilla", loss, log_p)
        assert found == getattr(judge, lacks), (loss, log10_p)
