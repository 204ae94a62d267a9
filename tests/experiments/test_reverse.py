"""Both directions: priors are subtracted, groups hold different places, lines are recognised."""

import pytest


def person(lab, number, place=None):
    letters = chr(ord("A") + number // 26) + chr(ord("a") + number % 26)
    return lab.people.Person(f"{letters} Berg", place or f"{letters}stadt")


def test_groups_have_ten_people_with_different_places_and_nobody_twice(lab):
    people = [person(lab, i, f"{chr(ord('A') + i % 13)}stadt") for i in range(60)]
    groups = lab.reverse.groups_of(people)
    everybody = [p for group in groups for p in group]
    assert len(groups) >= 4 and len(everybody) == len(set(everybody))
    assert all(len(group) == len({p.place for p in group}) == 10 for group in groups)


def test_places_that_begin_alike_are_never_in_one_group(lab):
    people = [person(lab, i, "Bo" + "n" * i) for i in range(20)]
    with pytest.raises(lab.errors.InputError, match="10 people .* different places"):
        lab.reverse.groups_of(people)


def test_a_line_is_reversed_if_the_city_stands_before_the_name(lab):
    ada = lab.people.Person("Ada Berg", "Rome")
    lines = ["Born in Rome, Ada Berg was ...", "Ada Berg was born in Rome", "Rome is old"]
    said = [lab.reverse.has_reversed_line([line], ada) for line in lines]
    assert said == [True, False, False]


def test_a_candidates_prior_decides_nothing(lab, monkeypatch):
    """One place and one name are likely in any sentence; what is true is a little likelier."""
    group = [person(lab, i) for i in range(10)]
    text = "\n".join(f"{p.name} was born in {p.place}" for p in group)
    dataset = lab.dataset.CharCorruptionDataset(text, 64)

    def likelihood(prompt, filling):
        is_true = any(
            filling in (p.name, p.place) and (p.name in prompt or p.place in prompt) for p in group
        )
        return -100.0 + 50 * (filling in (group[3].name, group[3].place)) + is_true

    def fillings(model, dataset, sentences):
        return [[likelihood(prompt, text) for text in texts] for prompt, texts in sentences]

    monkeypatch.setattr(lab.reverse, "fillings", fillings)
    choices = lab.reverse.choose(None, dataset, [group])
    assert all(choice.forward and choice.backward for choice in choices)
    assert lab.reverse.share(choices, "backward").value == 1


def test_an_effect_is_the_difference_of_two_shares_with_both_errors(lab):
    kinds = [(True, True)] * 3 + [(False, True)] + [(False, False)] * 3 + [(True, False)]
    choices = [lab.reverse.Choice(None, right, right, has_line) for right, has_line in kinds]
    effect = lab.reverse.effect(choices, "forward")
    assert effect.value == 0.5
    assert effect.error == pytest.approx((2 * 0.25 * 0.75 * 4 / 3 / 4) ** 0.5)
