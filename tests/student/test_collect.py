"""Handing in: complete work gives a zip that the grader takes; what can't be packed, one line."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import pytest

import collect_submission
from grading import staging
from grading.edition import EDITION
from tests.project import ROOT
from tests.snapshots import check
from tests.student.collecting import SCRIPT, STARTER, Desk, required_files, runnable
from tests.student.folder import contents, students_copy

# -- complete work --------------------------------------------------------------------------------


def test_complete_work_is_packed_without_a_warning_and_the_grader_takes_it(desk, tmp_path):
    code, out, err = desk.collect()
    assert (code, err) == (0, "")
    sizes = re.sub(r" +\d\S* (kB|bytes)", " SIZE", out)
    check("collect_complete", {"complete work": sizes}, {str(desk.root): "A5"})
    modules = {f"submission/{path.name}" for path in STARTER.glob("*.py")}
    packed = desk.packed()
    assert packed.keys() == modules | set(required_files())
    staged = staging.stage(desk.zip, tmp_path / "staged")
    assert staged.omissions == []
    assert staged.taken.keys() == packed.keys()
    for name, content in packed.items():
        source = desk.root / ("src" if name.startswith("submission/") else "") / name
        assert (staged.root / name).read_bytes() == content == source.read_bytes()


def test_the_release_and_experiments_are_packed_too(desk, tmp_path):
    tables = json.loads((desk.root / EDITION).read_text(encoding="utf-8"))
    tables["editions"]["xcs224n"]["release"] = "2027-spring.2"
    (desk.root / EDITION).write_text(json.dumps(tables), encoding="utf-8")
    one = {"prediction": "the MASK knows it late", "earlier_predictions": [], "seed": 0}
    one |= {"parameters": None, "results": ["a table"]}
    path = desk.root / "experiments.json"
    path.write_text(json.dumps({"trace": one}), encoding="utf-8")
    code, out, _ = desk.collect()
    assert code == 0
    for name in ("release", "experiments"):
        assert re.search(rf"^  {name}\.json +\d+ bytes$", out, re.MULTILINE)
    said = json.loads(desk.packed()["release.json"])
    assert said == {"release": "2027-spring.2", "edition": "xcs224n"}
    assert desk.packed()["experiments.json"] == path.read_bytes()
    assert staging.stage(desk.zip, tmp_path / "staged").experiments.keys() == {"trace"}
    path.write_text("{", encoding="utf-8")
    (warning,) = desk.warnings()
    assert warning.startswith("experiments.json is not packed (not as run.py writes it: Expecting")
    assert "experiments.json" not in desk.packed()


def test_the_same_work_gives_the_same_bytes(desk):
    desk.collect()
    first = desk.zip.read_bytes()
    for path in (*desk.code.iterdir(), *desk.root.glob("*.params")):
        os.utime(path, (1e9, 1e9))
    shutil.move(desk.root / "vanilla.model.params", desk.root / "src")
    desk.collect("--out", str(desk.root / "again.zip"))
    assert (desk.root / "again.zip").read_bytes() == first


def test_files_of_windows_editors_are_fine(desk):
    """A byte-order mark, and carriage returns."""
    for path in (*desk.code.glob("*.py"), *desk.root.glob("*.predictions")):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert desk.warnings() == []


def test_equal_copies_of_an_output_are_fine_and_the_one_taken_is_named(desk):
    name = "vanilla.model.params"
    shutil.move(desk.root / name, desk.code / name)
    for place in ("src/submission", "src"):
        code, out, _ = desk.collect()
        assert code == 0
        assert re.search(rf"{name} .*\(in {place}\)$", out, re.MULTILINE)
        shutil.copy2(desk.code / name, desk.root / "src" / name)


# -- in a process of its own ----------------------------------------------------------------------


def test_who_stops_reading_is_not_told_that_nothing_was_written(tmp_path):
    """Run it as in `python src/collect_submission.py | true`."""
    root = students_copy(ROOT, tmp_path / "a 5")
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(
            [sys.executable, "-u", root / "src" / "collect_submission.py"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert ran.stderr == b"" and ran.returncode in (1, 130)
    assert (root / "assignment5.zip").is_file()


@pytest.mark.parametrize("name", ["python", "python3"])
@pytest.mark.sampled(2)
def test_the_shell_script_calls_it(tmp_path, name):
    root = students_copy(ROOT, tmp_path / "a 5")
    shutil.copy2(SCRIPT, root)
    only = tmp_path / "bin"
    only.mkdir()
    (only / "dirname").symlink_to(shutil.which("dirname"))
    (only / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    (only / name).chmod(0o755)
    ran = subprocess.run(
        [root / SCRIPT.name, "--out", "x y.zip"],
        cwd=tmp_path,
        env={"PATH": str(only)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (1, "")  # nothing is written yet
    assert (tmp_path / "x y.zip").is_file()


WITHOUT = """
import runpy, sys
sys.modules[sys.argv[1]] = None
sys.path.insert(0, "src")
sys.argv[1:] = []
runpy.run_path("src/collect_submission.py", run_name="__main__")
"""


@pytest.mark.parametrize(("package", "uncounted"), [("numpy", 6), ("torch", 0)])
def test_without_packages_the_zip_is_written(tmp_path, run_python, package, uncounted):
    root = runnable(tmp_path / "Größe 5")
    ran = run_python("-c", WITHOUT, package, cwd=root)
    assert (ran.returncode, ran.stderr) == (1, "")
    warned = [line for line in ran.stdout.splitlines() if line.startswith("Warning: ")]
    assert len([line for line in warned if "lines can't be counted" in line]) == uncounted
    unread = [line for line in warned if ".params can't be checked: " in line]
    assert len(unread) == 5 and len(warned) == 5 + uncounted
    assert f"files in {root / 'assignment5.zip'}, " in ran.stdout
    assert (root / "assignment5.zip").is_file()


# -- refused, and nothing is written --------------------------------------------------------------


def put(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda root: (root / name).write_bytes(content)


def link(root: Path) -> None:
    output = root / "vanilla.model.params"
    output.rename(root.parent / "elsewhere").write_bytes(b"secret")
    output.symlink_to(root.parent / "elsewhere")


# What is done before, and the arguments, with A5 for the folder.
REFUSED: dict[str, tuple[Callable[[Path], object], list[str]]] = {
    "two copies that differ": (put("src/vanilla.model.params", b"others"), []),
    "no code, which commands are not": (lambda root: shutil.rmtree(root / "src/submission"), []),
    "no description": (lambda root: (root / EDITION).unlink(), []),
    "more than Gradescope takes": (put("vanilla.finetune.params", b"\0" + os.urandom(249_999)), []),
    "more than the grader unpacks": (put("src/submission/mine.py", b"#" * 400_000), []),
    "an output is a link": (link, []),
    "an output as the zip": (lambda root: None, ["--out", "A5/vanilla.model.params"]),
    "no folder for the zip": (lambda root: None, ["--out", "A5/no/such/folder/x.zip"]),
    "a folder as the zip": (lambda root: (root / "a.zip").mkdir(), ["--out", "A5/a.zip"]),
}


def test_what_cannot_be_packed_is_one_line_and_nothing_is_written(desk, monkeypatch):
    monkeypatch.setattr(collect_submission, "MAX_UPLOAD_BYTES", 200_000)
    monkeypatch.setattr(staging, "MAX_TOTAL_BYTES", 350_000)
    found = {}
    for title, (damage, arguments) in REFUSED.items():
        desk.renew()
        damage(desk.root)
        before = contents(desk.root)
        code, out, err = desk.collect(*(n.replace("A5", str(desk.root)) for n in arguments))
        assert (code, out) == (2, "")
        assert contents(desk.root) == before
        found[title] = re.sub(r"(have|/\w+\.py \()( ?)[\d.]+ ", r"\1\2N ", err)
    check("collect_refused", found, {str(desk.root): "A5"})


CUT_SHORT = [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space left on device"), 2)]


def test_a_write_cut_short_leaves_the_older_zip_and_no_other_file(desk: Desk, monkeypatch):
    desk.collect()
    older, found = contents(desk.root), {}
    for error, code in CUT_SHORT:
        with monkeypatch.context() as patch:
            patch.setattr(zipfile.ZipFile, "writestr", Mock(side_effect=[None, None, error]))
            ended, out, err = desk.collect()
        assert (ended, out) == (code, "")
        assert contents(desk.root) == older
        found[type(error).__name__] = err
    check("collect_cut_short", found, {str(desk.root): "A5"})
