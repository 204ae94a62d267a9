"""The starter is the reference without its solutions; if there is any fault, nothing is written."""

import ast
import json
import re
import shutil
import textwrap

import pytest

from autograder.description import load_assignment
from tests import pinned
from tools import autograder, starter
from tools.regions import (
    END,
    START,
    RegionError,
    find_regions,
    resembles_marker,
    strip,
)

NAME = "solutions/submission/toy.py"
TRUTH = '''\
"""A toy. Students write between ### START CODE HERE ### and ### END CODE HERE ###."""

LIMIT = 4  # the line ### START CODE HERE ### comes below

### START CODE HERE ###
SECRET = 41 + 1
### END CODE HERE ###


class Toy:
    ### START CODE HERE ###
    secret = 43
    ### END CODE HERE ###

    def double(self, number):
        """Twice the number.

        ### START CODE HERE ###
        """
        # [corruption]
        # Hint: add it to itself.
        ### START CODE HERE ###
        result = number + number

        return result
        ### END CODE HERE ###

    def halve(self, number):
        if number % 2 == 0:
            ### START CODE HERE ###
            return number // 2
            ### END CODE HERE ###
        return None
'''
STARTER = '''\
"""A toy. Students write between ### START CODE HERE ### and ### END CODE HERE ###."""

LIMIT = 4  # the line ### START CODE HERE ### comes below

### START CODE HERE ###
pass
### END CODE HERE ###


class Toy:
    ### START CODE HERE ###
    pass
    ### END CODE HERE ###

    def double(self, number):
        """Twice the number.

        ### START CODE HERE ###
        """
        # [corruption]
        # Hint: add it to itself.
        ### START CODE HERE ###
        raise NotImplementedError("[corruption] Toy.double in submission/toy.py is yours to write")
        ### END CODE HERE ###

    def halve(self, number):
        if number % 2 == 0:
            ### START CODE HERE ###
            raise NotImplementedError("Toy.halve in submission/toy.py is yours to write")
            ### END CODE HERE ###
        return None
'''


def faults_of(text):
    with pytest.raises(RegionError) as caught:
        strip(textwrap.dedent(text), NAME)
    return caught.value.faults


def test_regions_are_stripped_and_all_else_is_kept():
    assert strip(TRUTH, NAME) == STARTER


@pytest.mark.parametrize(
    "comment",
    [
        "### START_CODE_HERE ###",
        "### STRAT CODE HERE ###",
        "### BEGIN CODE HERE ###",
        "### BEGIN SOLUTION ###",
        "### start code here ###",
        "### Start Code Here ###",
        "## START CODE HERE ##",
        "#### START CODE HERE ####",
        "### START CODE HERE",
        "### START CODE HERE ### (part e)",
        "###START CODE HERE###",
        "###  START  CODE  HERE  ###",
        "# START CODE HERE",
        "# ### START CODE HERE ###",
        "#START CODE HERE",
        "# START CODE HER",
        "# START HERE",
        "# STARTCODE HERE: the answer follows in these lines and goes on and on",
        "# YOUR CODE HERE",
        "### END CODE HERE",
        "### END_CODE_HERE ###",
        "### ENDE CODE HERE ###",
        "### END CODE HERRE ###",
        "# end of code here",
        "# END CODE",
        "# STOP CODE HERE",
    ],
)
@pytest.mark.parametrize("beside", ["alone", "beside a valid region"])
def test_misspelt_marker_is_an_error_with_its_line(comment, beside):
    valid = f"    {START}\n    answer = 1\n    {END}\n" if beside != "alone" else ""
    text = f"def f():\n{valid}    {comment}\n    return 2\n"
    line = 5 if valid else 2
    assert any(fault.startswith(f"{NAME}:{line}: ") for fault in faults_of(text))


@pytest.mark.parametrize(
    "comment",
    [
        "# Only what stands between START CODE HERE and END CODE HERE is yours.",
        "# The shape here is (B, T, C).",
        "# Start from the last layer: here the code of the paper differs.",
        "# End of the document.",
        "# start = 4",
        "#!/usr/bin/env python3",
        "# [corruption]",
        "# See the handout for where the code is.",
        "# Here the student's code is called.",
    ],
)
def test_ordinary_comments_are_no_markers(comment):
    assert not resembles_marker(comment)


