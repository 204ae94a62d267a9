"""Both directions: priors are subtracted, groups hold different places, lines are recognised."""

import pytest


def person(lab, number, place=None):
    letters = chr(ord("A") + number // 26) + chr(ord("a") + number % 26)
    return lab.people.Person(f"{letters} Berg", place or f"{letters}stadt")


def test_groups_have_ten_people_with_different_places_and_nobody_twice(lab):
    people = [person(lab, i, f"{chr(ord('A') + i % 13)}stadt") for i in range(60)]
    groups = lab.reverse.groups_of(people)
    assert len(groups) >= 4
    everybody = [p for group in groups for p in group]
    assert len(everybody) == len(set(everybody))
    for group in groups:
        assert len(group) == len({p.place for p in group}) == 10


def test_places_that_begin_alike_are_never_in_one_group(lab, source):
    people = [person(lab, i, "Bo" + "n" * i) for i in range(20)]
    with pytest.raises(source.errors.InputError, match="10 people .* different places"):
        lab.reverse.groups_of(people)


def test_a_line_is_reversed_if_the_city_stands_before_the_name(lab):
    ada = lab.people.Person("Ada Berg", "Rome")
    lines = ["Born in Rome, Ada Berg was ...", "Ada Berg was born in Rome", "Rome is old"]
    assert [lab.reverse.reversed_lines([line], ada) for line in lines] == [1, 0, 0]


def test_a_candidates_prior_decides_nothing(lab, source, monkeypatch):
    """One place and one name are likely in any sentence; what is true is a little likelier."""
    group = [person(lab, i) for i in range(10)]
    text = "\n".join(f"{p.name} was born in {p.place}" for p in group)
    dataset = source.dataset.CharCorruptionDataset(text, 64)
    place_of = {p.name: p.place for p in group}

    def continuations(model, pairs):
        found = []
        for read, follows in pairs:
            prompt, filling = ("".join(dataset.itos[i] for i in ids) for ids in (read, follows))
            facts = place_of.items()
            is_true = any({filling} & {n, p} and (n in prompt or p in prompt) for n, p in facts)
            found.append(-100.0 + 50 * (filling in group[3].__dict__.values()) + is_true)
        return found

    monkeypatch.setattr(lab.reverse, "continuations", continuations)
    model = type("Model", (), {"get_block_size": lambda _: 64, "eval": lambda _: None})()
    choices = lab.reverse.choose(model, dataset, [group])
    assert all(choice.forward and choice.backward for choice in choices)
    assert lab.reverse.share(choices, "backward").value == 1


def test_an_effect_is_the_difference_of_two_shares_with_both_errors(lab):
    def choice(right, has_line):
        return lab.reverse.Choice(None, right, right, has_line)

    choices = [choice(True, True)] * 3 + [choice(False, True)] + [choice(False, False)] * 3
    choices += [choice(True, False)]
    found = lab.reverse.effect(choices, "forward")
    assert found.value == 0.5
    assert found.error == pytest.approx((2 * 0.25 * 0.75 * 4 / 3 / 4) ** 0.5)
