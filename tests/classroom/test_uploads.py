"""Uploads are read within limits, and a lack of disk space isn't blamed on students."""

import errno
import os
from pathlib import Path

import pytest

from grading import staging
from grading.errors import GradingError, SubmissionError, UsageError
from questions.course import Course
from tools.classroom import shipping, uploads
from tools.classroom.places import place


def handed_in(path: Path) -> uploads.Upload:
    return uploads.Upload((("", place(path)),))


def package(folder: Path) -> Path:
    (folder / "submission").mkdir(parents=True)
    (folder / "submission" / "a.py").write_text("x = 1\n", encoding="utf-8")
    return folder


def test_folders_deeper_than_the_grader_looks_do_not_matter(tmp_path):
    """They don't end the run of a class either, however deep they are."""
    one = package(tmp_path / "one")
    os.makedirs(one / "submission" / ("d/" * 900))
    (one / "submission" / ("d/" * 900) / "x.py").touch()
    (tmp_path / "work").mkdir()
    packed = shipping.pack(handed_in(one), tmp_path / "work", Course().provided)
    (left,) = packed.facts["left"]
    assert left.startswith("submission/d (")


def test_a_digest_reads_no_more_than_may_be_handed_in(tmp_path, monkeypatch):
    """A small zip may contain any number of files that are full of zeros."""
    monkeypatch.setattr(uploads, "MAX_BYTES", 1000)
    one = package(tmp_path / "one")
    assert handed_in(one).digest()
    for number in range(4):
        (one / f"{number}.bin").write_bytes(bytes(300))
    with pytest.raises(SubmissionError, match="too large"):
        handed_in(one).digest()


def test_a_full_disk_where_it_is_packed_is_no_fault_of_the_student(tmp_path, monkeypatch):
    """Otherwise the student would get no points."""

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(staging, "copy", full)
    (tmp_path / "work").mkdir()
    with pytest.raises(GradingError, match="No space left") as raised:
        shipping.pack(handed_in(package(tmp_path / "one")), tmp_path / "work", Course().provided)
    assert not isinstance(raised.value, UsageError)
