"""What the grader adds to a submission: the given modules that it lacks, and `pretraining`."""

import shutil
import sys
import zipfile
from pathlib import Path

import pytest

import grading
from autograder.judging import Judging
from grading import pool
from grading.staging import stage
from grading.verdicts import Outcome
from questions.course import Course
from tests.harness.conftest import POOLS

PROVIDED = Course().provided
NOTE = "pretraining (the grader uses its own)"
RAISES = "raise RuntimeError('of the upload')\n"


def modules(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.py")}


def failures(results: dict) -> dict[str, str]:
    """Return the failures among the requested tests."""
    asked = {test_id: result for test_id, result in results.items() if result.is_selected}
    assert asked
    return {i: r.message for i, r in asked.items() if r.outcome is not Outcome.PASSED}


def test_what_a_submission_lacks_of_the_given_is_ours(submission, tmp_path):
    for name in PROVIDED.given[1:]:
        (submission / "submission" / name).unlink()
    (submission / "submission" / "__init__.py").write_text("MINE = 1\n", encoding="utf-8")
    staged = stage(submission, tmp_path / "staged", PROVIDED)
    assert staged.added == list(PROVIDED.given[1:])
    assert not {f"submission/{name}" for name in PROVIDED.given[1:]} & staged.taken.keys()
    code = modules(staged.root / "submission")
    assert code.pop("__init__.py") == b"MINE = 1\n"
    assert {n: code[n] for n in PROVIDED.given[1:]} == {
        n: (grading.SRC / "submission" / n).read_bytes() for n in PROVIDED.given[1:]
    }
    assert code.keys() == modules(submission / "submission").keys() - {"__init__.py"} | {
        *PROVIDED.given[1:]
    }


def test_what_students_write_is_never_added(tmp_path):
    (tmp_path / "upload" / "submission").mkdir(parents=True)
    (tmp_path / "upload" / "submission" / "mine.py").touch()
    staged = stage(tmp_path / "upload", tmp_path / "staged", PROVIDED)
    assert modules(staged.root / "submission").keys() == {"mine.py", *PROVIDED.given}


def test_an_uploads_pretraining_is_left_and_ours_is_used(submission, tmp_path, grade):
    for place in ("", "src/", "wrapping/"):
        archive = tmp_path / "upload.zip"
        with zipfile.ZipFile(archive, "w") as writer:
            for name, content in modules(submission / "submission").items():
                writer.writestr(f"{place}submission/{name}", content)
            for name in modules(grading.SRC / "pretraining"):
                writer.writestr(f"{place}pretraining/{name}", RAISES)
        staged = stage(archive, tmp_path / f"staged {place.rstrip('/')}", PROVIDED)
        assert [*map(str, staged.omissions)] == [place + NOTE]
        assert modules(staged.root / "pretraining") == modules(grading.SRC / "pretraining")
    assert failures(grade(archive, "1e-2-basic", "1e-5-hidden")) == {}


def test_no_file_of_an_upload_comes_before_pretraining_or_a_library(submission, grade):
    for name in ("pretraining", "torch", "random"):
        (submission / "submission" / f"{name}.py").write_text(RAISES, encoding="utf-8")
        (submission / f"{name}.py").write_text(RAISES, encoding="utf-8")
    assert failures(grade(submission, "1e-2-basic", "1g-2-basic")) == {}


def test_the_assignments_own_folder_gets_no_note(tmp_path):
    copy = shutil.copytree(grading.SRC, tmp_path / "copy")
    for source, count in ((grading.SRC, 0), (copy, 1)):
        staged = stage(source, tmp_path / f"staged-{count}", PROVIDED)
        assert [*map(str, staged.omissions)].count(NOTE) == count


@pytest.mark.parametrize("way", POOLS)
def test_the_reference_is_graded_as_it_lies(grade, way):
    wanted = ("1c-0-basic", "1e-5-hidden")
    assert failures(grade(grading.SOLUTIONS / "submission", *wanted, way=way)) == {}


# -- the reference is closed -----------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such modes")
def test_the_composed_reference_is_its_owners_alone(tmp_path):
    everything = Judging.stage_reference(tmp_path / "reference", PROVIDED)
    assert (tmp_path / "reference").stat().st_mode & 0o777 == 0o700
    assert tmp_path / "reference" / "submission" / "model.py" in everything
    code = modules(tmp_path / "reference" / "submission")
    assert code == modules(grading.SRC / "submission") | modules(grading.SOLUTIONS / "submission")


@pytest.mark.parametrize("way", POOLS)
def test_matplotlib_needs_no_screen_and_looks_for_no_fonts(way, write_query, grade, monkeypatch):
    """A job has a copy of the grader's list of fonts, where matplotlib may also write."""
    lists = grading.ROOT / "requirements.txt", grading.ROOT / "constraints.txt"  # any two files
    monkeypatch.setattr(pool, "font_lists", lambda: lists)
    body = f"""
    folder = os.environ["MPLCONFIGDIR"]
    assert os.environ["MPLBACKEND"] == "Agg" and os.access(folder, os.W_OK)
    assert sorted(os.listdir(folder)) == {sorted(path.name for path in lists)}
    assert all(open(os.path.join(folder, name)).read() for name in os.listdir(folder))
    return 100.0 * keys[j]"""
    results = grade(write_query(body, "import os\n"), "3a-0-basic", way=way)
    assert results["3a-0-basic"].outcome is Outcome.PASSED, results["3a-0-basic"].message
