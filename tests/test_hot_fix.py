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
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests import follow, pinned
from tests.classroom import contents
from tests.classroom.graded import rows_of
from tests.classroom.tiny import needs_root, temporary  # noqa: F401
from tests.conftest import project_with_a_world
from tests.project import ROOT, commit_all, quick_release
from tests.variants import all_variants

DOCUMENT = (ROOT / "docs" / "hot-fix.md").read_text(encoding="utf-8")
EDITS = [step for step in follow.steps(DOCUMENT) if not isinstance(step, str)]
CORRECTIONS = [edit for edit in EDITS if edit[0].endswith(".py")]
EDITION = "xcs224n"
METADATA = """submission_{number}:
  :submitters:
  - :name: Student {number}
    :email: {number}@example.edu
  :created_at: 2027-02-01 15:48:00 -08:00
"""
# What students handed in, by kind, and why: variants of tests/golden/span_corruption.
TUPLE, LIST = "return ids[:-1], ids[1:]", "return [ids[:-1], ids[1:]]"
SHORTER, LISTS = "padded_to_block_size", "a_list_for_the_pair"
RIGHT, WRONG = ("no_final_mask", "numpy_randomness", "binomial"), ("all_pads", "swapped")
HANDED_IN = (*RIGHT, *2 * [SHORTER], *2 * [LISTS], "both", *WRONG)
OTHERS = ("layout", "attack", "upload")
MOVES = [{SHORTER, "both"}, {LISTS, "both"}]  # who gains by the first two corrections
EARNED = (
    "SELECT submission FROM counted JOIN tests USING (record) WHERE question = '1e' "
    "GROUP BY submission HAVING sum(tests.score) > 0"
)
pytestmark = [
    pytest.mark.requires_tool("make"),
    pytest.mark.requires_tool("git"),
    pytest.mark.requires_tool("latexmk"),
    needs_root,
]


def handed_in() -> list[tuple[str, contents.Files]]:
    """Return what the class hands in, each with its kind."""
    variants = {
        v.name.rpartition("/")[2]: v for v in all_variants() if v.topic == "span_corruption"
    }
    starter, module = contents.starter(), "submission/dataset.py"
    made = []
    for kind in HANDED_IN:
        name = SHORTER if kind == "both" else kind
        text = contents.golden(variants[name])[module]
        if kind == "both":
            assert text.count(TUPLE.encode()) == 1
            text = text.replace(TUPLE.encode(), LIST.encode())
        made.append((kind, starter | {module: text}))
    others = contents.contents()
    made += [(kind, others[kind][0]()) for kind in OTHERS]
    return [*made, ("starter", starter)]


@dataclass
class Walk:
    """The course's repository, its class, and what happened while the document was followed.

    Attributes:
        kinds: of each submission, by its id.
        printed: by the document's commands, in order.
        previews: which way whose points would go, as each `regrade` says.
    """

    tree: Path
    home: Path
    kinds: dict[str, str] = field(default_factory=dict)
    printed: list[tuple[str, str]] = field(default_factory=list)
    previews: list[dict[str, str]] = field(default_factory=list)

    @property
    def export(self) -> Path:
        return self.home / "assignment_1_export"

    def archive(self, number: int) -> Path:
        return self.tree / "solutions/data/archive" / f"2027-spring.{number}-{EDITION}.zip"

    def of_kinds(self, *kinds: str) -> set[str]:
        return {key for key, kind in self.kinds.items() if kind in kinds}

    def rows(self, sql: str) -> list[tuple]:
        return rows_of(self.home / "class", sql)

    def points(self) -> dict[str, float]:
        """Return each submission's points, once there is a class."""
        if not (self.home / "class").exists():
            return {}
        return {k: float(score) for k, score in self.rows("SELECT submission, score FROM scores")}

    def hand_in(self) -> None:
        """Write the class's submissions, as Gradescope exports them."""
        for number, (kind, files) in enumerate(handed_in(), 101):
            key = f"submission_{number}"
            self.kinds[key] = kind
            for name, content in files.items():
                (self.export / key / name).parent.mkdir(parents=True, exist_ok=True)
                (self.export / key / name).write_bytes(content)
            with open(self.export / "submission_metadata.yml", "a", encoding="utf-8") as file:
                file.write(METADATA.format(number=number))
        shutil.copytree(self.export / min(self.of_kinds(SHORTER)), self.home / "complaint")

    def run(self, tree: Path, command: str) -> subprocess.CompletedProcess:
        """Run a command of the document in the repository; of a preview, keep who would move."""
        command, before = command.replace("~", str(self.home)), self.points()
        if "-m classroom" in command:  # dask isn't as strict as we are
            words = [sys.executable, *shlex.split(command)[1:]]
            ran = subprocess.run(
                words, cwd=tree, capture_output=True, encoding="utf-8", check=False
            )
        else:
            ran = follow.run(tree, command)
        if " regrade " in command:
            moved = re.findall("^([a-z ]+): (submission_[0-9]+) ", ran.stdout, re.M)
            self.previews.append({key: way for way, key in moved})
            assert self.points() == before  # nothing counts before it is applied
        return ran


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


@pytest.fixture(scope="module")
def walk(after_training, temporary) -> Iterator[Walk]:  # noqa: F811
    """Yield what the document leads to, after a first release, and a class that it graded."""
    with (
        tempfile.TemporaryDirectory(prefix="hot-fix-") as place,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("TMPDIR", str(temporary))
        patch.setenv("OMP_NUM_THREADS", "1")
        Path(place).chmod(0o755)  # workers have other users' ids
        made = Walk(Path(place) / "course", Path(place) / "home")
        course(made.tree)
        shutil.copytree(after_training / "build", made.tree / "build")
        made.home.mkdir()
        made.hand_in()
        grade = f"python -m classroom grade {made.export} --into ~/class"
        for command in ("make release", f"{grade} --release {made.archive(1)}"):
            ran = made.run(made.tree, command)
            assert ran.returncode == 0, ran.stdout + ran.stderr
        made.printed += follow.follow(made.tree, DOCUMENT, run=made.run)
        yield made


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
def test_each_command_ends_as_the_document_says_and_previews_name_exactly_who_moves(walk):
    refused = [said for command, said in walk.printed if command == "make release"][2]
    assert "unfair" in refused and "question 1e" in refused
    assert all(walk.archive(number).stat().st_mode & 0o077 == 0 for number in range(1, 5))
    for moved, kinds in zip(walk.previews, MOVES, strict=False):
        assert moved == dict.fromkeys(walk.of_kinds(*kinds), "up")
    assert walk.previews[2] == {key: "down" for (key,) in walk.rows(EARNED)}
    assert walk.of_kinds(*RIGHT) < walk.previews[2].keys() < walk.kinds.keys()
