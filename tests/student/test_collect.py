"""Handing in: complete work gives a zip that the grader takes."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from grading import staging
from grading.edition import EDITION
from tests.snapshots import check
from tests.student.collecting import (
    SCRIPT,
    STARTER,
    required_files,
    runnable,
)

# -- complete work --------------------------------------------------------------------------------


def test_complete_work_is_packed_without_a_warning_and_the_grader_takes_it(desk, tmp_path):
    code, out, err = desk.collect()
    assert (code, err) == (0, "")
    sizes = re.sub(r" +\d\S* (kB|bytes)", " SIZE", out)
    check("collect_complete", {"complete work": sizes}, {str(desk.root): "A5"})
    modules = {f"submission/{path.name}" for path in STARTER.glob("*.py")}
    assert desk.packed().keys() == modules | set(required_files())
    staged = staging.stage(desk.zip, tmp_path / "staged")
    assert staged.omissions == []
    assert staged.taken.keys() == desk.packed().keys()
    for name, content in desk.packed().items():
        source = desk.root / ("src" if name.startswith("submission/") else "") / name
        assert (staged.root / name).read_bytes() == content == source.read_bytes()


def test_the_upload_names_the_release_of_the_copy(desk, tmp_path):
    tables = json.loads((desk.root / EDITION).read_text(encoding="utf-8"))
    tables["editions"]["xcs224n"]["release"] = "2027-spring.2"
    (desk.root / EDITION).write_text(json.dumps(tables), encoding="utf-8")
    code, out, _ = desk.collect()
    assert code == 0 and re.search(r"^  release\.json +\d+ bytes$", out, re.MULTILINE)
    said = json.loads(desk.packed()["release.json"])
    assert said == {"release": "2027-spring.2", "edition": "xcs224n"}
    assert staging.stage(desk.zip, tmp_path / "staged").omissions == []


def test_experiments_are_packed_unless_the_file_is_damaged(desk, tmp_path):
    one = {"prediction": "the MASK knows it late", "earlier_predictions": [], "seed": 0}
    one |= {"parameters": None, "results": ["a table"]}
    path = desk.root / "experiments.json"
    path.write_text(json.dumps({"trace": one}), encoding="utf-8")
    code, out, _ = desk.collect()
    assert code == 0 and re.search(r"^  experiments\.json +\d+ bytes$", out, re.MULTILINE)
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
    with zipfile.ZipFile(desk.zip) as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


@pytest.mark.parametrize("where", [".", "src"])
@pytest.mark.sampled(2)
def test_it_runs_from_the_root_and_from_src(tmp_path, run_python, where):
    root = runnable(tmp_path / "Größe 5 – b c")
    script = root / "src" / "collect_submission.py"
    ran = run_python(os.path.relpath(script, root / where), cwd=root / where)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"files in {root / 'assignment5.zip'}, " in ran.stdout
    assert sorted(p.name for p in root.glob("assignment5*")) == ["assignment5.zip"]


def test_who_stops_reading_is_not_told_that_nothing_was_written(tmp_path):
    """Run it as in `python src/collect_submission.py | true`."""
    root = runnable(tmp_path / "a 5")
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
    assert ran.stderr == b"" and ran.returncode in (0, 130)
    assert (root / "assignment5.zip").is_file()


@pytest.mark.parametrize("name", ["python", "python3"])
@pytest.mark.sampled(2)
def test_the_shell_script_calls_it(tmp_path, name):
    root = runnable(tmp_path / "a 5")
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
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (tmp_path / "x y.zip").is_file()


def test_files_of_windows_editors_are_fine(desk):
    """A byte-order mark, and carriage returns."""
    for path in (*desk.code.glob("*.py"), *desk.root.glob("*.predictions")):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert desk.warnings() == []


def test_equal_copies_of_an_output_are_fine_and_the_one_taken_is_named(desk):
    name = "vanilla.model.params"
    shutil.move(desk.root / name, desk.code / name)
    code, out, _ = desk.collect()
    assert code == 0
    assert re.search(rf"{name} .*\(in src/submission\)$", out, re.MULTILINE)
    shutil.copy2(desk.code / name, desk.root / "src" / name)
    code, out, _ = desk.collect()
    assert code == 0
    assert re.search(rf"{name} .*\(in src\)$", out, re.MULTILINE)


# -- other Pythons --------------------------------------------------------------------------------

WITHOUT = """
import runpy, sys
sys.modules[sys.argv[1]] = None
sys.path.insert(0, "src")
sys.argv[1:] = []
runpy.run_path("src/collect_submission.py", run_name="__main__")
"""


@pytest.mark.parametrize(("package", "uncounted"), [("numpy", 6), ("torch", 0)])
def test_without_packages_the_zip_is_written(tmp_path, run_python, package, uncounted):
    root = runnable(tmp_path / "a5")
    ran = run_python("-c", WITHOUT, package, cwd=root)
    assert (ran.returncode, ran.stderr) == (1, "")
    warned = [line for line in ran.stdout.splitlines() if line.startswith("Warning: ")]
    assert len([line for line in warned if "lines can't be counted" in line]) == uncounted
    unread = [line for line in warned if ".params can't be checked: " in line]
    assert len(unread) == 5 and len(warned) == 5 + uncounted
    assert (root / "assignment5.zip").is_file()
