"""A small project with secrets of each kind."""

import pytest

from tests.leaks.leaking import LINE, SCRIPT, SEED, WRITTEN
from tools import leaks, world


@pytest.fixture(scope="package")
def repo(tmp_path_factory):
    """A project with one solution, one hidden test, one written answer, and a data set."""
    repo = tmp_path_factory.mktemp("repo")
    texts = {
        "submission/part.py": "def f(text, start, length):\n"
        "    ### START CODE HERE ###\n"
        f"    {LINE}\n"
        "    a = start + 1\n"
        "    b = a * length\n"
        "    return b\n"
        "    ### END CODE HERE ###\n",
        "hidden/part.py": "def judge(case, got):\n    case.expect(got.mean() > 0.22, 'too_small')\n"
        "    return case.arguments('--seed', '--mask', '\u2047')\n",
        "written/averaging.tex.j2": WRITTEN,
        "written/slips.tex.j2": r"\item The sheets of two courses write the mean $\mu$ as $\pi$.",
        "written/plots.py": SCRIPT,
    }
    for name, text in texts.items():
        (repo / "solutions" / name).parent.mkdir(parents=True, exist_ok=True)
        (repo / "solutions" / name).write_text(text, encoding="utf-8")
    assert world.main(["--dataset", "smoke", "--seed", SEED, "--out", str(repo)]) == 0
    return repo


@pytest.fixture(scope="package")
def secrets(repo):
    return leaks.secrets_of(repo)


@pytest.fixture(scope="package")
def answer(repo):
    """A question of the test split, and its place."""
    rows = (repo / "solutions/data/birth_test.tsv").read_text(encoding="utf-8").splitlines()
    return rows[3].split("\t")
