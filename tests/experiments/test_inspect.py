"""Looking inside: probabilities, places and attention maps are what their labels say."""

import math

import pytest
import torch

from tests.snapshots import check

BOTH = pytest.mark.parametrize("variant", ["vanilla", "synthesizer"])


@pytest.fixture
def question(recorded):
    """The first of dev."""
    return next(iter(recorded))


@BOTH
def test_the_answer_is_the_one_that_evaluate_gives(lab, load, question, variant):
    dataset, model = load(variant)
    found = lab.inspection.look_inside("it", model, dataset, question, ["London"])
    (prediction,) = lab.utils.predict_places(model, dataset, [question])
    assert found.answer == prediction.place
    assert found.probability == pytest.approx(prediction.probability, rel=1e-4)
    assert "".join(found.characters) == f"{question}⁇{found.answer}"
    assert found.characters[found.prompt - 1] == "⁇"
    chances = found.logits.softmax(dim=-1)[found.prompt - 1 :][:32]
    written = "".join(dataset.itos[i] for i in chances.argmax(dim=-1).tolist())
    assert written == f"{found.answer}⁇"[:32]
    product = float(chances.max(dim=-1).values.prod())
    assert product == pytest.approx(found.probability, rel=1e-4)


def test_an_answer_may_have_no_end(lab, load, question):
    dataset, model = load()
    mask = torch.tensor(dataset.stoi[dataset.MASK_CHAR])
    model.head.register_forward_hook(lambda m, i, out: out.index_fill(-1, mask, -1e4))
    found = lab.inspection.look_inside("it", model, dataset, question, ["London"])
    assert len(found.answer) == 32 and len(found.logits) == len(found.characters)


def test_places_that_can_be_written_are_ranked_by_the_probability_of_writing_them(
    lab, load, question
):
    """That of a filling, with the MASK that ends it."""
    dataset, model = load()
    places = [p for p in ("London", "Lima", "Oslo", "Rome") if set(p) <= set(dataset.stoi)]
    prompt = lab.people.encode(dataset, question + "⁇")
    long = "a" * (model.get_block_size() - len(prompt) + 1)
    ranked = lab.inspection.ranked_places(model, dataset, prompt, [*places, "Ωmsk", long])
    (logp,) = lab.gaps.fillings(model, dataset, [(question, [f"{p}⁇" for p in places])])
    expected = {place: math.exp(each) for place, each in zip(places, logp, strict=True)}
    assert len(places) >= 3 and dict(ranked) == pytest.approx(expected, rel=1e-4)
    assert ranked == sorted(ranked, key=lambda pair: -pair[1])
    assert len(lab.inspection.ranked_places(model, dataset, prompt, [long[1:]])) == 1
    found = lab.inspection.look_inside("it", model, dataset, question, ["Ωmsk"])
    page = lab.inspection.page([(found, model)], dataset, {question: "Ωmsk"}, "inspect.params.js")
    assert "have no place that" in page


@BOTH
def test_maps_are_the_attentions_weights(lab, load, variant):
    """With them and the values, the rest of the attention gives what it computes by itself."""
    dataset, model = load(variant)
    ids = [dataset.stoi[c] for c in "Born in L"]
    layers = lab.inspection.attention_of(model, ids)
    assert len(layers) == len(model.blocks) == 2
    *streams, _ = lab.trace.streams(model, torch.tensor([ids]))
    for block, layer, stream in zip(model.blocks, layers, streams, strict=True):
        attn = block.attn
        with torch.no_grad():
            x = block.ln1(stream)
            v = attn.value(x[0]).unflatten(1, (attn.n_head, -1)).transpose(0, 1)  # (nh, T, hs)
            y = attn.proj((layer.weights @ v).transpose(0, 1).flatten(1))
            torch.testing.assert_close(y, attn(x)[0], atol=1e-5, rtol=1e-4)
        assert layer.note == "" and not attn.attn_drop._forward_hooks


T = 5
EVEN = torch.tril(torch.ones(1, 2, T, T)) / torch.arange(1, T + 1)[:, None]
BAD = {
    "no call": [],
    "two calls": [EVEN, EVEN],
    "no tensor": [(EVEN,)],
    "other heads": [EVEN[:, :1]],
    "scores": [EVEN * 2],
    "nan": [EVEN * math.nan],
}


def test_what_is_no_weights_is_not_drawn_and_the_page_says_why(lab):
    found = {}
    for title, passed in BAD.items():
        layer = lab.inspection.read_weights(passed, 2, T)
        found[title] = layer.note
        assert layer.weights is None and layer.note
    no_mask = lab.inspection.read_weights([torch.full((1, 2, T, T), 1 / T)], 2, T)
    assert no_mask.weights is not None
    assert lab.inspection.read_weights([EVEN.half()], 2, T).note == ""
    check("inspect_notes", found | {"no causal mask": no_mask.note})


OPTIONS = "--recipe smoke --device cpu --outputs_path page.html"
SECOND = "--second_variant synthesizer --second_params_path"


def test_the_command_writes_a_page_about_two_models(run, trained, tmp_path, recorded, question):
    vanilla, synthesizer = (trained / f"{v}.finetune.params" for v in ("vanilla", "synthesizer"))
    inspect = f"inspect vanilla wiki.txt {OPTIONS} --reading_params_path {vanilla}"
    code, output, _ = run(f"{inspect} {SECOND} {synthesizer}")
    assert code == 0
    assert output.count("probability") == 2
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f"<h1>{question}</h1>" in page and f">say {recorded[question]}</span>." in page
    assert page.count("<h2") == 2 and page.count('<div class="head">') == 2 * 2 * 2  # layers, heads
    parameters = (tmp_path / "page.params.js").read_text(encoding="utf-8")
    assert parameters.count('"tok_emb.weight"') == 2 and '<script src="page.params.js">' in page
    assert "Don't post them." in parameters.splitlines()[0] and "don't post it" in page
    assert "page.params.js for it, which holds your parameters: don't post that file." in output
    # A question of one's own is asked of one model.
    code, _, errors = run(f'{inspect} --question "Where was Nora Nara born?"')
    assert code == 0, errors
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Nora Nara born?</h1>" in page and "contain this question</span>" in page
