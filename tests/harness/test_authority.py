"""Whether a run may be authoritative: what the canary tries."""

import os
import sys
from types import SimpleNamespace

import pytest

import grading
import host
from autograder import isolation
from autograder.isolation import authority, sandbox
from grading import upload

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
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | {"lstat": os.stat}))
    monkeypatch.setattr(host, "os", SimpleNamespace(**vars(os) | {"O_NOFOLLOW": 0}))
    found = isolation.obstacles(sandbox.Layers(root=False, landlock_abi=0, seccomp=False))
    for words in (
        f"can read {grading.SOLUTIONS / 'hidden' / '__init__.py'}",
        f"can write to {tmp_path}",
        f"can signal process {os.getpid()}",
        "can open TCP sockets",
        "can open Unix sockets",
    ):
        assert f"student code {words}" in found
    assert "tests have no uid of their own (needs root)" in found
    for name in authority.LINKS:
        assert f"{name} can be submitted as a link to the solutions" in found