@pytest.mark.parametrize(
    "body, line, words",
    [
        (f"{START}\n    x = 1", 2, "START without an END"),
        (f"x = 1\n    {END}", 3, "END without a START"),
        (f"{START}\n    {START}\n    x = 1\n    {END}\n    {END}", 3, "START inside the region"),
        (f"{START}\n    x = 1\n    {END}\n    {END}", 5, "END without a START"),
        (f"{START}\n    {END}", 2, "contains no statement"),
        (f"{START}\n    # only a hint\n    {END}", 2, "contains no statement"),
        (f"x = 1  {START}\n    {END}", 2, "marker after code"),
        (f"x = [\n    {START}\n    1,\n    {END}\n    ]", 3, "contains no statement"),
        (f"{START}\n    x = 1\n        {END}", 4, "END is indented by 8"),
        (
            f"if 1:\n        x = 1\n    {START}\n        y = 2\n    {END}",
            4,
            "line 5 isn't indented",
        ),
        (f"{START}\n    x = [\n    {END}\n    ]", 2, "end cuts the statement of line 3"),
        (
            f"if 1:\n        {START}\n        x = 1\n    else:\n        y = 2\n        {END}\n",
            3,
            "spans several blocks",
        ),
        (f"@wraps\n    {START}\n    def g():\n        pass\n    {END}", 4, "not valid Python"),
    ],
)
def test_faulty_region_is_an_error_with_its_line(body, line, words):
    faults = faults_of(f"def f():\n    {body}\n    return 0\n")
    assert any(words in fault for fault in faults), faults
    where = NAME if words != "not valid Python" else f"{NAME}, stripped"
    assert any(fault.startswith(f"{where}:{line}: ") for fault in faults), faults


# ---------------------------------------------------------------- functions of optional topics


@pytest.mark.parametrize(("edition", "has"), [("xcs224n", 0), ("cs224n", 0), ("current", 1)])
@pytest.mark.sampled(3)
def test_only_an_edition_that_asks_for_rope_has_its_functions(tree, edition, has):
    package, reference = (f(tree, edition) for f in (starter.package_of, starter.reference_of))
    for modules in (package, reference):
        text = b"".join(modules.values()).decode("utf-8")
        assert len(re.findall(r"# \[rope\]|def \w*(?:rope|rotary)\w*\(", text)) == 6 * has
        assert "def initialize_synthesizer_model" in text and "# <" not in text
    assert ("rope" in json.loads(starter.edition_file(tree, edition))["variants"]) == bool(has)


@pytest.mark.parametrize("edition", pinned.NAMES)
@pytest.mark.sampled(3)
def test_counting_parameters_can_be_passed_in_every_edition(root, tmp_path, run_python, edition):
    """Its configurations have rope, whose functions only one edition's students write."""
    for name, content in autograder.hand_in(root, edition, tmp_path).items():
        (tmp_path / "submission").mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    questions = load_assignment(root).edition(edition).questions
    number = next(q.number for q in questions if q.topic == "blocks_parameters")
    options = ("--edition", edition, "--submission", tmp_path)
    graded = run_python(root / "src" / "grader.py", number, *options)
    assert graded.returncode == 0, graded.stdout + graded.stderr


# ---------------------------------------------------------------- the command


@pytest.fixture
def project(tmp_path):
    truth = tmp_path / "solutions" / "submission"
    truth.mkdir(parents=True)
    (truth / "toy.py").write_text(TRUTH, encoding="utf-8")
    (truth / "all.py").write_text("ALL = 'é'\n", encoding="utf-8")
    return tmp_path


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()} if folder.is_dir() else {}


def test_starter_is_written_and_then_up_to_date(project, capsys):
    assert starter.main([], project) == 0
    assert (project / "src/submission/toy.py").read_text(encoding="utf-8") == STARTER
    assert (project / "src/submission/all.py").read_text(encoding="utf-8") == "ALL = 'é'\n"
    assert starter.main(["--check"], project) == 0


