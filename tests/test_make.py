"""Variables of `make`: unknown ones are rejected; a wrong value gets one line with valid ones."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.interpreter import python
from tests.project import OUTER_MAKE, ROOT, copy_of_the_project, make
from tools.make import OF_SETUP, fault, given, options, variables

pytestmark = pytest.mark.requires_tool("make")
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.findall(r"^([a-z-]+):", TEXT, re.MULTILINE)
CHECKED = sorted({*TARGETS} - {"help", "clean"})  # these two know no variable, and ignore any

# By target and variable: a wrong value, and words of the line that answers it.
NASTY = "Spring \"27\" $$HOME; 'x' A=b"
WRONG = {
    ("world", "SEED"): ("x", "got 'x'", "an integer"),
    ("world", "PEOPLE"): ("many", "got 'many'", "an integer"),
    ("world", "DATASET"): ("real", "got 'real'", "smoke, world"),
    ("world", "FORCE"): ("yes", "FORCE=yes", "expected FORCE=1"),
    ("data", "SOURCE"): ("no/such", "no/such", "expected a folder with the course's data files"),
    ("question", "TOPIC"): (NASTY, "Spring \"27\" $HOME; \\'x\\' A=b'", "words of a to z"),
    ("reference", "RECIPE"): (NASTY, "no recipe 'Spring \"27\" $HOME; \\'x\\' A=b'", "smoke"),
    ("release", "EDITION"): ("foo", "no edition 'foo'", "cs224n, current, xcs224n"),
    ("handout", "PAPER"): ("a5", "got 'a5'", "letter, a4"),
    ("handout", "PAPERS"): ("a4", "unknown variable PAPERS; known: EDITION PAPER PYTHON"),
    ("new-term", "TERM"): (" ", "TERM is missing", 'make new-term TERM="Spring 2027"'),
    ("new-term", "DUE"): ("soon", "got 'soon'", "as 2027-05-02T23:59:00-07:00"),
    ("emulate", "SUBMISSION"): ("no/such.zip", "no/such.zip", "no such file or folder"),
    ("emulate", "METADATA"): ("foo", "got 'foo'", "first, tenth, late, extension, group"),
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


# Features added to GNU make after 3.81, the Mac's version, from the news of 3.82 to 4.4.
NEWER = re.compile(
    r"^\s*(override |export )*(private|undefine)\b|^\s*define .*[:+?]?=\s*$|\.ONESHELL|\.SHELLFLAGS"
    r"|\.RECIPEPREFIX|\.EXTRA_PREREQS|\.NOTINTERMEDIATE|\.WAIT|^[\w.-]+\s*(!=|:::?=)|^\s*-?load "
    r"|\$\((file|guile|let|intcmp) |&:|MAKEFILE_LIST_|\.LOADED|MAKE_TERMOUT|MAKE_HOST",
    re.MULTILINE,
)
MAKEFILES = ("Makefile", "handout/student/Makefile", "handout/student/written.mk")


def test_the_makefiles_use_nothing_that_came_after_3_81():
    for path in MAKEFILES:
        newer = NEWER.search((ROOT / path).read_text(encoding="utf-8"))
        assert newer is None, (path, newer and newer[0])


def test_make_alone_prints_every_target_with_its_help():
    ran = make(ROOT)
    assert re.findall(r"^make ([a-z-]+) +\S", ran.stdout, re.MULTILINE) == TARGETS
    assert len(set(TARGETS)) == len(TARGETS) > 20


@pytest.mark.parametrize("target", CHECKED)
def test_a_target_checks_its_variables_before_anything_else(target):
    assert dry(target).startswith(f".venv/bin/python -m tools.make {target}")


@pytest.mark.parametrize("target", CHECKED)
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


def test_a_target_knows_the_variables_of_its_help_and_those_of_setup():
    assert variables("class") == (
        {"SUBMISSIONS": "EXPORT-OR-FOLDER", "INTO": "DIR"},
        {"EDITION": "NAME", "ARGS": '"--slots 8"'},
    )
    for target in CHECKED:
        required, optional = variables(target)
        known = {*required, *optional, *OF_SETUP}
        values = dict.fromkeys(known, "1")
        assert fault([target], values) == ""
        listed = " ".join(sorted(known))
        assert fault([target], values | {"X": ""}) == f"unknown variable X; known: {listed}"
        for name, form in required.items():
            expected = f"{name} is missing, expected: make {target} {name}={form}"
            others = {other: "1" for other in required if other != name}
            assert fault([target], others) == fault([target], others | {name: ""}) == expected


def test_several_targets_know_what_one_of_them_knows():
    values = {"FORCE": "1", "RECIPE": "smoke"}
    assert fault(["world", "demo"], values) == "" != fault(["demo"], values)
    assert options("world", values) == ["--force"]
    assert options("demo", values) == ["--recipe=smoke"]
    assert options("src/data/dataset.json", values) == []


def test_the_command_line_is_read_as_make_writes_it(monkeypatch):
    monkeypatch.setenv("TERM", "Spring 2027")
    line = r"EDITION:=x TERM=Spring\ DUE=2027 ARGS=a\\ PAPER=a4"
    assert given(line).keys() == {"EDITION", "TERM", "ARGS", "PAPER"}
    assert given(line)["TERM"] == "Spring 2027"


def test_variables_of_the_environment_are_no_options():
    """TERM is in every terminal's environment, but "xterm" is not a course's term."""
    given_none = {"GOALS": "new-term", "GIVEN": "", "TERM": "xterm", "DUE": "soon"}
    ran = python(ROOT, "-m", "tools.make", "new-term", "-c", "1", env=given_none)
    assert ran.returncode == 2 and "TERM is missing" in ran.stderr


def test_a_target_that_is_none_is_makes_own_message():
    assert "No rule to make target" in make(ROOT, "hand-out", "EDITION=x").stderr


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
    ran = make(project, target, *others, f"{name}={value}", timeout=120)
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
    topic = "consider_unseen"

    @graded()
    def test_forgotten(self):
        "is in no table"
"""
UNWRITTEN = '[topics.consider_unseen.tests]\nlines = { kind = "basic" }\n'


@pytest.mark.parametrize(
    ("name", "more", "words"),
    [
        (  # as if the line of a topic's only test had been deleted
            "src/questions/attention_exploration/tests.py",
            UNDESCRIBED,
            "Unseen.test_forgotten is not in assignment.toml, [topics.consider_unseen.tests]",
        ),
        ("assignment.toml", UNWRITTEN, "has the topic 'consider_unseen'"),
    ],
)
def test_check_finds_a_test_that_is_only_written_or_only_described(project, name, more, words):
    path = project / name
    before = path.read_bytes()
    path.write_bytes(before + more.encode())
    try:
        ran = make(project, "check", timeout=120)
    finally:
        path.write_bytes(before)
    assert ran.returncode == 2 and words in ran.stderr and "Traceback" not in ran.stderr


@pytest.mark.parametrize("words, selects", [("test", ""), ("test-long", " -m long")])
def test_arguments_follow_the_number_of_processes(words, selects):
    assert f"-m pytest -n 4{selects} -k starter\n" in dry(words, "ARGS=-k starter")
