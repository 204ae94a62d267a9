"""A small project with secrets of each kind."""

import pytest

from tests.leaks.leaking import FILES, SEED
from tools import leaks, world


@pytest.fixture(scope="package")
def repo(tmp_path_factory):
    """A project with one solution, one judge, one written answer, and a data set."""
    repo = tmp_path_factory.mktemp("repo")
    for name, text in FILES.items():
        (repo / "solutions" / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / "solutions" / name).write_text(text, encoding="utf-8")
    assert world.main(["--dataset", "smoke", "--seed", SEED, "--out", str(repo)]) == 0
    return repo


@pytest.fixture(scope="package")
def secrets(repo):
    return leaks.secrets_of(repo)


@pytest.fixture(scope="package")
def answers(repo):
    """The rows of the test split: question and place."""
    text = (repo / "solutions/data/birth_test.tsv").read_text(encoding="utf-8")
    return [row.split("\t") for row in text.splitlines()]
