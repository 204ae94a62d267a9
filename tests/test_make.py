"""Variables of `make`: unknown ones are rejected; a wrong value gets one line with valid ones."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.interpreter import python
from tests.project import OUTER_MAKE, ROOT, copy_of_the_project, make
from tools.make import options, variables

pytestmark = pytest.mark.requires_tool("make")
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z-]+):", TEXT, re.MULTILINE)
CHECKED = sorted({*TARGETS} - {"help", "clean"})  # these two know no variable, and ignore any

# By target and variable: a wrong value, and words of the line that answers it.
NASTY = "Spring \"27\" $$HOME; 'x' A=b"
WRONG = {
    ("world", "FORCE"): ("yes", "FORCE=yes", "expected FORCE=1"),
    ("question", "TOPIC"): (NASTY, "Spring \"27\" $HOME; \\'x\\' A=b'", "words of a to z"),
    ("handout", "PAPERS"): ("a4", "unknown variable PAPERS; known: EDITION PAPER PYTHON"),
    ("new-term", "TERM"): (" ", "TERM is missing", 'make new-term TERM="Spring 2027"'),
    ("class", "SUBMISSIONS"): ("no/such", "no/such", "No such file or directory"),
    ("emulate", "SETUP"): ("0", "SETUP=0", "expected SETUP=1"),
}


def dry(*words: str, **environment: str) -> str:
    """Return the commands that `make -n` prints."""
    inherited = {k: v for k, v in os.environ.items() if k not in OUTER_MAKE}
    skip = ("-o", ".venv/.stamp", "-o", "src/data/dataset.json")
    return subprocess.run(
        ["make", "-n", *skip, *words],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        encoding="utf-8",
        check=True,
    ).stdout


def test_make_alone_prints_every_target_with_its_help():
    ran = make(ROOT)
    assert re.findall(r"^make ([a-z-]+) +\S", ran.stdout, re.MULTILINE) == TARGETS
    assert len(set(TARGETS)) == len(TARGETS) > 20


@pytest.mark.parametrize("target", CHECKED)
@pytest.mark.sampled(8)
def test_each_variable_of_a_targets_help_reaches_its_command(target):
    """It is an option of the command, or the recipe puts it there."""
    required, optional = variables(target)
    recipe = dry(target, *(f"{name}=x" for name in required), "ARGS=--many words")
    assert all(f'"${name}"' in recipe for name in required), recipe
    assert ("--many words" in recipe) == ("ARGS" in optional), recipe
    names = [word.partition("=")[0] for word in options(target, dict.fromkeys(optional, "x"))]
    if names:
        words = shlex.split(recipe.splitlines()[-1])[4:]  # after `python -m tools.make TARGET`
        upto = next((i for i, word in enumerate(words) if word.startswith("--")), len(words))
        shown = python(ROOT, *words[:upto], "--help").stdout
        assert all(name in shown for name in names), shown


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """Return a copy with a data set and the files of an earlier build."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("project"))
    made = make(tree, "world", "DATASET=smoke", "SEED=1")
    assert made.returncode == 0, made.stderr
    for folder in ("dist", "build/reference", "build/handout/xcs224n"):
        (tree / folder).mkdir(parents=True)
        (tree / folder / "kept").write_text("of an earlier build", encoding="utf-8")
    return tree


def state(tree: Path) -> dict[str, bytes]:
    """Return the state that a rejected command must not change."""
    roots = ("dist", "build", "src", "solutions", "handout")
    paths = [path for root in roots for path in (tree / root).rglob("*") if path.is_file()]
    paths += [tree / "course.toml", tree / "assignment.toml"]
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in paths
        if "__pycache__" not in path.parts
    }


@pytest.mark.parametrize(("target", "name"), sorted(WRONG))
def test_a_wrong_value_is_one_line_that_lists_the_right_ones(project, target, name):
    value, *words = WRONG[target, name]
    before = state(project)
    others = [f"{other}=x" for other in variables(target)[0] if other != name]
    ran = make(project, target, *others, f"{name}={value}")
    assert ran.returncode == 2, ran.stdout  # make's exit code, whatever the command's is
    lines = [
        line for line in ran.stderr.splitlines() if not re.match(r"make(\[\d\])?: \*\*\*", line)
    ]
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith(("error: ", "classroom: "))
    for word in words:
        assert word in lines[0]
    assert state(project) == before


UNDESCRIBED = """

class Unseen(AttentionCase):
    topic = "consider_{}"

    @graded()
    def test_forgotten(self):
        "is in no table"
"""
UNWRITTEN = '[topics.consider_unseen.tests]\nlines = { kind = "basic" }\n'
CODE = "src/questions/attention_exploration/tests.py"


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        (  # as if the line of a topic's only test had been deleted
            CODE,
            UNDESCRIBED.format("unseen"),
            "Unseen.test_forgotten is not in assignment.toml, [topics.consider_unseen.tests]",
        ),
        (  # as if the whole table had been deleted
            CODE,
            UNDESCRIBED.format("unseem"),
            "Unseen has the topic 'consider_unseem', but assignment.toml has no table",
        ),
        ("assignment.toml", UNWRITTEN, "has the topic 'consider_unseen'"),
    ],
    ids=["no line", "no table", "no test"],
)
def test_check_finds_a_test_that_is_only_written_or_only_described(project, name, more, words):
    path = project / name
    before = path.read_bytes()
    path.write_bytes(before + more.encode())
    try:
        ran = make(project, "check")
    finally:
        path.write_bytes(before)
    said = ran.stdout + ran.stderr
    assert ran.returncode == 2 and words in said and "Traceback" not in said
