"""Sentences with a gap: what is asked in `cloze` and `reverse`, and what counts as right."""

import re
from types import SimpleNamespace

import pytest
import torch

TEXT = "Ada was born in Rome.\nBo was a native of Oslo.\nAl, Lima\nRomeo"


def test_a_filling_is_as_likely_as_one_character_after_the_other(lab, load):
    dataset, model = load(stage="pretrain")
    places = [p for p in ("Lima", "Oslo", "London", "Rome") if set(p) <= set(dataset.stoi)]
    prompt = [dataset.stoi[c] for c in "Nora Nara was born in ⁇⁇"]
    expected = []
    for place in places:
        ids, logp = list(prompt), 0.0
        for character in place:
            with torch.no_grad():
                scores = model(torch.tensor([ids]))[0][0, -1].double()
            logp += torch.log_softmax(scores, 0)[dataset.stoi[character]].item()
            ids.append(dataset.stoi[character])
        expected.append(logp)
    assert len(places) >= 3
    (got,) = lab.gaps.fillings(model, dataset, [("Nora Nara was born in ⁇", places)])
    assert got == pytest.approx(expected, rel=1e-4)


def test_the_right_place_stands_first_among_others_of_which_none_begins_like_it(lab):
    places = [f"{first}{second}" for first in "ABCDE" for second in "abcde"]
    people = [lab.people.Person("Ada", place) for place in places]
    offered = lab.gaps.choices(people, places)
    for person, some in zip(people, offered, strict=True):
        assert some[0] == person.place and set(some) <= set(places)
        assert len(some) == len(set(some)) == lab.gaps.CHOICES == 10
    assert offered == lab.gaps.choices(people, reversed(places))
    assert len({place for some in offered for place in some[1:]}) > 20  # not always the same
    places = ["York", "New York", "Yorkshire", "Rome", "Romeo"]
    ((_, *others),) = lab.gaps.choices([lab.people.Person("Ada", "York")], places)
    assert {*others} == {"New York", "Rome", "Romeo"}


# -- cloze ----------------------------------------------------------------------------------------


def test_right_choices_are_counted_by_group_and_by_whether_the_corpus_has_the_words(
    lab, monkeypatch
):
    """Ask about Ada and Bo of train and Al of dev; a model prefers the place given for each."""
    preferred = {"Ada": "Rome", "Bo": "Lima", "Al": "Lima"}
    dataset = lab.dataset.CharCorruptionDataset(TEXT, 64)

    def fillings(model, dataset, sentences):
        return [[-2.0 + (preferred[t.split()[0]] == place) for place in s] for t, s in sentences]

    monkeypatch.setattr(lab.gaps, "fillings", fillings)
    person = lab.people.Person
    groups = {"train": [person("Ada", "Rome"), person("Bo", "Oslo")], "dev": [person("Al", "Lima")]}
    monkeypatch.setattr(lab.gaps, "WORDINGS", ["{name} was born in {gap}."])
    ((_, scores),) = lab.gaps.ask(None, dataset, groups)
    # In these words the corpus has only Ada's place.
    expected = {"train": "50% of 2", "dev": "100% of 1"}
    expected |= {"verbatim": "100% of 1", "otherwise": "50% of 2"}
    assert {name: str(score) for name, score in scores.items()} == expected
    # Ties, as of a model that gives all places the same, count as wrong.
    assert not any(lab.gaps.first_is_likeliest([[0.0, 0.0]]))


