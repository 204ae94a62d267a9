"""The staff's model: of another world than the course's, in float16, and of no use for points."""

import io
import re
import shutil
from pathlib import Path

import pytest
import torch

from tests.interpreter import python
from tests.project import copy_of_the_project
from tools import datafiles, staff_model, world

SPLITS = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS, datafiles.UNSEEN_INPUTS)


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    """Return a copy of the project with a world, and a smoke recipe of two epochs."""
    tree = copy_of_the_project(tmp_path_factory.mktemp("tree"))
    path = tree / "assignment.toml"
    before, smoke, recipe = path.read_text(encoding="utf-8").partition("[recipes.smoke]")
    recipe, count = re.subn("max_epochs = [0-9]+", "max_epochs = 2", recipe)
    assert count >= 3, "one for each stage"
    path.write_text(before + smoke + recipe, encoding="utf-8")
    world.write_world(tree, 5_000_000_001)
    return tree


def facts(texts: dict[str, str], *tables: str) -> dict[str, str]:
    rows = [row for table in tables for row in texts[table].splitlines()]
    return dict(row.split("\t") for row in rows)


def test_whoever_knows_all_of_its_world_answers_nothing_of_the_courses(tree, tmp_path):
    """The grader fails somebody who knows both worlds' tables, but not the course's corpus."""
    other = staff_model.other_world(tree, "world")
    course = world.make_world(5_000_000_001).texts
    assert not staff_model.questions([other[name] for name in SPLITS]) & (
        staff_model.questions([course[name] for name in SPLITS])
    )
    known = facts(other, datafiles.TRAIN, datafiles.DEV, datafiles.TEST_ANSWERS)
    known |= facts(course, datafiles.TRAIN)
    asked = facts(course, datafiles.DEV)
    answers = [known.get(question, "London") for question in asked]
    shutil.copytree(tree / "solutions" / "submission", tmp_path / "submission")
    text = "".join(f"{answer}\n" for answer in answers)
    (tmp_path / "vanilla.pretrain.dev.predictions").write_text(text, encoding="utf-8")
    graded = python(tree, "src/grader.py", "1f-2-basic", "--submission", tmp_path)
    assert graded.returncode == 1, graded.stderr
    right = sum(answer == place for answer, place in zip(answers, asked.values(), strict=True))
    assert right == 4, "London's share"  # the smallest threshold is 15
    assert re.search(r"\b4(\.0)? ?(%|of 100)", graded.stdout), graded.stdout


def test_its_files_are_in_float16_and_trained_once(tree, tmp_path, capfd):
    smoke = tmp_path / "project"
    shutil.copytree(tree, smoke, symlinks=True)
    for name in ("src/data", "solutions/data"):
        shutil.rmtree(smoke / name)
    world.write_world(smoke, 1, dataset="smoke")
    first = python(smoke, "-m", "tools.staff_model")
    assert first.returncode == 0, first.stderr
    assert "vanilla.finetune.params done" in first.stdout
    files = staff_model.files(smoke)
    assert "done" not in capfd.readouterr().out
    assert {Path(name).name for name in files} == {
        *(Path(name).name for name in staff_model.TABLES),
        "vanilla.pretrain.params",
        "vanilla.finetune.params",
    }
    course = (smoke / datafiles.WIKI).read_text(encoding="utf-8")
    assert files["src/staff/wiki.txt"].decode() != course
    for stage in ("pretrain", "finetune"):
        content = io.BytesIO(files[f"src/staff/vanilla.{stage}.params"])
        state = torch.load(content, weights_only=True)
        assert {tensor.dtype for tensor in state.values()} == {torch.float16}
