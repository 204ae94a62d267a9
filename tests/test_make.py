"""Variables of `make`: unknown ones are rejected; a wrong value gets one line with valid ones."""

import re
import shlex

import pytest

from tests.interpreter import python
from tests.project import ROOT, append, contents, copy_of_the_project, make, write_files
from tools.make import options, variables

pytestmark = pytest.mark.requires_tool("make")
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z-]+):", TEXT, re.MULTILINE)

# A target, a variable, a wrong value, and words of the line that answers it.
NASTY = "Spring \"27\" $$HOME; 'x' A=b"
WRONG = [
    ("world", "FORCE", "yes", "FORCE=yes, expected FORCE=1"),
    ("question", "TOPIC", NASTY, "Spring \"27\" $HOME; \\'x\\' A=b'"),
    ("help", "TARGET", "demo", "unknown variable TARGET; known: PYTHON TORCH_INDEX UV"),
    ("clean", "FORCE", "1", "unknown variable FORCE; known: PYTHON TORCH_INDEX UV"),
    ("handout", "PAPERS", "a4", "unknown variable PAPERS; known: EDITION PAPER PYTHON"),
    ("new-term", "TERM", " ", 'TERM is missing, expected: make new-term TERM="Spring 2027"'),
    ("class", "SUBMISSIONS", "no/such", "no/such can't be read: No such file or directory"),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.sampled(8)
def test_each_variable_of_a_targets_help_reaches_its_command(target):
    """It is an option of the command, or the recipe puts it there."""
    required, optional = variables(target)
    words = (*(f"{name}=x" for name in required), "ARGS=--many words")
    recipe = make(ROOT, "-n", "-o", "src/data/dataset.json", target, *words).stdout
    assert all(f'"${name}"' in recipe for name in required), recipe
    assert ("--many words" in recipe) == ("ARGS" in optional), recipe
    names = [word.partition("=")[0] for word in options(target, dict.fromkeys(optional, "x"))]
    if names:
        words = shlex.split(recipe.splitlines()[-1])[4:]  # after `python -m tools.make TARGET`
        upto = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
        shown = python(ROOT, *words[:upto], "--help").stdout
        assert all(name in shown for name in names), shown


def test_a_wrong_value_is_one_line_that_lists_the_right_ones_and_changes_nothing(tmp_path):
    tree = copy_of_the_project(tmp_path)
    write_files(tree, {"src/data/dataset.json": "", "dist/of an earlier build": ""})
    before = contents(tree)
    for target, name, value, words in WRONG:
        others = [f"{other}=x" for other in variables(target)[0] if other != name]
        ran = make(tree, target, *others, f"{name}={value}")
        assert ran.returncode == 2, ran.stdout  # make's exit code, whatever the command's is
        lines = [line for line in ran.stderr.splitlines() if not line.startswith("make")]
        assert len(lines) == 1 and lines[0].startswith(("error: ", "classroom: ")), ran.stderr
        assert words in lines[0]
    assert contents(tree) == before


def test_check_finds_tests_of_a_topic_that_is_not_described(tmp_path):
    """As if a topic's table in assignment.toml had been deleted."""
    tree = copy_of_the_project(tmp_path)
    unseen = '\n\nclass Unseen(AttentionCopying):\n    topic = "consider_unseem"\n'
    append(tree / "src/questions/attention_exploration/tests.py", unseen)
    ran = make(tree, "check")
    assert ran.returncode == 2 and "Traceback" not in ran.stdout + ran.stderr
    assert "Unseen has the topic 'consider_unseem', but assignment.toml has no table" in ran.stdout
