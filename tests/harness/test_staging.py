"""Submissions are found in every layout that people hand in; only permitted files are copied."""

import errno
import io
import os
import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest

from grading import staging, upload
from grading.errors import GradingError, SubmissionError, UsageError
from grading.staging import Omission, stage

OUTPUT = "vanilla.model.params"
CODE = {f"submission/{name}.py" for name in ("__init__", "dataset", "helper")}


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


@pytest.mark.parametrize("place", [".", "src", "src/submission"])
def test_outputs_are_found_at_the_root_beside_the_code_and_in_it(tmp_path, place):
    make_package(tmp_path / "a5" / "src" / "submission")
    (tmp_path / "a5" / place / OUTPUT).write_bytes(b"weights")
    staged = stage(tmp_path / "a5", tmp_path / "staged")
    assert staged.path(OUTPUT).read_bytes() == b"weights"
    assert staged.taken[OUTPUT] == str((tmp_path / "a5" / place / OUTPUT).resolve())


def test_equal_copies_are_fine_and_others_an_error_with_their_places(tmp_path):
    make_package(tmp_path / "a5" / "src" / "submission")
    for place in (".", "src"):
        (tmp_path / "a5" / place / OUTPUT).write_bytes(b"weights")
    stage(tmp_path / "a5", tmp_path / "first")
    (tmp_path / "a5" / "src" / OUTPUT).write_bytes(b"others!")
    places = f"there are two different files {OUTPUT}: up/{OUTPUT} and up/src/{OUTPUT};"
    with pytest.raises(UsageError, match=places):
        stage(tmp_path / "a5", tmp_path / "second", alias="up")
    (tmp_path / "a5" / "src" / OUTPUT).unlink()
    (tmp_path / "a5" / "src" / OUTPUT).mkdir()
    with pytest.raises(UsageError, match=places):
        stage(tmp_path / "a5", tmp_path / "third", alias="up")


def test_what_is_no_python_source_stays_behind_and_the_students_files_stay(tmp_path):
    package = make_package(tmp_path / "upload" / "submission")
    left = ["fast.so", "m.pyc", "notes.txt", "sitecustomize.py", "x.pth"]
    for name in left:
        (package / name).write_bytes(b"x")
    (package / "__pycache__").mkdir()
    staged = stage(tmp_path / "upload", tmp_path / "staged")
    assert {*staged.taken} == CODE
    assert [one.name for one in staged.omissions] == [f"submission/{name}" for name in left]
    shutil.rmtree(staged.root)
    assert {path.name for path in package.glob("*.py")} == {
        *(name.removeprefix("submission/") for name in CODE),
        "sitecustomize.py",
    }


@pytest.mark.parametrize("packed", [False, True])
def test_what_editors_leave_beside_a_file_is_nothing(tmp_path, packed):
    package = make_package(tmp_path / "upload" / "submission")
    for name in ("#dataset.py#", "dataset.py~", ".dataset.py.swp"):
        (package / name).write_bytes(b"x")
    source = pack(package, tmp_path / "a.zip", "submission/") if packed else package.parent
    (package / ".#dataset.py").symlink_to("ada@laptop.4711:1790000000")  # Emacs's lock
    staged = stage(source, tmp_path / "staged")
    assert len(staged.taken) == 3 and staged.omissions == []


def test_too_large_an_output_stays_behind_and_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "MAX_OUTPUT_BYTES", 100)
    make_package(tmp_path / "upload" / "submission")
    (tmp_path / "upload" / OUTPUT).write_bytes(bytes(101))
    staged = stage(tmp_path / "upload", tmp_path / "staged")
    assert staged.path(OUTPUT) is None and not (staged.root / OUTPUT).exists()
    assert staged.omissions == [Omission(OUTPUT, "101 bytes, more than 100")]


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "MAX_TOTAL_BYTES", 1 << 20)
    archive = tmp_path / "up.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writer:
        writer.writestr("submission/dataset.py", b"#" * (2 << 20))
    with pytest.raises(UsageError, match="too large"):
        stage(archive, tmp_path / "staged")