def test_stale_starter_names_what_to_edit_and_to_run(project, capsys):
    edited, source = "src/submission/toy.py", "solutions/submission/toy.py"
    starter.main([], project)
    (project / edited).write_text("x = 1\n", encoding="utf-8")
    before = contents(project / edited.rpartition("/")[0])
    capsys.readouterr()
    assert starter.main(["--check"], project) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert edited in line and f"edit {source}" in line and line.endswith("run: make starter")
    assert contents(project / edited.rpartition("/")[0]) == before


def test_file_without_original_is_stale_and_removed(project):
    starter.main([], project)
    (project / "src/submission/old.py").write_text(STARTER, encoding="utf-8")
    assert starter.main(["--check"], project) == 1
    assert starter.main([], project) == 0
    assert set(contents(project / "src/submission")) == {"toy.py", "all.py"}
    assert starter.main(["--check"], project) == 0


def test_what_has_no_truth_is_left_alone(project):
    starter.main([], project)
    given = {
        "src/submission/model.py": b"MODEL = 1\n",
        "src/submission/vanilla.params": b"trained",
    }
    for name, content in given.items():
        (project / name).write_bytes(content)
    assert starter.main(["--check"], project) == 0
    assert starter.main([], project) == 0
    assert {name: (project / name).read_bytes() for name in given} == given


@pytest.mark.parametrize(
    "path, text, words",
    [
        ("solutions/submission/zz.py", "### BEGIN CODE HERE ###\n", "zz.py:1: "),
        ("solutions/submission/zz.py", f"def f():\n    {START}\n    x = 1\n", "zz.py:2: "),
    ],
)
@pytest.mark.parametrize("option", [[], ["--check"]])
def test_any_fault_exits_2_and_nothing_is_written(project, capsys, path, text, words, option):
    starter.main([], project)
    (project / "solutions/submission/all.py").write_text("ALL = 2\n", encoding="utf-8")
    (project / path).write_text(text, encoding="utf-8")
    before = contents(project / "src/submission"), contents(project / "solutions/submission")
    capsys.readouterr()
    assert starter.main(option, project) == 2
    captured = capsys.readouterr()
    assert words in captured.err and not captured.out
    after = contents(project / "src/submission"), contents(project / "solutions/submission")
    assert after == before


def test_truth_that_is_not_utf8_exits_2(project, capsys):
    (project / "solutions/submission/all.py").write_bytes(b"# \xe9\n")
    assert starter.main([], project) == 2
    assert "all.py: not UTF-8 at byte 2" in capsys.readouterr().err


# ---------------------------------------------------------------- this project's own starter


def regions_of(root):
    for path in sorted((root / starter.TRUTH).glob("*.py")):
        for region in find_regions(path.read_text(encoding="utf-8"), path.name):
            yield path, region


def test_each_region_of_the_starter_raises_for_a_named_topic(root):
    editions = load_assignment(root).editions.values()
    topics = {question.topic for edition in editions for question in edition.questions}
    regions = list(regions_of(root))
    assert regions
    for path, _ in regions:
        text = (root / starter.STARTER / path.name).read_text(encoding="utf-8")
        for region in find_regions(text, path.name):
            (statement,) = ast.parse(
                textwrap.dedent("\n".join(text.split("\n")[region.start : region.end - 1]))
            ).body
            assert isinstance(statement, ast.Raise)
            marker = re.match(r"\[(.*?)\] ", statement.exc.args[0].value)[1]
            assert marker.replace(" ", "_") in topics


IMPORT_EACH = """
import importlib, pathlib
for path in sorted(pathlib.Path("submission").glob("*.py")):
    name = "submission" if path.stem == "__init__" else "submission." + path.stem
    importlib.import_module(name)
    print(path.name)
"""


def test_every_module_of_the_starter_imports(tmp_path, root, run_python):
    # A copy, so that it finds no files beside it that students would not have.
    for package in ("submission", "pretraining"):
        shutil.copytree(root / "src" / package, tmp_path / package)
    result = run_python("-c", IMPORT_EACH, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    modules = {path.name for path in (root / starter.STARTER).glob("*.py")}
    assert set(result.stdout.split()) == modules
