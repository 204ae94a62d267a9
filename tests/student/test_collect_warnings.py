"""Handing in: each thing that looks wrong gets one line, and the zip is written all the same."""

import json
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from grading import staging
from grading.release import END, START
from tests.project import ROOT
from tests.snapshots import check, printed, with_lines
from tests.student.collecting import STARTER, Desk, edition_file, required_files

Damage = Callable[[Path], object]
CODE = "src/submission/"


def edited(name: str, *pairs: tuple[str, str]) -> Damage:
    def edit(root: Path) -> None:
        path = root / CODE / name
        text = path.read_text(encoding="utf-8")
        for old, new in pairs:
            assert old in text
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")

    return edit


def put(name: str, content: bytes | str) -> Damage:
    def write(root: Path) -> None:
        path = root / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def gone(*names: str) -> list[Damage]:
    return [lambda root, name=name: (root / name).unlink() for name in names]


def moved(old: str, new: str) -> Damage:
    return lambda root: (root / old).rename(root / new)


def as_given(*names: str) -> list[Damage]:
    return [lambda root, name=name: shutil.copy2(STARTER / name, root / CODE) for name in names]


def cut_off(root: Path) -> None:
    text = (root / CODE / "utils.py").read_text(encoding="utf-8")
    kept = text[: text.rindex("\ndef ")].rstrip() + "\n"
    (root / CODE / "utils.py").write_text(kept, encoding="utf-8")


def a_zip_as_parameters(root: Path) -> None:
    with zipfile.ZipFile(root / "synthesizer.finetune.params", "w") as archive:
        archive.writestr("submission/dataset.py", "x = 1\n")


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
        put("vanilla.pretrain.params", b"\x80\x02}q\x00."),  # a pickle
        put("vanilla.finetune.params", b"PK\x03\x04cut off"),
        put("synthesizer.pretrain.params", b""),
        a_zip_as_parameters,
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


def test_parameters_are_read_without_running_what_their_pickle_calls(desk, tmp_path):
    """A pickle that would write a file if it were loaded as usual."""
    bomb = f"cbuiltins\nopen\n(V{tmp_path / 'loaded'}\nVw\ntR.".encode("raw_unicode_escape")
    (desk.root / "vanilla.model.params").write_bytes(bomb)
    assert len(desk.warnings()) == 1
    assert not (tmp_path / "loaded").exists()


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
