"""What is staged of a submission, and how long that may take; only permitted files are copied.

tests/test_upload_layouts.py has the layouts that are found, tests/snapshots what is left out or
refused, and with which words, and tests/redteam/test_fuzz_uploads.py archives of any kind.
"""

import errno
import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from grading import staging
from grading.errors import GradingError, SubmissionError, UsageError
from grading.staging import stage

OUTPUT = "vanilla.model.params"


def make_package(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("__init__.py", "dataset.py", "helper.py"):
        (folder / name).write_text(f"# {name}\n", encoding="utf-8")
    return folder


def pack(folder: Path, archive: Path, prefix: str = "") -> Path:
    with zipfile.ZipFile(archive, "w") as writer:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                writer.write(path, prefix + path.relative_to(folder).as_posix())
    return archive


def test_equal_copies_of_an_output_are_fine(tmp_path):
    make_package(tmp_path / "a5" / "src" / "submission")
    for place in (".", "src"):
        (tmp_path / "a5" / place / OUTPUT).write_bytes(b"weights")
    assert stage(tmp_path / "a5", tmp_path / "first").path(OUTPUT).read_bytes() == b"weights"


@pytest.mark.parametrize("packed", [False, True])
def test_what_editors_leave_beside_a_file_is_nothing(tmp_path, packed):
    package = make_package(tmp_path / "upload" / "submission")
    for name in ("#dataset.py#", "dataset.py~", ".dataset.py.swp"):
        (package / name).write_bytes(b"x")
    source = pack(package, tmp_path / "a.zip", "submission/") if packed else package.parent
    (package / ".#dataset.py").symlink_to("ada@laptop.4711:1790000000")  # Emacs's lock
    staged = stage(source, tmp_path / "staged")
    assert len(staged.taken) == 3 and staged.omissions == []


# Tars ---------------------------------------------------------------------------------------------


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def tar_with(folder: Path, archive: Path, *entries: tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(archive, mode) as writer:
        writer.add(folder, arcname=".")
        for info in entries:
            writer.addfile(info, io.BytesIO(bytes(max(info.size, 0))))
    return archive


def test_a_tar_with_a_negative_size_ends(tmp_path):
    """Python's reader would otherwise find the same file again, for ever."""
    info = entry("submission/x.py")
    data = info.tobuf()
    field = (-1024).to_bytes(12, "big", signed=True)  # base 256, as for sizes beyond 8 GiB
    data = data[:124] + field + data[136:148] + b" " * 8 + data[156:]
    data = data[:148] + b"%06o\0 " % sum(data[:512]) + data[156:]
    (tmp_path / "up.tar").write_bytes(data + bytes(2048))
    with pytest.raises(SubmissionError, match="negative size"):
        stage(tmp_path / "up.tar", tmp_path / "staged")


def test_a_tar_whose_description_of_a_file_is_long_is_not_read_into_memory(tmp_path):
    info = entry("x", tarfile.GNUTYPE_LONGNAME)
    info.size = 20 << 20
    data = info.tobuf(format=tarfile.GNU_FORMAT)
    (tmp_path / "up.tar").write_bytes(data + b"x" * (20 << 20) + bytes(1024))
    with pytest.raises(SubmissionError, match="too many files"):
        stage(tmp_path / "up.tar", tmp_path / "staged")


# What is searched ---------------------------------------------------------------------------------


def test_too_many_files_cost_nothing_where_nobody_has_to_look(tmp_path, monkeypatch):
    """The code is where it should be; only a file that is missing is searched."""
    monkeypatch.setattr("grading.upload.MAX_FILES", 10)
    make_package(tmp_path / "upload" / "submission")
    for folder in ("one", "two"):
        (tmp_path / "upload" / folder).mkdir()
        for number in range(6):
            (tmp_path / "upload" / folder / f"{number}.png").touch()
    staged = stage(tmp_path / "upload", tmp_path / "staged", required=(OUTPUT,))
    assert len(staged.taken) == 3 and staged.missing == [OUTPUT]


def test_a_search_keeps_no_folders_open_and_follows_no_link(tmp_path):
    """A process may have 1,024 files open."""
    package = make_package(tmp_path / "upload" / "a" / "Submission")
    for number in range(1_500):
        (tmp_path / "upload" / f"{number}").mkdir()
    (tmp_path / "upload" / "zz").symlink_to(package.parent)
    assert stage(tmp_path / "upload", tmp_path / "staged").place == "a/Submission"


def test_of_what_lies_deep_in_a_zip_no_folders_are_made(tmp_path):
    """A megabyte of names can require 400,000 folders, which take minutes to create and remove."""
    package = make_package(tmp_path / "p" / "wrapping" / "src" / "submission")
    archive = pack(package.parents[2], tmp_path / "up.zip")
    with zipfile.ZipFile(archive, "a") as writer:
        for number in range(50):
            writer.writestr(f"wrapping/{number}/" + "d/" * 450 + "x.py", b"")
        writer.writestr("wrapping/src/submission/deeper/x.py", b"")
    staged = stage(archive, tmp_path / "staged")
    assert "submission/dataset.py" in staged.taken
    assert [one.name for one in staged.omissions] == ["wrapping/src/submission/deeper"]
    assert {path.name for path in tmp_path.iterdir()} == {"p", "up.zip", "staged"}


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_what_the_machine_lacks_is_no_fault_of_the_upload(tmp_path, monkeypatch, packed):
    """Otherwise, a full disk would cost a student points: a missing file, or nothing to grade."""
    source = make_package(tmp_path / "a5" / "submission").parent
    source = pack(source, tmp_path / "up.zip") if packed else source
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE):

        def fail(*_, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(staging, "copy", fail)
        with pytest.raises(GradingError, match=os.strerror(number)) as raised:
            stage(source, tmp_path / f"staged{number}")
        assert not isinstance(raised.value, UsageError) and "\n" not in str(raised.value)


TOO_LONG = (f"submission/{'x' * 300}.py", "d/" * 3000 + "x.py", f"{'x' * 300}/x.py")


def test_names_that_no_disk_can_have_leave_other_files_unharmed(tmp_path):
    package = make_package(tmp_path / "p" / "submission")
    archive = pack(package, tmp_path / "up.zip", "submission/")
    with zipfile.ZipFile(archive, "a") as writer:
        for name in TOO_LONG:
            writer.writestr(name, b"x = 2\n")
    staged = stage(archive, tmp_path / "staged")
    assert len(staged.taken) == 3
    for path in package.iterdir():
        assert (staged.root / "submission" / path.name).read_bytes() == path.read_bytes()
