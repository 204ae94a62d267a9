"""Cloze questions to a pretrained model: what is asked, what counts as right, and the command."""

import re

import pytest
import torch

from tests.project import ROOT


def test_a_sentence_has_its_gap_filled(source):
    sentence = source.cloze.sentence_of
    assert sentence("{name} was born in _", "Ada", "Rome") == "Ada was born in Rome"
    assert sentence("{name}, _-born, lived in", "Ada", "⁇") == "Ada, ⁇-born, lived in"


def test_every_wording_has_a_name_and_one_gap(source):
    for wording in source.cloze.WORDINGS:
        assert wording.count("{name}") == 1 and wording.count("_") == 1


def test_the_first_five_wordings_are_of_the_worlds_corpus_and_the_others_are_not(source):
    text = (ROOT / "tools" / "wordlists" / "templates.txt").read_text(encoding="utf-8")
    templates = [line for line in text.splitlines() if line and not line.startswith("#")]
    for number, wording in enumerate(source.cloze.WORDINGS):
        said = source.cloze.sentence_of(wording, "{name}", "{city}")
        assert any(said in template for template in templates) == (number < 5), wording


def test_people_are_read_from_questions(source):
    questions = ["Where was Ada Byron born?", "Where was Bo born?"]
    people = source.people.people_of(questions, ["London", "Oslo"])
    assert [(p.name, p.place) for p in people] == [("Ada Byron", "London"), ("Bo", "Oslo")]
    with pytest.raises(source.errors.InputError, match=r"line 2: got 'Who is Bo\?'"):
        source.people.people_of(["Where was Ada born?", "Who is Bo?"], ["London", "Oslo"])


TEXT = "Ada was born in Rome.\nBo was a native of Oslo.\nAl, Lima\nRomeo"


def asked(source, monkeypatch, wording, preferred):
    """Ask about Ada and Bo of train and Al of dev; a model prefers the place given for each."""
    dataset = source.dataset.CharCorruptionDataset(TEXT, 64)
    prompts = []

    def continuations(model, pairs):
        texts = [tuple("".join(dataset.itos[i] for i in ids) for ids in pair) for pair in pairs]
        prompts.extend(dict.fromkeys(prompt for prompt, _ in texts))
        return [-1.0 if preferred[prompt.split()[0]] == place else -2.0 for prompt, place in texts]

    monkeypatch.setattr(source.cloze, "continuations", continuations)
    person = source.people.Person
    groups = {"train": [person("Ada", "Rome"), person("Bo", "Oslo")], "dev": [person("Al", "Lima")]}
    model = type("Model", (), {"get_block_size": lambda self: 64, "eval": lambda self: self})()
    (found,) = source.cloze.ask(model, dataset, groups, [wording])
    return found, prompts


def test_right_choices_are_counted_by_group_and_by_whether_the_corpus_has_the_words(
    source, monkeypatch
):
    preferred = {"Ada": "Rome", "Bo": "Lima", "Al": "Lima"}
    found, prompts = asked(source, monkeypatch, "{name} was born in _.", preferred)
    assert prompts == ["Ada was born in ⁇.⁇", "Bo was born in ⁇.⁇", "Al was born in ⁇.⁇"]
    counted = {k: (s.right, s.total) for k, s in found.splits.items()}
    assert counted == {"train": (1, 2), "dev": (1, 1)}
    assert (found.verbatim.right, found.verbatim.total) == (1, 1)  # Ada's
    assert (found.otherwise.right, found.otherwise.total) == (1, 2)
    head, row = source.cloze.lines([found], ["train", "dev"])
    assert re.split(r"  +", head) == ["wording", "train", "dev", "in these words", "in others"]
    numbers = ["50% of 2", "100% of 1", "100% of 1", "50% of 2"]
    assert re.split(r"  +", row) == ["NAME was born in _.", *numbers]


def test_a_model_that_prefers_nothing_is_never_right(source, monkeypatch):
    """Ties, as of a model that gives all places the same, count as wrong."""
    found, _ = asked(
        source, monkeypatch, "{name} was a native of _", dict.fromkeys("Ada Bo Al".split())
    )
    assert [score.right for score in found.splits.values()] == [0, 0]
    assert (found.verbatim.right, found.verbatim.total) == (0, 1)  # Bo's


