"""Whatever folder a student packs, and with whatever program, the same files are graded.

Each layout is handed in to the grader itself, to Gradescope, which unpacks zips as they are, and as
part of a class. All three take the same files, or refuse the upload with a sentence that names what
it holds.
"""

import io
import re
import tarfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from classroom.exports import read_export
from grading.errors import SubmissionError
from grading.staging import Staged, stage
from questions.provided import PROVIDED

Files = dict[str, bytes]
MODULES = {f"submission/{name}" for name in (*PROVIDED.modules, *PROVIDED.given)}
DEV = "vanilla.nopretrain.dev.predictions"
OUTPUTS = {
    DEV,
    "vanilla.model.params",
    "vanilla.finetune.params",
}
HAND_IN: Files = {name: f"# {name}\n".encode() for name in sorted(MODULES | OUTPUTS)}
REQUIRED = (*sorted(f"submission/{name}" for name in PROVIDED.modules), *sorted(OUTPUTS))


@dataclass(frozen=True)
class Upload:
    """What a student uploads.

    Attributes:
        renamed: required files that are missing, each with what was uploaded in its place.
        refused: names in the sentence with which it is refused; () if it is graded.
        place: where the code was found, if that is unusual.
    """

    content: bytes
    name: str = "work.zip"
    renamed: tuple[tuple[str, str], ...] = ()
    refused: tuple[str, ...] = ()
    place: str = ""


def zipped(files: Files) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as writer:
        for name, content in files.items():
            writer.writestr(name, content)
    return buffer.getvalue()


