"""What is staged of a submission: only permitted files, and no file from outside through a link.

tests/test_upload_layouts.py has the layouts that are found, tests/snapshots what is left out or
refused, and with which words. tests/redteam has links at each level, in folders and zips, and in
test_fuzz_uploads.py archives of any kind.
"""

import errno
import io
import os
import stat
import sys
import tarfile
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import grading
import host
from grading import staging, upload
from grading.errors import GradingError, SubmissionError, UsageError
from grading.staging import stage
from tests.classroom.contents import pack
from tests.peak import growth_kib
from tests.systems import SYSTEMS, become

OUTPUT = "vanilla.model.params"
CODE = [f"submission/{name}.py" for name in ("__init__", "dataset", "helper")]


def make_package(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in CODE:
        (folder / Path(name).name).write_text(f"# {name}\n", encoding="utf-8")
    return folder


def link(path: Path, target: Path | str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def test_what_editors_leave_beside_a_file_is_nothing(tmp_path):
    package = make_package(tmp_path / "upload" / "submission")
    for name in ("#dataset.py#", "dataset.py~", ".dataset.py.swp"):
        (package / name).write_bytes(b"x")
    link(package / ".#dataset.py", "ada@laptop.4711:1790000000")  # Emacs's lock
    staged = stage(package.parent, tmp_path / "staged")
    assert len(staged.taken) == 3 and staged.omissions == []


# Links --------------------------------------------------------------------------------------------


@pytest.fixture
def solutions(tmp_path) -> Path:
    """What an attacker would like to hand in, in each layout that a submission may have."""
    root = tmp_path / "elsewhere"
    for package in ("submission", "src/submission"):
        make_package(root / package)
    (root / OUTPUT).write_bytes(b"secret")
    return root


@pytest.fixture(params=SYSTEMS)
def platform(request, monkeypatch):
    """Each way of opening."""
    become(request.param, monkeypatch)


def test_links_that_cost_nothing(tmp_path, platform):
    """A virtual environment, data on another disk, the given path, a second name of a file."""
    package = make_package(tmp_path / "upload" / "submission")
    for name in ("upload/.venv", "upload/data"):
        link(tmp_path / name, tmp_path)
    link(tmp_path / "given", tmp_path / "upload")
    os.link(package / "helper.py", tmp_path / "backup.py")
    assert list(stage(tmp_path / "given", tmp_path / "staged").taken) == CODE


def test_above_the_path_that_was_given_only_the_assignments_own_outputs_are_taken(
    tmp_path, monkeypatch, platform
):
    for name, files in (("upload", CODE), ("a5", [*CODE, OUTPUT])):
        make_package(tmp_path / name / "src" / "submission")
        (tmp_path / name / OUTPUT).write_bytes(b"weights")
        monkeypatch.setattr(grading, "ROOT", tmp_path / "a5")
        for number, part in enumerate(("src", "src/submission")):
            staged = stage(tmp_path / name / part, tmp_path / f"staged-{name}{number}")
            assert list(staged.taken) == files


def test_a_junction_counts_as_a_link(tmp_path, monkeypatch):
    """On Windows, Python 3.11's lstat shows it as a folder with a tag."""
    make_package(tmp_path / "upload" / "submission")
    become("win32", monkeypatch)
    seen = SimpleNamespace(st_mode=stat.S_IFDIR | 0o755, st_reparse_tag=host.JUNCTION)
    changed = {"lstat": lambda path: seen if str(path).endswith("submission") else os.lstat(path)}
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | changed))
    with pytest.raises(SubmissionError, match="^submission is a link"):
        stage(tmp_path / "upload", tmp_path / "staged")


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_folder_swapped_for_a_link_in_between_is_not_followed(
    system, tmp_path, solutions, monkeypatch
):
    """The check before opening sees a folder or file, which is a link by the time it is opened."""
    become(system, monkeypatch)
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | {"lstat": os.stat}))
    link(tmp_path / "upload" / "submission", solutions / "submission")
    with pytest.raises(SubmissionError, match="submission can't be listed"):
        stage(tmp_path / "upload", tmp_path / "staged")
    (make_package(tmp_path / "other" / "submission") / "dataset.py").unlink()
    link(tmp_path / "other" / CODE[1], solutions / CODE[1])
    assert CODE[1] not in stage(tmp_path / "other", tmp_path / "again").taken


