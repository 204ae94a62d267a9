"""Links in what a class handed in: none is followed, so none can reveal the solutions."""

import os
import zipfile

import pytest

from grading import paths
from grading.errors import SubmissionError
from tests.classroom.plain import RIGHT, in_order, lay_out
from tools.classroom.places import opened
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
        try:
            one.upload.stage(tmp_path / str(index))
        except SubmissionError as error:
            assert "submission is a link" in str(error)
    assert len(roll.submissions) == 2
    assert list(outside.iterdir()) == []
    assert ["ada/submission/a.py" in note for note in roll.notes].count(True) == 1


def test_no_link_is_followed_that_took_a_folders_place_meanwhile(tmp_path):
    source = tmp_path / "class"
    lay_out(source / "ada", RIGHT)
    (one,) = read_class(source).submissions
    found = dict(one.upload.files())["submission/a.py"]
    assert opened(found).read() == b"x = 1\n"
    (source / "ada" / "submission").rename(tmp_path / "elsewhere")
    (source / "ada" / "submission").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SubmissionError, match="can't be read"):
        opened(found)


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
    with pytest.raises(SubmissionError, match="^'b.py' is a hard link to a file outside"):
        ada.upload.digest()
    with pytest.raises(SubmissionError, match="^submission/b.py is a hard link to a file outside"):
        ada.upload.stage(tmp_path / "ada")
    assert "submission/b.py" in bob.upload.stage(tmp_path / "bob").taken
