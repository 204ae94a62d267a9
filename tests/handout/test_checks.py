"""A sheet's mistakes are reported before anything is typeset; a failed build changes nothing."""

import importlib
import json
import re
import subprocess

import pytest

from autograder.description import UsageError
from tests.handout.conftest import edited
from tests.snapshots import check, with_lines
from tools import autograder, reference, release, student
from tools.arguments import Failed
from tools.handout import build, checks, typeset
from tools.handout.templates import HandoutError

PYTHON = re.compile(r"\b(str|int|float|dict|tuple|list index|NoneType|\w+Error)\b")
TOML, COURSE = "assignment.toml", "course.toml"
DEMO = "handout/topics/demo.tex.j2"
ACCURACY = "handout/topics/consider_accuracy.tex.j2"
TWO = "handout/topics/attention_two_heads.tex.j2"
REFERENCES = "handout/references.toml"
FIGURES = "handout/figures.toml"
DUPLICATE = """
[again]
text = 'A. Vaswani, N. Shazeer, N. Parmar and others. Attention is all you need. In \
\\emph{Proceedings of NeurIPS}, volume 30, 2017.'
"""
# What is replaced in a file, by what.
MISTAKES = {
    "points without a place": (ACCURACY, "<< answer() >>", ""),
    "a part twice": (TWO, "<< answer(2) >>", "<< answer(1) >>"),
    "a part that is too great": (TWO, "<< subpart(2) >>", "<< subpart(9) >>"),
    "one work under two keys": (REFERENCES, "\n[relative]", f"{DUPLICATE}\n[relative]"),
    "a reference that is a number": (REFERENCES, "[gpt]", "gpt = 3\n[gtp]"),
    "a figure without words": (FIGURES, "\nalt = ", "\nalts = "),
    "a figure's number": (FIGURES, 'label = "fig:key-range"', "label = 3"),
    # what LaTeX can't print
    "an escape": (COURSE, '"Winter 2027"', '"Winter 2027 \\U0001F642"'),
    "a policy": (COURSE, "No work is accepted", "No work ≤ 1 is accepted"),
    "a title": (TOML, '"Check out the demo"', '"Демо"'),
    "a table": (REFERENCES, "[relative]\ntext = '", "[relative]\ntext = '王 "),
    "a template": (ACCURACY, "<< answer() >>", "\u200b<< answer() >>"),
    # while the sheet is rendered
    "an unknown name": (DEMO, "laptop. Note", "laptop << colour >>. Note"),
    "an if without a condition": (DEMO, "There is nothing", "<% if %>"),
    "an unknown question": (DEMO, "There is nothing", '<< ref("demos") >>'),
    "an unknown reference": (DEMO, "There is nothing", '<< cite("t6") >>'),
    "a number for two parts": (
        TOML,
        'topic = "attention_two_heads", written = [0.5, 0.5]',
        'topic = "attention_two_heads", written = 1',
    ),
    "references.toml is no TOML": (REFERENCES, "[t5]", "[t5"),
}
# Files that are missing.
MISSING = {
    "an answer": "solutions/written/consider_accuracy.tex.j2",
    "an answer of practice, which students may see": "handout/answers/blocks_cost.tex.j2",
    "a topic": "handout/topics/attention_copying.tex.j2",
}


@pytest.fixture
def tools_are_there(monkeypatch):
    monkeypatch.setattr(typeset.shutil, "which", lambda name: name)


def test_each_mistake_is_one_line_with_its_file(repo, tools_are_there, monkeypatch):
    found = {}

    def stops(title: str) -> None:
        with pytest.raises((HandoutError, UsageError)) as caught:
            checks.check(repo, "xcs224n", "world")
        message = str(caught.value)
        assert "\n" not in message and not PYTHON.search(message), title
        shown = re.sub(r":\d+ «", " «", with_lines(message, repo))
        found[title] = re.sub(r"(TOML: Expected ).*", r"\1...", shown)

    for title, (name, before, after) in MISTAKES.items():
        with edited(repo / name, before, after):
            stops(title)
    for title, name in MISSING.items():
        path = repo / name
        content = path.read_bytes()
        path.unlink()
        stops(f"missing: {title}")
        path.write_bytes(content)
    monkeypatch.setattr(typeset.shutil, "which", lambda name: None)
    stops("missing: LaTeX")
    check("handout_mistakes", found, {str(repo): "REPO"})


