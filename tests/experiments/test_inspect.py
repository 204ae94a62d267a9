"""`inspect`: what it finds is what labels say, and its page computes the same, for everybody."""

import contextlib
import copy
import dataclasses
import math
import re

import pytest
import torch

from tests import accessible
from tests.laid_out import make_model
from tests.snapshots import check

BOTH = pytest.mark.parametrize("variant", ["vanilla", "synthesizer"])


@pytest.fixture(scope="module")
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


# -- in a browser ----------------------------------------------------------------------------------

TOLERANCE = 1e-3  # of logits, for which 1e-2 is promised
DIFFERENT = 0.1  # logits that differ by more are of another computation
in_a_browser = pytest.mark.requires_tool("chromium")


def halves(x, rope_cache):
    """Rotate the pairs k and k + hs/2, as students may."""
    cos, sin = rope_cache[: x.size(-2)].to(x.dtype).unbind(dim=-1)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


@pytest.fixture(scope="module")
def models(lab, load):
    """Models by name: trained ones, and one with RoPE and parameters that are large."""
    dataset, vanilla = load()
    torch.manual_seed(5)
    fields = {"vocab_size": dataset.vocab_size, "block_size": vanilla.get_block_size()}
    rope = make_model(lab, "rope", n_head=2, n_embd=32, **fields)
    for parameter in rope.parameters():
        parameter.data *= 0.6  # the larger they are, the more rounding moves the logits
    return {"vanilla": vanilla, "synthesizer": load("synthesizer")[1], "rope": rope}


@pytest.fixture(scope="module")
def dataset(load):
    return load()[0]


@pytest.fixture(scope="module")
def write(lab, dataset, recorded, question, tmp_path_factory):
    """write(models): the page about models, which were asked a question."""

    def write(models, asked=question):
        folder = tmp_path_factory.mktemp("pages")
        places = sorted(set(recorded.values()))
        look = lab.inspection.look_inside
        pairs = [(look(n, m, dataset, asked, places), m) for n, m in models.items()]
        text = lab.inspection.page(pairs, dataset, recorded, "inspect.params.js")
        (folder / "inspect.html").write_text(text, encoding="utf-8")
        parameters = lab.inspection.parameters(list(models.values()))
        (folder / "inspect.params.js").write_text(parameters, encoding="utf-8")
        return folder / "inspect.html"

    return write


@pytest.fixture(scope="module")
def written(write, models):
    """The page about all models."""
    return write(models)


@pytest.fixture(scope="module")
def browser():
    with accessible.browser() as launched:
        yield launched


@pytest.fixture
def opened(browser):
    """opened(path, ...): a page in the browser; its errors fail the test, and so does a network."""
    pages = []

    def opened(path, *options):
        pages.append(accessible.opened(browser, path, *options))
        return pages[-1]

    yield opened
    assert [page.acts for page in pages if page.acts] == []


@in_a_browser
def test_what_models_and_people_write_is_escaped(lab, models, dataset, opened, tmp_path):
    nasty = "<img src=x onerror=alert(1)></script><script>alert('&\"')</script>"
    model = models["vanilla"]
    found = lab.inspection.look_inside("", model, dataset, "Where?", ["London"])
    layers = [dataclasses.replace(layer, note=nasty) for layer in found.layers[:1]]
    characters, places = [nasty] * len(found.characters), [(nasty, 0.5)]
    changed = {"characters": characters, "places": places, "layers": layers}
    found = dataclasses.replace(found, name=nasty, question=nasty, **changed)
    page = lab.inspection.page([(found, model)], dataset, {nasty: nasty}, "missing.js")
    (tmp_path / "inspect.html").write_text(page, encoding="utf-8")
    shown = opened(tmp_path / "inspect.html")
    assert shown.locator("h1").inner_text() == nasty
    for table in (".places", ".steps"):
        assert shown.locator(f"{table} tbody th").first.inner_text().replace("␣", " ") == nasty
    assert shown.locator(".note").inner_text() == nasty
    assert shown.locator("img").count() == 0 and shown.locator("script").count() == 3


def by_torch(lab, model, dataset, texts, off=()):
    """The logits after each character of texts, with heads (layer, head) switched off.

    The parameters are in half precision, as in the page.
    """
    model = copy.deepcopy(model)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            parameter.data = parameter.data.half().float()
    parts = [lab.ablate.Part("head", layer + 1, head + 1) for layer, head in off]
    with contextlib.ExitStack() as changes, torch.no_grad():
        for part in parts:
            changes.enter_context(lab.ablate.changed(model, part, torch.zeros_like))
        ids = [torch.tensor([lab.people.encode(dataset, text)]) for text in texts]
        return [model(each)[0][0] for each in ids]


