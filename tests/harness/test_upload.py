"""No link of any kind, at any level below the given path, lets a file from outside in."""

import os
import shutil
import stat
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import grading
from grading import upload
from grading.errors import SubmissionError
from grading.staging import stage
from tests.peak import growth_kib

OUTPUT = "vanilla.model.params"
SECRET = "ANSWER = 42\n"


@pytest.fixture
def solutions(tmp_path) -> Path:
    """What an attacker would like to hand in, in each layout that a submission may have."""
    root = tmp_path / "elsewhere"
    for package in ("submission", "src/submission", "wrapping/submission"):
        (root / package).mkdir(parents=True)
        (root / package / "dataset.py").write_text(SECRET, encoding="utf-8")
    (root / OUTPUT).write_text(SECRET, encoding="utf-8")
    return root


def link(path: Path, target: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def own_code(work: Path) -> None:
    (work / "submission").mkdir(parents=True)
    (work / "submission" / "helper.py").write_text("# mine\n", encoding="utf-8")


# Uploads by the name of the entry that is a link: where it leads, and what is beside it.
LINKS = {
    "submission": ("submission", False),
    "src": ("src", False),
    "src/submission": ("submission", False),
    "wrapping": ("wrapping", False),
    "wrapping/submission": ("submission", False),
    "wrapping/src": ("src", False),
    "wrapping/src/submission": ("submission", False),
    "submission/dataset.py": ("submission/dataset.py", True),
    "submission/notes.txt": ("submission/dataset.py", True),
    "submission/folder": ("submission", True),
    f"submission/{OUTPUT}": (OUTPUT, True),
    OUTPUT: (OUTPUT, True),
}


@pytest.fixture(params=[True, False], ids=["by descriptor", "by path"])
def platform(request, monkeypatch):
    """Both ways of opening; the one of Windows is forced on Linux here."""
    monkeypatch.setattr(upload, "BY_DESCRIPTOR", request.param)


@pytest.mark.parametrize("name", LINKS)
def test_a_link_is_refused_at_every_level_and_named(name, solutions, tmp_path, platform):
    target, has_code = LINKS[name]
    work = tmp_path / "upload"
    if has_code:
        own_code(work)
    relative = Path(os.path.relpath(solutions / target, (work / name).parent))
    for destination in (solutions / target, relative):
        link(work / name, destination)
        with pytest.raises(SubmissionError, match=f"^{name} is a link") as caught:
            stage(work, tmp_path / "staged")
        assert "\n" not in str(caught.value)
        assert "dataset.py" not in {p.name for p in (tmp_path / "staged").rglob("*")}
        shutil.rmtree(tmp_path / "staged")
        (work / name).unlink()


def test_a_link_inside_of_the_upload_is_refused_as_well(tmp_path, platform):
    own_code(tmp_path / "upload" / "mine")
    link(tmp_path / "upload" / "submission", tmp_path / "upload" / "mine" / "submission")
    with pytest.raises(SubmissionError, match="^submission is a link"):
        stage(tmp_path / "upload", tmp_path / "staged")


def test_links_that_nobody_looks_at_cost_nothing_and_the_given_path_may_be_one(tmp_path, platform):
    """A student's folder may have some: a virtual environment, a data set on another disk."""
    own_code(tmp_path / "upload")
    link(tmp_path / "upload" / ".venv", tmp_path)
    link(tmp_path / "upload" / "data", tmp_path)
    link(tmp_path / "given", tmp_path / "upload")
    assert list(stage(tmp_path / "given", tmp_path / "staged").taken) == ["submission/helper.py"]


def test_nothing_above_the_path_that_was_given_is_taken(tmp_path, platform):
    work = tmp_path / "src" / "submission"
    own_code(tmp_path / "src")
    for folder in (tmp_path, work.parent):
        (folder / OUTPUT).write_text(SECRET, encoding="utf-8")
    assert list(stage(work, tmp_path / "staged").taken) == ["submission/helper.py"]


def test_outputs_above_the_assignments_own_src_are_taken(tmp_path, monkeypatch, platform):
    monkeypatch.setattr(grading, "ROOT", tmp_path / "a5")
    own_code(tmp_path / "a5" / "src")
    (tmp_path / "a5" / OUTPUT).write_bytes(b"weights")
    for number, part in enumerate(("src", "src/submission")):
        staged = stage(tmp_path / "a5" / part, tmp_path / f"staged{number}")
        assert staged.path(OUTPUT) is not None


def test_a_junction_counts_as_a_link(tmp_path, monkeypatch):
    """On Windows, Python 3.11's lstat shows it as a folder with a tag."""
    own_code(tmp_path / "upload")
    monkeypatch.setattr(upload, "BY_DESCRIPTOR", False)
    seen = SimpleNamespace(st_mode=stat.S_IFDIR | 0o755, st_reparse_tag=upload.JUNCTION)
    changed = {"lstat": lambda path: seen if str(path).endswith("submission") else os.lstat(path)}
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | changed))
    with pytest.raises(SubmissionError, match="^submission is a link"):
        stage(tmp_path / "upload", tmp_path / "staged")


