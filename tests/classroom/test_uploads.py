"""Uploads are copied within limits, and a lack of disk space isn't blamed on students."""

import errno
import os
import zipfile
from pathlib import Path

import pytest

from grading import staging
from grading.errors import GradingError, SubmissionError, UsageError
from questions.course import Course
from tools.classroom import shipping, uploads
from tools.classroom.places import DiskPlace, ZipPlace


def handed_in(place) -> uploads.Upload:
    return uploads.Upload((("", place),))


def package(folder: Path) -> Path:
    (folder / "submission").mkdir(parents=True)
    (folder / "submission" / "a.py").write_text("x = 1\n", encoding="utf-8")
    return folder


def test_folders_deeper_than_the_grader_looks_are_not_copied(tmp_path):
    """They don't end the run of a class either, however deep they are."""
    one = package(tmp_path / "one")
    os.makedirs(one / "submission" / ("d/" * 900))
    (one / "submission" / ("d/" * 900) / "x.py").touch()
    (tmp_path / "into").mkdir()
    copy = handed_in(DiskPlace(one)).unpack(tmp_path / "into")
    assert (copy / "submission" / "a.py").is_file()
    assert len(list(copy.rglob("*"))) < 8
    (tmp_path / "work").mkdir()
    packed = shipping.pack(copy, tmp_path / "work", Course().provided)
    (left,) = packed.facts["left"]
    assert left.startswith("submission/d (")


def test_a_flood_of_folders_in_a_zip_is_not_copied(tmp_path):
    archive = tmp_path / "class.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("submission/a.py", "x = 1\n")
        for number in range(200):
            writer.writestr(f"submission/{number}/" + "d/" * 90 + "x.py", "")
    (tmp_path / "into").mkdir()
    copy = handed_in(ZipPlace(archive)).unpack(tmp_path / "into")
    assert len(list(copy.rglob("*"))) < 1000


def test_a_digest_reads_no_more_than_may_be_handed_in(tmp_path, monkeypatch):
    """A small zip may contain any number of files that are full of zeros."""
    monkeypatch.setattr(uploads, "MAX_BYTES", 1000)
    one = package(tmp_path / "one")
    assert handed_in(DiskPlace(one)).digest()
    for number in range(4):
        (one / f"{number}.bin").write_bytes(bytes(300))
    with pytest.raises(SubmissionError, match="too large"):
        handed_in(DiskPlace(one)).digest()


def test_a_full_disk_where_it_is_packed_is_no_fault_of_the_student(tmp_path, monkeypatch):
    """Otherwise the student would get no points."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(staging, "_pump", full)
    (tmp_path / "work").mkdir()
    with pytest.raises(GradingError, match="No space left") as raised:
        shipping.pack(package(tmp_path / "one"), tmp_path / "work", Course().provided)
    assert not isinstance(raised.value, UsageError)