def visible(text):
    return text.replace(" ", "␣").replace("\n", "↵")


def percent(cell):
    return float(cell.inner_text().strip("< %")) / 100


def in_the_page(shown, number, texts, off=()):
    """The same, computed by the page."""
    script = """([number, texts, off]) => {
        const model = new Model(parameters[number]);
        model.off = new Set(off);
        return texts.map((text) => model.logits(text).map((row) => [...row]));
    }"""
    return shown.evaluate(script, [number, texts, [f"{layer},{head}" for layer, head in off]])


@in_a_browser
def test_logits_are_torchs(lab, written, models, dataset, recorded, opened):
    """With all heads and without some, when they really differ."""
    shown = opened(written)
    texts = [f"{question}{dataset.MASK_CHAR}Oslo" for question in recorded][:2]
    for number, model in enumerate(models.values()):
        whole = by_torch(lab, model, dataset, texts)
        for off in ([], [(0, 1)], [(0, 0), (1, 1)]):
            expected = by_torch(lab, model, dataset, texts, off)
            for one, other in zip(in_the_page(shown, number, texts, off), expected, strict=True):
                torch.testing.assert_close(torch.tensor(one), other, atol=TOLERANCE, rtol=0)
            apart = max((a - b).abs().max() for a, b in zip(whole, expected, strict=True))
            assert (apart > DIFFERENT) == bool(off)


@in_a_browser
def test_rope_may_pair_the_halves_of_a_head(
    lab, write, models, dataset, recorded, opened, monkeypatch
):
    texts = list(recorded)[:5]
    neighbours = by_torch(lab, models["rope"], dataset, texts)
    monkeypatch.setattr(lab.attention, "apply_rotary_emb", halves)
    expected = by_torch(lab, models["rope"], dataset, texts)
    assert (neighbours[0] - expected[0]).abs().max() > DIFFERENT
    shown = opened(write({"rope": models["rope"]}))
    for one, other in zip(in_the_page(shown, 0, texts), expected, strict=True):
        torch.testing.assert_close(torch.tensor(one), other, atol=DIFFERENT / 2, rtol=0)
    assert shown.locator("form").is_visible()


@in_a_browser
def test_a_question_is_answered_as_by_torch(lab, written, models, dataset, recorded, opened):
    """Typed and sent by keyboard; both models answer."""
    question, place = list(recorded.items())[7]
    shown = opened(written)
    field = shown.get_by_label("Question")
    field.fill(question)
    shown.keyboard.press("Enter")
    assert shown.locator("h1").inner_text() == question
    assert shown.locator("#place").inner_text() == f"say {place}"
    places = sorted(set(recorded.values()))
    for number, model in enumerate(models.values()):
        expected = lab.inspection.look_inside("", model, dataset, question, places)
        section = shown.locator(f"#model{number}")
        assert section.locator(".answer").inner_text() == (visible(expected.answer) or "(nothing)")
        assert section.locator(".endless").is_visible() == (len(expected.answer) == 32)
        assert section.locator(".steps tbody tr").count() == min(len(expected.answer) + 1, 32)
        shares = {"probability": expected.probability, "known": sum(p for _, p in expected.places)}
        for name, chance in shares.items():
            assert percent(section.locator(f".{name}")) == pytest.approx(chance, rel=0.05, abs=2e-3)
        likely = [(name, chance) for name, chance in expected.places[:5] if chance > 2e-3]
        rows = section.locator(".places tbody tr").all()
        for (name, chance), row in zip(likely, rows, strict=False):
            assert row.locator("th").inner_text() == name
            assert percent(row.locator("td")) == pytest.approx(chance, rel=0.05, abs=1e-3)
        assert len(likely) <= len(rows) <= 5
        others = expected.logits[expected.prompt - 1].argsort(descending=True)[1:4].tolist()
        parts = [f"{re.escape(visible(dataset.itos[i]))} (< )?\\d+\\.\\d %" for i in others]
        beside = section.locator(".steps tbody td").nth(1).inner_text()
        assert re.fullmatch(", ".join(parts), beside)
    field.fill("Where was Ωmsk born?")  # which no model can read
    shown.keyboard.press("Enter")
    assert shown.locator("h1").inner_text() == question
    assert field.evaluate("field => field.validity.patternMismatch")
    longest = int(field.get_attribute("maxlength"))
    assert longest == models["vanilla"].get_block_size() - 33  # for the MASK and an answer


