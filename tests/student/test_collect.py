"""Handing in: complete work gives a zip that the grader takes; what looks wrong is a line each."""

import contextlib
import errno
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import ROOT, python

import collect_submission
from grading import paths, staging
from grading.markers import END, START, find_regions, fingerprints, outside_regions
from tools import regions

SCRIPT = ROOT / "handout" / "student" / "collect_submission.sh"
STARTER = ROOT / "src" / "submission"
REFERENCE = ROOT / "solutions" / "submission"
QUESTIONS = {"birth_dev.tsv": "Where was {} born?\tRome\n", "birth_test_inputs.tsv": "Where {}?\n"}
LINES = {"dev": 3, "test": 2}
NOBODY = 65534
LITTER = shutil.ignore_patterns("__pycache__")


@dataclass
class Desk:
    """A student's folder, and the command in it."""

    root: Path
    capture: pytest.CaptureFixture

    @property
    def code(self) -> Path:
        return self.root / "src" / "submission"

    @property
    def zip(self) -> Path:
        return self.root / "assignment5.zip"

    def collect(self, *arguments: str) -> tuple[int, str, str]:
        code = collect_submission.main(list(arguments))
        out, err = self.capture.readouterr()
        assert "Traceback" not in err
        return code, out, err

    def warnings(self) -> list[str]:
        """Collect, which gives a zip with warnings; return them."""
        self.zip.unlink(missing_ok=True)
        code, out, err = self.collect()
        found = [line.removeprefix("Warning: ") for line in out.splitlines() if "Warning: " in line]
        assert (code, err) == (1 if found else 0, "")
        assert staging.stage(self.zip, Path(tempfile.mkdtemp(dir=self.root.parent))).left == []
        return found

    def packed(self) -> dict[str, bytes]:
        with zipfile.ZipFile(self.zip) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def replace(self, name: str, old: str, new: str) -> None:
        path = self.code / name
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")


def required_files() -> list[str]:
    text = (ROOT / "assignment.toml").read_text(encoding="utf-8")
    block = re.search(r"required_files = \[(.*?)\]", text, re.DOTALL)
    return re.findall(r'"(.*?)"', block[1])


def write_params(path: Path, member: str = "archive/data.pkl") -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, b"weights of " + path.name.encode("utf-8"))


def texts(folder: Path) -> dict[str, str]:
    return {f"submission/{p.name}": p.read_text(encoding="utf-8") for p in folder.glob("*.py")}


def lay_out(root: Path) -> Path:
    """A finished student's folder, with the reference's code and made-up outputs."""
    source = root / "src"
    source.mkdir(parents=True)
    shutil.copytree(REFERENCE, source / "submission", ignore=LITTER)
    shutil.copy2(ROOT / "assignment.toml", root)
    given = json.dumps(fingerprints(texts(STARTER)))
    (source / "submission_lines.json").write_text(given, encoding="utf-8")
    (source / "data").mkdir()
    for (name, line), count in zip(QUESTIONS.items(), LINES.values(), strict=True):
        rows = "".join(line.format(f"Zoë {number}") for number in range(count))
        (source / "data" / name).write_text(rows, encoding="utf-8", newline="\n")
    for name in required_files():
        if name.endswith(".params"):
            write_params(root / name)
        else:
            text = "Łódź\n" * LINES[name.split(".")[-2]]
            (root / name).write_text(text, encoding="utf-8", newline="\n")
    return root


def runnable(root: Path) -> Path:
    """The same with the command in it."""
    lay_out(root)
    shutil.copytree(ROOT / "src" / "grading", root / "src" / "grading", ignore=LITTER)
    shutil.copy2(ROOT / "src" / "collect_submission.py", root / "src")
    return root


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys) -> Desk:
    root = lay_out(tmp_path / "Übung 5 (copy)")
    monkeypatch.setattr(paths, "ROOT", root)
    monkeypatch.setattr(paths, "SRC", root / "src")
    monkeypatch.setattr(paths, "DATA", root / "src" / "data")
    monkeypatch.setattr(paths, "ASSIGNMENT", root / "assignment.toml")
    return Desk(root, capsys)


# -- complete work --------------------------------------------------------------------------------


def test_complete_work_is_packed_without_a_warning(desk):
    code, out, err = desk.collect()
    assert (code, err) == (0, "")
    assert "Warning" not in out
    modules = {f"submission/{path.name}" for path in REFERENCE.glob("*.py")}
    assert desk.packed().keys() == modules | set(required_files())


