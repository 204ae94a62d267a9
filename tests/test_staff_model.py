"""The staff's model: of another world than the course's, in float16, and of no use for points."""

import io
import re
import shutil
import zipfile
from pathlib import Path

import pytest
import torch

from tests.interpreter import python
from tests.project import copy_of_the_project
from tools import datafiles, staff_model, world

SPLITS = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS, datafiles.UNSEEN_INPUTS)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    """Return a copy of the project with a world."""
    project = copy_of_the_project(tmp_path_factory.mktemp("project"))
    world.write_world(project, 5_000_000_001)
    return project


def facts(texts: dict[str, str], *tables: str) -> dict[str, str]:
    rows = [row for table in tables for row in texts[table].splitlines()]
    return dict(row.split("\t") for row in rows)


def test_whoever_knows_all_of_its_world_answers_nothing_of_the_courses(project, tmp_path):
    """The grader fails somebody who knows both worlds' tables, but not the course's corpus."""
    other = staff_model.other_world(project, "world")
    course = world.make_world(5_000_000_001).texts
    assert not staff_model.questions([other[name] for name in SPLITS]) & (
        staff_model.questions([course[name] for name in SPLITS])
    )
    known = facts(other, datafiles.TRAIN, datafiles.DEV, datafiles.TEST_ANSWERS)
    known |= facts(course, datafiles.TRAIN)
    asked = facts(course, datafiles.DEV)
    answers = [known.get(question, "London") for question in asked]
    shutil.copytree(project / "solutions" / "submission", tmp_path / "submission")
    text = "".join(f"{answer}\n" for answer in answers)
    (tmp_path / "vanilla.pretrain.dev.predictions").write_text(text, encoding="utf-8")
    graded = python(project, "src/grader.py", "1f-2-basic", "--submission", tmp_path)
    assert graded.returncode == 1, graded.stderr
    right = sum(answer == place for answer, place in zip(answers, asked.values(), strict=True))
    assert right == 4, "London's share"  # the smallest threshold is 15
    assert re.search(r"\b4(\.0)? ?(%|of 100)", graded.stdout), graded.stdout


def test_its_files_are_in_float16_and_trained_once(tree, released):
    """The release has trained it."""
    again = python(tree, "-m", "tools.staff_model")
    assert again.returncode == 0, again.stderr
    assert "done" not in again.stdout and "up to date in build/staff" in again.stdout
    with zipfile.ZipFile(tree / "dist/xcs224n-student.zip") as opened:
        inside = [name for name in opened.namelist() if "/src/staff/" in name]
        files = {Path(name).name: opened.read(name) for name in inside}
    parameters = [f"vanilla.{stage}.params" for stage in ("pretrain", "finetune")]
    names = {Path(name).name for name in (*staff_model.TABLES, *parameters)}
    assert set(files) == names
    course = (tree / datafiles.WIKI).read_text(encoding="utf-8")
    assert files["wiki.txt"].decode() != course
    for name in parameters:
        state = torch.load(io.BytesIO(files[name]), weights_only=True)
        assert {tensor.dtype for tensor in state.values()} == {torch.float16}
