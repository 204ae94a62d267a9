"""What the grader adds to a submission, and what it needs of Python."""

import subprocess
from importlib import metadata
from importlib.util import cache_from_source
from pathlib import Path

import pytest

import grading
from autograder.judging import Judging
from grading import pool
from grading.staging import stage
from grading.verdicts import Outcome
from questions.course import Course
from tests.harness.conftest import POOLS
from tests.interpreter import python_after, without

PROVIDED = Course().provided
RAISES = "raise RuntimeError('of the upload')\n"


def test_no_file_of_an_upload_comes_before_pretraining_or_a_library(submission, grade):
    (submission / "pretraining").mkdir()
    for name in ("pretraining/__init__", "pretraining", "host", "torch", "random"):
        (submission / f"{name}.py").write_text(RAISES, encoding="utf-8")
    for name in ("pretraining", "host", "torch", "random"):
        (submission / "submission" / f"{name}.py").write_text(RAISES, encoding="utf-8")
    results = grade(submission, "1e-2-basic", "1e-5-hidden", "1g-2-basic")
    assert {r.outcome for r in results.values() if r.is_selected} == {Outcome.PASSED}


def test_only_what_the_grader_adds_is_compiled(submission, tmp_path):
    """A student's source could take gigabytes, or crash the interpreter: a worker compiles it."""
    (submission / "submission" / "model.py").unlink()  # the grader adds its own
    root = stage(submission, tmp_path / "staged", PROVIDED).root
    for path in root.glob("*/*.py"):
        is_ours = path.parent.name == "pretraining" or path.name == "model.py"
        assert Path(cache_from_source(str(path))).exists() == is_ours, path


def test_the_composed_reference_is_its_owners_alone(tmp_path):
    Judging.stage_reference(tmp_path / "reference", PROVIDED)
    assert (tmp_path / "reference").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("way", POOLS)
def test_a_worker_imports_no_library_but_numpy_and_matplotlib_needs_no_screen_and_no_fonts(
    way, write_query, grade, monkeypatch
):
    """A job has a copy of the grader's list of fonts, where matplotlib may also write."""
    lists = grading.ROOT / "requirements.txt", grading.ROOT / "constraints.txt"  # any two files
    monkeypatch.setattr(pool, "font_lists", lambda: lists)
    body = f"""
    assert not {{"torch", "rich", "pydantic", "matplotlib", "tqdm"}} & {{*sys.modules}}
    folder = os.environ["MPLCONFIGDIR"]
    assert os.environ["MPLBACKEND"] == "Agg" and os.access(folder, os.W_OK)
    assert sorted(os.listdir(folder)) == {sorted(path.name for path in lists)}
    assert all(open(os.path.join(folder, name)).read() for name in os.listdir(folder))
    return 100.0 * keys[j]"""
    results = grade(write_query(body, "import os, sys\n"), "3a-0-basic", way=way)
    assert results["3a-0-basic"].outcome is Outcome.PASSED, results["3a-0-basic"].message


# A Python without torch ---------------------------------------------------------------------------

# What the grader needs, and what a checkout, which has no edition.json, reads its description with.
KEPT = {"numpy", "rich", "pydantic", "pydantic_core", "annotated_types", "typing_inspection"}
KEPT |= {"typing_extensions", "coverage"}


def grade_without(tree: Path, *words: str) -> subprocess.CompletedProcess:
    others = sorted(metadata.packages_distributions().keys() - KEPT)
    command = ("src/grader.py", "--submission", "solutions", *words)
    ran = python_after(without(*others), tree, *command)
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran


def test_tests_that_need_no_torch_run_and_others_say_so_in_one_line(tree):
    ran = grade_without(tree, "3a", "1e-1-basic", "1g-5-hidden")
    assert ran.returncode == 1
    # One line says so, with the command that repairs it.
    assert ran.stderr.count("\n") == 1 and "torch" in ran.stderr
    assert ran.stdout.count(" passed ") == 4 and ran.stdout.count("needs torch") == 2
    counts = grade_without(tree, "3a", "--authoritative")  # a run that counts does not begin
    assert counts.returncode == 3 and "torch" in counts.stderr + counts.stdout
