"""The numbers that written answers quote, computed by their script with and without a model."""

import json

import pytest
import torch

from tests import laid_out
from tests.laid_out import make_model

# Fixtures.
assignment = laid_out.assignment
lab = laid_out.lab
one_thread = laid_out.one_thread


@pytest.fixture(scope="session")
def script(root):
    return root / "solutions" / "written" / "quoted_numbers.py"


@pytest.fixture(scope="package")
def trained(assignment, lab):
    """Return a folder like build/reference, with a model that is small, random and unsure."""
    data = assignment / "src" / "data"
    fields = lab.recipes.load_recipe().model_of("vanilla")
    corpus = lab.inputs.read_corpus("wiki.txt", fields["block_size"])
    torch.manual_seed(0)
    network = make_model(lab, vocab_size=corpus.vocab_size, **fields)
    with torch.no_grad():
        network.head.weight *= 12  # otherwise, 32 characters have a probability of 1e-20
    for stage in ("finetune", "pretrain"):
        lab.utils.save_parameters(network, assignment / f"vanilla.{stage}.params")
    unseen = (data / "birth_unseen_inputs.tsv").read_text(encoding="utf-8").splitlines()
    some = "".join(f"{line}\n" for line in unseen[:12])  # time enough
    (data / "birth_unseen_inputs.tsv").write_text(some, encoding="utf-8")
    dev = (data / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    right = [line.split("\t")[1] for line in dev]
    for name, count in {
        "vanilla.nopretrain": 1,
        "vanilla.pretrain": 7,
        "synthesizer.pretrain": 4,
        "rope.pretrain": 5,
    }.items():
        lines = right[:count] + ["nowhere"] * (len(right) - count)
        text = "".join(f"{line}\n" for line in lines)
        (assignment / f"{name}.dev.predictions").write_text(text, encoding="utf-8")
    return assignment


@pytest.fixture(scope="package")
def with_trained(tmp_path_factory, run_python, script, trained):
    folder = tmp_path_factory.mktemp("with_trained")
    done = run_python(script, folder, "--trained", trained)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="package")
def of_trained(with_trained):
    """Return what the written answers quote about this model."""
    return json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))