def test_what_went_in_is_listed_with_sizes_and_where_to_upload(desk):
    (desk.code / "extra.py").write_bytes(b"#" * 1234)
    out = desk.collect()[1]
    assert re.search(r"^  submission/extra\.py +1\.2 kB$", out, re.MULTILINE)
    assert re.search(r"^  vanilla\.model\.params +\d+ bytes$", out, re.MULTILINE)
    count, size = len(desk.packed()), desk.zip.stat().st_size
    assert f"{count} files in {desk.zip}, {size / 1000:.1f} kB." in out
    assert out.splitlines()[-1] == "Upload assignment5.zip to the coding assignment on Gradescope."


def test_the_grader_takes_the_whole_zip(desk, tmp_path):
    desk.collect()
    staged = staging.stage(desk.zip, tmp_path / "staged")
    assert staged.left == []
    assert staged.taken.keys() == desk.packed().keys()
    for name, content in desk.packed().items():
        source = desk.root / ("src" if name.startswith("submission/") else "") / name
        assert (staged.root / name).read_bytes() == content == source.read_bytes()


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
def test_it_runs_from_the_root_and_from_src(tmp_path, run_python, where):
    root = runnable(tmp_path / "Größe 5 – b c")
    script = root / "src" / "collect_submission.py"
    ran = run_python(os.path.relpath(script, root / where), cwd=root / where)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert f"files in {root / 'assignment5.zip'}, " in ran.stdout
    assert sorted(p.name for p in root.glob("assignment5*")) == ["assignment5.zip"]


def test_a_relative_out_is_one_of_the_present_folder(tmp_path, run_python):
    root = runnable(tmp_path / "a5")
    ran = run_python("collect_submission.py", "--out", "mine.zip", cwd=root / "src")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert (root / "src" / "mine.zip").is_file() and not (root / "assignment5.zip").exists()


@pytest.mark.parametrize("name", ["python", "python3"])
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


def test_what_editors_change_by_themselves_is_no_change(desk):
    desk.replace("dataset.py", "import random\n", "import random   \n\n\n")
    desk.replace("dataset.py", f"        {START}\n", f"    {START}  \n")
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


# -- what stays behind ----------------------------------------------------------------------------


def test_own_modules_are_packed_and_litter_is_not(desk):
    (desk.code / "hélper_of_mine.py").write_text("x = 1\n", encoding="utf-8")
    for folder in ("__pycache__", ".ipynb_checkpoints"):
        (desk.code / folder).mkdir(exist_ok=True)
        (desk.code / folder / "dataset.py").write_text("x = 1\n", encoding="utf-8")
    (desk.code / ".DS_Store").write_bytes(b"litter")
    before = len(required_files()) + len(list(REFERENCE.glob("*.py")))
    code, out, _ = desk.collect()
    assert code == 0
    assert "submission/hélper_of_mine.py" in desk.packed()
    assert len(desk.packed()) == before + 1
    assert "Not packed" not in out


def test_what_nobody_asks_for_stays_behind_and_is_named(desk):
    write_params(desk.root / "vanilla.pretrain.params")
    (desk.code / "ideas.txt").write_text("...", encoding="utf-8")
    code, out, _ = desk.collect()
    assert code == 0
    assert "Not packed, since nobody asks for it: vanilla.pretrain.params\n" in out
    assert "Not packed: submission/ideas.txt (only submission/*.py is taken)\n" in out
    assert not {"vanilla.pretrain.params", "submission/ideas.txt"} & desk.packed().keys()


def test_an_unpacked_zip_beside_src_is_not_taken_for_the_work(desk):
    (desk.root / "submission").mkdir()
    (desk.root / "submission" / "dataset.py").write_text("old = 1\n", encoding="utf-8")
    code, out, _ = desk.collect()
    assert code == 0
    assert "There is a folder submission beside src" in out
    assert desk.packed()["submission/dataset.py"] == (REFERENCE / "dataset.py").read_bytes()


# -- warnings -------------------------------------------------------------------------------------

