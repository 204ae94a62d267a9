"""A Python with numpy but without torch: tests that need no torch run, the others say why not."""

import subprocess
from importlib import metadata
from pathlib import Path

from tests.interpreter import python_after, without

# numpy, and what a checkout, which has no edition.json, reads its description with.
KEPT = {"numpy", "pydantic", "pydantic_core", "annotated_types", "typing_inspection"}
KEPT |= {"typing_extensions", "coverage"}


def grade(tree: Path, *words: str) -> subprocess.CompletedProcess:
    others = sorted(metadata.packages_distributions().keys() - KEPT)
    command = ("src/grader.py", "--submission", "solutions", *words)
    ran = python_after(without(*others), tree, *command)
    assert "Traceback" not in ran.stdout + ran.stderr
    return ran


def test_tests_that_need_no_torch_run_and_others_say_so_in_one_line(tree):
    """What workers import by themselves is in test_given.py."""
    ran = grade(tree, "3a", "1e-1-basic", "1g-5-hidden")
    assert ran.returncode == 1
    # One line says so, with the command that repairs it.
    assert ran.stderr.count("\n") == 1 and "torch" in ran.stderr
    assert ran.stdout.count(" passed ") == 4 and ran.stdout.count("needs torch") == 2
    counts = grade(tree, "3a", "--authoritative")  # a run that counts does not begin
    assert counts.returncode == 3 and "torch" in counts.stderr + counts.stdout
