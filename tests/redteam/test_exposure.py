"""Solutions, answers and results that lie among libraries, which workers may read, are refused.

If they do, no hidden test is judged: exit code 2, or 3 if the run was to be authoritative. The
folders of the machine itself are changed only in a mount namespace.
"""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import grading
from autograder import isolation
from autograder.isolation import authority, sandbox
from grading.errors import GradingError, UsageError
from tests.interpreter import python
from tools import world

from .conftest import ASKED, FILE, USER, command, give

GUARDED = sandbox.Layers(root=False, landlock_abi=1, seccomp=True)
OWN_UIDS = replace(GUARDED, root=True)
THERE = Path("/usr/local/src")  # an empty system folder to mount on


def can_mount() -> bool:
    tools = all(map(shutil.which, ("unshare", "setpriv", "mount")))
    if sys.platform != "linux" or os.getuid() != 0 or not tools or not THERE.is_dir():
        return False
    return subprocess.run(["unshare", "--mount", "true"], check=False).returncode == 0


@pytest.fixture
def libraries(monkeypatch, tmp_path) -> Path:
    """A folder that workers may read, and nothing else."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    monkeypatch.setattr(sandbox, "readable_by_all", lambda: (str(folder), "/no/such/folder"))
    (tmp_path / "mounts").touch()  # there are none
    monkeypatch.setattr(authority, "MOUNTS", tmp_path / "mounts")
    return folder


def refusal(*private: Path, layers: sandbox.Layers = GUARDED) -> str:
    """Return why nothing is graded if these must be private, or ""."""
    pool = isolation.ConfinedPool(0, layers)
    with tempfile.TemporaryDirectory() as work, contextlib.closing(pool):
        try:
            pool.admit(Path(work), Path(work), private)
        except UsageError as error:
            return str(error)
    return ""


def test_what_lies_among_libraries_is_named_wherever_links_lead(libraries, tmp_path):
    inside, outside = libraries / "course" / "solutions", tmp_path / "solutions"
    inside.mkdir(parents=True)
    outside.mkdir()
    named = refusal(outside, inside, inside / "data")
    assert f"could read {inside}" in named and f"{libraries} for libraries" in named
    (libraries / "out").symlink_to(outside)
    (tmp_path / "in").symlink_to(inside)
    # Other names that begin alike, and links that the kernel refuses, too.
    assert refusal(outside, tmp_path / "libraries-and-more", libraries / "out") == ""
    assert refusal(tmp_path) and refusal(tmp_path / "in")
    # Without Landlock, nothing is opened because nothing is closed.
    assert refusal(libraries, layers=replace(GUARDED, landlock_abi=0)) == ""


def test_the_place_of_a_mount_is_named_by_what_is_seen_there(libraries, tmp_path):
    """A second name of a file is seen like a mount of it."""
    secret, shown = tmp_path / "solutions" / "data" / "secret", libraries / "a b"
    secret.parent.mkdir(parents=True)
    secret.touch()
    os.link(secret, shown)
    point = str(shown).replace(" ", "\\040")
    lines = f"9 1 0:4 net:[4026532] /run/netns/a rw - nsfs nsfs rw\n9 1 8:1 /x {point} rw\n"
    assert refusal(secret) == ""
    authority.MOUNTS.write_text(lines, encoding="utf-8")
    for guarded in (secret, tmp_path / "solutions"):
        assert f"could read {shown}" in refusal(guarded)
    assert refusal(tmp_path / "other" / "secret") == ""


def test_a_run_whose_canary_got_out_does_not_count(monkeypatch, tmp_path):
    monkeypatch.setattr(authority, "obstacles", lambda *_: ["it got out"])
    with contextlib.closing(isolation.ConfinedPool(0, GUARDED, authoritative=True)) as pool:
        with pytest.raises(GradingError, match="can't be authoritative: it got out"):
            pool.admit(tmp_path, tmp_path, [])


# 0o711: names in it may be known.
@pytest.mark.parametrize(
    ("outer", "inner", "is_safe"),
    [(0o755, 0o700, True), (0o755, 0o711, False), (0o700, 0o755, True)],
)
def test_what_others_cannot_read_is_safe_from_a_uid_of_its_own(
    libraries, open_folder, monkeypatch, outer, inner, is_safe
):
    monkeypatch.setattr(sandbox, "readable_by_all", lambda: (str(open_folder),))
    solutions = open_folder / "solutions"
    solutions.mkdir()
    open_folder.chmod(outer)
    solutions.chmod(inner)
    assert (refusal(solutions, layers=OWN_UIDS) == "") is is_safe
    assert refusal(solutions)


def test_an_environment_in_the_root_opens_it_and_one_below_does_not(monkeypatch):
    monkeypatch.setattr(sys, "prefix", str(grading.ROOT))
    assert refusal(grading.SOLUTIONS)
    monkeypatch.setattr(sys, "prefix", str(grading.ROOT / ".venv"))
    assert refusal(grading.SOLUTIONS) == ""


@pytest.mark.skipif(not can_mount(), reason="needs root and mounts")
@pytest.mark.parametrize(("what", "authoritative"), [("tree", True), ("solutions", False)])
@pytest.mark.sampled(2)
def test_a_bind_mount_among_libraries_ends_the_run(what, authoritative, make_tree, upload):
    tree = make_tree()
    # An authoritative run needs data.
    world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)])
    give(tree)
    mounted, start, below = tree, THERE, "solutions/data"
    if what == "solutions":
        mounted, start, below = tree / "solutions", tree, "data"
    shown = THERE / below / "birth_test.tsv"
    with open(upload / FILE, "a", encoding="utf-8") as writer:
        writer.write(f"print('READ', open({str(shown)!r}, encoding='utf-8').read())\n")
    shutil.copytree(upload, tree.parent / "upload")
    script = (
        f'mount --bind "{mounted}" {THERE}; exec setpriv --reuid={USER} --regid={USER} '
        '--clear-groups "$@"'
    )
    grader = [sys.executable, "-B", start / "src" / "grader.py", ASKED]
    options = ["--submission", tree.parent / "upload", *["--authoritative"] * authoritative]
    ran = subprocess.run(
        ["unshare", "--mount", "sh", "-ec", script, "sh", *grader, *options],
        env={"PATH": os.environ["PATH"], "TMPDIR": str(tree.parent / "tmp")},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
        cwd="/",
    )
    assert "READ" not in ran.stdout
    assert ran.returncode == (3 if authoritative else 2), ran.stdout + ran.stderr
    assert f"could read {THERE}" in ran.stderr and "may read /usr for libraries" in ran.stderr


@pytest.mark.requires_root
def test_who_cannot_read_the_solutions_has_no_authority_and_is_told_why(make_tree):
    tree, words = make_tree(), "exists, but this user can't read"
    # Another user could not write what `make coverage` measures.
    environment = {n: v for n, v in os.environ.items() if not n.startswith("COVERAGE_")}
    as_user = {"user": USER, "group": USER, "extra_groups": []}
    as_user["env"] = environment | {"HOME": "/nonexistent"}
    doctor = python(tree, "src/grader.py", "--doctor", **as_user)
    assert doctor.returncode == 0 and not doctor.stderr, doctor.stderr
    (said,) = re.findall(r"^Authority +(no.*(?:\n {13}.*)*)$", doctor.stdout, re.MULTILINE)
    assert words in said
    ran = python(tree, "src/grader.py", "3a-0-basic", "--submission", "src", **as_user)
    assert ran.returncode == 2 and words in ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr


FINDS_THE_SEED = """
import hashlib, os, random

