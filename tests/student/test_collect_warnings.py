"""Handing in: each thing that looks wrong gets one line."""

import os
import re
import shutil
import zipfile

import pytest

from grading import imports, staging
from grading.markers import END, START
from tests import pinned
from tests.project import ROOT
from tests.student.collecting import STARTER, number_of, required_files, texts

OUTPUT_FAULTS = [
    (
        "vanilla.model.params",
        None,
        "is missing: it is written by the command of question 1d with `--writing_params_path "
        "vanilla.model.params`",
    ),
    (
        "vanilla.nopretrain.test.predictions",
        None,
        "is missing: it is written by the command of question 1d with `--outputs_path "
        "vanilla.nopretrain.test.predictions`",
    ),
    (
        "vanilla.finetune.params",
        None,
        "is missing: it is written by the command of question 1f with",
    ),
    (
        "vanilla.pretrain.dev.predictions",
        None,
        "is missing: it is written by the command of question 1f with",
    ),
    (
        "synthesizer.finetune.params",
        None,
        "is missing: it is written by the command of question 1g with",
    ),
    (
        "synthesizer.pretrain.test.predictions",
        None,
        "is missing: it is written by the command of question 1g",
    ),
    ("vanilla.model.params", b"", "is empty: it is written by the command of question 1d with"),
    (
        "vanilla.pretrain.dev.predictions",
        b"",
        "is empty: it is written by the command of question 1f with",
    ),
    ("vanilla.pretrain.dev.predictions", b"\n\n\n", "is blank, expected 3 lines"),
    ("vanilla.pretrain.dev.predictions", b"a\nb\n", "has 2 lines, expected 3"),
    ("vanilla.pretrain.dev.predictions", b"a\nb\n", "(src/data/birth_dev.tsv)"),
    ("vanilla.pretrain.test.predictions", b"a\nb\nc\n", "has 3 lines, expected 2"),
    ("vanilla.pretrain.test.predictions", b"a\nb\nc\n", "(src/data/birth_test_inputs.tsv)"),
    ("synthesizer.pretrain.dev.predictions", b"a\n\xff\nc\n", "line 2: not UTF-8 text"),
    ("vanilla.model.params", b"\x80\x02}q\x00.", "can't be read as parameters"),
    ("vanilla.model.params", b"PK\x03\x04cut off", "(is it damaged, or a different kind of file?"),
]


@pytest.mark.parametrize(("name", "content", "words"), OUTPUT_FAULTS)
def test_a_fault_of_an_output_is_one_warning(desk, name, content, words):
    path = desk.root / name
    path.write_bytes(content) if content is not None else path.unlink()
    (line,) = desk.warnings()
    assert line.startswith(name) and words in line
    assert (name in desk.packed()) == (content is not None)


def test_parameters_are_read_without_running_what_their_pickle_calls(desk, tmp_path):
    """A pickle that would write a file if it were loaded as usual."""
    bomb = f"cbuiltins\nopen\n(V{tmp_path / 'loaded'}\nVw\ntR.".encode("raw_unicode_escape")
    (desk.root / "vanilla.model.params").write_bytes(bomb)
    (line,) = desk.warnings()
    assert line.startswith("vanilla.model.params can't be read as parameters: torch.load")
    assert not (tmp_path / "loaded").exists()


def test_a_zip_that_is_no_parameters_is_named(desk):
    with zipfile.ZipFile(desk.root / "vanilla.model.params", "w") as archive:
        archive.writestr("submission/dataset.py", "x = 1\n")
    (line,) = desk.warnings()
    assert line.startswith("vanilla.model.params can't be read as parameters: torch.load")


def test_questions_have_the_numbers_of_the_edition(desk):
    (desk.root / "edition.txt").write_text("cs224n\n", encoding="utf-8")
    (desk.root / "vanilla.model.params").unlink()
    (line,) = desk.warnings()
    assert "by the command of question 2d with" in line


def test_code_that_is_no_python_is_named_with_its_line(desk):
    desk.replace("helper.py", "def pretrain(", "def pretrain((")
    (line,) = [w for w in desk.warnings() if "changed outside" not in w]
    number = number_of(desk.code / "helper.py", "def pretrain((")
    assert line.startswith(f"src/submission/helper.py:{number}: not valid Python")


@pytest.mark.parametrize(
    "content",
    [b"x = 1\ny = 2 +\n", b"x = 1\ny = '\xff'\n", b"x = 1\n\0y = 2\n", b"x = (\n" * 9_999],
)
def test_no_bytes_are_too_odd_for_a_warning(desk, content):
    (desk.code / "mine.py").write_bytes(content)
    (line,) = desk.warnings()
    assert re.match(r"src/submission/mine\.py:\d+: not valid Python", line)