@pytest.mark.parametrize(
    ("edition", "dataset"), [("xcs224n", "smoke"), ("cs224n", "real"), ("current", "world")]
)
def test_the_editions_pass_and_letters_with_accents_are_no_mistake(
    repo, change, tools_are_there, edition, dataset
):
    names = "Nguyễn Thị Lan, Nguyê\u0303n Thi\u0323 Lan, Ł. Żółć, ⁇ and □"
    change(COURSE, '"the course\'s discussion forum"', f'"Dr. {names}"')
    checks.check(repo, edition, dataset)


BUILDS = {
    # command: (its module, where it builds, its arguments)
    "handout": (importlib.import_module("tools.handout.__main__"), (build, "build"), []),
    "student": (student, (build, "for_students"), []),
    "autograder": (autograder, (autograder, "build"), ["--recipe", "smoke"]),
    "release": (release, (build, "for_students"), ["--recipe", "smoke"]),
}


@pytest.mark.parametrize("command", BUILDS)
def test_a_build_that_fails_leaves_dist_as_it_was_and_a_mistake_is_told_before_any_training(
    course, tools_are_there, monkeypatch, command, capsys
):
    module, place, words = BUILDS[command]

    def stops(*arguments, **_):
        """Write to the build's folder, the last argument, and then fail."""
        (arguments[-1] / "xcs224n-handout.pdf").write_text("half", encoding="utf-8")
        raise Failed("TeX stops")

    dist = course / "dist"
    dist.mkdir(exist_ok=True)
    names = {"xcs224n-handout.pdf", "test-xcs224n-starter-expect-0.zip", "manifest.json"}
    for name in names:
        (dist / name).write_text("good", encoding="utf-8")
    monkeypatch.setattr(reference, "train", lambda *_, **__: course)
    monkeypatch.setattr(student, "shared", lambda _: {})
    monkeypatch.setattr(*place, stops)
    monkeypatch.setattr(module, "REPO", course)
    assert module.main([*words, "--edition", "xcs224n"]) == 1
    assert "TeX stops" in capsys.readouterr().err
    left = {path.name: path.read_text(encoding="utf-8") for path in dist.iterdir()}
    assert left == dict.fromkeys(names, "good")
    monkeypatch.setattr(reference, "train", lambda *_, **__: pytest.fail("trained"))
    with edited(course / TOML, 'recipe = "smoke"', 'recipe = "smok"'):
        assert module.main([*words, "--edition", "xcs224n"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_new_autograder_replaces_the_test_zips_of_its_edition_alone(course, monkeypatch):
    """Another edition's name may begin with this one's."""
    own, other = (course / f"dist/test-{e}-starter-expect-1.zip" for e in ("xcs224n", "xcs224n-b"))
    own.parent.mkdir(exist_ok=True)
    for path in (own, other):
        path.touch()
    monkeypatch.setattr(reference, "train", lambda *_, **__: course)
    monkeypatch.setattr(autograder, "build", lambda *_: [])
    monkeypatch.setattr(autograder, "REPO", course)
    assert autograder.main(["--recipe", "smoke", "--edition", "xcs224n"]) == 0
    assert (own.exists(), other.exists()) == (False, True)
    other.unlink()


@pytest.mark.parametrize("recipe, used", [("laptop", True), ("smoke", False)])
def test_solutions_quote_no_model_that_was_trained_with_another_recipe(
    tmp_path, monkeypatch, recipe, used, capsys
):
    def compute(command, **_):
        (tmp_path / "numbers.json").write_text("{}", encoding="utf-8")
        return subprocess.CompletedProcess(command, "--trained" not in command, "", "not trained")

    trained = tmp_path / reference.TARGET
    trained.mkdir(parents=True)
    (trained / "vanilla.finetune.params").touch()
    (trained / reference.STATE).write_text(json.dumps({"recipe": recipe}), encoding="utf-8")
    monkeypatch.setattr(reference, "lay_out", lambda *_: None)
    monkeypatch.setattr(reference, "own_recipe", lambda _: "laptop")
    monkeypatch.setattr(build.subprocess, "run", compute)
    if used:
        assert build.compute_numbers(tmp_path, tmp_path) == {}
    else:
        with pytest.raises(HandoutError, match="not trained"):
            build.compute_numbers(tmp_path, tmp_path)
    told = f"trained with {recipe}; `make reference` takes laptop"
    assert (told in capsys.readouterr().err) == (not used)
