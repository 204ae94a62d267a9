"""Handing in: each thing that looks wrong gets one line, and the zip is written all the same."""

import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable

import pytest

from grading import staging
from grading.release import END, START, fingerprints
from tests.project import ROOT
from tests.snapshots import check, printed, with_lines
from tests.student.collecting import REFERENCE, STARTER, Desk, edition_file, required_files, texts

Damage = Callable[[Desk], object]
CODE = "src/submission/"
BASELINE = "london_baseline.py"


def edited(name: str, old: str, new: str) -> Damage:
    return lambda desk: desk.replace(name, old, new)


def put(name: str, content: bytes | str) -> Damage:
    def write(desk: Desk) -> None:
        path = desk.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def gone(*names: str) -> list[Damage]:
    return [lambda desk, name=name: (desk.root / name).unlink() for name in names]


def moved(old: str, new: str) -> Damage:
    return lambda desk: (desk.root / old).rename(desk.root / new)


def as_given(*names: str) -> list[Damage]:
    return [lambda desk, name=name: shutil.copy2(STARTER / name, desk.code) for name in names]


def cut_off(desk: Desk) -> None:
    text = (desk.code / "utils.py").read_text(encoding="utf-8")
    kept = text[: text.rindex("\ndef ")].rstrip() + "\n"
    (desk.code / "utils.py").write_text(kept, encoding="utf-8")


def a_zip_as_parameters(desk: Desk) -> None:
    with zipfile.ZipFile(desk.root / "vanilla.model.params", "w") as archive:
        archive.writestr("submission/dataset.py", "x = 1\n")


def trained_again(desk: Desk) -> None:
    later = (desk.root / "vanilla.model.params").stat().st_mtime + 90
    os.utime(desk.root / "vanilla.model.params", (later, later))


def modules(prefix: str, *contents: bytes | str) -> list[Damage]:
    """Add each as a module of its own."""
    return [put(f"{CODE}{prefix}{n}.py", content) for n, content in enumerate(contents)]


SLIPS = ("### END CODE HERE", "# End code here", "###END_CODE_HERE###", "## END  CODE HERE ##")
LINES: dict[str, list[Damage]] = {
    "lines added and removed outside the markers": [
        edited("dataset.py", "import random\n", "import random\nimport math\n"),
        edited("dataset.py", "PAD_CHAR = ", "MY_CHAR = "),
    ],
    "lines cut off at the end": [cut_off],
    "a given module is gone": gone(CODE + "utils.py"),
    "a module of pretraining was edited": [put("src/pretraining/fast.py", "print('mine')\n")],
    "a module of pretraining is gone": gone("src/pretraining/fast.py"),
    "own modules in pretraining": [
        put("src/pretraining/mine.py", "x = 1\n"),
        put("src/pretraining/mine/inner.py", "x = 1\n"),
    ],
    "no START": [edited(BASELINE, f"    {START}\n", "")],
    "no END": [edited(BASELINE, f"    {END}\n", "")],
    "no markers": [edited(BASELINE, f"    {sign}\n", "") for sign in (START, END)],
    **{f"the marker {slip}": [edited(BASELINE, END, slip)] for slip in SLIPS},
    "staff's checkout, with nothing to compare with": [
        *gone("src/submission_lines.json"),
        edited("dataset.py", "import random\n", "import random\nimport math\n"),
    ],
    "damaged fingerprints": [put("src/submission_lines.json", "{")],
}
REGION = f'"""Mine."""\n\n\ndef f():\n    {START}\n%s    {END}\n    return 1\n'
WAITING = """
import pdb
def f(x):
    breakpoint()
    return pdb.set_trace(), x.input(), "breakpoint()"
print(input("now?"))
if __name__ == "__main__":
    breakpoint()
"""


def edition(name: str) -> Damage:
    return put("src/edition.json", edition_file(name))


def with_points(desk: Desk) -> None:
    path = desk.root / "src" / "edition.json"
    tables = json.loads(path.read_text(encoding="utf-8"))
    questions = tables["editions"]["xcs224n"]["questions"]
    next(q for q in questions if q["topic"] == "attention_copying")["coding"] = "4"
    path.write_text(json.dumps(tables), encoding="utf-8")


