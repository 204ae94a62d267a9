"""No upload causes a grader error or changes the result of the next one: links, floods, archives.

make redteam ARGS="-k fuzz_uploads"     3,000 archives of any kind, other ones each time; here 120
"""

import gzip
import io
import os
import re
import struct
import tarfile
import time
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import grading
from autograder.isolation import leftovers
from grading.errors import SubmissionError, safe_line
from grading.staging import MAX_TOTAL_BYTES, stage
from questions.course import Course
from tests.systems import SYSTEMS, become

from .conftest import FILE, RIGHT
from .test_fuzz import BOTH, examples

SLOWEST_S = 5.0  # of CPU; most take some milliseconds
NAMES = [
    *("submission/x.py", "submission", "submission/", "submission/x.py/y.py", "new/x.py", "new"),
    *("src/submission/x.py", "submission/X.PY", "vanilla.model.params", "x.params", ".git/config"),
    *("submission/../../x.py", "/x.py", "C:/x.py", "a\\b\\x.py", "x.predictions", "edition.txt"),
    *("pretraining/fast.py", "submission/recipes.json", "submission/sitecustomize.py", FILE),
    *("__MACOSX/submission/x.py", "d/" * 30 + "x.py", "submission/" + "é" * 200 + ".py"),
    *("Submission/x.py", "deep/er/submission (1)/x.py", "inner.zip", "x (1).params"),
    *(".", "a\0b.py", "\x1b[2J.py", "\u202e.py", "submission/\n.py", "submission/*.py"),
]
TYPES = [bytes([kind]) for kind in b"\x00012345670LKSxgAV"]
KINDS = [0, 0, 0o100644, 0o40755, 0o120777, 0o10644, 0o20644, 0o140644]  # as in st_mode
NUMBERS = [0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1, MAX_TOTAL_BYTES]
HEADERS = re.compile(b"PK(\1\2|\3\4|\5\6)")  # of the list of files, of each file, of the end