OUTPUT_FAULTS = [
    (
        "vanilla.model.params",
        None,
        "is missing: the command of question 1d with `--writing_params_path "
        "vanilla.model.params` writes it",
    ),
    (
        "vanilla.nopretrain.test.predictions",
        None,
        "is missing: the command of question 1d with `--outputs_path "
        "vanilla.nopretrain.test.predictions` writes it",
    ),
    ("vanilla.finetune.params", None, "is missing: the command of question 1f with"),
    ("vanilla.pretrain.dev.predictions", None, "is missing: the command of question 1f with"),
    ("synthesizer.finetune.params", None, "is missing: the command of question 1g with"),
    ("synthesizer.pretrain.test.predictions", None, "is missing: the command of question 1g"),
    ("vanilla.model.params", b"", "is empty: the command of question 1d with"),
    ("vanilla.pretrain.dev.predictions", b"", "is empty: the command of question 1f with"),
    ("vanilla.pretrain.dev.predictions", b"\n\n\n", "is blank, expected 3 lines"),
    ("vanilla.pretrain.dev.predictions", b"a\nb\n", "has 2 lines, expected 3"),
    ("vanilla.pretrain.dev.predictions", b"a\nb\n", "(src/data/birth_dev.tsv)"),
    ("vanilla.pretrain.test.predictions", b"a\nb\nc\n", "has 3 lines, expected 2"),
    ("vanilla.pretrain.test.predictions", b"a\nb\nc\n", "(src/data/birth_test_inputs.tsv)"),
    ("synthesizer.pretrain.dev.predictions", b"a\n\xff\nc\n", "line 2: no UTF-8 text"),
    ("vanilla.model.params", b"\x80\x02}q\x00.", "holds no parameters"),
    ("vanilla.model.params", b"PK\x03\x04cut off", "is damaged"),
]


@pytest.mark.parametrize(("name", "content", "words"), OUTPUT_FAULTS)
def test_a_fault_of_an_output_is_one_warning(desk, name, content, words):
    path = desk.root / name
    path.write_bytes(content) if content is not None else path.unlink()
    (line,) = desk.warnings()
    assert line.startswith(name) and words in line
    assert (name in desk.packed()) == (content is not None)


def test_parameters_are_never_unpickled(desk, tmp_path):
    """A pickle that would write a file when it is loaded."""
    bomb = f"cbuiltins\nopen\n(V{tmp_path / 'loaded'}\nVw\ntR.".encode("raw_unicode_escape")
    with zipfile.ZipFile(desk.root / "vanilla.model.params", "w") as archive:
        archive.writestr("archive/data.pkl", bomb)
    assert desk.warnings() == []
    assert not (tmp_path / "loaded").exists()


def test_a_zip_that_is_no_parameters_is_named(desk):
    write_params(desk.root / "vanilla.model.params", member="submission/dataset.py")
    (line,) = desk.warnings()
    assert line.startswith("vanilla.model.params is a zip without parameters")


def test_questions_have_the_numbers_of_the_edition(desk):
    path = desk.root / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    assert 'default_edition = "xcs224n"' in text
    text = text.replace('default_edition = "xcs224n"', 'default_edition = "cs224n"')
    path.write_text(text, encoding="utf-8")
    (desk.root / "vanilla.model.params").unlink()
    (line,) = desk.warnings()
    assert "the command of question 2d with" in line


def number_of(path: Path, wanted: str) -> int:
    """The number of the first line that holds some words."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return next(number for number, line in enumerate(lines, start=1) if wanted in line)


def test_code_that_is_no_python_is_named_with_its_line(desk):
    desk.replace("helper.py", "def pretrain(", "def pretrain((")
    (line,) = [w for w in desk.warnings() if "changed outside" not in w]
    number = number_of(desk.code / "helper.py", "def pretrain((")
    assert line.startswith(f"src/submission/helper.py:{number}: this is no Python")


@pytest.mark.parametrize(
    "content",
    [b"x = 1\ny = 2 +\n", b"x = 1\ny = '\xff'\n", b"x = 1\n\0y = 2\n", b"x = (\n" * 9_999],
)
def test_no_bytes_are_too_odd_for_a_warning(desk, content):
    (desk.code / "mine.py").write_bytes(content)
    (line,) = desk.warnings()
    assert re.match(r"src/submission/mine\.py:\d+: this is no Python", line)


def test_doubtful_python_is_no_news(desk):
    """Python's own warnings of a module are of no help here."""
    (desk.code / "mine.py").write_text('x = "\\d" is "d"\n', encoding="utf-8")
    assert desk.warnings() == []


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
        "not written yet: [part c] initialize_vanilla_model"
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
    assert f"attention_exploration.py: not written, which costs no points: {parts} parts\n" in out