def test_messages_call_the_source_by_its_alias(tmp_path):
    source = tmp_path / "upload"
    for name in ("1", "2"):
        make_package(source / name / "submission")
    packed = pack(source, tmp_path / "up.zip")
    for number, each in enumerate((source, packed, source)):
        with pytest.raises(SubmissionError, match="^the upload: there are 2 folders"):
            stage(each, tmp_path / f"staged{number}", alias="the upload")
        (source / "more\\notes.txt").write_bytes(b"")  # names with backslashes are read otherwise


# Tars ---------------------------------------------------------------------------------------------


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def named(value: object) -> str:
    return value.name if isinstance(value, tarfile.TarInfo) else str(value)


def tar_with(folder: Path, archive: Path, *entries: tarfile.TarInfo, mode: str = "w:gz") -> Path:
    with tarfile.open(archive, mode) as writer:
        writer.add(folder, arcname=".")
        for info in entries:
            writer.addfile(info, io.BytesIO(bytes(max(info.size, 0))))
    return archive


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_of_a_tar_the_same_files_are_taken_as_of_a_zip(tmp_path, mode):
    package = make_package(tmp_path / "p" / "submission")
    (tmp_path / "p" / OUTPUT).write_bytes(b"weights" * 100_000)
    archive = tar_with(package.parent, tmp_path / "a5.tar.gz", mode=mode)
    staged = stage(archive, tmp_path / "staged")
    again = stage(pack(package.parent, tmp_path / "up.zip"), tmp_path / "again")
    assert staged.taken.keys() == again.taken.keys()
    for name in staged.taken:
        assert (staged.root / name).read_bytes() == (again.root / name).read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {
        *("p", "a5.tar.gz", "up.zip", "staged", "again"),
    }


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (entry("../evil.py"), "leads outside"),
        (entry("submission/../../evil.py"), "leads outside"),
        (entry("submission/evil.py", tarfile.SYMTYPE, "/etc/passwd"), "is a link"),
        (entry("submission/evil.py", tarfile.LNKTYPE, "submission/dataset.py"), "is a link"),
        (entry("submission", tarfile.SYMTYPE, "/etc"), "is a link"),
        (entry("./submission/dataset.py"), "contains 'submission/dataset.py' twice"),
    ],
    ids=named,
)
def test_a_hostile_entry_of_a_tar_is_refused(tmp_path, info, words):
    package = make_package(tmp_path / "p" / "submission")
    archive = tar_with(package.parent, tmp_path / "up.tar.gz", info)
    with pytest.raises(SubmissionError, match=words) as caught:
        stage(archive, tmp_path / "staged")
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"p", "up.tar.gz", "staged"}


def test_other_entries_of_a_tar_stay_behind(tmp_path):
    package = make_package(tmp_path / "p" / "submission")
    archive = tar_with(
        package.parent,
        tmp_path / "up.tar.gz",
        entry("/etc/passwd.py"),  # an absolute name is nothing but a name
        entry("elsewhere", tarfile.SYMTYPE, "/etc"),
        entry("submission/device.py", tarfile.CHRTYPE),
        entry("submission/pipe.py", tarfile.FIFOTYPE),
    )
    staged = stage(archive, tmp_path / "staged")
    assert {*staged.taken} == CODE
    assert {one.reason for one in staged.omissions} == {"not a regular file"}


def test_a_tar_that_is_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(upload, "MAX_ARCHIVE_BYTES", 1 << 20)
    package = make_package(tmp_path / "p" / "submission")
    (tmp_path / "p" / "zeros.bin").write_bytes(bytes(2 << 20))
    archive = tar_with(package.parent, tmp_path / "up.tar.gz")
    with pytest.raises(SubmissionError, match="too large"):
        stage(archive, tmp_path / "staged")
    assert not (tmp_path / "staged.unpacked").exists()


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