def derive(seed, name):
    digest = hashlib.sha256(f"{seed}:{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1

def of_worker(seed):
    return random.Random(derive(derive(seed, "attention_copying.perpendicular"), "worker"))

known = [seed for seed in range(20) if of_worker(seed).getstate() == random.getstate()]
hashes = os.environ["PYTHONHASHSEED"]
known += [seed for seed in range(20) if str(derive(seed, "hash") % 2**32) == hashes]
raise RuntimeError(f"the seed is among {known}")
"""


@pytest.mark.requires_root
@pytest.mark.skipif(bool(sandbox.detect().missing()), reason="not every protection works here")
def test_the_small_seed_of_an_authoritative_run_cannot_be_recognized(make_tree, upload):
    """With the seed, code could draw what a test will draw. The inputs, too, depend on it."""
    tree = make_tree()
    world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)])
    results = tree / "out" / "results.json"
    (upload / FILE).write_text(FINDS_THE_SEED, encoding="utf-8")
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(tree.parent / "tmp")}

    def run(*options):
        ran = python(tree, *command(tree, upload, ASKED, *options)[1:], env=environment)
        return ran.stdout + ran.stderr

    assert "the seed is among [7, 7]" in run("--seed", "7")  # where nothing counts
    lacking = run("--seed", "7", "--authoritative")
    assert "solutions/data/grading_secret" in lacking and "Traceback" not in lacking
    (tree / "solutions" / "data" / "grading_secret").write_text("0" * 64 + "\n", encoding="ascii")
    seeds = []
    for _ in range(2):
        ran = run("--seed", "7", "--authoritative", "--json", results)
        assert "the seed is among []" in ran
        seeds.append(json.loads(results.read_text(encoding="utf-8"))["seed"])
    assert seeds[0] == seeds[1] and int(seeds[0]) >= 2**62
