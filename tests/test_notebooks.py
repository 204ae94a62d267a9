"""The students' notebooks: they run, show what they say, and are committed without outputs."""

import os
import re
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from autograder.description import editions
from tests.interpreter import python
from tests.project import ROOT, write_files
from tests.student.folder import students_copy
from tools import notebooks
from tools.commands import EXPERIMENTS, PIPELINES, PREDICT_UNSEEN, pipelines_of
from tools.handout import description

PLAY, COLAB = ROOT / "mingpt-demo/play_char.ipynb", ROOT / "handout/student/colab.ipynb"
WRITTEN = [command.writes for commands in PIPELINES.values() for command in commands]
ARCHIVE = "assignment5.zip"


def cells(notebook):
    """Return the sources of a notebook's cells of code."""
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def run_cells(folder, *sources, **variables):
    """Run cells that have only Python, without a kernel, which would take seconds to start."""
    environment = os.environ | {"PYTHONUTF8": "1"} | variables
    return python(folder, "-c", "\n".join(sources), env=environment)


FIRST_CELL, *_ = OF_COLAB = cells(notebooks.read(COLAB))


def test_the_demo_finds_the_code_from_elsewhere(tmp_path):
    student, content, empty = (tmp_path / name for name in ("student", "content", "empty"))
    for folder in (student / "src" / "submission", content, empty):
        folder.mkdir(parents=True)
    # Like Colab's folder after an upload.
    shutil.make_archive(str(content / "xcs224n-student"), "zip", tmp_path, "student")
    folders = [str(folder) for folder in (student, content, empty)]
    first, *_ = cells(notebooks.read(PLAY))
    each = f"os.chdir(folder); exec({first!r}); print(source)"
    done = run_cells(tmp_path, f"import os\nfor folder in {folders}:\n    {each}")
    expected = [str(folder / "src") for folder in (student, content / "student")]
    assert done.stdout.splitlines() == expected, done.stderr
    assert f"FileNotFoundError: no src/submission in {empty}" in done.stderr


def topics_of(edition):
    """Return the edition's topics, in the order of its questions."""
    return list(description.describe(ROOT, edition, "world").questions)


def colab(edition, without=()):
    """Return the notebook as the edition's students get it."""
    topics = set(topics_of(edition)) - set(without)
    return notebooks.for_topics(notebooks.read(COLAB), topics)


@pytest.mark.parametrize("edition", editions(ROOT))
def test_colabs_commands_are_the_sheets(edition):
    found = re.findall("^!(.*)", "\n".join(cells(colab(edition))), re.MULTILINE)
    trained = [command for command in found if "src/run.py" in command]
    asked = [*pipelines_of(ROOT, [edition]).values()]
    looked = EXPERIMENTS | {"consider_unseen": [PREDICT_UNSEEN]}
    asked += [looked[topic] for topic in topics_of(edition) if topic in looked]
    assert trained == [str(command) for commands in asked for command in commands]
    for command in set(found) - set(trained):
        assert (ROOT / command.split()[1]).is_file(), f"`{command}` runs no file of the project"
    assert found.index("python src/grader.py") > found.index(trained[-1])
    assert found[-1] == "python src/collect_submission.py"


FILES = """
import os, shutil
def upload():
    for path in os.listdir(os.environ["UPLOADS"]):
        shutil.copy(os.path.join(os.environ["UPLOADS"], path), path)
def download(path):
    shutil.copy(path, os.environ["DOWNLOADS"])
"""


@pytest.fixture
def in_colab(tmp_path):
    """Return a kernel's environment in which google.colab copies files between folders."""
    write_files(tmp_path / "fake", {"google/colab/files.py": FILES})
    folders = {"UPLOADS": tmp_path / "uploads", "DOWNLOADS": tmp_path / "downloads"}
    for folder in (*folders.values(), tmp_path / "content"):
        folder.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    variables = {"PYTHONPATH": tmp_path / "fake", "PATH": path} | folders
    return {name: str(value) for name, value in variables.items()}


@pytest.mark.long
def test_colab_goes_from_the_zip_to_what_is_handed_in(tree, tmp_path, in_colab):
    uploads, downloads = tmp_path / "uploads", tmp_path / "downloads"
    packed = students_copy(tree, tmp_path / "packed" / "pretraining").parent
    shutil.make_archive(str(uploads / "xcs224n-student (1)"), "zip", packed, "pretraining")
    with zipfile.ZipFile(uploads / "my-work.zip", "w") as writer:  # from an earlier day
        writer.writestr("training_seed.txt", "7\n")
        for path in sorted((ROOT / "solutions" / "submission").glob("*.py")):
            writer.write(path, f"src/submission/{path.name}")
    # The output of these two, which take half a minute, is tested in tests/experiments.
    notebook = colab("xcs224n", without=("consider_cloze", "consider_recall"))
    ran = notebooks.run(notebook, COLAB.name, tmp_path / "content", **in_colab)
    outputs = [output for cell in ran["cells"] for output in cell.get("outputs", [])]
    text = "".join(line for output in outputs for line in output.get("text", []))
    assert "Traceback" not in text and "error:" not in text, text
    root = tmp_path / "content" / "pretraining"
    assert [name for name in WRITTEN if not (root / name).is_file()] == []
    assert {"inspect.html", "inspect.params.js"} <= {path.name for path in downloads.iterdir()}
    assert len(re.findall(r"^Where was .* born\? \S", text, re.MULTILINE)) == 10
    kept = zipfile.ZipFile(downloads / "my-work.zip").namelist()
    assert {"src/submission/helper.py", "training_seed.txt"} <= set(kept)
    flowing = " ".join(text.split())  # the summary may have been wrapped
    told = re.search(r"basic (\d+) of (\d+); .*; without points (\d+) of (\d+)", flowing)
    assert told, text
    passed, of, without_points, of_these = map(int, told.groups())
    assert passed == of > 12 and without_points == of_these > 10
    handed = zipfile.ZipFile(downloads / ARCHIVE).namelist()
    for name in (*WRITTEN, "submission/helper.py"):
        assert any(packed.endswith(name) for packed in handed), name


