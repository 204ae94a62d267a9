"""Ablations: exactly one part changes, and right answers are those that decoding would write."""

import pytest
import torch

PLACES = {"Ada Berg": "Rome", "Eva Lundqvist": "Oslo", "Bo Falk": "Lima"}


@pytest.fixture
def people(lab):
    return [lab.people.Person(*pair) for pair in PLACES.items()]


@pytest.fixture
def dataset(source, people):
    text = "\n".join(f"{p.question} {p.place}." for p in people)
    return source.dataset.CharCorruptionDataset(text, 64)


@pytest.fixture
def model(source, dataset):
    torch.manual_seed(1)
    fields = {"n_layer": 2, "n_head": 2, "n_embd": 16, "block_size": 64}
    quiet = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    model = source.model.GPT(source.model.GPTConfig(dataset.vocab_size, **fields, **quiet))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model.eval()


@pytest.fixture
def questions(lab, dataset, people):
    return lab.ablate.Questions(dataset, people, torch.device("cpu"))


def test_each_character_has_a_slot(lab):
    slots = lab.ablate.slots_of(lab.people.Person("Bo Falk", "Rom"))
    text = "Where was Bo Falk born?⁇Rom⁇"
    assert len(slots) == len(text)
    pairs = list(zip(text, slots, strict=True))
    assert [c for c, slot in pairs if slot == "first name"] == list("Bo")
    assert [c for c, slot in pairs if slot == "surname"] == list("Falk")
    assert [c for c, slot in pairs if slot == "MASK"] == ["⁇"]
    assert [(c, s) for c, s in pairs if s.startswith("answer")] == [
        ("R", "answer 0"),
        ("o", "answer 1"),
        ("m", "answer 2"),
        ("⁇", "answer 3"),
    ]


def test_an_answer_is_right_if_the_model_would_write_it(lab, source, dataset, people, model):
    """Over places that it writes, and places that differ in the last letter."""
    written = source.utils.predict_places(model, dataset, [p.question for p in people])
    known = [p.place for p in written]
    said = [lab.people.Person(p.name, place[:31]) for p, place in zip(people, known, strict=True)]
    questions = lab.ablate.Questions(dataset, said, torch.device("cpu"))
    right = lab.ablate.answers(model, questions).right.tolist()
    # An answer of 32 letters is cut off by decoding, so it need not end with a MASK here.
    assert right == [len(place) < 32 for place in known]


def test_without_a_head_the_rows_of_proj_that_read_it_do_nothing(lab, model, questions):
    part = lab.ablate.Part("head", 2, 1)
    with lab.ablate.changed(model, part, torch.zeros_like), torch.no_grad():
        found = model(questions.ids)[0]
    with torch.no_grad():
        model.blocks[1].attn.proj.weight[:, :8] = 0
        assert torch.allclose(found, model(questions.ids)[0], atol=1e-6)


def test_without_attention_or_mlp_the_stream_passes_by(lab, model, questions):
    for kind, module in (("attention", "attn"), ("MLP", "mlp")):
        with lab.ablate.changed(model, lab.ablate.Part(kind, 1), torch.zeros_like):
            with torch.no_grad():
                x = lab.trace.streams(model, questions.ids)
        block = model.blocks[0]
        with torch.no_grad():
            other = (
                block.mlp(block.ln2(x[0])) if kind == "attention" else block.attn(block.ln1(x[0]))
            )
            assert torch.allclose(x[1], x[0] + other, atol=1e-5), module


def test_nothing_is_changed_afterwards(lab, model, questions):
    with torch.no_grad():
        before = model(questions.ids)[0]
        list(lab.ablate.ablate(model, questions))
        assert torch.equal(before, model(questions.ids)[0])


def test_replacements_are_means_over_people_or_over_slots(lab, questions):
    torch.manual_seed(0)
    output, real = torch.randn(*questions.ids.shape, 4), questions.ids != 0
    found = lab.ablate.replacements(output, questions.slots, real)
    assert not found["zero"].any()
    assert torch.allclose(found["mean"][1, 3], output[real].mean(dim=0), atol=1e-6)
    names = lab.ablate.slots_of(lab.people.Person("Bo Falk", "Lima"))
    at = names.index("first name")  # in the third question; the names have 3, 3 and 2 letters
    start = len("Where was ")
    letters = torch.cat([output[0, start : start + 3], output[1, start : start + 3]])
    letters = torch.cat([letters, output[2, start : start + 2]])
    assert torch.allclose(found["slot"][2, at], letters.mean(dim=0), atol=1e-6)
    first = torch.stack([output[i, len(q)] for i, q in enumerate(asked())])
    assert torch.allclose(found["slot"][0, len(asked()[0])], first.mean(dim=0), atol=1e-6)


def asked():
    return [f"Where was {name} born?" for name in PLACES]


def test_the_worst_head_is_chosen_by_one_half_and_judged_by_the_other(lab):
    """Head 1 harms the people of the first half most, head 2 those of the other half."""
    zero = torch.zeros(4, dtype=torch.float64)
    whole = lab.ablate.Answers(zero.bool(), zero)

    def without(head, nats):
        answers = lab.ablate.Answers(zero.bool(), torch.tensor(nats, dtype=torch.float64))
        return lab.ablate.Ablated(lab.ablate.Part("head", 1, head), {"slot": answers})

    results = [without(1, [3.0, 1.0, 3.0, 0.0]), without(2, [0.0, 2.0, 0.0, 2.0])]
    first, second = lab.ablate.worst_head(results, whole)
    assert (first.part.head, first.harm.value, first.lead.value) == (1, 0.5, -1.5)
    assert (second.part.head, second.harm.value, second.lead.value) == (2, 0.0, -3.0)
