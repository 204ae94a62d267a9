"""A sheet's mistakes are reported before anything is typeset; a failed build changes nothing."""

import importlib
import re

import pytest

from tests.project import copy_of_the_project
from tools import autograder, reference, release, student, world
from tools.described import UsageError
from tools.handout import build, checks
from tools.handout.templates import HandoutError

PYTHON = re.compile(r"\b(str|int|float|dict|tuple|list index|NoneType|\w+Error)\b")
TOML = "assignment.toml"
ACCURACY = "handout/topics/consider_accuracy.tex.j2"
TWO = "handout/topics/attention_two_heads.tex.j2"
LAST = """\
  { number = "3e", topic = "attention_key_query_value", written = [1, 1], extra_credit = true },
"""
REFERENCES = "handout/references.toml"
FIGURES = "handout/figures.toml"
DUPLICATE = """
[again]
text = 'A. Vaswani, N. Shazeer, N. Parmar, J. Uszkoreit, L. Jones, A. N. Gomez, {\\L}. Kaiser and \
I. Polosukhin. Attention is all you need. In \\emph{Advances in Neural Information Processing \
Systems}, volume 30, 2017.'
"""
MISTAKES = {
    "points without a place": (
        (ACCURACY, "<< answer() >>", ""),
        [f"{ACCURACY}: has no place for an answer, but question 2a", "0.5 written points"],
    ),
    "two places": (
        (ACCURACY, "<< answer() >>", "<< answer() >> << answer() >>"),
        [ACCURACY, "2(a) (0.5) and 2(a) (0.5)", "expected << answer() >>, once each"],
    ),
    "a part without a place": (
        (TWO, "<< answer(2) >>", ""),
        [TWO, "answers 3(d)-i (0.5), but", "question 3d", "<< answer(1) >> and << answer(2) >>"],
    ),
    "a part twice": (
        (TWO, "<< answer(2) >>", "<< answer(1) >>"),
        [TWO, "question 3d", "<< answer(2) >>"],
    ),
    "points without a place, of a question that had none": (
        (TOML, '"1a", topic = "demo" }', '"1a", topic = "demo", written = 1 }'),
        ["demo.tex.j2: has no place for an answer, but question 1a"],
    ),
    "a part that is a text": (
        (TWO, "<< answer(2) >>", '<< answer("2") >>'),
        [f"{TWO}:", "part '2' should be a number from 0 to 6"],
    ),
    "a part that is too great": (
        (TWO, "<< subpart(2) >>", "<< subpart(9) >>"),
        [f"{TWO}:", "part 9 should be a number from 1 to 6"],
    ),
    "one work under two keys": (
        (REFERENCES, "\n[relative]", f"{DUPLICATE}\n[relative]"),
        ["references.toml", "transformer and again are the same work"],
    ),
    "a reference without a text": (
        (REFERENCES, "[bert]\ntext", "[bert]\ntexts"),
        ["references.toml: [bert]: 'text' is missing"],
    ),
    "a reference that is a number": (
        (REFERENCES, "[gpt]", "gpt = 3\n[gtp]"),
        ["references.toml: gpt should be a table"],
    ),
    "a figure without words": (
        (FIGURES, "\nalt = ", "\nalts = "),
        ["figures.toml: [key_range]: 'alt' is missing"],
    ),
    "a figure's number": ((FIGURES, 'label = "fig:key-range"', "label = 3"), ["label should be"]),
}


@pytest.fixture
def tools_are_there(monkeypatch):
    monkeypatch.setattr(checks.shutil, "which", lambda name: name)


@pytest.mark.parametrize("edition", ["xcs224n", "cs224n", "current"])
@pytest.mark.parametrize("dataset", ["world", "smoke", "real"])
def test_the_editions_pass(repo, tools_are_there, edition, dataset):
    checks.check(repo, edition, dataset)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_each_mistake_is_one_line(repo, change, tools_are_there, mistake):
    edit, words = MISTAKES[mistake]
    change(*edit)
    with pytest.raises(HandoutError) as caught:
        checks.check(repo, "xcs224n", "world")
    message = str(caught.value)
    assert "\n" not in message and not PYTHON.search(message)
    for word in words:
        assert word in message, message