def test_the_right_place_stands_first_among_others_that_differ(source):
    places = [f"{first}{second}" for first in "ABCDE" for second in "abcde"]
    people = [source.people.Person("Ada", place) for place in places]
    offered = source.cloze.choices(people, places)
    for person, found in zip(people, offered, strict=True):
        assert found[0] == person.place and set(found) <= set(places)
        assert len(found) == len(set(found)) == source.cloze.CHOICES == 10
    assert offered == source.cloze.choices(people, reversed(places))
    assert len({place for found in offered for place in found[1:]}) > 20  # not always the same


def test_no_place_begins_like_the_right_one(source):
    places = ["York", "New York", "Yorkshire", "Rome", "Romeo"]
    people = [source.people.Person("Ada", place) for place in ("York", "Romeo")]
    offered = [set(found[1:]) for found in source.cloze.choices(people, places)]
    assert offered == [{"New York", "Rome", "Romeo"}, {"York", "New York", "Yorkshire"}]


def test_few_places_are_all_offered(source):
    (found,) = source.cloze.choices([source.people.Person("Ada", "Rome")], ["Rome", "Oslo", "Lima"])
    assert found[0] == "Rome" and sorted(found[1:]) == ["Lima", "Oslo"]


@pytest.mark.parametrize("variant", ["vanilla", "synthesizer"])
def test_the_choice_is_the_likeliest_beginning(source, load, variant):
    """Recomputed for a few people, one character at a time."""
    dataset, model = load(variant, "pretrain")
    person, places = source.people.Person("Nora Nara", "Lima"), ["Lima", "Oslo", "London", "Rome"]
    places = [place for place in places if set(place) <= set(dataset.stoi)]
    prompt = [dataset.stoi[c] for c in f"{person.name} was born in ⁇⁇"]
    wanted = []
    for place in places:
        ids, logp = list(prompt), 0.0
        for character in place:
            with torch.no_grad():
                scores = model(torch.tensor([ids]))[0][0, -1].double()
            logp += torch.log_softmax(scores, 0)[dataset.stoi[character]].item()
            ids.append(dataset.stoi[character])
        wanted.append(logp)
    pairs = [(prompt, [dataset.stoi[c] for c in place]) for place in places]
    assert len(places) >= 3
    assert source.inspection.continuations(model, pairs) == pytest.approx(wanted, rel=1e-4)
    offered = [[place, *(p for p in places if p != place)] for place in places]
    people = [source.people.Person(person.name, place) for place in places]
    right = source.cloze._choose(model, dataset, "{name} was born in _", people, offered)
    assert right == [logp == max(wanted) for logp in wanted]


def test_a_model_that_was_pretrained_knows_more_than_chance(source, load, root):
    dataset, model = load("vanilla", "pretrain")
    people = []
    for name in ("birth_places_train.tsv", "birth_dev.tsv"):
        people += source.people.people_of(*source.inputs.read_answered(name)[1:])
    (found,) = source.cloze.ask(model, dataset, {"both": people}, ["{name} was born in _"])
    # Of 40 choices among 10 places, 16 are right by chance with a probability below 1e-6; a
    # training with this seed has 33.
    assert found.splits["both"].right >= 16


OPTIONS = "--recipe smoke --device cpu --reading_params_path"


def test_the_command_prints_a_line_for_each_wording(run, source, trained):
    params = trained / "vanilla.pretrain.params"
    code, output, _ = run(f"cloze vanilla wiki.txt {OPTIONS} {params}")
    assert code == 0
    lines = output.splitlines()[-len(source.cloze.WORDINGS) - 2 : -1]
    assert re.split(r"  +", lines[0]) == ["wording", "train", "dev", "in these words", "in others"]
    rows = [re.split(r"  +", line) for line in lines[1:]]
    assert [row[0] for row in rows] == [
        wording.format(name="NAME") for wording in source.cloze.WORDINGS
    ]
    assert all(row[1].endswith("% of 20") and row[2].endswith("% of 20") for row in rows)
    assert [row[3] == "-" for row in rows] == [False] * 5 + [True] * 3
