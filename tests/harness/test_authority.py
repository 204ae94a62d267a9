"""The canary tries what an attacker would, and each of its successes is a fault."""

import os
import sys
from types import SimpleNamespace

import pytest

import grading
from autograder import authoritative, isolation
from autograder.isolation import authority, sandbox
from autograder.judging import course_runner
from grading import upload
from grading.edition import load_assignment
from grading.runner import Options
from questions.course import Course
from tools import world

NOTHING = {"read": [], "written": [], "signalled": [], "sockets": [], "scratch": True, "linked": []}
ROOT = sandbox.Layers(root=True, landlock_abi=0, seccomp=False)


def test_each_success_of_the_canary_is_a_fault():
    assert authority.faults(ROOT, NOTHING) == []
    for key, value in NOTHING.items():
        success = False if value is True else ["/solutions"]
        assert len(authority.faults(ROOT, NOTHING | {key: success})) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux alone")
def test_the_canary_finds_what_is_open(tmp_path, monkeypatch):
    places = {"SOLUTIONS": grading.SOLUTIONS, "SRC": tmp_path, "ROOT": tmp_path, "DATA": tmp_path}
    monkeypatch.setattr(authority, "grading", SimpleNamespace(**places))  # it writes there
    # Staging follows links, but what removes trees does not.
    monkeypatch.setattr(upload, "NO_LINK", 0)
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | {"lstat": os.stat}))
    found = isolation.obstacles(sandbox.Layers(root=False, landlock_abi=0, seccomp=False))
    for words in (
        f"can read {grading.SOLUTIONS / 'hidden' / '__init__.py'}",
        f"can write to {tmp_path}",
        f"can signal process {os.getpid()}",
        "can open TCP sockets",
        "can open Unix sockets",
    ):
        assert f"student code {words}" in found
    for name in authority.LINKS:
        assert f"{name} can be submitted as a link to the solutions" in found


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_one_call_grades_a_submission_with_authority(tmp_path, monkeypatch):
    if not (layers := sandbox.detect()).root:
        pytest.skip(layers.obstacle)
    world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tmp_path)])
    runner = course_runner(load_assignment(grading.ROOT), Course())
    monkeypatch.setattr(runner.judging, "answers", tmp_path / "solutions" / "data")
    data = tmp_path / "src" / "data"
    options = Options(grading.SOLUTIONS, selection=("3a-0-basic", "3a-1-hidden"), data=data)
    results = authoritative.grade(runner, options, seed=1 << 50)
    assert results.facts["authoritative"] and results.seed == 1 << 50
    assert [t.outcome.value for t in results.tests if t.is_selected] == ["passed", "passed"]