COURSE = "course.toml"
UNPRINTED = {
    # what: (edit, the error)
    "a contact": (
        (COURSE, '"the course\'s discussion forum"', '"Dr. 王芳"'),
        "course.toml:4: contact: LaTeX can't print 王芳; write it in Latin letters",
    ),
    "an escape": (
        (COURSE, '"Winter 2027"', '"Winter 2027 \\U0001F642"'),
        "course.toml:3: term: LaTeX can't print 🙂; write it in words",
    ),
    "a policy": (
        (COURSE, "No work is accepted", "No work ≤ 1 is accepted"),
        "course.toml:17: late: LaTeX can't print ≤; write $\\leq$",
    ),
    "a title": (
        (TOML, '"Check out the demo"', '"Демо"'),
        "assignment.toml:{}: title: LaTeX can't print Демо; write it in Latin letters",
    ),
    "a table": (
        (REFERENCES, "[relative]\ntext = '", "[relative]\ntext = '王 "),
        "handout/references.toml:{}: text: LaTeX can't print 王; write it in Latin letters",
    ),
    "a template": (
        (ACCURACY, "<< answer() >>", "\u200b<< answer() >>"),
        f"{ACCURACY}:{{}}: LaTeX can't print an invisible character (ZERO WIDTH SPACE); delete it",
    ),
}


@pytest.mark.parametrize("what", UNPRINTED)
def test_what_latex_cannot_print_is_named_where_it_was_written(repo, change, tools_are_there, what):
    (name, before, after), expected = UNPRINTED[what]
    change(name, before, after)
    text = (repo / name).read_text(encoding="utf-8")
    number = text.count("\n", 0, text.index(after)) + after.count("\n") + 1
    error = UsageError if name in (COURSE, TOML) else HandoutError
    with pytest.raises(error) as caught:
        checks.check(repo, "xcs224n", "world")
    assert str(caught.value) == expected.format(number)


@pytest.mark.parametrize(
    "name", ["Nguyễn Thị Lan", "Nguyê\u0303n Thi\u0323 Lan", "Ł. Żółć, ⁇ and □"]
)
def test_letters_with_accents_are_no_mistake(repo, change, tools_are_there, name):
    change(COURSE, '"the course\'s discussion forum"', f'"Dr. {name}"')
    checks.check(repo, "xcs224n", "world")


@pytest.mark.parametrize(
    ("answer", "topic"),
    [
        ("consider_accuracy.tex.j2", "consider_accuracy"),
        ("attention_two_heads-ii.tex.j2", "attention_two_heads"),
        ("pretraining.tex.j2", "pretraining"),
        ("blocks_cost.tex.j2", "blocks_cost"),  # of practice: students may see this one
    ],
)
def test_a_template_without_an_answer_names_both_files(repo, tools_are_there, answer, topic):
    folder = "handout/answers" if topic.startswith("blocks_") else "solutions/written"
    (repo / folder / answer).unlink()
    with pytest.raises(HandoutError) as caught:
        checks.check(repo, "xcs224n", "world")
    for name in (f"handout/topics/{topic}.tex.j2", f"solutions/written/{answer}"):
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("missing", "target"),
    [
        ("handout/sheet.tex.j2", "print"),
        ("handout/topics/attention_copying.tex.j2", "print"),
        # This edition's first answer: those before any other would ask for numbers.
        ("solutions/written/attention_copying.tex.j2", "solutions"),
    ],
)
def test_a_missing_template_is_named_with_its_folder(repo, rendered, missing, target):
    (repo / missing).unlink()
    with pytest.raises(HandoutError) as caught:
        rendered("cs224n", target, numbers={})
    message = str(caught.value)
    assert message.endswith(f"the template {missing} is missing") and "\n" not in message


def test_a_missing_tool_is_named_before_anything_is_typeset(repo, monkeypatch):
    monkeypatch.setattr(checks.shutil, "which", lambda name: None)
    with pytest.raises(HandoutError, match="latexmk is missing: apt.txt"):
        checks.check(repo, "xcs224n", "world")


