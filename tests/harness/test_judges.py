"""Judges and tests are bound when the assignment loads; a missing one is reported in one line."""

import shutil
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import grading
from tests.interpreter import python


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """What grades, without data and without trained files."""
    root = tmp_path_factory.mktemp("tree")
    shutil.copytree(grading.SRC, root / "src", ignore=shutil.ignore_patterns("data", "__pycache__"))
    ignored = shutil.ignore_patterns("data", "written", "__pycache__")
    shutil.copytree(grading.SOLUTIONS, root / "solutions", ignore=ignored)
    shutil.copy(grading.ROOT / "assignment.toml", root)
    shutil.copytree(grading.ROOT / "autograder", root / "autograder")
    return root


@pytest.fixture
def edited(tree, tmp_path):
    """Return a copy of it in which a file is replaced."""

    def edit(name: str, change) -> None:
        path = tmp_path / "tree" / name
        text = path.read_text(encoding="utf-8")
        changed = change(text)
        assert changed != text
        path.write_text(changed, encoding="utf-8")

    shutil.copytree(tree, tmp_path / "tree")
    edit.root = tmp_path / "tree"
    return edit


JUDGE = "def span_corruption_every_length("
TESTS = "src/questions/span_corruption/tests.py"
HIDDEN = "solutions/hidden/span_corruption.py"
MISTAKES = {
    "a judge that is missing": (
        HIDDEN,
        lambda text: text.replace(JUDGE, "def every_length("),
        "every_length is a hidden test, but solutions/hidden/ has no judge span_corruption_every_",
    ),
    "a judge of no test": (
        HIDDEN,
        lambda text: text + "\n\ndef span_corruption_everything(case):\n    pass\n",
        "solutions/hidden/span_corruption.py: span_corruption_everything judges no hidden test",
    ),
    "a judge's module that is not valid Python": (
        HIDDEN,
        lambda text: "x y\n" + text,
        "solutions/hidden/: span_corruption.py:1: SyntaxError: ",
    ),
    "a test's module that is not valid Python": (
        TESTS,
        lambda text: "x y\n" + text,
        "src/questions/span_corruption/tests.py can't be imported: tests.py:1: SyntaxError",
    ),
    "a misspelt topic": (
        TESTS,
        lambda text: text.replace('topic = "span_corruption"', 'topic = "span_coruption"'),
        "src/questions/ has the topic 'span_corruption'; did you mean 'span_coruption'?",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_of_staff_is_one_line(name, edited):
    file, change, words = MISTAKES[name]
    edited(file, change)
    ran = python(edited.root, "src/grader.py", "--list")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and words in ran.stderr


def test_without_judges_nothing_counts(edited):
    shutil.rmtree(edited.root / "solutions" / "hidden")
    ran = python(edited.root, "src/grader.py", "--authoritative", "3a-1-hidden")
    assert ran.returncode == 3 and "solutions/hidden/" in ran.stderr


def test_judges_without_their_package_are_refused(edited):
    (edited.root / "solutions" / "hidden" / "__init__.py").unlink()
    ran = python(edited.root, "src/grader.py", "--list")
    assert ran.returncode == 2 and "__init__.py" in ran.stderr


def test_without_a_reference_nothing_is_judged(edited):
    for path in (edited.root / "solutions" / "submission").glob("*.py"):
        path.unlink()
    ran = python(edited.root, "src/grader.py", "3a-1-hidden")
    assert ran.returncode == 3 and "solutions/submission/" in ran.stderr


@pytest.mark.parametrize("name", ["src/submission/model.py", "src/pretraining/__init__.py"])
def test_a_given_module_that_is_missing_is_our_fault(name, edited):
    (edited.root / name).unlink()
    words = ("--submission", "solutions/submission", "1g-1-basic")
    ran = python(edited.root, "src/grader.py", *words)
    assert ran.returncode == 3 and "grader error" in ran.stdout


def test_a_fault_of_the_given_machinery_is_ours(edited):
    edited("src/pretraining/__init__.py", lambda text: "raise ImportError\n")
    ran = python(edited.root, "src/grader.py", "--submission", "solutions/submission", "1e-2-basic")
    assert ran.returncode == 3 and "grader error" in ran.stdout


# ---------------------------------------------------------------- what a judge says

GRADIENTS = {
    "names": ["x", "w1.weight", "w2", "b2"],
    "arrays": [np.zeros((2, 3)), np.ones(3), np.ones((2, 4)), np.ones(4)],
}


def test_whose_gradient_is_wrong_is_said(runner):
    def expect(holds: bool, sentence: str, **_) -> None:
        if not holds:
            raise ValueError(sentence)

    case = SimpleNamespace(reference=lambda *_, **__: GRADIENTS, expect=expect)
    judge = partial(
        runner.judging.judge("synthesizer_gradients"),
        case,
        arguments={"weights": {"w2": np.ones((2, 4))}},
    )
    judge(got=GRADIENTS)
    names, arrays = GRADIENTS.values()
    for place, name in enumerate(names):
        others, rest = names[:place] + names[place + 1 :], arrays[:place] + arrays[place + 1 :]
        with pytest.raises(ValueError, match=f"^{name} receives no"):
            judge(got={"names": others, "arrays": rest})
        wrong = [*rest, arrays[place] + 1]
        with pytest.raises(ValueError, match=f"^the gradient with respect to {name}"):
            judge(got={"names": [*others, name], "arrays": wrong})
