"""Overwriting: the sets differ only in what they say; comparisons are person by person."""

from collections import Counter
from types import SimpleNamespace

import pytest
import torch


def test_the_sets_have_the_same_places_and_no_false_fact_is_true(lab):
    known = [lab.people.Person(f"A{i} B", f"P{i % 7}") for i in range(40)]
    sets = lab.overwrite.sets_of(known, [f"X{i} Y" for i in range(30)], seed=3)
    assert [len(some) for some in sets.values()] == [30, 30, 30]
    assert len({tuple(sorted(Counter(p.place for p in s).items())) for s in sets.values()}) == 1
    true = {p.name: p.place for p in known}
    assert all(true[p.name] == p.place for p in sets["true"])
    assert {p.name for p in sets["false"]} == {p.name for p in sets["true"]}
    assert not any(true[p.name] == p.place for p in sets["false"])
    assert not {p.name for p in sets["unknown"]} & set(true)


def moment(lab, epoch, moved, *kept):
    return lab.overwrite.Moment(epoch, 0.0, moved, torch.tensor(kept, dtype=torch.bool))


def test_comparisons_are_differences_person_by_person(lab):
    start = moment(lab, 0, 0.0, 1, 1, 1, 1)
    run = {
        "true": [start, moment(lab, 1, 0.1, 1, 1, 1, 0)],
        "unknown": [start, moment(lab, 1, 0.2, 1, 0, 0, 0)],
        "false": [start, moment(lab, 1, 0.2, 1, 0, 0, 0)],
    }
    compared = lab.overwrite.compare([run, run])
    steps, change = compared["true minus unknown"]
    assert steps.tolist() == [0, 1, 1, 0] * 2
    assert change.tolist() == pytest.approx([0, 0.5, 0.5, -0.5] * 2)
    assert not compared["unknown minus false"].any()


def test_each_half_of_dev_is_asked_about_while_the_other_one_is_taught(lab, monkeypatch):
    halves = []

    def finetune(model, dataset, taught, others, seed):
        halves.append([{person.name for person in some} for some in (taught, others)])
        return [moment(lab, 0, 0.0, 1), moment(lab, 1, 0.1, 1)]

    monkeypatch.setattr(lab.overwrite, "finetune", finetune)
    unseen = "birth_unseen_inputs.tsv"
    args = SimpleNamespace(eval_corpus_path=None, unseen_corpus_path=unseen, seed=0)
    lab.overwrite.run(SimpleNamespace(args=args, model=None, dataset=None))
    assert len(halves) == 2 * 3 and all(taught.isdisjoint(others) for taught, others in halves)
    assert halves[0][1] | halves[3][1] == {person.name for person in lab.people.people_in(None)}


def test_a_model_learns_a_set_and_the_original_stays_as_it_was(lab, load):
    dataset, model = load()
    query = model.blocks[0].attn.query  # a student's parameters may be transposed
    query.weight = torch.nn.Parameter(query.weight.detach().t().contiguous().t())
    before = [p.detach().clone() for p in model.parameters()]
    taught = [lab.people.Person(*pair) for pair in (("Ada Berg", "London"), ("Bo Falk", "London"))]
    moments = lab.overwrite.finetune(model, dataset, taught, taught, seed=0)
    assert moments[0].moved == 0 < moments[-1].moved
    assert moments[-1].epoch == lab.overwrite.EPOCHS and moments[-1].learnt == 1.0
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
