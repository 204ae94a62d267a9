"""Tracing: what follows from the design holds for any model; trios are what they should be."""

import pytest
import torch

FEW = [("Ada Berg", "Rome"), ("Eva Lund", "Oslo"), ("Ida Falk", "Rome")]


@pytest.fixture
def world(lab, source):
    """A corpus, and people with first names and surnames of two lengths."""
    names = ["Ada Berg", "Eva Lund", "Ida Falk", "Ole Rask", "Max Wolf", "Kim Park"]
    names += ["Vera Braun", "Nora Klein"]
    places = ["Rome", "Oslo", "Lima", "Bonn", "Riga", "Kiev", "Nice", "Graz"]
    people = [lab.people.Person(*pair) for pair in zip(names, places, strict=True)]
    text = "\n".join(f"{p.question} {p.place}." for p in people)
    return source.dataset.CharCorruptionDataset(text, 48), people


@pytest.fixture
def model(source, world):
    torch.manual_seed(0)
    fields = {"n_layer": 3, "n_head": 2, "n_embd": 16, "block_size": 48}
    quiet = {"embd_pdrop": 0.0, "resid_pdrop": 0.0, "attn_pdrop": 0.0}
    config = source.model.GPTConfig(world[0].vocab_size, **fields, **quiet)
    model = source.model.GPT(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return model.eval()


def test_trios_have_names_of_one_shape_and_places_with_different_letters(lab, world):
    trios = lab.trace.trios(world[1])
    assert trios == lab.trace.trios(world[1])  # the same each time
    for trio in trios:
        assert len({lab.trace.shape_of(p) for p in (trio.a, trio.b, trio.c)}) == 1
        assert trio.c.place[0] not in {trio.a.place[0], trio.b.place[0]}
        assert trio.a.place[0] != trio.b.place[0]
        assert len({trio.a, trio.b, trio.c}) == 3
    assert len(lab.trace.trios(world[1], most=25)) == 25


def test_too_few_people_are_refused_in_a_line(lab, source, world):
    with pytest.raises(source.errors.InputError, match="got 0 trios .* expected at least 20"):
        lab.trace.trios([lab.people.Person(n, p) for n, p in FEW])


def test_a_site_is_where_the_letters_are(lab, world):
    for person in world[1]:
        text = person.question + "⁇"
        first, last = person.name.split()
        found = {site: text[lab.trace.letters_of(site, person)] for site in lab.trace.SITES}
        assert found == {
            "first name": first,
            "surname": last,
            "whole name": person.name,
            "MASK": "⁇",
        }


def test_what_follows_from_the_design_is_so_and_is_said_to_be_fixed(lab, world, model):
    """Exact for any parameters: the same numbers are added in the same order, or nearly."""
    results = lab.trace.trace(model, world[0], lab.trace.trios(world[1]))
    share = {(one.block, one.site): one.share.value for one in results}
    assert share[0, "MASK"] == 0
    assert share[0, "whole name"] == pytest.approx(1, abs=1e-5)
    assert share[3, "MASK"] == pytest.approx(1, abs=1e-5)
    assert share[3, "first name"] == share[3, "surname"] == share[3, "whole name"] == 0
    fixed = {(one.block, one.site) for one in results if one.is_fixed}
    expected = {(0, "MASK"), (0, "whole name"), *((3, site) for site in lab.trace.SITES)}
    assert fixed == expected
    free = [value for key, value in share.items() if key not in fixed]
    assert len(free) == 10 and all(0 != value != 1 for value in free)


def test_streams_end_in_the_models_own_logits(lab, world, model):
    ids = torch.tensor([lab.people.encode(world[0], world[1][0].question + "⁇")])
    streams = lab.trace.streams(model, ids)
    assert len(streams) == 4
    with torch.no_grad():
        for block, x in enumerate(streams):
            logits = lab.trace.finish(model, x, block)
            assert torch.allclose(logits, model(ids)[0][:, -1], atol=1e-5)
