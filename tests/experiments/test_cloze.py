"""Cloze questions to a pretrained model: what is asked, what counts as right, and the command."""

import re

import pytest
import torch

from tests.project import ROOT

TEXT = "Ada was born in Rome.\nBo was a native of Oslo.\nAl, Lima\nRomeo"


def test_the_first_five_wordings_are_of_the_worlds_corpus_and_the_others_are_not(lab):
    text = (ROOT / "tools" / "wordlists" / "templates.txt").read_text(encoding="utf-8")
    templates = [line for line in text.splitlines() if line and not line.startswith("#")]
    for number, wording in enumerate(lab.cloze.WORDINGS):
        said = lab.cloze.sentence_of(wording, "{name}", "{city}")
        assert any(said in template for template in templates) == (number < 5), wording


def asked(lab, monkeypatch, wording, preferred):
    """Ask about Ada and Bo of train and Al of dev; a model prefers the place given for each."""
    dataset = lab.dataset.CharCorruptionDataset(TEXT, 64)
    prompts = []

    def continuations(model, pairs):
        texts = [tuple("".join(dataset.itos[i] for i in ids) for ids in pair) for pair in pairs]
        prompts.extend(dict.fromkeys(prompt for prompt, _ in texts))
        return [-1.0 if preferred[prompt.split()[0]] == place else -2.0 for prompt, place in texts]

    monkeypatch.setattr(lab.people, "continuations", continuations)
    person = lab.people.Person
    groups = {"train": [person("Ada", "Rome"), person("Bo", "Oslo")], "dev": [person("Al", "Lima")]}
    model = type("Model", (), {"get_block_size": lambda self: 64, "eval": lambda self: self})()
    (found,) = lab.cloze.ask(model, dataset, groups, [wording])
    return found, prompts


def test_right_choices_are_counted_by_group_and_by_whether_the_corpus_has_the_words(
    lab, monkeypatch
):
    preferred = {"Ada": "Rome", "Bo": "Lima", "Al": "Lima"}
    found, prompts = asked(lab, monkeypatch, "{name} was born in _.", preferred)
    assert prompts == ["Ada was born in ⁇.⁇", "Bo was born in ⁇.⁇", "Al was born in ⁇.⁇"]
    counted = {k: (s.right, s.total) for k, s in found.splits.items()}
    assert counted == {"train": (1, 2), "dev": (1, 1)}
    head, row = lab.cloze.lines([found], ["train", "dev"])
    assert re.split(r"  +", head) == ["wording", "train", "dev", "in these words", "in others"]
    # In these words the corpus has only Ada's place.
    numbers = ["50% of 2", "100% of 1", "100% of 1", "50% of 2"]
    assert re.split(r"  +", row) == ["NAME was born in _.", *numbers]


def test_a_model_that_prefers_nothing_is_never_right(lab, monkeypatch):
    """Ties, as of a model that gives all places the same, count as wrong."""
    nothing = dict.fromkeys("Ada Bo Al".split())
    found, _ = asked(lab, monkeypatch, "{name} was a native of _", nothing)
    assert [score.right for score in found.splits.values()] == [0, 0]
    assert (found.verbatim.right, found.verbatim.total) == (0, 1)  # Bo's


def test_the_right_place_stands_first_among_others_that_differ(lab):
    places = [f"{first}{second}" for first in "ABCDE" for second in "abcde"]
    people = [lab.people.Person("Ada", place) for place in places]
    offered = lab.cloze.choices(people, places)
    for person, some in zip(people, offered, strict=True):
        assert some[0] == person.place and set(some) <= set(places)
        assert len(some) == len(set(some)) == lab.cloze.CHOICES == 10
    assert offered == lab.cloze.choices(people, reversed(places))
    assert len({place for some in offered for place in some[1:]}) > 20  # not always the same


def test_no_place_begins_like_the_right_one_and_few_are_all_offered(lab):
    places = ["York", "New York", "Yorkshire", "Rome", "Romeo"]
    people = [lab.people.Person("Ada", place) for place in ("York", "Romeo")]
    offered = [set(some[1:]) for some in lab.cloze.choices(people, places)]
    assert offered == [{"New York", "Rome", "Romeo"}, {"York", "New York", "Yorkshire"}]


@pytest.mark.parametrize("variant", ["vanilla", "synthesizer"])
def test_a_filling_is_as_likely_as_one_character_after_the_other(lab, load, variant):
    dataset, model = load(variant, "pretrain")
    places = ["Lima", "Oslo", "London", "Rome"]
    places = [place for place in places if set(place) <= set(dataset.stoi)]
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
    (got,) = lab.people.fillings(model, dataset, [("Nora Nara was born in ⁇", places)])
    assert got == pytest.approx(expected, rel=1e-4)


def test_the_command_prints_a_line_for_each_wording_and_a_trained_model_knows_more_than_chance(
    run, lab, trained
):
    options = f"--recipe smoke --device cpu --reading_params_path {trained}/vanilla.pretrain.params"
    code, output, _ = run(f"cloze vanilla wiki.txt {options}")
    assert code == 0
    lines = output.splitlines()[-len(lab.cloze.WORDINGS) - 2 : -1]
    rows = [re.split(r"  +", line) for line in lines[1:]]
    assert [row[0] for row in rows] == [w.format(name="NAME") for w in lab.cloze.WORDINGS]
    assert all(row[1].endswith("% of 20") and row[2].endswith("% of 20") for row in rows)
    assert [row[3] == "-" for row in rows] == [False] * 5 + [True] * 3
    # Of 40 choices among 10 places, 16 are right by chance with a probability below 1e-6; a
    # training with this seed has 33.
    assert sum(int(cell.split("%")[0]) * 20 / 100 for cell in rows[0][1:3]) >= 16
