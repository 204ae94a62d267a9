"""No upload causes a grader error or changes the result of the next one: zips of any kind.

python -m pytest tests/redteam/test_fuzz_uploads.py      130 zips, the same each time
make redteam ARGS="-k fuzz_uploads"                      3,200, different ones each time
"""

import io
import os
import struct
import time
import warnings
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grading import paths, printable, trees
from grading.errors import SubmissionError
from grading.host import Host
from grading.staging import MAX_TOTAL_BYTES, stage
from questions.course import Course

from .conftest import ASKED, FILE, RIGHT
from .test_fuzz import BOTH, examples

SLOWEST_S = 5.0  # of CPU; most take some milliseconds
NAMES = [
    *("submission/x.py", "submission", "submission/", "submission/x.py/y.py", "new/x.py", "new"),
    *("src/submission/x.py", "submission/X.PY", "vanilla.model.params", "x.params", ".git/config"),
    *("submission/../../x.py", "/x.py", "C:/x.py", "a\\b\\x.py", "x.predictions", "edition.txt"),
    *("pretraining/pace.py", "submission/recipes.json", "submission/sitecustomize.py", FILE),
    *("__MACOSX/submission/x.py", "d/" * 30 + "x.py", "submission/" + "é" * 200 + ".py"),
    *(".", "a\0b.py", "\x1b[2J.py", "\u202e.py", "submission/\n.py", "submission/*.py"),
]
KINDS = [0, 0, 0o100644, 0o40755, 0o120777, 0o10644, 0o20644, 0o140644]  # as in st_mode
NUMBERS = [0, 1, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 2**63, 2**64 - 1, MAX_TOTAL_BYTES]
HEADERS = (b"PK\1\2", b"PK\3\4", b"PK\5\6")  # of the list of files, of each file, of the end


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
        places = [at for header in HEADERS for at in _places(data, header)]
        at = draw(st.sampled_from(places)) + draw(st.integers(4, 46))
        form, number = draw(st.sampled_from(["<H", "<I", "<Q"])), draw(st.sampled_from(NUMBERS))
        odd = struct.pack(form, number % 256 ** struct.calcsize(form))
        data = data[:at] + odd + data[at + len(odd) :]
    cut = draw(st.sampled_from([None] * 5 + [-1, -30, len(data) // 2]))
    return data[:cut]


def _places(data: bytes, header: bytes) -> list[int]:
    found, at = [], data.find(header)
    while at >= 0:
        found.append(at)
        at = data.find(header, at + 4)
    return found


@pytest.mark.parametrize("count", BOTH)
def test_any_zip_is_staged_or_refused_in_one_line(count, tmp_path):
    archive, work = tmp_path / "up.zip", tmp_path / "work"

    @examples(count, 4)
    @given(zips())
    def holds(data):
        archive.write_bytes(data)
        work.mkdir()
        started = time.process_time()
        try:
            staged = stage(archive, work / "staged", Course().provided)
            assert set(map(len, map(str.splitlines, staged.left))) <= {1}
            assert all(name.isprintable() for name in [*staged.taken, *staged.left])
            assert sum((staged.root / n).stat().st_size for n in staged.taken) < MAX_TOTAL_BYTES
        except SubmissionError as refusal:
            assert str(refusal) == printable.line(str(refusal))
        assert time.process_time() - started < SLOWEST_S
        trees.remove_tree(work)
        assert os.listdir(tmp_path) == ["up.zip"]  # nothing was written elsewhere

    holds()


@pytest.mark.parametrize("count", BOTH)
def test_after_any_zip_a_host_grades_the_next_one_as_before(count, tmp_path, grader, monkeypatch):
    monkeypatch.setattr(paths, "DATA", grader.course / "src" / "data")
    monkeypatch.setattr(paths, "ANSWERS", grader.course / "solutions" / "data")
    monkeypatch.setattr("grading.host.MOST_SUBMISSIONS", 10**6)
    right, odd = tmp_path / "right.zip", tmp_path / "odd.zip"
    with zipfile.ZipFile(right, "w") as writer:
        writer.writestr(FILE, RIGHT)
    host = Host(Course(), tmp_path)

    def graded(upload):
        asked = {"name": upload.name, "edition": "xcs224n", "wanted": [ASKED], "counts": False}
        answer = host.serve({"do": "grade", "submission": str(upload), "seed": "7", **asked})
        assert "fault" not in answer and not answer["last"], answer
        return [(t["outcome"], t["score"], t["message"]) for t in answer["results"]["tests"]]

    try:
        before = graded(right)

        @examples(count, 60)
        @given(zips())
        def holds(data):
            odd.write_bytes(data)
            graded(odd)
            assert graded(right) == before

        holds()
    finally:
        host.close()