@in_a_browser
def test_a_head_is_switched_off_by_keyboard_and_by_click(
    lab, write, models, dataset, opened, question
):
    shown = opened(write({"vanilla": models["vanilla"]}))
    shown.get_by_role("button", name="Ask").click()  # in half precision from now on
    box, steps = shown.get_by_label("Head 1 of layer 1"), shown.locator(".steps")
    before = steps.inner_text()
    box.focus()
    shown.keyboard.press("Space")
    assert box.evaluate("box => box === document.activeElement")  # nothing took the focus
    assert steps.inner_text() != before
    asked = [question + dataset.MASK_CHAR]
    logits = by_torch(lab, models["vanilla"], dataset, asked, [(0, 0)])[0][-1]
    likeliest = float(torch.softmax(logits, -1).max())
    first = shown.locator(".steps td.number").first
    assert percent(first) == pytest.approx(likeliest, abs=3e-3)
    assert "Layer 1, head 1 (off)" in shown.locator(".roles th").all_inner_texts()
    box.click()
    assert steps.inner_text() == before


@in_a_browser
def test_a_table_and_marks_in_each_map_say_where_heads_look(lab, write, models, dataset, opened):
    """The table is as that of `ablate`, which has the mean of several people.

    A picture's pixels are as opaque as the square roots of its weights.
    """
    person = lab.people.Person("Nora Nara", "Oslo")
    expected = lab.ablate.roles(models["vanilla"], dataset, [person])
    shown = opened(write({"vanilla": models["vanilla"]}, person.question))
    heads = shown.locator(".roles thead th").all_inner_texts()
    assert heads == ["Head", *lab.ablate.ROLES, "largest"]
    rows = shown.locator(".roles tbody tr").all()
    assert len(rows) == len(expected) == 4
    for row, (part, weights) in zip(rows, expected.items(), strict=True):
        assert row.locator("th").inner_text() == f"Layer {part.block}, head {part.head}"
        for cell, weight in zip(row.locator("td.number").all(), weights[0].tolist(), strict=True):
            assert percent(cell) == pytest.approx(weight, abs=3e-3)
    T = len("Where was Nora Nara born?⁇") + len(shown.evaluate("page.models[0].answer"))
    for drawn in shown.locator(".head svg").all():
        name, mask = (drawn.locator(f"rect.{kind}") for kind in ("name", "mask"))
        numbers = [name.get_attribute(each) for each in ("x", "width", "height")]
        assert list(map(int, numbers)) == [len("Where was "), len("Nora Nara"), T]
        assert [mask.get_attribute(each) for each in ("y", "width")] == ["25", str(T)]
        assert drawn.locator("text").count() == 2 * T
    shown.get_by_label("Question").fill("Who?")
    shown.keyboard.press("Enter")
    assert shown.locator("rect.name").first.get_attribute("width") == "0"
    found = shown.evaluate("""async () => {
        const svg = document.querySelector(".head svg");
        const run = { question: "", characters: ["a", "b"], prompt: 1 };
        drawMap(svg, [[1], [0.25, 0.75]], run);
        const image = Object.assign(new Image(), { src: svg.querySelector(".map").href.baseVal });
        await image.decode();
        const context = document.createElement("canvas").getContext("2d");
        context.drawImage(image, 0, 0);
        return [...context.getImageData(0, 0, 2, 2).data].filter((_, i) => i % 4 === 3);
    }""")
    assert found == pytest.approx([255, 0, 127.5, 220.8], abs=1)


@in_a_browser
def test_without_its_parameters_or_with_other_code_the_page_shows_one_question(
    lab, write, models, opened, monkeypatch
):
    """With a forward of one's own, the page would show what the code doesn't compute."""
    attention = lab.attention.SynthesizerAttention
    forward = attention.forward
    for reason in ("absent", "different"):
        path = write({"synthesizer": models["synthesizer"]})
        if reason == "absent":
            path.with_name("inspect.params.js").unlink()
        shown = opened(path)
        assert shown.locator("form").is_hidden()
        said = {kind: shown.locator(f".{kind}").is_visible() for kind in ("absent", "different")}
        assert said == {"absent": reason == "absent", "different": reason == "different"}
        assert shown.locator(".head input").first.is_disabled()
        assert shown.locator(".head svg image").count() == 2 * 2
        monkeypatch.setattr(attention, "forward", lambda self, x: 2 * forward(self, x))


@pytest.mark.long
@in_a_browser
@pytest.mark.parametrize("scheme, width", accessible.WINDOWS)
def test_axe_finds_no_fault_with_the_page(written, opened, scheme, width):
    """With small and large maps, and a head switched off."""
    shown = opened(written, scheme, width)
    shown.get_by_label("Head 1 of layer 1").first.click()
    for large in (False, True):
        for box in shown.get_by_label("Large maps").all():
            box.set_checked(large)
        accessible.check(shown)
