"""Handing in: a zip that the grader takes, and one line for each thing that looks wrong."""

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
from grading.release import END, START
from tests.interpreter import python_after, without
from tests.project import ROOT, contents, edit, write_files
from tests.snapshots import check, printed, with_lines
from tests.student.folder import (
    STARTER,
    Desk,
    edition_file,
    lay_out,
    required_files,
    students_copy,
)

Damage = Callable[[Path], object]
CODE = "src/submission/"
SCRIPT = ROOT / "handout" / "student" / "collect_submission.sh"


def edited(name: str, *pairs: tuple[str, str]) -> Damage:
    def edit_all(root: Path) -> None:
        for old, new in pairs:
            edit(root / CODE / name, old, new)

    return edit_all


def put(name: str, content: bytes | str) -> Damage:
    return lambda root: write_files(root, {name: content})


def gone(*names: str) -> list[Damage]:
    return [lambda root, name=name: (root / name).unlink() for name in names]


def moved(old: str, new: str) -> Damage:
    return lambda root: (root / old).rename(root / new)


def as_given(*names: str) -> list[Damage]:
    return [lambda root, name=name: shutil.copy2(STARTER / name, root / CODE) for name in names]


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


def test_files_of_windows_editors_and_equal_copies_of_an_output_are_fine(desk):
    shutil.copy2(desk.root / "vanilla.model.params", desk.root / "src")
    # A byte-order mark, and carriage returns.
    for path in (*desk.code.glob("*.py"), *desk.root.glob("*.predictions")):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
    assert desk.warnings() == []


# -- in a process of its own ----------------------------------------------------------------------


def test_who_stops_reading_is_not_told_that_nothing_was_written(tmp_path):
    """Run it as in `python src/collect_submission.py | true`."""
    root = students_copy(ROOT, tmp_path / "a 5")
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-u", root / "src" / "collect_submission.py"]
    with os.fdopen(writing, "wb") as output:
        ran = subprocess.run(command, stdout=output, stderr=subprocess.PIPE, check=False)
    assert ran.stderr == b"" and (root / "assignment5.zip").is_file()


def test_the_shell_script_calls_it_where_only_python3_is_a_command(tmp_path):
    root = students_copy(ROOT, tmp_path / "a 5")
    shutil.copy2(SCRIPT, root)
    only = tmp_path / "bin"
    only.mkdir()
    (only / "dirname").symlink_to(shutil.which("dirname"))
    (only / "python3").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    (only / "python3").chmod(0o755)
    command = [root / SCRIPT.name, "--out", "x y.zip"]
    ran = subprocess.run(command, cwd=tmp_path, env={"PATH": str(only)}, check=False)
    assert ran.returncode == 1  # nothing is written yet
    assert (tmp_path / "x y.zip").is_file()


@pytest.mark.parametrize(("package", "uncounted"), [("numpy", 6), ("torch", 0)])
def test_without_packages_the_zip_is_written(tmp_path, package, uncounted):
    root = students_copy(ROOT, tmp_path / "Größe 5")
    shutil.copytree(lay_out(tmp_path / "finished"), root, dirs_exist_ok=True)
    ran = python_after(without(package), root, "src/collect_submission.py")
    assert (ran.returncode, ran.stderr) == (1, "")
    warned = [line for line in ran.stdout.splitlines() if line.startswith("Warning: ")]
    assert len([line for line in warned if "lines can't be counted" in line]) == uncounted
    unread = [line for line in warned if ".params can't be checked: " in line]
    assert len(unread) == 5 and len(warned) == 5 + uncounted
    assert (root / "assignment5.zip").is_file()


# -- refused, and nothing is written --------------------------------------------------------------


def link(root: Path) -> None:
    output = root / "vanilla.model.params"
    output.rename(root.parent / "elsewhere").write_bytes(b"secret")
    output.symlink_to(root.parent / "elsewhere")