# ---------------------------------------------------------------- builds that fail


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    tree = copy_of_the_project(tmp_path_factory.mktemp("project"))
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0
    return tree


@pytest.fixture
def dist(project):
    """The files of the last successful builds."""
    folder = project / "dist"
    folder.mkdir(exist_ok=True)
    for name in ("xcs224n-handout.pdf", "test-xcs224n-starter-expect-0.zip", "manifest.json"):
        (folder / name).write_text("good", encoding="utf-8")
    return folder


def left(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def no_build(*arguments, **keywords):
    """Replace a build by one that writes to its folder (the last argument), and then fails."""
    folder = arguments[-1]
    (folder / "xcs224n-handout.pdf").write_text("half", encoding="utf-8")
    raise HandoutError("TeX stops")


handout_main = importlib.import_module("tools.handout.__main__")
BUILDS = {
    # command: (its module, where it builds, its arguments)
    "handout": (handout_main, (build, "build"), []),
    "student": (student, (student, "release"), []),
    "autograder": (autograder, (autograder, "build"), ["--recipe", "smoke"]),
    "release": (release, (student, "release"), ["--recipe", "smoke"]),
}


@pytest.mark.parametrize("command", BUILDS)
def test_a_build_that_fails_leaves_dist_as_it_was(
    project, dist, monkeypatch, tools_are_there, command
):
    module, (place, name), arguments = BUILDS[command]
    monkeypatch.setattr(module, "REPO", project)
    monkeypatch.setattr(autograder, "DIST", dist)
    monkeypatch.setattr(reference, "train", lambda *_, **__: project)
    monkeypatch.setattr(place, name, no_build)
    before = left(dist)
    if command == "autograder":  # which raises no HandoutError
        monkeypatch.setattr(place, name, lambda *a: no_build_of_autograder(*a))
    assert module.main([*arguments, "--edition", "xcs224n"]) == 1
    assert left(dist) == before


def no_build_of_autograder(*arguments):
    try:
        no_build(*arguments)
    except HandoutError as error:
        raise autograder.BuildFailed(str(error)) from None


LATE = ("course.toml", "2027-01-18", "2027-02-18")
DATASET = "src/data/dataset.json"


@pytest.mark.parametrize(
    ("command", "edit", "words", "code"),
    [
        ("release", (ACCURACY, "<< answer() >>", ""), "no place for an answer", 1),
        ("release", LATE, "is after due", 2),
        ("student", LATE, "is after due", 2),
        ("handout", LATE, "is after due", 2),
        ("handout", (DATASET, '"name"', '"nam"'), "the name of a data set", 2),
        ("release", (TOML, 'recipe = "smoke"', 'recipe = "smok"'), "recipe", 2),
        ("autograder", (TOML, 'recipe = "smoke"', 'recipe = "smok"'), "recipe", 2),  # has no sheet
    ],
)
def test_what_is_wrong_is_said_before_anything_is_trained(
    project, dist, monkeypatch, tools_are_there, command, edit, words, code, capsys
):
    module, _, arguments = BUILDS[command]
    monkeypatch.setattr(module, "REPO", project)
    monkeypatch.setattr(reference, "train", lambda *_, **__: pytest.fail("trained"))
    name, old, new = edit
    path = project / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    try:
        path.write_text(text.replace(old, new, 1), encoding="utf-8")
        assert module.main([*arguments, "--edition", "xcs224n"]) == code
    finally:
        path.write_text(text, encoding="utf-8")
    assert words in capsys.readouterr().err
    with pytest.raises(UsageError):
        release.release(project, ["xcs224n"], "no such recipe", "letter")


def test_the_last_sheet_is_kept_where_a_new_one_stops(project, tmp_path, monkeypatch):
    kept = project / "build" / "handout" / "xcs224n" / "kept"
    kept.parent.mkdir(parents=True)
    kept.write_text("good", encoding="utf-8")

    def stop(*_):
        raise HandoutError("TeX stops")

    monkeypatch.setattr(build, "_pdf", stop)
    with pytest.raises(HandoutError):
        build.build(project, "xcs224n", dist=tmp_path / "dist")
    assert kept.read_text(encoding="utf-8") == "good" and not (tmp_path / "dist").exists()
