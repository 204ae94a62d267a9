"""Each edition's students get only the code of its questions: tools/cuts.py and its results."""

import importlib
import re

import pytest
import torch

from tests import pinned
from tests.laid_out import imports_from, lay_out
from tools import starter
from tools.cuts import cut
from tools.regions import RegionError
from tools.student import project

TOPICS = {"rope", "pretraining"}
TEXT = """\
def f():
    x = 1
    # <rope>
    x = 2
    # </rope>
    return x


# <rope>
def g():
    pass


# </rope>
def h():
    return f()
"""


def test_an_edition_with_the_topic_keeps_the_lines():
    kept = cut(TEXT, "toy.py", {"rope"}, TOPICS)
    assert kept == re.sub(r".*<.*>\n", "", TEXT)


def test_an_edition_without_it_has_none_of_them():
    left = cut(TEXT, "toy.py", {"pretraining"}, TOPICS)
    assert left == "def f():\n    x = 1\n    return x\n\n\ndef h():\n    return f()\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("# <rope>\nx = 1\n", "toy.py:1: `# <rope>` without its `# </rope>`"),
        ("x = 1\n# </rope>\n", "toy.py:2: `# </rope>` without its `# <rope>`"),
        ("# <rope>\n# <rope>\n# </rope>\n", "toy.py:2: `# <rope>` inside `# <rope>`"),
        ("# <rope>\n# </pretraining>\n# </rope>\n", "toy.py:2: `# </pretraining>` without its"),
        ("# <rop>\nx = 1\n# </rop>\n", "toy.py:1: assignment.toml has no topic 'rop'"),
        ("#<rope>\nx = 1\n", "toy.py:1: '#<rope>' looks like `# <topic>`"),
        ("# < rope>\nx = 1\n", "toy.py:1: '# < rope>' looks like"),
        ("# <Rope>\nx = 1\n", "toy.py:1: '# <Rope>' looks like"),
        ("def f():\n    # <rope>\n    x = 1\n    # </rope>\n", "not valid Python"),
    ],
)
def test_a_fault_is_named_with_its_line(text, words):
    with pytest.raises(RegionError) as caught:
        cut(text, "toy.py", set(), TOPICS)
    assert words in caught.value.faults[0]


@pytest.mark.parametrize("text", ["# a < b > c\n", "# <https://a.org>\n", 'x = "# <rope>"\n'])
def test_other_comments_are_left_alone(text):
    assert cut(text, "toy.py", set(), TOPICS) == text


def test_a_faulty_border_stops_make_starter(tmp_path, root):
    for name in ("solutions/submission", "src/submission"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "assignment.toml").write_text(pinned.text(), encoding="utf-8")
    path = tmp_path / "src" / "submission" / "model.py"
    path.write_text("# <rope>\nx = 1\n", encoding="utf-8")
    (tmp_path / "solutions" / "submission" / "a.py").write_text("x = 1\n", encoding="utf-8")
    with pytest.raises(RegionError) as caught:
        starter.starter_files(tmp_path)
    assert caught.value.faults == ["src/submission/model.py:1: `# <rope>` without its `# </rope>`"]


# ---------------------------------------------------------------- the editions


@pytest.mark.parametrize(("edition", "has"), [("xcs224n", 0), ("cs224n", 0), ("current", 1)])
def test_only_an_edition_that_asks_for_rope_has_it(tree, edition, has):
    package = starter.package_of(tree, edition)
    text = b"".join(package.values()).decode("utf-8")
    assert bool(re.search(r"\brope\b|_rope_|rotary_", text)) == bool(has)
    assert "# <" not in text
    assert text.count("initialize_synthesizer_model") > 1
    recipes = starter.recipes_file(tree, edition).decode("utf-8")
    assert ('"rope"' in recipes.partition('"variants"')[2]) == bool(has)


def test_the_committed_starter_keeps_all(root):
    text = (root / "src" / "submission" / "helper.py").read_text(encoding="utf-8")
    assert "def initialize_rope_model" in text and "# <rope>" in text


def test_run_py_offers_the_variants_of_the_edition(tree, tmp_path, run_python):
    source = lay_out(tmp_path / "root") / "src"
    recipes = source / "pretraining" / "recipes.json"
    for edition, offered in (("xcs224n", False), ("current", True)):
        recipes.write_bytes(starter.recipes_file(tree, edition))
        told = run_python(source / "run.py", "--help").stdout
        assert "vanilla" in told and ("rope" in told) == offered


def logits(s):
    """Return a model's logits, with random parameters and in training mode, so with dropout."""
    torch.manual_seed(1)
    shape = {"vocab_size": 20, "block_size": 32, "n_layer": 2, "n_head": 4, "n_embd": 16}
    model = s["helper"].initialize_vanilla_model(s["model"].GPTConfig(**shape))
    return model(torch.arange(24).remainder(20).view(1, 24))[0]


def test_what_is_cut_changes_nothing_for_other_models(tree, tmp_path):
    source = lay_out(tmp_path / "root") / "src"
    found = []
    for edition in ("current", "xcs224n"):
        for path in sorted((source / "submission").glob("*.py")):
            origin = tree / "solutions" / "submission" / path.name
            origin = origin if origin.exists() else tree / "src" / "submission" / path.name
            path.write_bytes(starter.cut_for(tree, edition, path.name, origin.read_bytes()))
        with imports_from(source):
            names = ("helper", "model")
            found.append(logits({n: importlib.import_module(f"submission.{n}") for n in names}))
    assert torch.equal(*found)


# ---------------------------------------------------------------- pyproject.toml


def test_students_pyproject_has_the_packages_of_the_lists(root):
    import tomllib

    from tools import pins

    made = tomllib.loads(project(root))
    theirs = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    assert made["project"]["dependencies"] == theirs["project"]["dependencies"] != []
    assert (
        made["tool"]["uv"]["constraint-dependencies"]
        == (theirs["tool"]["uv"]["constraint-dependencies"])
    )
    assert made["project"]["requires-python"] == theirs["project"]["requires-python"]
    assert made["project"]["optional-dependencies"] == {"jupyter": ["notebook"]}
    assert "dependency-groups" not in made and pins.differences(root) == []