@pytest.mark.parametrize("edition, warned", [("xcs224n", 0), ("current", 3)])
def test_rope_is_asked_for_where_the_edition_has_it(desk, edition, warned):
    for name in ("attention.py", "helper.py"):
        shutil.copy2(STARTER / name, desk.code)
    path = desk.root / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("xcs224n", edition, 1), encoding="utf-8")
    found = [line for line in desk.warnings() if re.search("rope|rotary", line)]
    of_files = [line for line in found if line.startswith("rope.")]
    assert len(found) - len(of_files) == warned
    assert len(of_files) == warned  # parameters and two files of predictions
    assert all("the command of question 1h with" in line for line in of_files)


def test_the_same_parts_with_points_are_warnings(desk):
    shutil.copy2(STARTER / "attention_exploration.py", desk.code)
    path = desk.root / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    old = 'topic = "attention_copying", written = 1,'
    assert old in text
    path.write_text(text.replace(old, old + " coding = 4,"), encoding="utf-8")
    starter = texts(STARTER)["submission/attention_exploration.py"]
    assert len(desk.warnings()) == len(find_regions(starter)[0]) > 1


def test_all_problems_are_told_at_once(desk):
    for path in STARTER.glob("*.py"):
        shutil.copy2(path, desk.code)
    for name in required_files():
        (desk.root / name).unlink()
    parts = sum(
        text.count("raise NotImplementedError")
        for name, text in texts(STARTER).items()
        if "attention_exploration" not in name and "building_blocks" not in name
    )
    parts -= 3  # of rope, which this edition doesn't ask for
    found = desk.warnings()
    assert len(found) == len(set(found)) == len(required_files()) + parts
    assert f"with {len(found)} warnings: you can hand it in as it is" in desk.collect()[1]


def test_too_large_a_module_is_named(desk, monkeypatch):
    monkeypatch.setattr(staging, "MAX_CODE_BYTES", 30_000)
    (desk.code / "mine.py").write_bytes(b"#" * 30_001)
    (line,) = desk.warnings()
    assert line == "submission/mine.py is not packed (30001 bytes, more than 30000)"


def test_links_are_not_followed_and_named(desk, tmp_path):
    secret = tmp_path / "elsewhere"
    secret.write_text("secret = 1\n", encoding="utf-8")
    for path in (desk.code / "model.py", desk.root / "vanilla.model.params"):
        path.unlink()
        path.symlink_to(secret)
    assert sorted(desk.warnings()) == [
        "submission/model.py is not packed (a link)",
        "vanilla.model.params is not packed (a link)",
    ]


def test_a_folder_of_modules_is_named(desk):
    (desk.code / "parts").mkdir()
    (desk.code / "parts" / "mine.py").write_text("x = 1\n", encoding="utf-8")
    assert desk.warnings() == ["submission/parts is not packed (only submission/*.py is taken)"]


def test_without_the_data_lines_are_not_counted(desk):
    shutil.rmtree(desk.root / "src" / "data")
    found = desk.warnings()
    assert len(found) == len([name for name in required_files() if name.endswith(".predictions")])
    assert all("its lines are not counted: birth_" in line for line in found)


# -- lines outside the regions --------------------------------------------------------------------


def test_a_line_changed_outside_the_markers_is_named(desk):
    desk.replace("dataset.py", "import random\n", "import random\nimport math\n")
    desk.replace("dataset.py", "PAD_CHAR = ", "MY_CHAR = ")
    number = number_of(desk.code / "dataset.py", "import math")
    assert desk.warnings() == [
        f"src/submission/dataset.py:{number}: changed outside the markers (in this file 2 lines "
        "of yours, 1 of ours gone); only what stands between markers is yours to change"
    ]


def test_lines_cut_off_at_the_end_are_named(desk):
    path = desk.code / "hints.py"
    text = path.read_text(encoding="utf-8")
    kept = text[: text.rindex("\ndef ")].rstrip() + "\n"
    path.write_text(kept, encoding="utf-8")
    last, gone = kept.count("\n"), [line for line in text[len(kept) :].split("\n") if line.strip()]
    (line,) = desk.warnings()
    assert line.startswith(f"src/submission/hints.py:{last}: changed outside the markers")
    assert f"(in this file 0 lines of yours, {len(gone)} of ours gone)" in line


def test_a_given_module_that_is_gone_is_named(desk):
    (desk.code / "utils.py").unlink()
    assert desk.warnings() == ["src/submission/utils.py is missing; take it from the course's zip"]


@pytest.mark.parametrize("kind", [START, END])
def test_a_lost_marker_is_named(desk, kind):
    path = desk.code / "london_baseline.py"
    desk.replace(path.name, f"    {kind}\n", "")
    left = END if kind == START else START
    assert desk.warnings() == [
        f"src/submission/london_baseline.py:{number_of(path, left)}: `{left}` has lost its "
        f"`{kind}`; put it back"
    ]


