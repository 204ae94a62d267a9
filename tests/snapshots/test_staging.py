"""What the grader says about an upload: what it took and left out, and why it takes nothing."""

import os
import tarfile
from collections.abc import Callable
from pathlib import Path

from autograder import console
from grading import report, staging, upload
from grading.errors import SubmissionError
from questions.provided import PROVIDED
from tests.classroom.contents import zipped
from tests.harness.test_staging import entry, make_package, tar_with
from tests.project import write_files
from tests.snapshots import check
from tests.test_upload_layouts import HAND_IN, LAYOUTS, OUTPUTS, REQUIRED

OUTPUT = sorted(OUTPUTS)[0]


def staged_or_refused(source: Path, work: Path) -> staging.Staged | str:
    work.mkdir()
    try:
        return staging.stage(source, work / "staged", PROVIDED, REQUIRED)
    except SubmissionError as error:
        return f"refused: {error}"


def test_layouts(tmp_path):
    texts = {}
    for title, (name, content) in LAYOUTS.items():
        folder = tmp_path / f"layout {len(texts)}"
        folder.mkdir()
        (folder / name).write_bytes(content)
        staged = staged_or_refused(folder / name, folder / "work")
        texts[title] = staged.replace(f"{folder}/", "") if isinstance(staged, str) else said(staged)
    check("staging_layouts", {title: text for title, text in texts.items() if text})


def said(staged: staging.Staged) -> str:
    lines = [f"taken from {staged.place}"] if staged.place else []
    lines += [f"{name}: {staged.hint(name)}" for name in staged.missing]
    return "\n".join([*lines, *(f"left out: {one}" for one in staged.omissions)])


def test_what_is_taken_and_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(staging, "MAX_OUTPUT_BYTES", 100)
    monkeypatch.setattr(staging, "MAX_CODE_BYTES", 5000)
    folder = write_files(tmp_path / "a5", HAND_IN)
    package = folder / "submission"
    for name in ("fast.so", "sitecustomize.py", "notes.txt", "helper (1).py", "odd\x1b.py"):
        (package / name).write_bytes(b"x")
    (package / "long.py").write_bytes(bytes(5001))
    (package / "a folder.py").mkdir()
    os.mkfifo(package / "pipe.py")
    (package / "helper.py").unlink()
    (package / "model.py").unlink()
    (folder / OUTPUT).write_bytes(bytes(101))
    (folder / "pretraining").mkdir()
    staged = staging.stage(folder, tmp_path / "staged", PROVIDED, REQUIRED)
    console.show_staged(staged)
    texts = {"staff": capsys.readouterr().out, "students": report.files_line(staged)}
    texts["nothing to remark"] = report.files_line(staging.Staged(tmp_path))
    masks = {os.path.relpath(tmp_path): "TMP", str(tmp_path): "TMP"}
    check("staging_taken", texts, masks)


def link(folder: Path, name: str, target: str) -> None:
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)


FOLDERS: dict[str, Callable[[Path], object]] = {
    "a file that is a link": lambda f: link(f, "submission/helper.py", "dataset.py"),
    "an output that is a link": lambda f: link(f, OUTPUT, "/etc/passwd"),
    "two different outputs": lambda f: (f / "submission" / OUTPUT).write_bytes(b"other"),
}
ZIPS = {
    "a name that leads outside": HAND_IN | {"../evil.py": b""},
    "a file twice": HAND_IN | {".//submission/./dataset.py": b""},
    "a file in a file": HAND_IN | {"submission/dataset.py/x.py": b""},
    "a name that is none": {"./.": b"x"},
}
TARS = {
    "a link in a tar": entry("submission/evil.py", tarfile.SYMTYPE, "/etc/passwd"),
    "a hard link in a tar": entry("submission/evil.py", tarfile.LNKTYPE, "submission/dataset.py"),
    "a name that leads outside in a tar": entry("submission/../../evil.py"),
    "a file twice in a tar": entry("./submission/dataset.py"),
}


def test_refusals(tmp_path, monkeypatch):
    texts = {}

    def refuse(title: str, source: Path) -> None:
        staged = staged_or_refused(source, tmp_path / f"work {len(texts)}")
        assert isinstance(staged, str), title
        texts[title] = staged

    refuse("nothing", tmp_path / "nowhere")
    for title, spoil in FOLDERS.items():
        spoil(write_files(tmp_path / title, HAND_IN))
        refuse(title, tmp_path / title)
    for title, files in ZIPS.items():
        (tmp_path / f"{title}.zip").write_bytes(zipped(files))
        refuse(title, tmp_path / f"{title}.zip")
    package = make_package(tmp_path / "p" / "submission")
    for title, info in TARS.items():
        refuse(title, tar_with(package.parent, tmp_path / f"{title}.tar.gz", info))
    (tmp_path / "pipe").mkdir()
    os.mkfifo(tmp_path / "pipe" / "a pipe")
    refuse("a pipe", tmp_path / "pipe" / "a pipe")
    (tmp_path / "no zip.zip").write_bytes(b"no zip")
    refuse("no zip", tmp_path / "no zip.zip")
    with monkeypatch.context() as patched:
        patched.setattr(upload, "MAX_FILES", 3)
        (tmp_path / "wide.zip").write_bytes(zipped(HAND_IN))
        refuse("too many files", tmp_path / "wide.zip")
    with monkeypatch.context() as patched:
        patched.setattr(staging, "MAX_TOTAL_BYTES", 50)
        refuse("too large", write_files(tmp_path / "large", HAND_IN))
    with monkeypatch.context() as patched:
        patched.setattr(upload, "MAX_ARCHIVE_BYTES", 100)
        refuse("too large an archive", tar_with(package.parent, tmp_path / "large.tar.gz"))
    check("staging_refusals", texts, {str(tmp_path): "TMP"})
