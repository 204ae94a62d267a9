"""Ablations: exactly one part changes, and right answers are those that decoding would write."""

import pytest
import torch

PLACES = {"Ada Berg": "Rome", "Eva Lundqvist": "Oslo", "Bo Falk": "Lima"}


@pytest.fixture
def people(lab):
    return [lab.people.Person(*pair) for pair in PLACES.items()]


@pytest.fixture
def made(random_model, people):
    return random_model(people, layers=2)


@pytest.fixture
def questions(lab, made, people):
    return lab.ablate.Questions(made[0], people, torch.device("cpu"))


def test_an_answer_is_right_if_the_model_would_write_it(lab, made, people):
    dataset, model = made
    written = lab.utils.predict_places(model, dataset, [p.question for p in people])
    said = [lab.people.Person(p.name, w.place[:31]) for p, w in zip(people, written, strict=True)]
    questions = lab.ablate.Questions(dataset, said, torch.device("cpu"))
    right = lab.ablate.answers(model, questions).right.tolist()
    # An answer of 32 letters is cut off by decoding, so it need not end with a MASK here.
    assert right == [len(w.place) < 32 for w in written]
    asked = zip(questions.ids[:, 1:], questions.asked, strict=True)
    letters = ["".join(dataset.itos[i] for i in ids[own].tolist()) for ids, own in asked]
    assert letters == [f"{person.place}⁇" for person in said]


def test_a_part_that_is_zero_does_nothing_and_the_stream_passes_by(lab, made, questions):
    _, model = made
    block = model.blocks[0]

    def streams(kind, number, head=0):
        part = lab.ablate.Part(kind, number, head)
        with lab.ablate.changed(model, part, torch.zeros_like), torch.no_grad():
            return lab.trace.streams(model, questions.ids)

    with torch.no_grad():
        before = model(questions.ids)[0]
        x = streams("attention", 1)
        assert torch.allclose(x[1], x[0] + block.mlp(block.ln2(x[0])), atol=1e-5)
        x = streams("MLP", 1)
        assert torch.allclose(x[1], x[0] + block.attn(block.ln1(x[0])), atol=1e-5)
        x = streams("head", 2, 2)
        results = lab.ablate.ablate(model, questions)
        assert torch.equal(before, model(questions.ids)[0])  # nothing stays changed
        model.blocks[1].attn.proj.weight[:, 8:] = 0  # the columns of proj that read it
        assert torch.allclose(x[2], lab.trace.streams(model, questions.ids)[2], atol=1e-6)
    part = lab.ablate.Part("head", 2, 2)
    nats = {kind: each.nats.tolist() for kind, each in results[part].items()}
    assert nats["zero"] == pytest.approx(lab.ablate.answers(model, questions).nats.tolist())
    assert len(set(map(tuple, nats.values()))) == 3
    model.blocks[0].attn.forward = lambda x: x
    with pytest.raises(lab.pretraining.InputError, match="block 1 head 1 is computed 0 times"):
        lab.ablate.ablate(model, questions)


def test_replacements_are_means_over_people_or_over_slots(lab, questions):
    torch.manual_seed(0)
    output, real = torch.randn(*questions.ids.shape, 4), questions.ids != 0
    got = {kind: lab.ablate.replacement(output, questions, kind) for kind in lab.ablate.KINDS}
    assert not got["zero"].any()
    assert torch.allclose(got["mean"][1, 3], output[real].mean(dim=0), atol=1e-6)
    start, lengths = len("Where was "), (3, 3, 2)  # of the first names
    letters = [output[i, start : start + length] for i, length in enumerate(lengths)]
    assert torch.allclose(got["slot"][2, start], torch.cat(letters).mean(dim=0), atol=1e-6)
    masks = [len(f"Where was {name} born?") for name in PLACES]
    first = torch.stack([output[i, mask] for i, mask in enumerate(masks)])
    assert torch.allclose(got["slot"][0, masks[0]], first.mean(dim=0), atol=1e-6)


def test_the_worst_head_is_chosen_by_one_half_and_judged_by_the_other(lab):
    """Head 1 harms the people of the first half most, head 2 those of the other half."""
    zero = torch.zeros(4, dtype=torch.float64)
    harms = {1: [3.0, 1.0, 3.0, 0.0], 2: [0.0, 2.0, 0.0, 2.0]}
    results = {
        lab.ablate.Part("head", 1, head): {
            "slot": lab.ablate.Answers(zero.bool(), torch.tensor(nats, dtype=torch.float64))
        }
        for head, nats in harms.items()
    }
    first, second = lab.ablate.worst_heads(results, lab.ablate.Answers(zero.bool(), zero))
    assert (first.part.head, first.harm.value, first.lead.value) == (1, 0.5, -1.5)
    assert (second.part.head, second.harm.value, second.lead.value) == (2, 0.0, -3.0)