def test_a_lost_pair_of_markers_is_named(desk):
    for kind in (START, END):
        desk.replace("london_baseline.py", f"    {kind}\n", "")
    (line,) = desk.warnings()
    assert "markers are missing: got 0 pairs, expected 1" in line


@pytest.mark.parametrize(
    "slip", ["### END CODE HERE", "# End code here", "###END_CODE_HERE###", "## END  CODE HERE ##"]
)
def test_an_altered_marker_is_named(desk, slip):
    path = desk.code / "london_baseline.py"
    desk.replace(path.name, END, slip)
    assert desk.warnings() == [
        f"src/submission/london_baseline.py:{number_of(path, slip)}: got the marker `{slip}`, "
        f"expected `{END}`"
    ]


def test_staffs_checkout_has_nothing_to_compare_with(desk):
    (desk.root / "src" / "submission_lines.json").unlink()
    desk.replace("dataset.py", "import random\n", "import random\nimport math\n")
    assert desk.warnings() == []


def test_damaged_fingerprints_are_named(desk):
    (desk.root / "src" / "submission_lines.json").write_text("{", encoding="utf-8")
    assert desk.warnings() == [
        "src/submission_lines.json is damaged: lines outside the markers are not checked"
    ]


def test_markers_are_those_of_the_starter():
    assert (START, END) == (regions.START, regions.END)
    for folder in (STARTER, REFERENCE):
        for name, text in texts(folder).items():
            found, faults = find_regions(text)
            assert faults == []
            assert found == [(r.start, r.end) for r in regions.find_regions(text, name)]


def test_filling_in_the_regions_changes_no_fingerprint():
    starter = fingerprints(texts(STARTER))
    assert starter == fingerprints(texts(REFERENCE))
    assert all(re.fullmatch("[0-9a-f]{8}", line) for lines in starter.values() for line in lines)


def test_outside_regions_keeps_markers_and_drops_what_is_between():
    text = f"a = 1  \r\n\r\n    {START}\r\n    b = 2\r\n    {END}\r\nc = 3"
    assert outside_regions(text) == f"a = 1\n{START}\n{END}\nc = 3\n"


# -- nothing written ------------------------------------------------------------------------------