# ---------------------------------------------------------------- Colab: keeping and restoring work

KEEPING = next(source for source in OF_COLAB if "save(WORK)" in source)


def work_zip(path: Path, year: int, folder: str = "", **more: str) -> None:
    """Write a my-work.zip whose helper.py says the year in which it was saved."""
    files = {"src/submission/helper.py": f"saved_in = {year}\n", **more}
    with zipfile.ZipFile(path, "w") as writer:
        for name, text in files.items():
            writer.writestr(zipfile.ZipInfo(folder + name, (year, 1, 1, 0, 0, 0)), text)


@pytest.fixture
def session(tmp_path, in_colab):
    """session(*cells): run the first cell, then others; return what they print, and the code."""
    with zipfile.ZipFile(tmp_path / "uploads" / "xcs224n-student.zip", "w") as writer:
        for name in ("src/grader.py", "src/submission/helper.py", "src/submission/model.py"):
            writer.writestr(f"assignment5/{name}", "starter = 1\n")
    root = tmp_path / "content" / "assignment5"

    def session(*more: str) -> tuple[str, str]:
        done = run_cells(tmp_path / "content", FIRST_CELL, *more, **in_colab)
        assert done.returncode == 0, done.stderr
        return done.stdout, (root / "src/submission/helper.py").read_text(encoding="utf-8")

    return session


@pytest.mark.usefixtures("session")
def test_elsewhere_the_notebook_uses_the_files_that_are_there(tmp_path):
    assert "no src/grader.py" in run_cells(tmp_path, FIRST_CELL).stderr.splitlines()[-1]
    folder = tmp_path / "uploads"
    done = run_cells(folder, FIRST_CELL, "hand_over('src/grader.py'); hand_over('a.zip')")
    assert "It is here: " in done.stdout and "a.zip is not there" in done.stdout, done.stderr
    # It works from inside the folder, too, and overwrites nothing there.
    helper = folder / "assignment5/src/submission/helper.py"
    helper.write_text("mine = 1\n", encoding="utf-8")
    assert run_cells(folder / "assignment5", FIRST_CELL).returncode == 0
    assert helper.read_text(encoding="utf-8") == "mine = 1\n"


def test_colab_restores_the_newest_work_however_it_was_packed(session, tmp_path):
    """Browsers number it, Safari opens it, and macOS packs it again with entries of its own."""
    newest = tmp_path / "uploads" / "my-work (1).zip"
    more = {"other.txt": "", "a.params.checkpoint": "half\n", "vanilla.model.params": "p"}
    work_zip(newest, 2031, "my-work/", **more)
    with zipfile.ZipFile(newest, "a") as writer:
        writer.writestr("__MACOSX/my-work/src/submission/._helper.py", "resource fork")
    work_zip(tmp_path / "uploads" / "my-work.zip", 2030)
    newest.with_name("my-work (2).zip").write_bytes(b"half of a zip")
    newest.with_name("my-work (3).zip").write_bytes(b"PK\5\6" + bytes(18))  # without files
    text, code = session()
    assert code == "saved_in = 2031\n"
    assert "Restored 3 files from my-work (1).zip; my-work.zip is older and was not used." in text
    assert "my-work (2).zip is no zip, or only part of one" in text
    assert "my-work (3).zip holds none of your files" in text
    root = tmp_path / "content" / "assignment5"
    assert (root / "a.params.checkpoint").read_bytes() == b"half\n"
    assert (root / "vanilla.model.params").is_file()
    assert not (root / "src/submission/._helper.py").exists()


def test_colab_restores_what_is_uploaded_after_the_first_run(session, tmp_path):
    """Each zip is restored once: a third run of the cell does not undo what was edited since."""
    work_zip(tmp_path / "my-work (3).zip", 2030)
    upload = f"shutil.copy({str(tmp_path / 'my-work (3).zip')!r}, '..')"
    edit = "Path('src/submission/{}.py').write_text('edited = 1\\n')"
    text, code = session(edit.format("model"), upload, FIRST_CELL)
    assert code == "saved_in = 2030\n" and "Restored 1 file from my-work (3).zip" in text
    assert "What it replaced is in saved/before-restoring.zip" in text
    kept = zipfile.ZipFile(tmp_path / "content/assignment5/saved/before-restoring.zip")
    assert kept.read("src/submission/model.py") == b"edited = 1\n"
    text, code = session(edit.format("helper"), FIRST_CELL)
    assert code == "edited = 1\n" and "Restored" not in text


def test_colab_saves_work_but_no_untouched_starter_and_restores_nothing_then(session, tmp_path):
    saved = tmp_path / "downloads" / "my-work.zip"
    text, _ = session(KEEPING)
    assert "Nothing was saved: the code is still the starter" in text and not saved.exists()
    edit = "Path('src/submission/helper.py').write_text('edited = {}\\n')"
    checkpoint = "Path('a.params.checkpoint').write_text('half')"
    text, code = session(edit.format(1), checkpoint, KEEPING, edit.format(2), FIRST_CELL)
    assert "Saved 3 files" in text
    with zipfile.ZipFile(saved) as kept:
        assert kept.read("src/submission/helper.py") == b"edited = 1\n"
        assert "a.params.checkpoint" in kept.namelist()
    assert code == "edited = 2\n"  # and not what it has saved itself
