"""The induction laboratory: its inputs, the cut, and that two layers grow a circuit."""

import pytest
import torch


@pytest.fixture
def build(source, lab):
    def build(heads):
        shape = {"vocab_size": 1, "n_layer": 1, "n_head": heads}
        config = source.model.GPTConfig(**shape, **lab.induction.SHAPE, **lab.induction.DROPOUT)
        return source.inputs.build_model("vanilla", config, torch.device("cpu")).blocks[0].attn

    return build


@pytest.mark.parametrize(("digits", "count"), [("repeated", 24_576), ("permutation", 2_304)])
def test_every_input_stands_once_with_the_digit_behind_the_letter(lab, digits, count):
    inputs = lab.induction.all_inputs(digits)
    rows = inputs.tokens.tolist()
    assert len({tuple(row) for row in rows}) == len(rows) == count
    for row, answer in zip(rows, inputs.answers.tolist(), strict=True):
        pairs = dict(zip(row[0:-1:2], row[1:-1:2], strict=True))
        assert sorted(pairs) == [0, 1, 2, 3] and pairs[row[-1]] == 4 + answer
        assert digits == "repeated" or sorted(pairs.values()) == [4, 5, 6, 7]
    at = lab.induction.answers_position(inputs.tokens)
    assert torch.equal(inputs.tokens[torch.arange(count), at] - 4, inputs.answers)


def test_counting_digits_alone_is_right_in_17_of_32(lab):
    inputs = lab.induction.all_inputs()
    digits = inputs.tokens[:, 1:-1:2] - 4
    counts = torch.stack([(digits == d).sum(dim=1) for d in range(4)], dim=1)
    share = (counts.max(dim=1).values / 4).mean()  # of guesses among the commonest
    assert float(share) == 17 / 32


def test_a_fifth_is_held_out(lab):
    trained, held_out = lab.induction.split(lab.induction.all_inputs("permutation"), seed=4)
    assert len(held_out.answers) == 2_304 // 5
    both = {tuple(r) for r in trained.tokens.tolist()}, {tuple(r) for r in held_out.tokens.tolist()}
    assert not both[0] & both[1] and len(both[0]) + len(both[1]) == 2_304


def test_what_is_cut_cannot_be_seen_and_the_rest_can(lab, build):
    torch.manual_seed(0)
    model = lab.induction.InductionModel([build(2), build(2)])
    inputs = lab.induction.all_inputs("permutation").rows(torch.arange(50))
    at = lab.induction.answers_position(inputs.tokens)
    with lab.induction.without_the_answers_digit(model, inputs):
        last = model.layers[-1].attn_drop(torch.ones(50, 2, 9, 9) / 9)
        assert not last[torch.arange(50), :, -1, at].any()
        assert torch.allclose(last[:, :, -1].sum(dim=-1), torch.ones(50, 2))
        assert torch.allclose(last[:, :, :-1], torch.tensor(1 / 9))


def test_two_layers_grow_a_circuit(lab, source, build):
    # Seeded: with each seed tried, two layers were always right after 100 steps.
    scores = source.induction_scores
    two = lab.induction.grow(build, scores, layers=2, heads=1, digits="repeated", seed=0)
    assert two.held_out > 0.99 and two.cut < 0.5
    assert two.previous > 0.9 and two.induction > 0.9
    text = "\n".join(lab.induction.lines([two]))
    assert text.splitlines()[1].split()[:2] == ["2", "1"]
