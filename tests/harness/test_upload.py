"""No link of any kind, at any level below the given path, lets a file from outside in.

The attacks in tests/redteam that hand in links try every level, and zips.
"""

import os
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
    "wrapping/src": ("src", False),
    "submission/dataset.py": ("submission/dataset.py", True),
    "submission/notes.txt": ("submission/dataset.py", True),
    OUTPUT: (OUTPUT, True),
}


@pytest.fixture(params=[True, False], ids=["by descriptor", "by path"])
def platform(request, monkeypatch):
    """Both ways of opening; the one of Windows is forced on Linux here."""
    monkeypatch.setattr(upload, "BY_DESCRIPTOR", request.param)


@pytest.mark.parametrize("name", LINKS)
def test_a_link_is_refused_and_named(name, solutions, tmp_path, platform):
    target, has_code = LINKS[name]
    work = tmp_path / "upload"
    if has_code:
        own_code(work)
    link(work / name, solutions / target)
    with pytest.raises(SubmissionError, match=f"^{name} is a link") as caught:
        stage(work, tmp_path / "staged")
    assert "\n" not in str(caught.value)
    assert "dataset.py" not in {p.name for p in (tmp_path / "staged").rglob("*")}


def test_links_that_cost_nothing(tmp_path, platform):
    """A virtual environment, data on another disk, the given path, a second name of a file."""
    own_code(tmp_path / "upload")
    link(tmp_path / "upload" / ".venv", tmp_path)
    link(tmp_path / "upload" / "data", tmp_path)
    link(tmp_path / "given", tmp_path / "upload")
    os.link(tmp_path / "upload/submission/helper.py", tmp_path / "backup.py")
    assert list(stage(tmp_path / "given", tmp_path / "staged").taken) == ["submission/helper.py"]


def test_nothing_above_the_path_that_was_given_is_taken(tmp_path, platform):
    own_code(tmp_path / "src")
    (tmp_path / OUTPUT).write_text(SECRET, encoding="utf-8")
    staged = stage(tmp_path / "src" / "submission", tmp_path / "staged")
    assert list(staged.taken) == ["submission/helper.py"]


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


def test_links_in_a_zip_that_nobody_looks_at_cost_nothing(tmp_path):
    archive = tmp_path / "up.zip"
    with zipfile.ZipFile(archive, "w") as writer:
        writer.writestr("submission/helper.py", "# mine\n")
        for name in ("src", "w/submission", ".venv/bin/python", "a/b/c"):
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o755) << 16
            writer.writestr(info, str(tmp_path))
    assert list(stage(archive, tmp_path / "staged").taken) == ["submission/helper.py"]


# Sizes ----------------------------------------------------------------------------------------

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
    own_code(work)
    with open(work / OUTPUT, "wb") as writer:
        writer.truncate(60 << 20)
    return work


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
@pytest.mark.parametrize("make", [zeros, long_listing])
def test_staging_holds_a_few_megabytes_whatever_is_handed_in(make, tmp_path):
    # Pieces of 1 MiB, a few alive at a time: 2 to 4 MiB when measured.
    (tmp_path / "staged").mkdir()
    used = growth_kib(MEASURED, make(tmp_path / "upload"), tmp_path / "staged" / "here")
    assert used < 16 << 10