def tarred(files: Files, mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as writer:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            writer.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def moved(change: Callable[[str], str], files: Files = HAND_IN) -> Files:
    return {change(name): content for name, content in files.items()}


def below(folder: str, files: Files = HAND_IN) -> Files:
    return moved(lambda name: folder + name, files)


def renamed(old: str, new: str, files: Files = HAND_IN) -> Files:
    assert old in files
    return moved(lambda name: new if name == old else name, files)


def base(name: str) -> str:
    return name.rpartition("/")[2]


def code_in(folder: str) -> Files:
    """The modules in a folder of another name, and the outputs beside it."""
    return moved(lambda name: name.replace("submission/", f"{folder}/"))


RELEASE = below("a5/src/") | {
    f"a5/{name}": b"# given\n"
    for name in (
        *("src/run.py", "src/dataset.py", "src/attention_exploration.py", "src/grader.py"),
        *("src/london_baseline.py", "src/pretraining/fast.py", "README.md", "assignment.toml"),
        *("src/data/wiki.txt", "written/submission.tex"),
    )
}
RELEASE = {name.replace("a5/src/vanilla", "a5/vanilla"): text for name, text in RELEASE.items()}
ENVIRONMENT = {f".venv/lib/python3.12/site-packages/torch/{n}.py": b"" for n in range(2_500)} | {
    f".git/objects/{n:02x}/{n:038x}": b"" for n in range(256)
}
DRIVE = "content/drive/MyDrive/Colab Notebooks/a5/src/"

LAYOUTS: dict[str, Upload] = {
    # Today's rules.
    "as collect_submission packs": Upload(zipped(HAND_IN)),
    "src/submission": Upload(zipped(below("src/"))),
    "outputs inside": Upload(zipped(moved(lambda n: f"submission/{base(n)}"))),
    "a5/src/submission": Upload(zipped(below("a5/src/"))),
    "flat": Upload(zipped(moved(base))),
    "backslashes": Upload(zipped(moved(lambda n: n.replace("/", "\\")))),
    "backslashes with folders": Upload(
        zipped({"submission\\": b""} | moved(lambda n: n.replace("/", "\\")))
    ),
    ".git and .venv": Upload(zipped(HAND_IN | ENVIRONMENT)),
    "a Mac's zip": Upload(
        zipped(HAND_IN | {"__MACOSX/submission/._dataset.py": b"\0", ".DS_Store": b"\0"})
    ),
    "the whole release": Upload(zipped(RELEASE)),
    "no given files": Upload(
        zipped({n: t for n, t in HAND_IN.items() if base(n) not in PROVIDED.given})
    ),
    "a notebook beside": Upload(zipped(HAND_IN | {"colab.ipynb": b"{}"})),
    # Found by a search.
    "src/*.py": Upload(zipped(code_in("src")), place="src"),
    "code/*.py, a README beside": Upload(
        zipped(code_in("my code") | {"README.md": b""}), place="my code"
    ),
    "from Colab": Upload(zipped(below(DRIVE)), place=f"{DRIVE}submission"),
    "a/b/submission": Upload(zipped(below("a/b/")), place="a/b/submission"),
    "a script beside the folder": Upload(
        zipped(below("a5/") | {"main.py": b""}), place="a5/submission"
    ),
    "Submission": Upload(zipped(code_in("Submission")), place="Submission"),
    "submission (1)": Upload(zipped(code_in("submission (1)")), place="submission (1)"),
    "Submission(2) in src": Upload(
        zipped(below("src/", code_in("Submission(2)"))), place="src/Submission(2)"
    ),
    "an environment of 4 namesakes": Upload(
        zipped(
            below("a5/", code_in("src"))
            | below("env/lib/site-packages/a5/", code_in("src"))
            | below(".venv/a5/", code_in("src"))
        ),
        place="a5/src",
    ),
    "a release without its package": Upload(
        zipped({n: t for n, t in RELEASE.items() if "/submission/" not in n}),
        refused=("a5/README.md",),
    ),
    "two copies": Upload(
        zipped(below("old/") | below("new/")),
        refused=("new/submission", "old/submission"),
    ),
    # Archives.
    "a zip in a zip": Upload(zipped({"a5.zip": zipped(HAND_IN)}), place="a5.zip/submission"),
    "a zip in a folder in a zip": Upload(
        zipped({"a5/a5.zip": zipped(below("a5/"))}), place="a5.zip/a5/submission"
    ),
    "a tar.gz in a zip, beside a PDF": Upload(
        zipped({"a5.tar.gz": tarred(HAND_IN), "report.pdf": b"%PDF"}), place="a5.tar.gz/submission"
    ),
    "a tar.gz": Upload(tarred(HAND_IN), "work.tar.gz", place="work.tar.gz/submission"),
    "a tar": Upload(tarred(HAND_IN, "w"), "work.tar", place="work.tar/submission"),
    "a Mac's tar.gz": Upload(
        tarred(HAND_IN | moved(lambda n: n.replace("submission/", "submission/._"))),
        "work.tar.gz",
        place="work.tar.gz/submission",
    ),
    "a zip in a zip in a zip in a zip": Upload(
        zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": zipped(HAND_IN)})})}),
        refused=(".zip",),
    ),
    "two zips": Upload(
        zipped({"code.zip": zipped(HAND_IN), "params.zip": zipped(HAND_IN)}),
        refused=("code.zip", "params.zip"),
    ),
    "a zip beside parameters": Upload(
        zipped({"code.zip": zipped(HAND_IN), "vanilla.model.params": b""}),
        refused=("code.zip",),
    ),
    "a rar": Upload(b"Rar!\x1a\7\1\0", "work.rar", refused=("work.rar",)),
    "a rar in a zip": Upload(zipped({"hw.rar": b"Rar!"}), refused=("hw.rar",)),
    "a rar called zip": Upload(b"Rar!\x1a\7\1\0", "work.zip", refused=("work.zip",)),
    # Nothing to grade.
    "a PDF": Upload(zipped({"report.pdf": b"%PDF"}), refused=("report.pdf",)),
    "a notebook": Upload(zipped({"a5.ipynb": b"{}"}), refused=("a5.ipynb",)),
    "nothing": Upload(zipped({"a5/.DS_Store": b""}), refused=("submission/*.py",)),
    # Files under another name.
    "dataset (1).py": Upload(
        zipped(renamed("submission/dataset.py", "submission/dataset (1).py")),
        renamed=(("submission/dataset.py", "submission/dataset (1).py"),),
    ),
    "Dataset.PY": Upload(
        zipped(renamed("submission/dataset.py", "submission/Dataset.PY")),
        renamed=(("submission/dataset.py", "submission/Dataset.PY"),),
    ),
    "outputs in data": Upload(
        zipped(moved(lambda n: n if n in MODULES else f"data/{n}")),
        renamed=tuple((n, f"data/{n}") for n in sorted(OUTPUTS)),
    ),
    "x (1).params": Upload(
        zipped(renamed("vanilla.model.params", "vanilla.model (1).params")),
        renamed=(("vanilla.model.params", "vanilla.model (1).params"),),
    ),
    "x.predictions.txt in data": Upload(
        zipped(renamed(DEV, f"data/{DEV}.txt")), renamed=((DEV, f"data/{DEV}.txt"),)
    ),
}


def by_the_grader(upload: Upload, work: Path) -> Staged:
    path = work / upload.name
    path.write_bytes(upload.content)
    return stage(path, work / "staged", PROVIDED, REQUIRED)


def on_gradescope(upload: Upload, work: Path) -> Staged:
    """Zips are unpacked as they are, so that backslashes stay in names; other files are not."""
    path, folder = work / upload.name, work / "submission"
    path.write_bytes(upload.content)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as opened:
            opened.extractall(folder)
    else:
        folder.mkdir()
        path.rename(folder / upload.name)
    return stage(folder, work / "staged", PROVIDED, REQUIRED)


def in_a_class(name: str) -> Callable[[Upload, Path], Staged]:
    """In a class, the files are sent to a worker, which finds them again."""

    def staged(upload: Upload, work: Path) -> Staged:
        (work / "class").mkdir()
        (work / "class" / "another_2_2_work.zip").write_bytes(zipped(HAND_IN))
        (work / "class" / name.format(upload.name)).write_bytes(upload.content)
        export = read_export(work / "class")
        assert len(export.submissions) == 2, export.notes
        (one,) = (s for s in export.submissions if "canvas_2" not in s.id)
        (work / "upload").write_bytes(one.upload.pack())
        return stage(work / "upload", work / "staged", PROVIDED, REQUIRED, "the upload")

    return staged


WAYS: dict[str, Callable[[Upload, Path], Staged]] = {
    "grader": by_the_grader,
    "gradescope": on_gradescope,
    "canvas": in_a_class("ada_1_9_{}"),
    "plain": in_a_class("{}"),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.sampled(4)
def test_a_layout_costs_nothing_or_is_named(layout, way, tmp_path):
    upload = LAYOUTS[layout]
    try:
        staged = WAYS[way](upload, tmp_path)
    except SubmissionError as error:
        assert upload.refused, str(error)
        for words in upload.refused:
            # A class doesn't repeat a file's own name, which may be the student's.
            in_class = re.sub(r"work\.[\w.]*\w", "upload", words)
            assert (in_class if way in ("canvas", "plain") else words) in str(error)
        return
    assert not upload.refused
    lacking = {name for name, _ in upload.renamed}
    assert {*staged.taken} >= {*REQUIRED} - lacking
    assert {*staged.taken} & lacking == set()
    assert [*staged.missing] == sorted(lacking, key=REQUIRED.index)
    assert staged.renamed == dict(upload.renamed)
    for name in {*staged.taken} & {*HAND_IN}:
        assert (staged.root / name).read_bytes() == HAND_IN[name], name
    for name in PROVIDED.given:
        assert (staged.root / "submission" / name).is_file()
    # Elsewhere, what isn't a zip is opened like one.
    is_unpacked = zipfile.is_zipfile(io.BytesIO(upload.content))
    assert staged.place == (upload.place if is_unpacked or way == "gradescope" else "")


def test_the_staffs_model_is_not_named_as_files_of_the_student(tmp_path):
    code = {name: content for name, content in HAND_IN.items() if name in MODULES}
    given = {f"src/staff/{name}": b"" for name in OUTPUTS}
    staged = by_the_grader(Upload(zipped(code | given)), tmp_path)
    assert {*staged.missing} == OUTPUTS and staged.renamed == {}