MODULES: dict[str, list[Damage]] = {
    "bytes that are no Python": modules(
        "mine", b"x = 1\ny = 2 +\n", b"x = 1\ny = '\xff'\n", b"x = 1\n\0y = 2\n", b"x = (\n" * 4999
    ),
    "a syntax error in a given module": [edited("helper.py", "def pretrain(", "def pretrain((")],
    "Python's own warnings": [put(f"{CODE}mine.py", 'x = "\\d" is "d"\n')],
    "UTF-16": [put(f"{CODE}mine.py", "x = 1\n".encode("utf-16"))],
    "an empty module": [put(f"{CODE}mine.py", b" \r\n")],
    "calls that wait for somebody to type": [put(f"{CODE}mine.py", WAITING)],
    "nothing in a region": modules(
        "mine", *(REGION % body for body in ("", "    # later\n", "    pass\n"))
    ),
    "a module that is not written yet": as_given("helper.py"),
    "parts without points": as_given("attention_exploration.py"),
    "a topic of these parts with points": [*as_given("attention_exploration.py"), with_points],
    "rope in an edition that has it": [
        *as_given("attention.py", "helper.py"),
        edition("current"),
    ],
    "too large a module": [put(f"{CODE}mine.py", b"#" * 30_001)],
    "a folder of modules": [put(f"{CODE}parts/mine.py", "x = 1\n")],
    "files under another name": [
        moved("vanilla.model.params", "vanilla.model (1).params"),
        moved(f"{CODE}helper.py", f"{CODE}helper - Copy.py"),
    ],
    "own modules and litter": [
        put(f"{CODE}hélper_of_mine.py", "x = 1\n"),
        put(f"{CODE}.DS_Store", b"litter"),
        put(f"{CODE}__pycache__/dataset.py", "x = 1\n"),
        put(f"{CODE}.ipynb_checkpoints/dataset.py", "x = 1\n"),
    ],
    "files that nobody asks for": [
        put("rope.pretrain.params", b"x"),
        put(f"{CODE}ideas.txt", b"..."),
    ],
    "an unpacked zip beside src": [put("submission/dataset.py", "old = 1\n")],
}
MODEL, DEV, TEST = (f"vanilla.{name}" for name in ("model.params", "pretrain.dev", "pretrain.test"))
OUTPUTS: dict[str, list[Damage]] = {
    "all outputs are missing": gone(*required_files()),
    "a missing output in another edition": [
        *gone(MODEL),
        edition("cs224n"),
    ],
    "parameters under an unknown name": [moved(MODEL, "x.params")],
    "parameters beside the code": [moved(MODEL, f"{CODE}vanilla.model.params")],
    "parameters that were trained again": [trained_again],
    "empty parameters": [put(MODEL, b"")],
    "empty predictions": [put(f"{DEV}.predictions", b"")],
    "blank predictions": [put(f"{DEV}.predictions", b"\n\n\n")],
    "too few predictions": [put(f"{DEV}.predictions", b"a\nb\n")],
    "too many predictions": [put(f"{TEST}.predictions", b"a\nb\nc\n")],
    "predictions that are not UTF-8": [put(f"{DEV}.predictions", b"a\n\xff\nc\n")],
    "predictions without the data": [lambda desk: shutil.rmtree(desk.root / "src" / "data")],
    "a pickle as parameters": [put(MODEL, b"\x80\x02}q\x00.")],
    "a zip that was cut off": [put(MODEL, b"PK\x03\x04cut off")],
    "a zip without parameters": [a_zip_as_parameters],
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


@pytest.mark.parametrize(
    ("name", "cases"),
    [("collect_lines", LINES), ("collect_modules", MODULES), ("collect_outputs", OUTPUTS)],
)
@pytest.mark.sampled(3)
def test_each_fault_of_the_work_is_one_line_and_the_grader_takes_the_whole_zip(
    desk, monkeypatch, tmp_path, name, cases
):
    monkeypatch.setattr(staging, "MAX_CODE_BYTES", 30_000)
    found = {}
    for number, (title, damages) in enumerate(cases.items()):
        desk.renew()
        for damage in damages:
            damage(desk)
        found[title] = shown(desk)
        assert staging.stage(desk.zip, tmp_path / str(number)).omissions == []
    check(name, found, {str(desk.root): "A5"})


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
    for damage in modules("mine", *IMPORTS) + modules("fine", *FINE_IMPORTS):
        damage(desk)
    said = shown(desk)
    assert said.count("Warning: ") == len(IMPORTS) and "fine" not in said.partition("\nWarning")[2]
    check("collect_imports", {"each module imports something": said})


def test_parameters_are_read_without_running_what_their_pickle_calls(desk, tmp_path):
    """A pickle that would write a file if it were loaded as usual."""
    bomb = f"cbuiltins\nopen\n(V{tmp_path / 'loaded'}\nVw\ntR.".encode("raw_unicode_escape")
    (desk.root / "vanilla.model.params").write_bytes(bomb)
    assert len(desk.warnings()) == 1
    assert not (tmp_path / "loaded").exists()


@pytest.mark.parametrize(
    ("again", "warned"),
    [
        ("model.params", ["nopretrain.dev.predictions", "nopretrain.test.predictions"]),
        ("finetune.params", ["pretrain.dev.predictions", "pretrain.test.predictions"]),
        (
            "pretrain.params",
            ["finetune.params", "pretrain.dev.predictions", "pretrain.test.predictions"],
        ),
        ("pretrain.dev.predictions", []),
    ],
)
def test_outputs_older_than_their_parameters_are_named(desk, again, warned):
    path = desk.root / f"vanilla.{again}"
    written = path.stat().st_mtime
    os.utime(path, (written + 50, written + 50))  # as if it came from the same zip
    assert desk.warnings() == []
    os.utime(path, (written + 90, written + 90))
    assert sorted(line.split()[0] for line in desk.warnings()) == [f"vanilla.{n}" for n in warned]


def test_filling_in_the_regions_changes_no_fingerprint():
    complete = texts(REFERENCE)
    starter = fingerprints({name: texts(STARTER)[name] for name in complete})
    assert starter == fingerprints(complete)
    assert all(re.fullmatch("[0-9a-f]{8}", line) for lines in starter.values() for line in lines)