def test_the_command_prints_a_line_for_each_wording_and_a_trained_model_knows_more_than_chance(
    run, lab, trained
):
    options = f"--recipe smoke --device cpu --reading_params_path {trained}/vanilla.pretrain.params"
    code, output, _ = run(f"cloze vanilla wiki.txt {options}")
    assert code == 0
    lines = output.splitlines()[-len(lab.gaps.WORDINGS) - 2 : -1]
    head, *rows = (re.split(r"  +", line) for line in lines)
    assert head == ["wording", "train", "dev", "in these words", "in others"]
    wordings = [wording.format(name="NAME", gap="_") for wording in lab.gaps.WORDINGS]
    assert [row[0] for row in rows] == wordings
    assert all(row[1].endswith("% of 20") and row[2].endswith("% of 20") for row in rows)
    assert [row[3] == "-" for row in rows] == [False] * 5 + [True] * 3
    # Of 40 choices among 10 places, 16 are right by chance with a probability below 1e-6; a
    # training with this seed has 33.
    assert sum(int(cell.split("%")[0]) * 20 / 100 for cell in rows[0][1:3]) >= 16


# -- reverse --------------------------------------------------------------------------------------


def person(lab, number, place=None):
    letters = chr(ord("A") + number // 26) + chr(ord("a") + number % 26)
    return lab.people.Person(f"{letters} Berg", place or f"{letters}stadt")


def test_groups_have_ten_people_with_different_places_and_nobody_twice(lab):
    people = [person(lab, i, f"{chr(ord('A') + i % 13)}stadt") for i in range(60)]
    groups = lab.gaps.groups_of(people)
    everybody = [p for group in groups for p in group]
    assert len(groups) >= 4 and len(everybody) == len(set(everybody))
    assert all(len(group) == len({p.place for p in group}) == 10 for group in groups)


def test_a_candidates_prior_decides_nothing(lab, monkeypatch):
    """One place and one name are likely in any sentence; what is true is a little likelier.

    Only the person who was born in the last place is unlikely there.
    """
    group = [person(lab, i) for i in range(10)]
    text = "\n".join(f"{p.name} was born in {p.place}" for p in group)
    dataset = lab.dataset.CharCorruptionDataset(text, 64)

    def likelihood(prompt, filling):
        is_true = any(
            filling in (p.name, p.place) and (p.name in prompt or p.place in prompt) for p in group
        )
        likely = 50 * (filling in (group[3].name, group[3].place))
        return -100.0 + likely + (-1 if is_true and filling == group[9].name else is_true)

    def fillings(model, dataset, sentences):
        return [[likelihood(prompt, text) for text in texts] for prompt, texts in sentences]

    monkeypatch.setattr(lab.gaps, "fillings", fillings)
    choices = lab.gaps.choose(None, dataset, [group])
    assert [c.forward for c in choices] == [True] * 10
    assert [c.backward for c in choices] == [True] * 9 + [False]
    assert [share.value for share in lab.gaps.shares(choices)] == [1, 0.9]


def test_people_with_a_line_that_names_the_city_first_are_compared_with_the_others(
    lab, monkeypatch
):
    ada = lab.people.Person("Ada Berg", "Rome")
    lines = ["Born in Rome, Ada Berg was ...", "Ada Berg was born in Rome", "Rome is old"]
    said = [lab.gaps.has_reversed_line([line], ada) for line in lines]
    assert said == [True, False, False]
    kinds = [(True, True)] * 3 + [(False, True)] + [(False, False)] * 3 + [(True, False)]
    choices = [lab.gaps.Choice(right, False, has_line) for right, has_line in kinds]
    _, with_line, without = map(lab.gaps.shares, lab.gaps.by_line(choices).values())
    found = lab.estimates.difference(with_line[0], without[0])
    assert found.value == 0.5
    assert found.error == pytest.approx((2 * 0.25 * 0.75 * 4 / 3 / 4) ** 0.5)
    monkeypatch.setattr(lab.gaps, "choose", lambda *_: choices)
    args = SimpleNamespace(finetune_corpus_path=None, eval_corpus_path=None)
    (table, _), _ = lab.gaps.run_reverse(SimpleNamespace(args=args, model=None, dataset=None))
    differences = table.splitlines()[-1].split()  # forward, and backward
    assert differences == ["difference", "0.50", "±", "0.35", "0.00", "±", "0.00"]
