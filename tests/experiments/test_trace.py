"""Tracing: what follows from the design holds for any model; trios are what they should be."""

import pytest

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
        assert len({p.shape for p in (trio.a, trio.b, trio.c)}) == 1
        assert trio.c.place[0] not in {trio.a.place[0], trio.b.place[0]}
        assert trio.a.place[0] != trio.b.place[0]
        assert len({trio.a, trio.b, trio.c}) == 3
    with pytest.raises(lab.pretraining.InputError, match="got 6 trios .* expected at least 20"):
        lab.trace.trios(people[:3])


def test_each_character_has_a_slot_and_a_site_is_where_its_slots_are(lab):
    for name, place in (("Bo Falk", "Rom"), ("Ada von Berg", "Rio")):
        person, text = lab.people.Person(name, place), f"Where was {name} born?⁇{place}⁇"
        pairs = list(zip(text, person.slots, strict=True))
        answer = [(c, slot) for c, slot in pairs if slot.startswith("answer")]
        assert answer == [(c, f"answer {number}") for number, c in enumerate(f"{place}⁇")]
        others = [slot for _, slot in pairs if slot.startswith(("where", "born"))]
        assert len(others) == len(set(others)) == len("Where was  born?")
        first, _, rest = name.partition(" ")
        found = {
            site: "".join(text[i] for i in person.positions(*slots))
            for site, slots in lab.trace.SITES.items()
        }
        assert found == {"first name": first, "surname": rest, "whole name": name, "MASK": "⁇"}


def test_what_follows_from_the_design_is_so_and_is_said_to_be_fixed(lab, people, random_model):
    """Exact for any parameters: the same numbers are added in the same order, or nearly."""
    dataset, model = random_model(people, layers=3)
    results = lab.trace.trace(model, dataset, lab.trace.trios(people))
    share = {key: estimate.value for key, estimate in results.items()}
    assert share[0, "MASK"] == 0
    assert share[0, "whole name"] == pytest.approx(1, abs=1e-5)
    assert share[3, "MASK"] == pytest.approx(1, abs=1e-5)
    assert share[3, "first name"] == share[3, "surname"] == share[3, "whole name"] == 0
    fixed = {key for key in results if lab.trace.is_fixed(*key, last=3)}
    expected = {(0, "MASK"), (0, "whole name"), *((3, site) for site in lab.trace.SITES)}
    assert fixed == expected
    free = [value for key, value in share.items() if key not in fixed]
    assert len(free) == 10 and all(0 != value != 1 for value in free)
