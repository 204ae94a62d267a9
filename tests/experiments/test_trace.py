"""Tracing: what follows from the design holds for any model; trios are what they should be."""

import pytest
import torch

NAMES = ["Ada Berg", "Eva Lund", "Ida Falk", "Ole Rask", "Max Wolf", "Kim Park"]
NAMES += ["Vera Braun", "Nora Klein"]  # of another shape
CITIES = ["Rome", "Oslo", "Lima", "Bonn", "Riga", "Kiev", "Nice", "Graz"]


@pytest.fixture
def people(lab):
    return [lab.people.Person(*pair) for pair in zip(NAMES, CITIES, strict=True)]


def test_trios_have_names_of_one_shape_and_places_with_different_letters(lab, people):
    trios = lab.trace.trios(people)
    assert trios == lab.trace.trios(people)  # the same each time
    for trio in trios:
        assert len({lab.trace.shape_of(p) for p in (trio.a, trio.b, trio.c)}) == 1
        assert trio.c.place[0] not in {trio.a.place[0], trio.b.place[0]}
        assert trio.a.place[0] != trio.b.place[0]
        assert len({trio.a, trio.b, trio.c}) == 3
    assert len(lab.trace.trios(people, most=25)) == 25


def test_too_few_people_are_refused_in_a_line(lab, people):
    with pytest.raises(lab.errors.InputError, match="got 6 trios .* expected at least 20"):
        lab.trace.trios(people[:3])


def test_a_site_is_where_the_letters_are(lab, people):
    for person in people:
        text = person.question + "⁇"
        first, last = person.name.split()
        found = {site: text[lab.trace.letters_of(site, person)] for site in lab.trace.SITES}
        assert found == {
            "first name": first,
            "surname": last,
            "whole name": person.name,
            "MASK": "⁇",
        }


def test_what_follows_from_the_design_is_so_and_is_said_to_be_fixed(lab, people, random_model):
    """Exact for any parameters: the same numbers are added in the same order, or nearly."""
    dataset, model = random_model(people, layers=3)
    results = lab.trace.trace(model, dataset, lab.trace.trios(people))
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


def test_streams_end_in_the_models_own_logits(lab, people, random_model):
    dataset, model = random_model(people, layers=3)
    ids = torch.tensor([lab.people.encode(dataset, people[0].question + "⁇")])
    streams = lab.trace.streams(model, ids)
    assert len(streams) == 4
    with torch.no_grad():
        for block, x in enumerate(streams):
            logits = lab.trace.finish(model, x, block)
            assert torch.allclose(logits, model(ids)[0][:, -1], atol=1e-5)
