"""A preview, which any user can run: its results are marked, and don't count."""

import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.classroom.tiny import class_of, needs_root

pytestmark = needs_root  # to become another user
USER = 64_998


@pytest.fixture(scope="module")
def home(course):
    """Yield an ordinary user's folder, with a copy of the project and a class in it."""
    folder = Path(tempfile.mkdtemp(prefix="home-"))
    shutil.copytree(course, folder / "project", symlinks=True)
    class_of(folder / "source", "right", "wrong", "exits", "daemon")
    subprocess.run(["chown", "-R", f"{USER}:{USER}", folder], check=True)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def run(home):
    """Return run(WORD...), which runs the command as that user: (exit code, output)."""

    def classroom(*words: str | Path) -> tuple[int, str]:
        process = subprocess.run(
            [sys.executable, "-m", "tools.classroom", *map(str, words)],
            cwd=home / "project",
            user=USER,
            group=USER,
            extra_groups=[],
            env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=240,
            check=False,
        )
        return process.returncode, process.stdout

    return classroom


def test_an_ordinary_user_gets_a_preview_and_nothing_that_counts(home, run, grade):
    into = home / "class"
    words = ("grade", home / "source", "--into", into, "--edition", "tiny", "--slots", "1")
    code, output = run(*words)
    assert code == 3, output
    assert "tests have no uid of their own (needs root)" in output and "--preview" in output
    assert "Traceback" not in output and not list(into.glob("records/*/*"))

    code, output = run(*words, "--preview")
    assert code == 0, output
    assert "4 of them are previews, which don't count" in output
    code, output = run("table", "--in", into)
    assert code == 0, output
    rows = list(csv.DictReader(output.splitlines()))
    assert [row["status"] for row in rows] == ["graded (preview)"] * 4
    scores = {row["name"]: float(row["score"]) for row in rows}
    # One of the two functions that the question asks for is right.
    assert scores["000-right"] == 4 and scores["001-wrong"] == scores["002-exits"] == 0
    records = [json.loads(path.read_text("utf-8")) for path in into.glob("records/*/*.json")]
    assert [record["counts"] for record in records] == [False] * 4
    assert {path.name for path in home.iterdir()} >= {"project", "source", "class"}
    assert not [path for path in home.iterdir() if path.name.startswith("classroom-")]

    code, output = grade(home / "source", into, "--slots", "1")  # as root
    assert code == 0 and "preview" not in output, output
    records = [json.loads(path.read_text("utf-8")) for path in into.glob("records/*/*.json")]
    assert [record["counts"] for record in records] == [True] * 4
