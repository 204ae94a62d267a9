"""Links in what a class handed in: none is followed, so none can reveal the solutions."""

import os
import zipfile

import pytest

from grading import paths
from grading.errors import SubmissionError
from tests.classroom.plain import RIGHT, in_order, lay_out
from tools.classroom import uploads
from tools.classroom.places import DiskPlace
from tools.classroom.roster import read_class


def test_nothing_is_written_through_a_link(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    source = tmp_path / "class.zip"
    with zipfile.ZipFile(source, "w") as writer:
        link = zipfile.ZipInfo("ada/submission")
        link.external_attr = 0o120777 << 16
        writer.writestr(link, str(outside))
        writer.writestr("ada/submission/a.py", "x = 1\n")
        writer.writestr("ada/b.py", "x = 1\n")
        writer.writestr("grace/submission/a.py", "x = 1\n")
    roll = read_class(source)
    for index, one in enumerate(roll.submissions):
        (tmp_path / str(index)).mkdir()
        one.unpack(tmp_path / str(index))
    assert list(outside.iterdir()) == []
    assert ["ada/submission/a.py" in note for note in roll.notes].count(True) == 1


def test_no_link_is_followed_that_took_a_folders_place_meanwhile(tmp_path):
    source = tmp_path / "class"
    lay_out(source / "ada", RIGHT)
    (one,) = read_class(source).submissions
    found = dict(one.path.files())["submission/a.py"]
    assert found.open().read() == b"x = 1\n"
    (source / "ada" / "submission").rename(tmp_path / "elsewhere")
    (source / "ada" / "submission").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SubmissionError, match="can't be read"):
        found.open()


def test_a_hard_link_to_the_reference_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(paths, "SOLUTIONS", tmp_path / "solutions")
    (tmp_path / "solutions").mkdir()
    (tmp_path / "solutions" / "secret.py").write_text("x = 1\n", encoding="utf-8")
    (tmp_path / "own.py").write_text("x = 1\n", encoding="utf-8")
    source = tmp_path / "class"
    for name, linked in (("ada", "solutions/secret.py"), ("bob", "own.py")):
        lay_out(source / name, RIGHT)
        os.link(tmp_path / linked, source / name / "submission" / "b.py")
    ada, bob = in_order(read_class(source), "ada", "bob")
    with pytest.raises(SubmissionError, match="'b.py' is a hard link to a file elsewhere"):
        ada.unpack(tmp_path)
    (tmp_path / "bob").mkdir()
    assert bob.unpack(tmp_path / "bob").is_dir()


def test_links_are_laid_out_last(tmp_path):
    outside, link = tmp_path / "outside", tmp_path / "link"
    outside.mkdir()
    link.symlink_to(outside)
    (tmp_path / "a.py").touch()
    places = (("submission", DiskPlace(link)), ("submission/a.py", DiskPlace(tmp_path / "a.py")))
    with pytest.raises(SubmissionError, match="there are two files 'submission'"):
        uploads.Upload(places).unpack(tmp_path)
    assert list(outside.iterdir()) == []
