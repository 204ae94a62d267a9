"""Variables of `make`: unknown ones are rejected; a wrong value gets one line with valid ones."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import strict
from tests.project import OUTER_MAKE, ROOT, copy_of_the_project, make

pytestmark = pytest.mark.requires_tool("make")
TEXT = (ROOT / "Makefile").read_text(encoding="utf-8")
# Targets, with the names of the variables that their help shows.
KNOWN = {
    target: re.findall(r"\b([A-Z_]{3,})=", words)
    for target, words in re.findall(r"^([a-z-]+):.*## (.*)$", TEXT, re.MULTILINE)
}
SETUP = {"PYTHON", "TORCH_INDEX", "UV"}  # of .venv, which nearly every target may have to make
NEEDED = {
    "data": ("SOURCE",),
    "question": ("TOPIC",),
    "emulate": ("SUBMISSION",),
    "new-term": ("TERM",),
    "class": ("SUBMISSIONS", "INTO"),
}

# By target and variable: a wrong value, and words of the line that answers it.
WRONG = {
    ("world", "SEED"): ("x", "got 'x'", "an integer"),
    ("world", "PEOPLE"): ("many", "got 'many'", "an integer"),
    ("world", "DATASET"): ("real", "got 'real'", "smoke, world"),
    ("world", "FORCE"): ("yes", "FORCE=yes", "expected FORCE=1"),
    ("data", "SOURCE"): ("no/such", "no/such", "expected a folder with the course's data files"),
    ("question", "TOPIC"): ("No-Name", "'No-Name'", "words of a to z joined by _"),
    ("reference", "RECIPE"): ("foo", "no recipe 'foo'", "laptop, original, real, smoke"),
    ("release", "EDITION"): ("foo", "no edition 'foo'", "cs224n, current, xcs224n"),
    ("handout", "PAPER"): ("a5", "got 'a5'", "letter, a4"),
    ("new-term", "TERM"): (" ", "TERM is missing", "make new-term TERM=NAME"),
    ("new-term", "DUE"): ("soon", "got 'soon'", "as 2027-05-02T23:59:00-07:00"),
    ("emulate", "SUBMISSION"): ("no/such.zip", "no/such.zip", "no such file or folder"),
    ("emulate", "METADATA"): (
        "foo",
        "got 'foo'",
        "first, tenth, late, extension, group, malformed",
    ),
    ("class", "SUBMISSIONS"): ("no/such", "no/such", "No such file or directory"),
    ("emulate", "SETUP"): ("0", "SETUP=0", "expected SETUP=1"),
}
CHECKED_BY_MAKE = {"FORCE", "SETUP", "TERM"}


def given(target: str, *words: str) -> list[str]:
    """Return a target with the variables that it requires."""
    named = {word.partition("=")[0] for word in words}
    return [target, *words, *(f"{name}=x" for name in NEEDED.get(target, ()) if name not in named)]


def dry(*words: str, **environment: str) -> subprocess.CompletedProcess:
    """Return what `make -n` would do."""
    inherited = {k: v for k, v in os.environ.items() if k not in OUTER_MAKE}
    skip = ("-o", ".venv/.stamp", "-o", "src/data/dataset.json")
    return subprocess.run(
        ["make", "-n", *skip, *words],
        cwd=ROOT,
        env=inherited | environment,
        capture_output=True,
        encoding="utf-8",
    )


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


@pytest.mark.parametrize("target", KNOWN)
def test_a_target_knows_the_variables_of_its_help_and_no_other(target):
    """Each of them reaches the command, as an option or as the command's argument."""
    names = set(KNOWN[target])
    ran = dry(*given(target, *(f"{name}=1" for name in names)))
    assert ran.returncode == 0, ran.stderr
    for name in names - SETUP - {"ARGS"}:
        assert f"${name}" in ran.stdout or f"--{name.lower()}" in ran.stdout, (name, ran.stdout)
    ran = dry(*given(target, "PAPERS=1"))
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1 and not ran.stdout
    said, known = ran.stderr.split("; known: ")
    assert f"make {target}: unknown variable PAPERS" in said
    everywhere = SETUP if target not in ("help", "clean") else set()
    assert set(re.findall(r"[A-Z_]{2,}", known)) == names | everywhere


@pytest.mark.parametrize(
    ("target", "name"), [(target, name) for target, names in NEEDED.items() for name in names]
)
@pytest.mark.parametrize("words", [(), ("{}=",)], ids=["left out", "empty"])
def test_what_a_target_needs_is_asked_for(target, name, words):
    others = [f"{other}=x" for other in NEEDED[target] if other != name]
    # TERM is in every terminal's environment, but "xterm" is not a course's term.
    ran = dry(target, *others, *(word.format(name) for word in words), **{name: "xterm"})
    assert ran.returncode == 2 and ran.stderr.count("\n") == 1
    assert f"make {target}: {name} is missing, expected: make {target} {name}=" in ran.stderr


def test_variables_of_the_environment_are_no_options():
    ran = dry("handout", EDITION="cs224n", PAPER="a4")
    assert ran.returncode == 0 and "--edition" not in ran.stdout and "--paper" not in ran.stdout


def test_several_targets_know_what_one_of_them_knows():
    assert dry("world", "demo", "FORCE=1", "RECIPE=smoke").returncode == 0
    assert dry("world", "demo", "PAPER=a4").returncode == 2


def test_a_target_that_is_none_is_makes_own_message():
    assert "No rule to make target" in dry("hand-out", "EDITION=x").stderr


def test_quotes_and_spaces_of_a_value_reach_the_command(tmp_path):
    tree = copy_of_the_project(tmp_path)
    value = "Spring \"27\" $$HOME; 'x'"
    command = dry("new-term", f"TERM={value}").stdout.strip().rstrip("\\")
    shown = command.replace(".venv/bin/python -m tools.new_term", "printf '%s'")
    environment = os.environ | {"TERM": value.replace("$$", "$")}
    ran = subprocess.run(
        ["sh", "-c", shown], cwd=tree, env=environment, capture_output=True, encoding="utf-8"
    )
    assert ran.stdout.rstrip() == "--term=Spring \"27\" $HOME; 'x'"


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """Return a copy with a data set and the files of an earlier build."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("project"))
    made = make(tree, "world", "DATASET=smoke", "SEED=1")
    assert made.returncode == 0, made.stderr
    for folder in ("dist", "build/reference", "build/compare", "build/handout/xcs224n"):
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
    ran = make(project, *given(target, f"{name}={value}"), timeout=120)
    assert ran.returncode == 2, ran.stdout  # make's exit code, whatever the command's is
    lines = [
        line for line in ran.stderr.splitlines() if not re.match(r"make(\[\d\])?: \*\*\*", line)
    ]
    assert len(lines) == 1, ran.stderr
    assert lines[0].startswith(
        "Makefile:" if name in CHECKED_BY_MAKE else ("error: ", "classroom: ")
    )
    for word in words:
        assert word in lines[0]
    assert state(project) == before


@pytest.mark.parametrize("target", ["test", "test-long", "test-quick", "redteam"])
def test_pytest_warns_of_files_opened_without_their_encoding(target):
    assert f"python {' '.join(strict.FLAGS)} -m pytest " in dry(target).stdout


@pytest.mark.parametrize("words, selects", [("test", ""), ("test-long", " -m long")])
def test_arguments_follow_the_number_of_processes(words, selects):
    assert f"-m pytest -n 4{selects} -k starter\n" in dry(words, ARGS="-k starter").stdout
