"""edition.json holds what an edition's students may know, and all that Gradescope needs."""

import json
import re
import sys
from dataclasses import replace

import pytest

from grading import edition
from grading.edition import Erratum, read, to_json
from grading.errors import UsageError
from tests import pinned
from tests.interpreter import python
from tests.project import ROOT
from tests.student.folder import students_copy

OF_TEST = {"test_id", "number", "topic", "name", "kind", "dropped", "max_score", "timeout_s"}
OF_TEST |= {"torch", "is_extra_credit", "after_published"}
OF_QUESTION = {"number", "topic", "title", "coding", "written_parts", "is_extra_credit"}
OF_QUESTION |= {"is_practice", "required_files", "tests"}
OF_EDITION = {"name", "title", "course", "questions", "gradescope", "release", "errata"}
OF_ERRATUM = {"release", "tests", "date", "question", "sentence"}
OF_ALL = {"title", "gradescope_python", "default_edition", "default_dataset", "editions"}
OF_ALL |= {"datasets", "variants", "recipes"}
VARIANTS = {"vanilla": "pretraining", "synthesizer": "synthesizer"}


def test_students_get_what_is_allowed_and_nothing_else():
    assignment = pinned.load()
    errata = (Erratum(2, "2027-02-03", "1e", ("1e-3-basic",), "It refused an empty span."),)
    edition = replace(assignment.edition("xcs224n"), errata=errata)
    assignment = replace(assignment, editions=assignment.editions | {"xcs224n": edition})
    tables = json.loads(to_json(assignment.for_students("xcs224n", {"vanilla", "synthesizer"})))
    assert tables.keys() == OF_ALL and tables["recipes"] == assignment.recipes
    ((name, edition),) = tables["editions"].items()
    assert name == "xcs224n" and edition["gradescope"] is None and edition.keys() == OF_EDITION
    for question in edition["questions"]:
        assert question.keys() == OF_QUESTION
        assert all(test.keys() == OF_TEST for test in question["tests"])
    assert [erratum.keys() for erratum in edition["errata"]] == [OF_ERRATUM]
    for data in tables["datasets"].values():
        assert data.keys() == {"name", "thresholds", "recipe", "evidence"}
        assert data["evidence"] is None
    of_variants = [{"name": n, "topic": t} for n, t in VARIANTS.items()]
    assert [*tables["variants"].values()] == of_variants


def test_it_is_read_as_it_was_written(tmp_path):
    assignment, path = pinned.load(), tmp_path / "edition.json"
    for whose in (assignment, assignment.for_students("cs224n", ["vanilla"])):
        path.write_bytes(to_json(whose))
        assert to_json(read(path)) == to_json(whose)
    assert read(path) == whose


DAMAGE = {
    "cut off": lambda text: text[:-30],
    "no object": lambda text: "[]",
    "points that are no number": lambda text: re.sub(r'("coding": )"\w+"', r'\1"many"', text),
    "questions that are no list": lambda text: text.replace('"questions": [', '"questions": [5, '),
}


def test_a_damaged_one_is_one_line(tmp_path):
    text = to_json(pinned.load()).decode("utf-8")
    for damage, change in DAMAGE.items():
        assert change(text) != text, damage
        (tmp_path / "edition.json").write_text(change(text), "utf-8")
        with pytest.raises(UsageError, match=r"edition\.json is damaged \(.*take it from the cou"):
            read(tmp_path / "edition.json")


def test_run_py_offers_the_variants_of_a_students_edition(tree, tmp_path):
    usage = python(students_copy(tree, tmp_path / "copy"), "src/run.py", "--help").stdout
    assert "vanilla" in usage and "rope" not in usage


def test_reading_another_checkout_leaves_the_path_of_imports_alone(tmp_path):
    """Workers may import from what is there, and other users must be able to enter it."""
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder" / "description.py").touch()
    for name in ("assignment.toml", "course.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    before = [*sys.path]
    assert edition.load_assignment(tmp_path).default_edition
    assert sys.path == before
