"""Whatever folder a student packs, and with whatever program, the same files are graded.

The grader itself, Gradescope, which unpacks zips as they are, and a class take the same files or
refuse the upload. What is said of each layout is in snapshots/stored/staging_layouts.txt.
"""

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from classroom.exports import read_export
from grading.errors import SubmissionError
from grading.staging import Staged, stage
from questions.provided import PROVIDED
from tests.classroom.contents import zipped

Files = dict[str, bytes]
MODULES = {f"submission/{name}" for name in (*PROVIDED.modules, *PROVIDED.given)}
DEV = "vanilla.nopretrain.dev.predictions"
OUTPUTS = {DEV, "vanilla.model.params", "vanilla.finetune.params"}
HAND_IN: Files = {name: f"# {name}\n".encode() for name in sorted(MODULES | OUTPUTS)}
REQUIRED = (*sorted(f"submission/{name}" for name in PROVIDED.modules), *sorted(OUTPUTS))


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


def renamed(old: str, new: str) -> Files:
    return moved(lambda name: new if name == old else name)


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
# More files in a folder than one with a submission may have.
ENVIRONMENT = {f".venv/lib/site-packages/torch/{n}.py": b"" for n in range(2_001)}
BACKSLASHES = moved(lambda name: name.replace("/", "\\"))
MACS = moved(lambda name: name.replace("submission/", "submission/._"))

ZIPS: dict[str, Files] = {
    # Today's rules.
    "as collect_submission packs": HAND_IN,
    "src/submission": below("src/"),
    "equal outputs in two places": below("src/") | {DEV: HAND_IN[DEV]},
    "outputs inside": moved(lambda name: f"submission/{base(name)}"),
    "flat": moved(base),
    "backslashes": BACKSLASHES,
    "backslashes with folders": {"submission\\": b""} | BACKSLASHES,
    "an environment and .git": HAND_IN | ENVIRONMENT | {".git/objects/00/0": b""},
    "a Mac's zip": HAND_IN | {"__MACOSX/submission/._dataset.py": b"\0", ".DS_Store": b"\0"},
    "the whole release": RELEASE,
    "no given files": {n: t for n, t in HAND_IN.items() if base(n) not in PROVIDED.given},
    # Found by a search.
    "src/*.py": code_in("src"),
    "from Colab": below("content/drive/MyDrive/Colab Notebooks/a5/src/"),
    "a script beside the folder": below("a5/") | {"main.py": b""},
    "submission (1)": code_in("submission (1)"),
    "Submission(2) in src": below("src/", code_in("Submission(2)")),
    "an environment of 4 namesakes": (
        below("a5/", code_in("src"))
        | below("env/lib/site-packages/a5/", code_in("src"))
        | below(".venv/a5/", code_in("src"))
    ),
    "a release without its package": {n: t for n, t in RELEASE.items() if "/submission/" not in n},
    "two copies": below("old/") | below("new/"),
    "the staff's model alone": {n: t for n, t in HAND_IN.items() if n in MODULES}
    | {f"src/staff/{name}": b"" for name in OUTPUTS},
    # Archives.
    "a zip in a folder in a zip": {"a5/a5.zip": zipped(below("a5/"))},
    "a tar.gz in a zip, beside a PDF": {"a5.tar.gz": tarred(HAND_IN), "report.pdf": b"%PDF"},
    "a zip in a zip in a zip in a zip": {
        "a.zip": zipped({"b.zip": zipped({"c.zip": zipped(HAND_IN)})})
    },
    "two zips": {"code.zip": zipped(HAND_IN), "params.zip": zipped(HAND_IN)},
    "a zip beside parameters": {"code.zip": zipped(HAND_IN), "vanilla.model.params": b""},
    "a rar in a zip": {"hw.rar": b"Rar!"},
    # Nothing to grade.
    "a PDF": {"report.pdf": b"%PDF"},
    "a notebook": {"a5.ipynb": b"{}"},
    "nothing": {"a5/.DS_Store": b""},
    # Files under another name.
    "Dataset (1).PY": renamed("submission/dataset.py", "submission/Dataset (1).PY"),
    "outputs in data": moved(lambda name: name if name in MODULES else f"data/{name}"),
    "x (1).params": renamed("vanilla.model.params", "vanilla.model (1).params"),
    "x.predictions.txt in data": renamed(DEV, f"data/{DEV}.txt"),
}
# The name and the content of each upload.
LAYOUTS: dict[str, tuple[str, bytes]] = {
    **{title: ("work.zip", zipped(files)) for title, files in ZIPS.items()},
    "a tar": ("work.tar", tarred(HAND_IN, "w")),
    "a Mac's tar.gz": ("work.tar.gz", tarred(HAND_IN | MACS)),
    "a rar": ("work.rar", b"Rar!\x1a\7\1\0"),
    "a rar called zip": ("work.zip", b"Rar!\x1a\7\1\0"),
}


def to_the_grader(name: str, content: bytes, work: Path) -> Staged:
    (work / name).write_bytes(content)
    return stage(work / name, work / "staged", PROVIDED, REQUIRED)


def to_gradescope(name: str, content: bytes, work: Path) -> Staged:
    """Zips are unpacked as they are, so that backslashes stay in names; other files are not."""
    folder = work / "submission"
    folder.mkdir()
    (folder / name).write_bytes(content)
    if zipfile.is_zipfile(folder / name):
        with zipfile.ZipFile((folder / name).rename(work / name)) as opened:
            opened.extractall(folder)
    return stage(folder, work / "staged", PROVIDED, REQUIRED)


def in_a_class(name: str, content: bytes, work: Path) -> Staged:
    """In a class, the files are sent to a worker, which finds them again."""
    (work / "class").mkdir()
    (work / "class" / "another_2_2_work.zip").write_bytes(zipped(HAND_IN))
    (work / "class" / f"ada_1_9_{name}").write_bytes(content)
    export = read_export(work / "class")
    assert len(export.submissions) == 2, export.notes
    (one,) = (s for s in export.submissions if "canvas_2" not in s.id)
    (work / "upload").write_bytes(one.upload.pack())
    return stage(work / "upload", work / "staged", PROVIDED, REQUIRED, "the upload")


def files_of(staged: Staged) -> Files:
    files = {name: (staged.root / name).read_bytes() for name in staged.taken}
    for name in files.keys() & HAND_IN.keys():
        assert files[name] == HAND_IN[name], name
    for name in PROVIDED.given:
        assert (staged.root / "submission" / name).is_file()
    return files


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_means_the_same_wherever_it_is_handed_in(layout, tmp_path):
    found = []
    for way in (to_the_grader, to_gradescope, in_a_class):
        work = tmp_path / way.__name__
        work.mkdir()
        try:
            staged = way(*LAYOUTS[layout], work)
        except SubmissionError:
            found.append("refused")
        else:
            found.append((files_of(staged), staged.renamed))
    assert found[1:] == found[:1] * 2