def test_a_folder_swapped_for_a_link_in_between_is_not_followed(tmp_path, solutions, monkeypatch):
    """The check before opening sees a folder or file, which is a link by the time it is opened."""
    if not upload.BY_DESCRIPTOR:
        pytest.skip("not on this platform")
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | {"lstat": os.stat}))
    link(tmp_path / "upload" / "submission", solutions / "submission")
    with pytest.raises(SubmissionError, match="submission can't be listed"):
        stage(tmp_path / "upload", tmp_path / "staged")
    (tmp_path / "upload" / "submission").unlink()
    own_code(tmp_path / "upload")
    link(tmp_path / "upload" / "submission" / "dataset.py", solutions / "submission/dataset.py")
    assert "submission/dataset.py" not in stage(tmp_path / "upload", tmp_path / "again").taken


# Hard links -----------------------------------------------------------------------------------


AS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="needs root")


@pytest.mark.parametrize("whose", ["staff's", pytest.param("another student's", marks=AS_ROOT)])
def test_a_hard_link_to_somebody_elses_file_is_refused(
    tmp_path, solutions, monkeypatch, platform, whose
):
    theirs = solutions / "submission/dataset.py"
    if whose == "staff's":
        monkeypatch.setattr(grading, "SOLUTIONS", solutions)
    else:
        os.chown(theirs, 12345, 12345)
    own_code(tmp_path / "upload")
    os.link(theirs, tmp_path / "upload/submission/dataset.py")
    with pytest.raises(SubmissionError, match="^submission/dataset.py is a hard link"):
        stage(tmp_path / "upload", tmp_path / "staged")


def test_a_students_own_file_may_have_two_names(tmp_path, platform):
    own_code(tmp_path / "upload")
    os.link(tmp_path / "upload/submission/helper.py", tmp_path / "backup.py")
    assert list(stage(tmp_path / "upload", tmp_path / "staged").taken) == ["submission/helper.py"]


# Zips -----------------------------------------------------------------------------------------


def zip_with(tmp_path: Path, *entries: tuple[str, str, int]) -> Path:
    """A zip of (name, content, kind of file)."""
    archive = tmp_path / "up.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        for name, content, kind in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = (kind | 0o755) << 16
            writer.writestr(info, content)
    return archive


CODE = ("submission/helper.py", "# mine\n", stat.S_IFREG)


def test_links_in_a_zip_that_nobody_looks_at_cost_nothing(tmp_path, solutions):
    names, target = ("src", "w/submission", ".venv/bin/python", "a/b/c"), solutions / "submission"
    archive = zip_with(tmp_path, CODE, *((name, str(target), stat.S_IFLNK) for name in names))
    assert list(stage(archive, tmp_path / "staged").taken) == ["submission/helper.py"]


@pytest.mark.parametrize("name", ["submission", "submission/x.py", "submission/notes.txt", "way"])
def test_a_link_in_a_zip_is_refused_and_named(tmp_path, solutions, name):
    link = (name, str(solutions / "submission"), stat.S_IFLNK)
    through = [("way/dataset.py", "# overwritten\n", stat.S_IFREG)] * (name == "way")
    with pytest.raises(SubmissionError, match=f"{name}'? is a link"):
        stage(zip_with(tmp_path, CODE, link, *through), tmp_path / "staged")
    assert (solutions / "submission/dataset.py").read_text(encoding="utf-8") == SECRET


# Sizes ----------------------------------------------------------------------------------------

MEASURED = """
from pathlib import Path
from grading import staging
before = peak_kib()
try:
    staged = staging.stage(Path(sys.argv[2]), Path(sys.argv[3]))
    print(len(staged.taken))
except staging.SubmissionError as error:
    print(error, file=sys.stderr)
print(peak_kib() - before)
"""


def zeros(work: Path) -> Path:
    """Parameters of 60 MiB that take no space here, and a few kilobytes in a zip, in two places."""
    own_code(work)
    for name in (OUTPUT, f"submission/{OUTPUT}"):
        with open(work / name, "wb") as writer:
            writer.truncate(60 << 20)
    return work


def zipped_zeros(work: Path) -> Path:
    zeros(work)
    with zipfile.ZipFile(work / "up.zip", "w", zipfile.ZIP_DEFLATED) as writer:
        writer.write(work / OUTPUT, OUTPUT)
        writer.write(work / "submission/helper.py", "submission/helper.py")
    return work / "up.zip"


def long_listing(work: Path) -> Path:
    """A zip that lists 400,000 empty files: 40 MB, of which objects would take 300 MB."""
    work.mkdir()
    header = bytearray(46)
    header[:4], header[28:30] = b"PK\1\2", (60).to_bytes(2, "little")
    count = 400_000
    listing = b"".join(bytes(header) + b"%060d" % number for number in range(count))
    end = b"PK\5\6" + bytes(8) + len(listing).to_bytes(4, "little") + bytes(6)
    (work / "up.zip").write_bytes(listing + end)
    return work / "up.zip"


@pytest.mark.skipif(sys.platform != "linux", reason="counts as Linux does")
@pytest.mark.parametrize("make", [zeros, zipped_zeros, long_listing])
def test_staging_holds_a_few_megabytes_whatever_is_handed_in(make, tmp_path):
    # Pieces of 1 MiB, a few alive at a time: 2 to 4 MiB when measured, for files of 60.
    (tmp_path / "staged").mkdir()
    used = growth_kib(MEASURED, make(tmp_path / "upload"), tmp_path / "staged" / "here")
    assert used < 16 << 10