@pytest.mark.requires_root
def test_a_hard_link_to_another_students_file_is_refused(tmp_path, solutions, platform):
    theirs = solutions / CODE[1]
    os.chown(theirs, 12345, 12345)
    (make_package(tmp_path / "upload" / "submission") / "dataset.py").unlink()
    os.link(theirs, tmp_path / "upload" / CODE[1])
    with pytest.raises(SubmissionError, match="^submission/dataset.py is a hard link"):
        stage(tmp_path / "upload", tmp_path / "staged")


def test_links_in_a_zip_that_nobody_looks_at_cost_nothing(tmp_path):
    archive = pack(make_package(tmp_path / "up" / "submission").parent)
    with zipfile.ZipFile(archive, "a") as writer:
        for name in ("src", "w/submission", ".venv/bin/python", "a/b/c"):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o755) << 16
            writer.writestr(info, str(tmp_path))
    assert list(stage(archive, tmp_path / "staged").taken) == CODE


# Tars ---------------------------------------------------------------------------------------------


def entry(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def tar_with(folder: Path, archive: Path, *entries: tarfile.TarInfo) -> Path:
    with tarfile.open(archive, "w:gz") as writer:
        writer.add(folder, arcname=".")
        for info in entries:
            writer.addfile(info, io.BytesIO(bytes(max(info.size, 0))))
    return archive


def test_a_tar_with_a_negative_size_ends(tmp_path):
    """Python's reader would otherwise find the same file again, for ever."""
    data = entry("submission/x.py").tobuf()
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
    link(tmp_path / "upload" / "zz", package.parent)
    assert stage(tmp_path / "upload", tmp_path / "staged").place == "a/Submission"


def test_of_what_lies_deep_in_a_zip_no_folders_are_made(tmp_path):
    """A megabyte of names can require 400,000 folders, which take minutes to create and remove."""
    make_package(tmp_path / "up" / "wrapping" / "src" / "submission")
    archive = pack(tmp_path / "up")
    with zipfile.ZipFile(archive, "a") as writer:
        for number in range(50):
            writer.writestr(f"wrapping/{number}/" + "d/" * 450 + "x.py", b"")
        writer.writestr("wrapping/src/submission/deeper/x.py", b"")
    staged = stage(archive, tmp_path / "staged")
    assert CODE[1] in staged.taken
    assert [one.name for one in staged.omissions] == ["wrapping/src/submission/deeper"]
    assert {path.name for path in tmp_path.iterdir()} == {"up", "up.zip", "staged"}


# What the machine lacks ---------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [True, False], ids=["zip", "folder"])
def test_what_the_machine_lacks_is_no_fault_of_the_upload(tmp_path, monkeypatch, packed):
    """Otherwise, a full disk would cost a student points: a missing file, or nothing to grade."""
    source = make_package(tmp_path / "a5" / "submission").parent
    source = pack(source) if packed else source
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE):

        def fail(*_, number=number):
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(staging, "copy", fail)
        with pytest.raises(GradingError, match=os.strerror(number)) as raised:
            stage(source, tmp_path / f"staged{number}")
        assert not isinstance(raised.value, UsageError) and "\n" not in str(raised.value)


MEASURED = """
from pathlib import Path
from grading import staging
before = peak_kib()
try:
    staging.stage(Path(sys.argv[2]), Path(sys.argv[3]))
except staging.SubmissionError as error:
    print(error, file=sys.stderr)
print(peak_kib() - before)
"""


def zeros(work: Path) -> Path:
    """Parameters of 60 MiB, which take no space here."""
    make_package(work / "submission")
    with open(work / OUTPUT, "wb") as writer:
        writer.truncate(60 << 20)
    return work


def long_listing(work: Path) -> Path:
    """A zip that lists 400,000 empty files: 40 MB, of which objects would take 300 MB."""
    header = bytearray(46)
    header[:4], header[28:30] = b"PK\1\2", (60).to_bytes(2, "little")
    listing = b"".join(bytes(header) + b"%060d" % number for number in range(400_000))
    work.write_bytes(listing + b"PK\5\6" + bytes(8) + len(listing).to_bytes(4, "little") + bytes(6))
    return work


@pytest.mark.skipif(sys.platform != "linux", reason="counts as Linux does")
@pytest.mark.parametrize("make", [zeros, long_listing])
def test_staging_holds_a_few_megabytes_whatever_is_handed_in(make, tmp_path):
    # Pieces of 1 MiB, a few alive at a time: 2 to 4 MiB when measured.
    (tmp_path / "staged").mkdir()
    used = growth_kib(MEASURED, make(tmp_path / "upload"), tmp_path / "staged" / "here")
    assert used < 16 << 10
