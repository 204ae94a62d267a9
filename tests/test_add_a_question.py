"""docs/add-a-question.md leads to a question that works; `make question` begins it, or refuses.

The document describes the shipped assignment.toml, so these tests use that one.
"""

import ast
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from autograder.description import load_assignment
from tests import follow
from tests.project import ROOT, copy_of_the_project
from tools import question
from tools.handout import description
from tools.handout.sheet import Sheet

DOCUMENT = (ROOT / "docs" / "add-a-question.md").read_text(encoding="utf-8")
STEPS = list(follow.steps(DOCUMENT))
REFERENCE, STARTER = "python src/grader.py 3f --submission solutions", "python src/grader.py 3f"
# Not run here: `make handout` needs LaTeX (the sheet's text is rendered below), and `make lint`
# checks everything (ruff alone is run below).
LEFT_OUT = ("make handout EDITION=xcs224n", "make lint")
pytestmark = pytest.mark.requires_tool("make")


def project(target: Path) -> Path:
    """Copy the project to a folder, with the assignment.toml that is shipped."""
    tree = copy_of_the_project(target)
    shutil.copy2(ROOT / "assignment.toml", tree)
    return tree


@pytest.fixture(scope="module")
def fresh(tmp_path_factory) -> Path:
    return project(tmp_path_factory.mktemp("fresh"))


@pytest.fixture(scope="module")
def followed(tmp_path_factory) -> tuple[Path, list[tuple[str, subprocess.CompletedProcess]]]:
    """Return a copy in which the document was followed, and what each command answered."""
    tree = project(tmp_path_factory.mktemp("followed"))
    answers = []
    for step in STEPS:
        if not isinstance(step, str):
            follow.edit(tree, *step)
        elif step not in LEFT_OUT:
            answers.append((step, follow.run(tree, step)))
    return tree, answers


def contents(tree: Path) -> dict[str, bytes]:
    ignored = (".venv", "__pycache__", ".pytest_cache")
    files = (path for path in tree.rglob("*") if path.is_file())
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in files
        if not set(ignored) & set(path.relative_to(tree).parts)
    }


# -- the document ----------------------------------------------------------------------------------


@pytest.mark.long
def test_each_command_ends_as_the_document_says(followed):
    """Grading the starter fails; every other command succeeds."""
    for command, answer in followed[1]:
        assert answer.returncode == int(command == STARTER), (command, answer.stdout, answer.stderr)
        assert "Traceback" not in answer.stdout + answer.stderr


@pytest.mark.long
def test_the_reference_has_all_points_and_the_starter_none(followed):
    said = [(command, answer.stdout) for command, answer in followed[1]]
    references = [text for command, text in said if command == REFERENCE]
    starters = [text for command, text in said if command == STARTER]
    for text, worth in zip(references, ("3 / 3", "6 / 6"), strict=True):
        assert f"{worth}     points in all" in text
    for text, worth in zip(starters, ("0 / 3", "0 / 6"), strict=True):
        assert f"{worth}     points in all" in text and "not written yet" in text


@pytest.mark.long
def test_every_place_to_edit_was_marked_and_none_is_left(fresh, followed):
    before = contents(fresh)
    changed = {n: text for n, text in contents(followed[0]).items() if before.get(n) != text}
    assert not [name for name, text in changed.items() if b"EDIT:" in text]
    edited = {step[0] for step in STEPS if not isinstance(step, str)}
    generated = {f"tests/golden/{name}.toml" for name in ("verdicts", "killers")}
    generated.add("src/submission/common_prefix.py")
    assert changed.keys() == edited | generated


@pytest.mark.long
def test_variants_have_the_verdicts_that_are_meant(followed):
    tree, _ = followed
    tables = {
        name: tomllib.loads((tree / f"tests/golden/{name}.toml").read_text(encoding="utf-8"))
        for name in ("verdicts", "killers")
    }
    ours = {name: v for name, v in tables["verdicts"].items() if name.startswith("common_prefix")}
    assert ours == {"common_prefix/wrong/a_mistake": {"failed": ["example", "random"]}}
    killers = [entry for entry in tables["killers"].values() if "common_prefix" in entry["test"]]
    assert {entry["test"] for entry in killers} == {"common_prefix.example", "common_prefix.random"}


@pytest.mark.long
@pytest.mark.parametrize("target", ["print", "web", "solutions"])
def test_the_sheet_has_the_question(followed, target):
    sheet = Sheet(followed[0], description.describe(followed[0], None), "letter", {})
    question = sheet._described.questions["common_prefix"]
    text = sheet.page("sheet.tex.j2") and sheet.render_question(question)
    assert r"{3}{f}{What a cache can keep}{6 points (Coding)}" in text
    assert r"\code{\# [common prefix]}" in text and "@" not in text


