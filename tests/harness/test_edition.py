"""edition.json holds what an edition's students may know, and all that Gradescope needs."""

import json
import os
import re
import sys

import pytest

from autograder.description import load_assignment
from grading import edition
from grading.edition import EDITION, read, to_json
from grading.errors import UsageError
from tests import pinned
from tests.interpreter import python
from tests.project import ROOT
from tools import autograder, starter, student

SHAPE = {
    **dict.fromkeys(("title", "gradescope_python", "default_edition", "default_dataset"), ""),
    "editions": {
        "NAME": {
            **dict.fromkeys(("name", "title", "course"), ""),
            "questions": [
                {
                    **dict.fromkeys(("number", "topic", "title", "coding"), ""),
                    "written_parts": [""],
                    "is_extra_credit": True,
                    "is_practice": True,
                    "required_files": [""],
                    "tests": [
                        {
                            **dict.fromkeys(("test_id", "number", "topic", "name", "kind"), ""),
                            "dropped": "",
                            "max_score": "",
                            "timeout_s": 1.0,
                            **dict.fromkeys(("torch", "is_extra_credit", "after_published"), True),
                        }
                    ],
                }
            ],
            "gradescope": None,
            "release": "",
            "errata": [
                {"release": 2, "tests": [""], **dict.fromkeys(("date", "question", "sentence"), "")}
            ],
        }
    },
    "datasets": {"NAME": {"name": "", "thresholds": {"NAME": 1.0}, "recipe": "", "evidence": None}},
    "variants": {"NAME": {"name": "", "topic": ""}},
}


def test_students_get_what_is_allowed_and_nothing_else():
    def fits(value, shape) -> bool:
        if isinstance(shape, list):
            return all(fits(each, shape[0]) for each in value)
        if isinstance(shape, dict) and "NAME" in shape:
            return all(fits(each, shape["NAME"]) for each in value.values())
        if isinstance(shape, dict):
            return value.keys() == shape.keys() and all(fits(value[k], shape[k]) for k in shape)
        return type(value) is type(shape)

    assignment = pinned.load()
    tables = json.loads(to_json(assignment.for_students("xcs224n", {"vanilla", "synthesizer"})))
    recipes = tables.pop("recipes")
    assert fits(tables, SHAPE), tables
    assert recipes == assignment.recipes
    assert list(tables["editions"]) == ["xcs224n"]
    assert list(tables["variants"]) == ["vanilla", "synthesizer"]


def test_it_is_read_as_it_was_written(tmp_path):
    assignment, path = pinned.load(), tmp_path / "edition.json"
    for whose in (assignment, assignment.for_students("cs224n", ["vanilla"])):
        path.write_bytes(to_json(whose))
        assert to_json(read(path)) == to_json(whose)
    assert read(path) == whose


DAMAGE = {
    "cut off": lambda text: text[:-30],
    "no object": lambda text: "[]",
    "an unknown key": lambda text: text.replace('"title"', '"titel"', 1),
    "a missing key": lambda text: re.sub(r'"gradescope_python": "[\d.]+",', "", text),
    "points that are no number": lambda text: re.sub(r'("coding": )"\w+"', r'\1"many"', text),
    "questions that are no list": lambda text: text.replace('"questions": [', '"questions": [5, '),
    "bytes that are no text": lambda text: text.replace("NameDataset", "\udcff"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_one_is_one_line(tmp_path, damage):
    text = to_json(pinned.load()).decode("utf-8")
    damaged = DAMAGE[damage](text)
    assert damaged != text
    (tmp_path / "edition.json").write_text(damaged, "utf-8", errors="surrogateescape")
    with pytest.raises(UsageError, match=r"edition\.json is damaged \(.*take it from the course"):
        read(tmp_path / "edition.json")


@pytest.fixture
def without_pydantic(tmp_path):
    """Return the environment of a Python that has none."""
    hidden = tmp_path / "hidden" / "pydantic" / "__init__.py"
    hidden.parent.mkdir(parents=True)
    hidden.write_text("raise ImportError('there is no pydantic')\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(hidden.parent.parent)}
    assert "no pydantic" in python(ROOT, "-c", "import pydantic", env=environment).stderr
    return environment


def unpack(files, folder):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_the_autograders_zip_grades_without_pydantic(tree, tmp_path, without_pydantic):
    autograder.keep_secret(tree)
    zipped = unpack(autograder.contents(tree, "cs224n"), tmp_path / "zip")
    assert (zipped / EDITION).read_bytes() == to_json(load_assignment(tree))
    options = ("--edition", "cs224n", "--submission", ROOT / "solutions", "--seed", "7")
    graded = python(zipped, "src/grader.py", "1a", *options, env=without_pydantic)
    assert (graded.returncode, graded.stderr) == (0, "")
    assert re.search(r"^1a-\d-hidden +passed", graded.stdout, re.MULTILINE)
    # The hash of what judges is that of the checkout.
    checkout = python(tree, "src/grader.py", "1a", *options)
    judge = re.compile(r"judged by [0-9a-f]{12}")
    assert judge.search(graded.stdout)[0] == judge.search(checkout.stdout)[0]


def test_a_students_copy_grades_without_pydantic(tree, tmp_path, without_pydantic):
    paths = [p for pattern in student.TAKEN for p in tree.glob(pattern) if p.is_file()]
    files = {path.relative_to(tree).as_posix(): path.read_bytes() for path in paths}
    modules = starter.package_of(tree, "cs224n") | starter.reference_of(tree, "cs224n")
    files |= {f"src/submission/{name}": content for name, content in modules.items()}
    files[EDITION.as_posix()] = starter.edition_file(tree, "cs224n")
    copy = unpack(files, tmp_path / "copy")
    graded = python(copy, "src/grader.py", "1a", env=without_pydantic)
    assert (graded.returncode, graded.stderr) == (0, "")
    assert re.search(r"^1a-\d-hidden +ran, not graded", graded.stdout, re.MULTILINE)
    trained = python(copy, "src/run.py", "--help", env=without_pydantic)
    assert "vanilla" in trained.stdout and "rope" not in trained.stdout
    refused = python(copy, "src/grader.py", "--edition", "xcs224n", env=without_pydantic)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert "no edition 'xcs224n' in edition.json; there are: cs224n" in refused.stderr


def test_reading_another_checkout_leaves_the_path_of_imports_alone(tmp_path):
    """Workers may import from what is there, and other users must be able to enter it."""
    (tmp_path / "autograder").mkdir()
    (tmp_path / "autograder" / "description.py").touch()
    for name in ("assignment.toml", "course.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    before = [*sys.path]
    assert edition.load_assignment(tmp_path).default_edition
    assert sys.path == before