def test_a_damaged_tar_is_one_sentence(tmp_path):
    package = make_package(tmp_path / "p" / "submission")
    archive = tar_with(package.parent, tmp_path / "up.tar.gz")
    data = archive.read_bytes()
    for number, changed in enumerate((data[: len(data) // 2], data[:40] + b"x" * 40 + data[80:])):
        archive.write_bytes(changed)
        with pytest.raises(SubmissionError, match=r"^up.tar.gz is not a readable tar: .+$"):
            stage(archive, tmp_path / f"staged{number}")


# What is searched ---------------------------------------------------------------------------------


def test_a_search_reads_no_more_than_it_may(tmp_path, monkeypatch):
    monkeypatch.setattr("grading.upload.MAX_FILES", 100)
    make_package(tmp_path / "upload" / "a" / "b" / "Submission")
    assert stage(tmp_path / "upload", tmp_path / "staged").place == "a/b/Submission"
    for number in range(101):
        (tmp_path / "upload" / "a" / f"{number}.txt").touch()
    with pytest.raises(SubmissionError, match="too many files, more than 100"):
        stage(tmp_path / "upload", tmp_path / "again")
    make_package(tmp_path / "upload" / "submission")
    assert stage(tmp_path / "upload", tmp_path / "usual", required=(OUTPUT,)).missing == [OUTPUT]


def test_a_search_keeps_no_folders_open_and_follows_no_link(tmp_path):
    """A process may have 1,024 files open."""
    package = make_package(tmp_path / "upload" / "a" / "Submission")
    for number in range(1_500):
        (tmp_path / "upload" / f"{number}").mkdir()
    (tmp_path / "upload" / "zz").symlink_to(package.parent)
    assert stage(tmp_path / "upload", tmp_path / "staged").place == "a/Submission"


# Names of an entry, or of several; and what is said of the archive, if it is refused for certain.
OUTSIDE = ["../evil.py", "submission/../../evil.py", "C:/evil.py"]
TWICE = ["submission/dataset.py", ".//submission/./dataset.py", "submission\\dataset.py"]
NAMELESS = [".", "./.", "\\", "./\\."]
ODD = ["/", "./", "//", "submission", "submission/.", "submission/dataset.py/"]
ODD += ["submission/dataset.py/x.py", "new new/x.py", "new/x.py new"]
LONG = [f"submission/{'x' * 300}.py", "d/" * 3000 + "x.py", f"{'x' * 300}/x.py"]
ODD_NAMES = dict.fromkeys([*ODD, *LONG], "") | dict.fromkeys(OUTSIDE, "leads outside")
ODD_NAMES |= dict.fromkeys(TWICE, "contains 'submission/dataset.py' twice")
ODD_NAMES |= dict.fromkeys(NAMELESS, "is not the name of a file")


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
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE])
def test_what_the_machine_lacks_is_no_fault_of_the_upload(tmp_path, monkeypatch, packed, number):
    """Otherwise, a full disk would cost a student points: a missing file, or nothing to grade."""
    source = make_package(tmp_path / "a5" / "submission").parent
    source = pack(source, tmp_path / "up.zip") if packed else source

    def fail(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(staging, "copy", fail)
    with pytest.raises(GradingError, match=os.strerror(number)) as raised:
        stage(source, tmp_path / "staged")
    assert not isinstance(raised.value, UsageError) and "\n" not in str(raised.value)


def test_a_zip_entry_without_any_name_is_bad_input(tmp_path):
    archive = tmp_path / "up.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("Q", "x = 2\n")
    data = bytearray(archive.read_bytes())
    for magic, at in ((b"PK\3\4", 26), (b"PK\1\2", 28)):
        start = data.find(magic) + at
        data[start : start + 4] = b"\0\0\1\0"  # the name's letter becomes an extra field
    archive.write_bytes(data)
    with pytest.raises(UsageError):
        stage(archive, tmp_path / "staged")


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("names", ODD_NAMES, ids=lambda names: names[:30])
@pytest.mark.parametrize("first", [True, False])
def test_odd_names_in_a_zip_are_bad_input_at_worst(tmp_path, names, first):
    package = make_package(tmp_path / "p" / "submission")
    archive = tmp_path / "up.zip"
    own = {f"submission/{path.name}": path.read_bytes() for path in package.iterdir()}
    odd = [(name, b"x = 2\n") for name in names.split(" ")]
    with zipfile.ZipFile(archive, "w") as writer:
        for name, data in odd + list(own.items()) if first else list(own.items()) + odd:
            writer.writestr(name, b"" if name.endswith("/") else data)
    try:
        staged = stage(archive, tmp_path / "staged")
    except UsageError as error:
        assert "\n" not in str(error) and ODD_NAMES[names] in str(error)
    else:  # the other files are unharmed
        assert {n: (staged.root / n).read_bytes() for n in own} == own and not ODD_NAMES[names]
    assert not (tmp_path / "evil.py").exists()