@st.composite
def zips(draw: st.DrawFn) -> bytes:
    """A right submission with odd entries beside it, and some changed numbers in its headers."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as writer, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        writer.writestr(FILE, RIGHT)
        for name in draw(st.lists(st.sampled_from(NAMES), max_size=3)):
            info = zipfile.ZipInfo(name)
            info.external_attr = draw(st.sampled_from(KINDS)) << 16
            writer.writestr(info, draw(st.sampled_from([b"", b"x = 1\n", bytes(100_000)])))
    data = stream.getvalue()
    for _ in range(draw(st.integers(0, 2))):
        places = [header.start() for header in HEADERS.finditer(data)]
        at = draw(st.sampled_from(places)) + draw(st.integers(4, 46))
        form, number = draw(st.sampled_from(["<H", "<I", "<Q"])), draw(st.sampled_from(NUMBERS))
        odd = struct.pack(form, number % 256 ** struct.calcsize(form))
        data = data[:at] + odd + data[at + len(odd) :]
    cut = draw(st.sampled_from([None] * 5 + [-1, -30, len(data) // 2]))
    return data[:cut]


@st.composite
def tars(draw: st.DrawFn) -> bytes:
    """A right submission with odd entries beside it, and some changed bytes in its headers."""
    stream = io.BytesIO()
    form = draw(st.sampled_from([tarfile.PAX_FORMAT, tarfile.GNU_FORMAT, tarfile.USTAR_FORMAT]))
    with tarfile.open(fileobj=stream, mode="w", format=form) as writer:
        for name in [FILE, *draw(st.lists(st.sampled_from(NAMES), max_size=3))]:
            info = tarfile.TarInfo(name[:40] if form == tarfile.USTAR_FORMAT else name)
            info.type = draw(st.sampled_from(TYPES)) if name != FILE else tarfile.REGTYPE
            content = RIGHT if name == FILE else draw(st.sampled_from([b"", b"x = 1\n"]))
            info.size, info.linkname = len(content), draw(st.sampled_from(["", "/etc/passwd"]))
            writer.addfile(info, io.BytesIO(content))
    data = bytearray(stream.getvalue())
    for _ in range(draw(st.integers(0, 3))):
        block = 512 * draw(st.integers(0, len(data) // 512 - 1))
        at = draw(st.sampled_from([0, 100, 124, 156, 157, 257, 345, 386, 482, 483]))
        field = draw(st.binary(min_size=1, max_size=12))
        data[block + at : block + at + len(field)] = field
        head = data[block : block + 512]
        total = sum(head[:148]) + 8 * 32 + sum(head[156:])
        data[block + 148 : block + 156] = b"%06o\0 " % total
    whole = bytes(data[: draw(st.sampled_from([None] * 5 + [-1, -30, len(data) // 2]))])
    return gzip.compress(whole) if draw(st.booleans()) else whole


@pytest.mark.parametrize("archives", [zips(), tars()], ids=["zip", "tar"])
@pytest.mark.parametrize("count", BOTH)
def test_any_archive_is_staged_or_refused_in_one_line(count, archives, tmp_path):
    archive, work = tmp_path / "up.zip", tmp_path / "work"

    @examples(count, 8)
    @given(archives)
    def holds(data):
        archive.write_bytes(data)
        work.mkdir()
        started = time.process_time()
        try:
            staged = stage(archive, work / "staged", Course().provided)
            assert {len(str(one).splitlines()) for one in staged.omissions} <= {1}
            assert all(name.isprintable() for name in [*staged.taken, *map(str, staged.omissions)])
            assert sum((staged.root / n).stat().st_size for n in staged.taken) < MAX_TOTAL_BYTES
        except SubmissionError as refusal:
            assert str(refusal) == safe_line(str(refusal))
        assert time.process_time() - started < SLOWEST_S
        leftovers.remove_tree(work)
        assert os.listdir(tmp_path) == ["up.zip"]  # nothing was written elsewhere

    holds()


def refusal_of(upload: Path, work: Path) -> str:
    """Return the line in which an upload is refused, soon."""
    started = time.process_time()
    with pytest.raises(SubmissionError) as refused:
        stage(upload, work, Course().provided)
    assert time.process_time() - started < SLOWEST_S
    assert str(refused.value) == safe_line(str(refused.value))
    return str(refused.value)


PLACES = {  # of a link in an upload, and the part of the solutions to which it leads
    "submission": "submission",
    "src": ".",
    "src/submission": "submission",
    "wrapping": ".",
    "wrapping/submission": "submission",
    "wrapping/src": ".",
    "wrapping/src/submission": "submission",
    "submission/notes.txt": FILE,
    "vanilla.model.params": FILE,
    FILE: FILE,
}


WAYS = {
    "by the whole path": Path.symlink_to,
    "by the way from there": lambda link, to: link.symlink_to(os.path.relpath(to, link.parent)),
    "hard": Path.hardlink_to,
    "in a zip": None,
}
HARD = ("vanilla.model.params", FILE)  # no folder has hard links, and notes are not read


@pytest.mark.parametrize(
    ("name", "kind"), [(n, k) for n in PLACES for k in WAYS if k != "hard" or n in HARD]
)
@pytest.mark.parametrize("system", SYSTEMS)
def test_no_link_to_the_solutions_is_followed(name, kind, system, tmp_path, monkeypatch):
    become(system, monkeypatch)
    upload, solutions = tmp_path / "upload", tmp_path / "solutions"
    monkeypatch.setattr(grading, "SOLUTIONS", solutions)
    (solutions / "submission").mkdir(parents=True)
    (solutions / FILE).write_bytes(RIGHT)
    (upload / name).parent.mkdir(parents=True)
    if kind == "in a zip":
        link = zipfile.ZipInfo(name)
        link.external_attr = 0o120777 << 16
        with zipfile.ZipFile(upload / "up.zip", "w") as writer:
            writer.writestr(link, str(solutions / PLACES[name]))
            writer.writestr(f"{name}/attention_exploration.py", "x = 1")  # through the link
            writer.writestr("submission/__init__.py", "")
        upload = upload / "up.zip"
    else:
        if PLACES[name] == FILE:
            (upload / "submission").mkdir(exist_ok=True)
            (upload / "submission" / "__init__.py").touch()
        WAYS[kind](upload / name, solutions / PLACES[name])
    refusal = refusal_of(upload, tmp_path / "staged")
    named = f"up.zip: {Path(name).name!r}" if kind == "in a zip" else name
    assert re.match(rf"{re.escape(named)} is a (hard )?link\b", refusal)
    assert (solutions / FILE).read_bytes() == RIGHT


def test_a_folder_of_too_many_files_is_refused(upload, tmp_path):
    for number in range(2100):
        (upload / "submission" / f"x{number}.py").touch()
    assert "too many" in refusal_of(upload, tmp_path / "staged")