def test_doubtful_python_is_no_news(desk):
    """Python's own warnings about a module are not helpful here."""
    (desk.code / "mine.py").write_text('x = "\\d" is "d"\n', encoding="utf-8")
    assert desk.warnings() == []


IMPORTS = {
    "import pandas": ["pandas"],
    "from sklearn.linear_model import Ridge": ["sklearn"],
    "import numpy, einops as e": ["einops"],
    "def f():\n    import matplotlib.pyplot as plt": ["matplotlib"],
    "import run": ["run"],  # the given command: src/ is on no path there
    "try:\n    x = 1\nexcept ValueError:\n    import pandas": ["pandas"],
    "try:\n    import pandas\nexcept ValueError:\n    pass": ["pandas"],
    "import pandas\nimport pandas as pd": ["pandas"],
    # modules that the autograder has, or that do no harm
    "import os, numpy as np, torch.nn as nn, tqdm, tensorboard": [],
    "from . import dataset\nfrom .dataset import NameDataset": [],
    "from submission.dataset import NameDataset\nimport pretraining": [],
    "import utils\nfrom trainer import Trainer\nfrom mine import mine": [],  # our own and theirs
    "import sympy, typing_extensions": [],  # torch requires them
    "try:\n    import pandas\nexcept ImportError:\n    pandas = None": [],
    "try:\n    import google.colab\nexcept (ModuleNotFoundError, OSError):\n    pass": [],
    "try:\n    import pandas\nexcept:\n    pass": [],
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas": [],
}


@pytest.mark.parametrize("text", IMPORTS)
def test_imports_that_the_autograder_lacks_are_named(desk, text):
    shutil.copy2(ROOT / "requirements.txt", desk.root)
    (desk.code / "mine.py").write_text(text + "\n", encoding="utf-8")
    found = desk.warnings()
    assert len(found) == len(IMPORTS[text])
    for line, module in zip(found, IMPORTS[text], strict=True):
        number = text[: text.index(module)].count("\n") + 1
        assert line.startswith(f"src/submission/mine.py:{number}: imports {module}, which the ")
        assert "requirements.txt" in line


@pytest.mark.parametrize("terms", [900, 993, 1500, 2800, 100_000])
def test_a_sum_of_a_thousand_terms_is_no_crash(terms):
    """The sum is nested that deeply, and so is a chain of as many elifs."""
    text = f"import pandas\nx = {' + '.join(['1'] * terms)}\n"
    assert imports.lacking(text, ()) in ([], [(1, "pandas")])


def test_without_packages_names_of_the_list_are_known(tmp_path, monkeypatch):
    """Packing needs no environment; without one, packages can't be asked for their modules."""
    path = tmp_path / "requirements.txt"
    path.write_text("# head\ntorch>=2.13,<3\nscikit-learn\n", encoding="utf-8")
    monkeypatch.setattr(imports.metadata, "packages_distributions", dict)
    monkeypatch.setattr(imports.metadata, "requires", lambda name: None)
    assert imports.installed(path) == {"torch", "scikit_learn"}


def test_a_module_in_utf16_is_named_once(desk):
    (desk.code / "mine.py").write_text("x = 1\n", encoding="utf-16")
    (found,) = desk.warnings()
    assert found.startswith("src/submission/mine.py is saved as UTF-16, expected UTF-8: ")


def test_an_empty_module_is_named(desk):
    (desk.code / "mine.py").write_bytes(b" \r\n")
    assert desk.warnings() == ["src/submission/mine.py is empty"]


def test_parts_that_are_not_written_yet_are_named(desk):
    shutil.copy2(STARTER / "helper.py", desk.code)
    number = number_of(STARTER / "helper.py", "raise NotImplementedError")
    found = desk.warnings()
    starter = (STARTER / "helper.py").read_text(encoding="utf-8")
    # Less initialize_rope_model, which this edition doesn't ask for.
    assert len(found) == starter.count("raise NotImplementedError") - 1 > 1
    assert (
        found[0] == f"src/submission/helper.py:{number}: "
        "not written yet: [finetuning] initialize_vanilla_model"
    )


@pytest.mark.parametrize("body", ["", "    # later\n", "    pass\n"])
def test_a_region_with_nothing_in_it_is_named(desk, body):
    text = f'"""Mine."""\n\n\ndef f():\n    {START}\n{body}    {END}\n    return 1\n'
    (desk.code / "mine.py").write_text(text, encoding="utf-8")
    assert desk.warnings() == ["src/submission/mine.py:5: nothing is written between the markers"]