# -- the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("topic", ["x", "a_name_of_twenty_let"])
def test_any_name_gives_code_in_our_style(topic):
    values = {
        "TOPIC": topic,
        "ID": topic.replace("_", "-"),
        "WORDS": topic.replace("_", " "),
        "WORDS_CAPITAL": topic.replace("_", " ").capitalize(),
        "CLASS": topic.title().replace("_", ""),
        "TEX": topic.replace("_", r"\_"),
    }
    for name, text in question.new_files(values).items():
        if not name.endswith(".py") or "golden" in name:
            continue
        ast.parse(text)
        assert max(map(len, text.splitlines())) <= 100
        for words in (("check",), ("format", "--diff")):
            command = [sys.executable, "-m", "ruff", *words, "--stdin-filename", name, "-"]
            done = subprocess.run(command, cwd=ROOT, input=text, encoding="utf-8", check=False)
            assert done.returncode == 0


REFUSED = {
    "rope": "assignment.toml already has a topic rope",
    "Rope": "should consist of words of a to z",
    "common-prefix": "should consist of words of a to z",
    "common__prefix": "should consist of words of a to z",
    "prefix2": "should consist of words of a to z",
    "lambda": "should consist of words of a to z",
    "": "should consist of words of a to z",
    "x" * 21: "at most 20 letters",
    "../up": "should consist of words of a to z",
    "rope_scaling": "the topic rope begin with the same words",
    "blocks": "begin with the same words",
    "helper": "the name helper is taken by src/submission/helper.py",
    "shared": "the name shared is taken by src/questions/shared/",
    "batches": "the name batches is taken by src/pretraining/batches.py",
}


def refused(tree: Path, topic: str, capsys) -> str:
    """Return the one line of a command that changes nothing."""
    before = contents(tree)
    assert question.main([topic], tree) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("error: ") and err.count("\n") == 1
    assert contents(tree) == before
    return err


@pytest.mark.parametrize("topic", REFUSED)
@pytest.mark.sampled(7)
def test_a_bad_name_is_refused_in_a_line(fresh, topic, capsys):
    assert REFUSED[topic] in refused(fresh, topic, capsys)


@pytest.mark.parametrize(
    ("left", "words"),
    [
        ("solutions/hidden/common_prefix.py", "the name common_prefix is taken"),
        ("handout/topics/common_prefix.tex.j2", "handout/topics/common_prefix.tex.j2 exists"),
        ("tests/golden/common_prefix/right/another_way.py", "another_way.py exists"),
    ],
)
def test_what_is_left_of_another_attempt_is_refused(fresh, left, words, capsys):
    path = fresh / left
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    try:
        assert words in refused(fresh, "common_prefix", capsys)
    finally:
        path.unlink()


def test_entries_that_are_left_are_refused(fresh, capsys):
    path = fresh / "tests" / "golden" / "verdicts.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + '\n["common_prefix/wrong/x"]\n', encoding="utf-8")
    try:
        assert "verdicts.toml still has entries of common_prefix" in refused(
            fresh, "common_prefix", capsys
        )
    finally:
        path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("[parts]\n", "[part]\n", "unknown key 'part'"),
        (
            '  { number = "3e", topic',
            '  {number = "3e", topic',
            "no line and table to put the new ones after",
        ),
    ],
)
def test_a_description_that_cannot_be_added_to_is_refused(fresh, before, after, words, capsys):
    path = fresh / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    assert before in text
    path.write_text(text.replace(before, after), encoding="utf-8")
    try:
        assert words in refused(fresh, "common_prefix", capsys)
    finally:
        path.write_text(text, encoding="utf-8")


def test_a_file_that_cannot_be_written_leaves_none_behind(fresh, capsys):
    blocked = fresh / "tests" / "golden" / "beam_width"
    blocked.touch()  # a file where a folder would go
    try:
        assert "nothing was changed: " in refused(fresh, "beam_width", capsys)
    finally:
        blocked.unlink()


def test_a_number_is_free_in_the_editions_that_get_the_question(tmp_path, capsys):
    """`current` inherits the question and has a 3f; `cs224n`, whose 3f is another's, doesn't."""
    tree = project(tmp_path)
    path = tree / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    before, current, after = text.partition("[editions.current]")
    assert '{ number = "5a"' in after and '{ number = "3f"' in before
    path.write_text(before + current + after.replace('"5a"', '"3f"', 1), encoding="utf-8")
    assert question.main(["common_prefix"], tree) == 0
    assert "Question 3g works" in capsys.readouterr().out
    editions = load_assignment(tree).editions.values()
    numbers = {
        e.name: [q.number for q in e.questions if q.topic == "common_prefix"] for e in editions
    }
    assert numbers == {"xcs224n": ["3g"], "current": ["3g"], "cs224n": []}
