"""The canary tries what an attacker would, and each of its successes is a fault."""

import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from autograder.isolation import authority, sandbox
from grading import upload

NOTHING = {"read": [], "written": [], "signalled": [], "sockets": [], "scratch": True, "linked": []}
ROOT = sandbox.Layers(root=True, landlock_abi=0, seccomp=False)


def test_no_link_can_be_handed_in(tmp_path):
    assert authority.hand_in_links(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_a_grader_that_follows_links_is_caught(tmp_path, monkeypatch):
    """Every place where staging would follow a link again is reported."""
    monkeypatch.setattr(upload, "NO_LINK", 0)
    # Only there: what removes trees must not follow links.
    monkeypatch.setattr(upload, "os", SimpleNamespace(**vars(os) | {"lstat": os.stat}))
    assert authority.hand_in_links(tmp_path) == list(authority.LINKS)


def test_each_success_of_the_canary_is_a_fault():
    assert authority.faults(ROOT, NOTHING) == []
    for key, value in NOTHING.items():
        success = False if value is True else ["/solutions"]
        assert len(authority.faults(ROOT, NOTHING | {key: success})) == 1


@pytest.mark.skipif(os.getuid() != 0, reason="needs root")
def test_the_canary_comes_back_with_nothing(tmp_path, pools):
    found = sandbox.detect()
    if not found.root:
        pytest.skip(found.obstacle)
    work = Path("/tmp") / f"grading-canary-{os.getpid()}"
    try:
        (work / "staged" / "submission").mkdir(parents=True)
        for folder in (work, work / "staged"):
            folder.chmod(0o755)
        secret = tmp_path / "secret"
        secret.write_text("42", encoding="utf-8")
        secret.chmod(0o600)
        canary = authority.send_canary(pools["zygote"], work, work / "staged", (secret,))
    finally:
        shutil.rmtree(work)
    assert canary["scratch"] and not canary["linked"]
    assert str(secret) not in canary["read"]