def test_parts_without_points_are_only_mentioned(desk):
    shutil.copy2(STARTER / "attention_exploration.py", desk.code)
    code, out, _ = desk.collect()
    assert code == 0
    parts = texts(STARTER)["submission/attention_exploration.py"].count("raise NotImplementedError")
    assert f"attention_exploration.py: {parts} ungraded parts are not written\n" in out


@pytest.mark.parametrize("edition, warned", [("xcs224n", 0), ("current", 3)])
def test_rope_is_asked_for_where_the_edition_has_it(desk, edition, warned):
    for name in ("attention.py", "helper.py"):
        shutil.copy2(STARTER / name, desk.code)
    (desk.root / "edition.txt").write_text(edition, encoding="utf-8")
    found = [line for line in desk.warnings() if re.search("rope", line)]
    of_files = [line for line in found if line.startswith("rope.")]
    assert len(found) - len(of_files) == warned
    assert len(of_files) == warned + (warned > 0)  # two of parameters, two of predictions
    assert all("the command of question 1h with" in line for line in of_files)


def test_those_of_a_topic_with_points_are_warnings(desk):
    shutil.copy2(STARTER / "attention_exploration.py", desk.code)
    path = desk.root / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    old = 'topic = "attention_copying", written = 1,'
    assert old in text
    path.write_text(text.replace(old, old + " coding = 4,"), encoding="utf-8")
    starter = texts(STARTER)["submission/attention_exploration.py"]
    found = desk.warnings()
    assert len(found) == starter.count("# [attention copying]") > 1
    assert all("not written yet: [attention copying] " in line for line in found)


def test_all_problems_are_told_at_once(desk):
    for path in STARTER.glob("*.py"):
        shutil.copy2(path, desk.code)
    for name in required_files():
        (desk.root / name).unlink()
    topics = {q.topic for q in pinned.load().edition(None).questions}
    markers = re.findall(r"# \[(.*)\]", "".join(texts(STARTER).values()))
    asked = [marker for marker in markers if marker.replace(" ", "_") in topics]
    parts = sum(not marker.startswith(("attention ", "blocks ")) for marker in asked)
    found = desk.warnings()
    assert len(found) == len(set(found)) == len(required_files()) + parts
    assert f"with {len(found)} warnings: you can submit it as it is" in desk.collect()[1]


def test_too_large_a_module_is_named(desk, monkeypatch):
    monkeypatch.setattr(staging, "MAX_CODE_BYTES", 30_000)
    (desk.code / "mine.py").write_bytes(b"#" * 30_001)
    (line,) = desk.warnings()
    assert line == "src/submission/mine.py is not packed (30001 bytes, more than 30000)"


def test_files_under_another_name_are_named(desk):
    params = next(name for name in required_files() if name.endswith(".params"))
    (desk.root / params).rename(desk.root / params.replace(".params", " (1).params"))
    (desk.code / "helper.py").rename(desk.code / "helper - Copy.py")
    found = desk.warnings()
    assert (
        f"{params} is missing: there is `{params.removesuffix('.params')} (1).params`: "
        f"rename it to `{params}`"
    ) in found
    assert "src/submission/helper - Copy.py is not packed (rename it to helper.py)" in found


def test_a_folder_of_modules_is_named(desk):
    (desk.code / "parts").mkdir()
    (desk.code / "parts" / "mine.py").write_text("x = 1\n", encoding="utf-8")
    assert desk.warnings() == [
        "src/submission/parts is not packed (only submission/*.py is copied)"
    ]


@pytest.mark.parametrize(
    ("again", "warned"),
    [
        ("vanilla.model.params", ["vanilla.nopretrain.dev", "vanilla.nopretrain.test"]),
        ("vanilla.finetune.params", ["vanilla.pretrain.dev", "vanilla.pretrain.test"]),
        (
            "vanilla.pretrain.params",
            ["vanilla.finetune.params", "vanilla.pretrain.dev", "vanilla.pretrain.test"],
        ),
        ("vanilla.pretrain.dev.predictions", []),
    ],
)
def test_outputs_older_than_their_parameters_are_named(desk, again, warned):
    written = (desk.root / again).stat().st_mtime
    os.utime(desk.root / again, (written + 50, written + 50))  # as if it came from the same zip
    assert desk.warnings() == []
    os.utime(desk.root / again, (written + 90, written + 90))
    found = desk.warnings()
    assert len(found) == len(warned)
    for line, name in zip(sorted(found), warned, strict=True):
        assert line.startswith(name) and f" is older than {again}: did you train again?" in line


def test_without_the_data_lines_are_not_counted(desk):
    shutil.rmtree(desk.root / "src" / "data")
    found = desk.warnings()
    assert len(found) == len([name for name in required_files() if name.endswith(".predictions")])
    assert all("its lines can't be counted: birth_" in line for line in found)