# What is done before, and the arguments, with A5 for the folder.
REFUSED: dict[str, tuple[Damage, list[str]]] = {
    "two copies that differ": (put("src/vanilla.model.params", b"others"), []),
    "no code, which commands are not": (lambda root: shutil.rmtree(root / "src/submission"), []),
    "no description": (*gone("src/edition.json"), []),
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


# -- packed with a warning ------------------------------------------------------------------------


def cut_off(root: Path) -> None:
    text = (root / CODE / "utils.py").read_text(encoding="utf-8")
    kept = text[: text.rindex("\ndef ")].rstrip() + "\n"
    (root / CODE / "utils.py").write_text(kept, encoding="utf-8")


def a_pickle_that_writes(root: Path) -> None:
    """It would write a file if it were loaded as usual."""
    bomb = f"cbuiltins\nopen\n(V{root / 'loaded'}\nVw\ntR.".encode("raw_unicode_escape")
    (root / "vanilla.pretrain.params").write_bytes(bomb)


def edition(name: str) -> Damage:
    return put("src/edition.json", edition_file(name))


def with_points(root: Path) -> None:
    path = root / "src" / "edition.json"
    tables = json.loads(path.read_text(encoding="utf-8"))
    questions = tables["editions"]["xcs224n"]["questions"]
    next(q for q in questions if q["topic"] == "attention_copying")["coding"] = "4"
    path.write_text(json.dumps(tables), encoding="utf-8")


WAITING = """
import pdb
def f(x):
    breakpoint()
    return pdb.set_trace(), x.input(), "breakpoint()"
print(input("now?"))
if __name__ == "__main__":
    breakpoint()
"""
REGION = f'"""Mine."""\n\n\ndef f():\n    {START}\n%s    {END}\n    return 1\n'
OWN = {
    "half_a_line": b"x = 1\ny = 2 +\n",
    "latin_1": b"x = 1\ny = '\xff'\n",
    "null": b"x = 1\n\0y = 2\n",
    "too_deep": b"x = (\n" * 4999,
    "utf_16": "x = 1\n".encode("utf-16"),
    "empty": b" \r\n",
    "too_large": b"#" * 30_001,
    "waiting": WAITING,
    "nothing": REGION % "",
    "a_comment": REGION % "    # later\n",
    "passed": REGION % "    pass\n",
    # No fault is found with these.
    "warned_of": 'x = "\\d" is "d"\n',
    "hélper": "x = 1\n",
}
ADDED = "import random\nimport math\n"
WORK: dict[str, list[Damage]] = {
    "changes outside the markers": [
        edited("dataset.py", ("import random\n", ADDED), ("PAD_CHAR = ", "MY_CHAR = ")),
        cut_off,
        *gone(f"{CODE}model.py", "src/pretraining/files.py"),
        put("src/pretraining/fast.py", "print('mine')\n"),
        put("src/pretraining/mine.py", "x = 1\n"),
        put("src/pretraining/mine/inner.py", "x = 1\n"),
    ],
    "changed markers": [
        edited("london_baseline.py", (f"    {START}\n", "")),
        edited("building_blocks.py", (f"    {END}\n", "")),
        edited("induction_scores.py", (END, "# End code here"), (END, "###END_CODE_HERE###")),
        edited("dataset.py", (f"        {START}\n", ""), (f"        {END}\n", "")),
    ],
    "staff's checkout, with nothing to compare with": [
        *gone("src/submission_lines.json"),
        edited("dataset.py", ("import random\n", ADDED)),
    ],
    "damaged fingerprints": [put("src/submission_lines.json", "{")],
    "own modules and other files": [
        *(put(f"{CODE}{name}.py", content) for name, content in OWN.items()),
        put(f"{CODE}parts/mine.py", "x = 1\n"),
        put(f"{CODE}ideas.txt", b"..."),
        put(f"{CODE}.DS_Store", b"litter"),
        put(f"{CODE}__pycache__/dataset.py", "x = 1\n"),
        put(f"{CODE}.ipynb_checkpoints/dataset.py", "x = 1\n"),
        put("rope.pretrain.params", b"x"),
        put("submission/dataset.py", "old = 1\n"),
    ],
    "a module that is not written yet, and parts without points": [
        *as_given("helper.py", "attention_exploration.py"),
        edited("model.py", ("def forward(", "def forward((")),
    ],
    "a topic of these parts with points": [*as_given("attention_exploration.py"), with_points],
    "rope in an edition that has it": [*as_given("attention.py", "helper.py"), edition("current")],
    "files under another name": [
        moved("vanilla.model.params", "vanilla.model (1).params"),
        moved(f"{CODE}helper.py", f"{CODE}helper - Copy.py"),
    ],
    "all outputs are missing": gone(*required_files()),
    "a missing output in another edition": [*gone("vanilla.model.params"), edition("cs224n")],
    "outputs with faults": [
        moved("vanilla.model.params", "x.params"),
        a_pickle_that_writes,
        put("vanilla.finetune.params", b"PK\x03\x04cut off"),
        put("synthesizer.pretrain.params", b""),
        put("vanilla.nopretrain.dev.predictions", b""),
        put("vanilla.nopretrain.test.predictions", b"\n\n\n"),
        put("vanilla.pretrain.dev.predictions", b"a\nb\n"),
        put("vanilla.pretrain.test.predictions", b"a\nb\nc\n"),
        put("synthesizer.pretrain.dev.predictions", b"a\n\xff\nc\n"),
    ],
    "predictions without the data": [lambda root: shutil.rmtree(root / "src" / "data")],
}


def shown(desk: Desk) -> str:
    """Collect; return the exit code, what is in the zip or not, and what was printed of it."""
    code, out, err = desk.collect()
    usual = {f"submission/{path.name}" for path in STARTER.glob("*.py")} | {*required_files()}
    packed = desk.packed().keys()
    signs = [f"zip: + {n}\n" for n in sorted(packed - usual)]
    signs += [f"zip: - {n}\n" for n in sorted(usual - packed)]
    lines = [n for n in out.splitlines(True) if not n.startswith(("  ", "Upload "))]
    lines = [n for n in lines if " files in " not in n]  # sizes
    text = re.sub(r"(so nothing in it can run: ).*", r"\1...", "".join(lines))  # Python's words
    text = re.sub(r"(torch\.load).*", r"\1...", text)
    text = re.sub(r":\d+ «", " «", with_lines(text, desk.root))
    return printed(code, "".join(signs) + text, err)


def test_each_fault_of_the_work_is_one_line_and_the_grader_takes_the_whole_zip(
    desk, monkeypatch, tmp_path
):
    monkeypatch.setattr(staging, "MAX_CODE_BYTES", 30_000)
    found = {}
    for number, (title, damages) in enumerate(WORK.items()):
        desk.renew()
        for damage in damages:
            damage(desk.root)
        found[title] = shown(desk)
        assert staging.stage(desk.zip, tmp_path / str(number)).omissions == []
        assert not (desk.root / "loaded").exists()
    check("collect_warnings", found, {str(desk.root): "A5"})


IMPORTS = (
    "import pandas",
    "from sklearn.linear_model import Ridge",
    "import numpy, einops as e",
    "def f():\n    import seaborn as sns",
    "import run",  # the given command: src/ is on no path there
    "try:\n    x = 1\nexcept ValueError:\n    import pandas",
    "try:\n    import pandas\nexcept ValueError:\n    pass",
    "import pandas\nimport pandas as pd",
)
FINE_IMPORTS = (
    # modules that the autograder has, or that do no harm
    "import os, numpy as np, torch.nn as nn, tqdm, tensorboard, matplotlib.pyplot as plt",
    "from . import dataset\nfrom .dataset import NameDataset",
    "from submission.dataset import NameDataset\nimport pretraining",
    "import utils\nfrom trainer import Trainer\nfrom mine1 import mine",  # our own and theirs
    "import sympy, typing_extensions",  # torch requires them
    "try:\n    import pandas\nexcept ImportError:\n    pandas = None",
    "try:\n    import google.colab\nexcept (ModuleNotFoundError, OSError):\n    pass",
    "try:\n    import pandas\nexcept:\n    pass",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas",
)


def test_imports_that_the_autograder_lacks_are_named(desk):
    shutil.copy2(ROOT / "requirements.txt", desk.root)
    for prefix, texts in (("mine", IMPORTS), ("fine", FINE_IMPORTS)):
        for number, text in enumerate(texts):
            put(f"{CODE}{prefix}{number}.py", text)(desk.root)
    said = shown(desk)
    assert said.count("Warning: ") == len(IMPORTS) and "fine" not in said.partition("\nWarning")[2]
    check("collect_imports", {"each module imports something": said})


# What is older than each output once that is written again.
AGES = {
    "model.params": ["nopretrain.dev.predictions", "nopretrain.test.predictions"],
    "finetune.params": ["pretrain.dev.predictions", "pretrain.test.predictions"],
    "pretrain.params": [
        *("finetune.params", "pretrain.dev.predictions", "pretrain.test.predictions")
    ],
    "pretrain.dev.predictions": [],
}


def test_outputs_older_than_their_parameters_are_named(desk):
    said = []
    for again, older in AGES.items():
        path = desk.root / f"vanilla.{again}"
        written = path.stat().st_mtime
        os.utime(path, (written + 50, written + 50))  # as if it came from the same zip
        assert desk.warnings() == []
        os.utime(path, (written + 90, written + 90))
        warnings = desk.warnings()
        assert sorted(line.split()[0] for line in warnings) == [f"vanilla.{n}" for n in older]
        said += warnings
        os.utime(path, (written, written))
    check("collect_ages", {"outputs that are older": "\n".join(said)})
