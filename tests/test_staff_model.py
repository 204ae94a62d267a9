"""The staff's model: of another world than the course's, in float16, and of no use for points."""

import io
import zipfile
from pathlib import Path

import torch

from tests.interpreter import python
from tools import datafiles, staff_model, world

SPLITS = (datafiles.TRAIN, datafiles.DEV, datafiles.TEST_INPUTS, datafiles.UNSEEN_INPUTS)


def test_nobody_is_in_its_world_and_in_the_courses(tmp_path):
    course = world.make_world(staff_model.FIRST_SEED)
    datafiles.write_all(tmp_path, course)
    other = staff_model.other_world(tmp_path, "world")
    people = [staff_model.questions([texts[name] for name in SPLITS]) for texts in (other, course)]
    assert [*map(len, people)] == [450, 450] and not people[0] & people[1]


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
