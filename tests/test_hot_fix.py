"""docs/hot-fix.md: a term's mistakes, from the first release to the last correction.

The real assignment, of which one judge and one basic test have a mistake at first: what the
document corrects, the other way round. A class hands in, and its grades are corrected.
"""

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import follow, pinned
from tests.classroom import contents
from tests.classroom.graded import rows_of
from tests.classroom.tiny import temporary  # noqa: F401
from tests.conftest import project_with_a_world
from tests.interpreter import captured
from tests.project import ROOT, commit_all, quick_release
from tests.variants import all_variants

DOCUMENT = (ROOT / "docs" / "hot-fix.md").read_text(encoding="utf-8")
EDITS = [step for step in follow.steps(DOCUMENT) if not isinstance(step, str)]
CORRECTIONS = [edit for edit in EDITS if edit[0].endswith(".py")]
EDITION = "xcs224n"
# What students handed in, by kind, and why: variants of tests/golden/span_corruption.
TUPLE, LIST = b"return ids[:-1], ids[1:]", b"return [ids[:-1], ids[1:]]"
SHORTER, LISTS = "padded_to_block_size", "a_list_for_the_pair"
RIGHT, WRONG = ("no_final_mask", "numpy_randomness", "binomial"), ("all_pads", "swapped")
HANDED_IN = (*RIGHT, *2 * [SHORTER], *2 * [LISTS], "both", *WRONG, "starter")
MOVES = [{SHORTER, "both"}, {LISTS, "both"}]  # who gains by the first two corrections
POINTS = "SELECT submission, score FROM scores ORDER BY submission"
EARNED = (
    "SELECT submission FROM counted JOIN tests USING (record) WHERE question = '1e' "
    "GROUP BY submission HAVING sum(tests.score) > 0"
)
pytestmark = [
    pytest.mark.requires_tool("make"),
    pytest.mark.requires_tool("git"),
    pytest.mark.requires_tool("latexmk"),
    pytest.mark.requires_root,
]


def hand_in(export: Path) -> dict[str, str]:
    """Write the class's submissions, as Gradescope exports them; return their kinds."""
    variants = {v.path.stem: v for v in all_variants() if v.topic == "span_corruption"}
    module = "submission/dataset.py"
    for number, kind in enumerate(HANDED_IN, 101):
        files = contents.starter()
        if kind != "starter":
            name = SHORTER if kind == "both" else kind
            files[module] = contents.golden(variants[name])[module]
        if kind == "both":
            assert files[module].count(TUPLE) == 1
            files[module] = files[module].replace(TUPLE, LIST)
        contents.export(export, number, [f"Student {number}"], "2027-02-01 15:48:00 -0800", files)
    return {f"submission_{number}": kind for number, kind in enumerate(HANDED_IN, 101)}


def run(tree: Path, command: str) -> subprocess.CompletedProcess:
    """Run a command of the document in the repository, beside which home is."""
    command = command.replace("~", str(tree.parent / "home"))
    if "-m classroom" not in command:
        return follow.run(tree, command)
    words = [sys.executable, *shlex.split(command)[1:]]  # dask isn't as strict as we are
    return captured(words, tree)


def course(tree: Path) -> None:
    """Fill a folder with a course of one edition, whose tests have the mistakes."""
    project_with_a_world(tree)
    path = tree / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^\[editions\.cs224n\].*?(?=^\[topics\.)", "", text, flags=re.M | re.S)
    path.write_text(text, encoding="utf-8", newline="\n")
    follow.edit(tree, "course.toml", 'term = "Winter 2027"', 'term = "Spring 2027"')
    for file, wrong, right in CORRECTIONS:
        follow.edit(tree, file, right, wrong)
    quick_release(tree)
    (tree / "solutions").chmod(0o700)
    commit_all(tree, "What the first release is made from")


@pytest.fixture
def place(temporary, monkeypatch) -> Iterator[Path]:  # noqa: F811
    """Yield a folder that workers, who have other users' ids, can enter."""
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    with tempfile.TemporaryDirectory(prefix="hot-fix-") as place:
        Path(place).chmod(0o755)
        yield Path(place)


def test_the_documents_edits_fit_the_files(tmp_path):
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file, *_ in EDITS}
    for file, text in (texts | {"assignment.toml": pinned.text()}).items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8", newline="\n")
    for file, wrong, right in CORRECTIONS:
        follow.edit(tmp_path, file, right, wrong)
    for edit in EDITS:
        follow.edit(tmp_path, *edit)
    for file, *_ in CORRECTIONS:
        assert (tmp_path / file).read_text(encoding="utf-8") == texts[file]
    errata = tomllib.loads((tmp_path / "errata.toml").read_text(encoding="utf-8"))["erratum"]
    assert [erratum["release"] for erratum in errata] == [2, 3]


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)  # on a busy machine
def test_each_command_ends_as_the_document_says_and_previews_name_exactly_who_moves(
    after_training, place
):
    tree, home = place / "course", place / "home"
    course(tree)
    shutil.copytree(after_training / "build", tree / "build")
    kinds = hand_in(home / "assignment_1_export")
    archives = [tree / f"solutions/data/archive/2027-spring.{n}-{EDITION}.zip" for n in range(1, 5)]
    grade = (
        f"python -m classroom grade ~/assignment_1_export --into ~/class --release {archives[0]}"
    )
    for command in ("make release", grade):
        ran = run(tree, command)
        assert ran.returncode == 0, ran.stdout + ran.stderr
    complaint = min(key for key, kind in kinds.items() if kind == SHORTER)
    shutil.copytree(home / "assignment_1_export" / complaint, home / "complaint")
    previews = []

    def previewed(tree: Path, command: str) -> subprocess.CompletedProcess:
        before = rows_of(home / "class", POINTS)
        ran = run(tree, command)
        if " regrade " in command:
            moved = re.findall("^([a-z ]+): (submission_[0-9]+) ", ran.stdout, re.M)
            previews.append({key: way for way, key in moved})
            assert rows_of(home / "class", POINTS) == before  # nothing counts before it is applied
        return ran

    printed = follow.follow(tree, DOCUMENT, run=previewed)
    refused = [said for command, said in printed if command == "make release"][2]
    assert "unfair" in refused and "question 1e" in refused
    assert all(archive.stat().st_mode & 0o077 == 0 for archive in archives)
    for moved, gaining in zip(previews, MOVES, strict=False):
        assert moved == {key: "up" for key, kind in kinds.items() if kind in gaining}
    assert previews[2] == {key: "down" for (key,) in rows_of(home / "class", EARNED)}
    right = {key for key, kind in kinds.items() if kind in RIGHT}
    assert right < previews[2].keys() < kinds.keys()
