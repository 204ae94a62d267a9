"""The commands: each needs a prediction, prints its table, draws its picture and keeps both."""

import json

import pytest

PREDICTION = "--predict 'I expect a difference between the two'"
COMMANDS = {
    "trace": "trace vanilla wiki.txt --reading_params_path {}/vanilla.finetune.params",
    "ablate": "ablate vanilla wiki.txt --reading_params_path {}/vanilla.finetune.params",
    "reverse": "reverse vanilla wiki.txt --reading_params_path {}/vanilla.pretrain.params",
    "overwrite": "overwrite vanilla wiki.txt --reading_params_path {}/vanilla.finetune.params",
}
FIRST_CELLS = {
    "trace": "pasted after",
    "ablate": "without",
    "reverse": "people",
    "overwrite": "set ",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_draws_and_keeps(run, root, trained, tmp_path, name):
    def read(file):
        return (root / "src" / "data" / file).read_text(encoding="utf-8")

    table = tmp_path / "people.tsv"  # dev alone has too few people for `trace`
    table.write_text("".join(map(read, ("birth_places_train.tsv", "birth_dev.tsv"))), "utf-8")
    command = COMMANDS[name].format(trained) + " --recipe smoke --device cpu"
    command += " --eval_corpus_path people.tsv"
    code, output, errors = run(command)
    assert code == 2 and "--predict" in errors and [*tmp_path.iterdir()] == [table]
    code, output, errors = run(f"{command} {PREDICTION}")
    assert code == 0, errors
    assert any(line.startswith(FIRST_CELLS[name]) for line in output.splitlines())
    assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").rstrip().endswith("</svg>")
    kept = json.loads((tmp_path / "experiments.json").read_text(encoding="utf-8"))[name]
    assert kept["prediction"] == "I expect a difference between the two"
    assert len(kept["parameters"]) == 64 and all(line in output for line in kept["results"])


@pytest.mark.long
def test_induction_wordings_and_compare_train_models_of_their_own(run, tmp_path):
    for name in (
        "induction vanilla",
        "wordings vanilla wiki.txt --recipe brief",
        "compare vanilla wiki.txt --recipe brief --second_variant synthesizer",
    ):
        code, output, errors = run(f"{name} --device cpu {PREDICTION}")
        assert code == 0, errors
    assert {"induction", "wordings", "compare"} == set(
        json.loads((tmp_path / "experiments.json").read_text(encoding="utf-8"))
    )