def refused(desk, *arguments: str) -> str:
    """The one line of a call that writes nothing."""
    before = sorted(desk.root.rglob("*"))
    code, out, err = desk.collect(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and err.endswith("; nothing was written\n")
    assert sorted(desk.root.rglob("*")) == before
    return err


def test_two_copies_that_differ_are_refused_by_name(desk):
    name = "vanilla.model.params"
    write_params(desk.root / "src" / name, member="other/data.pkl")
    said = refused(desk)
    assert f"{name} is there twice and differs: " in said
    assert str(desk.root / name) in said and str(desk.root / "src" / name) in said


def test_no_code_is_refused_and_commands_are_not_taken_for_it(desk):
    shutil.rmtree(desk.code)
    assert "src/submission holds no *.py" in refused(desk)


def test_a_broken_description_is_refused(desk):
    (desk.root / "assignment.toml").unlink()
    assert "assignment.toml is missing" in refused(desk)


def test_more_than_gradescope_takes_is_refused_with_the_largest(desk, monkeypatch):
    monkeypatch.setattr(collect_submission, "MAX_UPLOAD_BYTES", 200_000)
    (desk.root / "vanilla.finetune.params").write_bytes(os.urandom(250_000))
    said = refused(desk)
    assert re.search(r"would have [23]\d\d\.\d kB, Gradescope takes 200\.0 kB; the largest:", said)
    assert "the largest: vanilla.finetune.params (250.0 kB)" in said


def test_more_than_the_grader_unpacks_is_refused(desk, monkeypatch):
    sizes = [p.stat().st_size for p in (*desk.code.iterdir(), *desk.root.glob("*.p*"))]
    monkeypatch.setattr(staging, "MAX_TOTAL_BYTES", max(sizes) + 1)
    assert "too large once unpacked" in refused(desk)


@pytest.mark.parametrize("out", ["assignment5", "vanilla.model.params", "src/submission/model.py"])
def test_only_a_zip_is_written(desk, out):
    path = desk.root / out
    before = path.read_bytes() if path.exists() else None
    assert "expected a name that ends in .zip" in refused(desk, "--out", str(path))
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("out", ["no/such/folder/x.zip", "folder.zip", "assignment.toml/x.zip"])
def test_a_place_that_is_none_is_refused(desk, out):
    (desk.root / "folder.zip").mkdir()
    assert "expected a file in a folder that exists" in refused(desk, "--out", str(desk.root / out))


@contextlib.contextmanager
def without_rights() -> Iterator[None]:
    """As another user than root, who may write everywhere."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_a_read_only_folder_is_one_line(desk, monkeypatch):
    with tempfile.TemporaryDirectory() as outer:  # tmp_path is closed to others
        os.chmod(outer, 0o755)
        closed = Path(outer) / "closed"
        closed.mkdir(mode=0o555)
        home = shutil.copytree(desk.root, Path(outer) / "a5")
        for name in ("ROOT", "SRC", "DATA", "ASSIGNMENT"):
            moved = home / getattr(paths, name).relative_to(desk.root)
            monkeypatch.setattr(paths, name, moved)
        desk.root = home
        with without_rights():
            said = refused(desk, "--out", str(closed / "x.zip"))
        assert f"{closed / 'x.zip'} can't be written: Permission denied" in said
        assert list(closed.iterdir()) == []


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "interrupted, nothing was written"),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "No space left on device"),
    ],
)
def test_a_write_cut_short_leaves_the_older_zip_and_no_other_file(
    desk, monkeypatch, error, code, words
):
    desk.collect()
    older, files = desk.zip.read_bytes(), sorted(desk.root.iterdir())
    written = []

    def fail(*arguments, **keywords):
        written.append(sorted(desk.root.glob("assignment5.zip.*")))
        if len(written) == 3:
            raise error

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    got, out, err = desk.collect()
    assert (got, out) == (code, "")
    assert words in err
    assert len(written[-1]) == 1  # it was in the middle of a temporary file
    assert desk.zip.read_bytes() == older
    assert sorted(desk.root.iterdir()) == files


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_others_may_read_the_zip(desk):
    desk.collect()
    assert stat.S_IMODE(desk.zip.stat().st_mode) == 0o644


# -- other Pythons --------------------------------------------------------------------------------

WITHOUT = """
import runpy, sys
sys.modules[sys.argv[1]] = None
sys.path.insert(0, "src")
sys.argv[1:] = []
runpy.run_path("src/collect_submission.py", run_name="__main__")
"""


def test_without_numpy_the_zip_is_written(tmp_path, run_python):
    root = runnable(tmp_path / "a5")
    ran = run_python("-c", WITHOUT, "numpy", cwd=root)
    assert (ran.returncode, ran.stderr) == (1, "")
    counted = [line for line in ran.stdout.splitlines() if "lines are not counted" in line]
    assert len(counted) == ran.stdout.count("Warning: ") == 6
    assert (root / "assignment5.zip").is_file()


def test_too_old_a_python_is_one_line(tmp_path, run_python):
    root = runnable(tmp_path / "a5")
    ran = run_python("-c", WITHOUT, "tomllib", cwd=root)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.count("\n") == 1 and "expected Python 3.11 or newer (this is" in ran.stderr


def test_usage_errors_exit_with_2(desk):
    with pytest.raises(SystemExit) as caught:
        desk.collect("--what")
    assert caught.value.code == 2


# -- the whole way --------------------------------------------------------------------------------


def test_the_references_zip_earns_full_marks(tree, demo, tmp_path):
    student = tmp_path / "a5"
    away = shutil.ignore_patterns("solutions", "build", "dist", ".venv", ".git")
    shutil.copytree(tree, student, ignore=away)
    trained = tree / "build" / "reference"
    package = student / "src" / "submission"
    shutil.copytree(trained / "src" / "submission", package, dirs_exist_ok=True)
    given = json.dumps(fingerprints(texts(tree / "src" / "submission")))
    (student / "src" / "submission_lines.json").write_text(given, encoding="utf-8")
    for path in (*trained.glob("*.params"), *trained.glob("*.predictions")):
        shutil.copy2(path, student)
    collected = python(student, "src/collect_submission.py")
    assert collected.returncode == 0, collected.stdout + collected.stderr
    archive = str(student / "assignment5.zip")
    graded = python(tree, "src/grader.py", "--submission", archive, "--json", "collected.json")
    assert graded.returncode == 0, graded.stdout + graded.stderr
    assert "left behind" not in graded.stdout
    assert json.loads((tree / "collected.json").read_text(encoding="utf-8"))["score"] == 53
