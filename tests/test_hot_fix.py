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
STEPS = list(follow.steps(DOCUMENT))
EDITS = [step for step in STEPS if not isinstance(step, str)]
CORRECTIONS = [edit for edit in EDITS if edit[0].endswith(".py")]
COURSE = {'term = "Winter 2027"': 'term = "Spring 2027"'}
EDITION = "xcs224n"
METADATA = """submission_{number}:
  :submitters:
  - :name: Student {number}
    :email: {number}@example.edu
  :created_at: 2027-02-01 15:48:00 -08:00
"""
# What twenty students handed in, by kind, and why: variants of tests/golden/span_corruption.
TUPLE, LIST = "return ids[:-1], ids[1:]", "return [ids[:-1], ids[1:]]"
SHORTER, LISTS = "padded_to_block_size", "a_list_for_the_pair"
RIGHT = ("no_final_mask", "numpy_randomness", "binomial", "rounded_down", "torch_randomness")
WRONG = ("all_pads", "swapped", "unshifted", "second_mask_missing")
HANDED_IN = (*RIGHT, *3 * [SHORTER], *3 * [LISTS], "both", *WRONG)
OTHERS = ("starter", "layout", "attack", "upload")
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
slow = [pytest.mark.long, pytest.mark.timeout(4 * 3600)]  # on a busy machine


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
    files = [(kind, others[kind][0]()) for kind in OTHERS[1:]]
    return [*made, ("starter", starter), *files]


@dataclass
class Walk:
    """The course's repository, its class, and what happened while the document was followed.

    Attributes:
        kinds: of each submission, by its id.
        answers: of the document's commands, in order.
        previews: which way whose points would go, as each `regrade` says.
    """

    tree: Path
    home: Path
    kinds: dict[str, str] = field(default_factory=dict)
    answers: list[tuple[str, subprocess.CompletedProcess]] = field(default_factory=list)
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

    def follow(self, step: str) -> subprocess.CompletedProcess:
        """Run a command of the document in the repository."""
        step = step.replace("~", str(self.home))
        if "-m classroom" not in step:
            return follow.run(self.tree, step)
        words = [sys.executable, *shlex.split(step)[1:]]  # dask isn't as strict as we are
        return subprocess.run(
            words, cwd=self.tree, capture_output=True, encoding="utf-8", check=False
        )


def course(tree: Path) -> None:
    """Fill a folder with a course of one edition, whose tests have the mistakes."""
    project_with_a_world(tree)
    path = tree / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    text = re.sub(r"^\[editions\.cs224n\].*?(?=^\[topics\.)", "", text, flags=re.M | re.S)
    path.write_text(text, encoding="utf-8", newline="\n")
    for old, new in COURSE.items():
        follow.edit(tree, "course.toml", old, new)
    for file, wrong, right in CORRECTIONS:
        follow.edit(tree, file, right, wrong)
    quick_release(tree)
    (tree / "solutions").chmod(0o700)
    commit_all(tree, "What the first release is made from")


@pytest.fixture(scope="module")
def walk(after_demo, temporary) -> Iterator[Walk]:  # noqa: F811
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
        shutil.copytree(after_demo / "project" / "build", made.tree / "build")
        made.home.mkdir()
        made.hand_in()
        grade = (
            f"python -m classroom grade {made.export} --into ~/class --release {made.archive(1)}"
        )
        for command in ("make release", grade):
            ran = made.follow(command)
            assert ran.returncode == 0, ran.stdout + ran.stderr
        for step in STEPS:
            if step in EDITS:
                follow.edit(made.tree, *step)
                continue
            before = made.points()
            made.answers.append((step, answer := made.follow(step)))
            if " regrade " in step:
                moved = re.findall("^([a-z ]+): (submission_[0-9]+) ", answer.stdout, re.M)
                made.previews.append({key: way for way, key in moved})
                assert made.points() == before  # nothing counts before it is applied
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


class TestWalk:
    pytestmark = slow

    def test_each_command_ends_as_the_document_says(self, walk):
        for _, answer in walk.answers:
            assert "Traceback" not in answer.stdout + answer.stderr, answer.stderr
        failed = [(command, answer) for command, answer in walk.answers if answer.returncode]
        assert [command.partition(" ")[0] for command, _ in failed] == ["python", "make"]
        assert "unfair" in failed[1][1].stderr and "question 1e" in failed[1][1].stderr
        assert all(walk.archive(number).stat().st_mode & 0o077 == 0 for number in range(1, 5))

    def test_each_preview_names_exactly_those_who_move(self, walk):
        for moved, kinds in zip(walk.previews, MOVES, strict=False):
            assert moved == dict.fromkeys(walk.of_kinds(*kinds), "up")
        assert walk.previews[2] == {key: "down" for (key,) in walk.rows(EARNED)}
        assert walk.of_kinds(*RIGHT) < walk.previews[2].keys() < walk.kinds.keys()
