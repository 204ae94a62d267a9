"""The release: complete, free of secrets, reproducible, and all that a student needs."""

import io
import json
import re
import zipfile

import pytest

from autograder.description import load_assignment
from tests import follow
from tests.handout.conftest import SHORT, copied_lines, edited, text_of
from tests.interpreter import captured, python
from tests.project import contents, copy_of_the_project, make, without_structure
from tools import archive, leaks, release, starter, student
from tools.arguments import Failed
from tools.handout import build, web
from tools.leaks import texts

pytestmark = [
    pytest.mark.requires_tool("latexmk"),
    pytest.mark.requires_tool("pdftocairo"),
    pytest.mark.requires_tool("make"),
]
EDITION = "xcs224n"


@pytest.fixture(scope="module")
def zipped(tree, released):
    return tree / "dist" / f"{EDITION}-student.zip"


@pytest.fixture(scope="module")
def files(zipped):
    with zipfile.ZipFile(zipped) as opened:
        names = {name: name.removeprefix(f"{student.FOLDER}/") for name in opened.namelist()}
        assert all(short != name for name, short in names.items()), "outside of the folder"
        return {short: opened.read(name) for name, short in names.items()}


# ---------------------------------------------------------------- what was built


# What is made or renamed; of other files, each pattern of tools/student.py finds some.
NEEDED = """
    README.md AGENTS.md CHANGES.md CLAUDE.md .github/copilot-instructions.md .gitignore Makefile
    .python-version pyproject.toml .vscode/launch.json .vscode/settings.json collect_submission.sh
    handout.pdf handout.html overleaf.zip colab.ipynb mingpt-demo/play_char.ipynb
    src/edition.json src/submission_lines.json src/given_files.json src/submission/helper.py
    src/staff/wiki.txt src/staff/vanilla.pretrain.params src/staff/vanilla.finetune.params
    written/sheet.tex written/submission.tex written/with_solutions.tex written/handout.sty
    written/letters.tex written/figures/key_range.tex written/Makefile
""".split()


def test_students_get_what_they_need_and_nothing_else(files):
    assert set(NEEDED) <= files.keys()
    for name in files:
        assert not name.startswith(("solutions/", "tools/", "tests/", "build/", "dist/")), name
        assert not name.endswith((".pyc", ".pdf.new")) and "birth_test.tsv" not in name, name
    assert b"Solution of" not in files["written/sheet.tex"]


def test_the_release_and_its_code_are_of_the_edition(files):
    tables = json.loads(files["src/edition.json"])
    assert list(tables["editions"]) == [tables["default_edition"]] == [EDITION]
    assert not {"assignment.toml", "course.toml"} & files.keys()
    assert "\\question{1}{e}" in files["written/sheet.tex"].decode()
    code = {n: c.decode() for n, c in files.items() if n.startswith("src/submission/")}
    assert len(code) > 8
    assert not [n for n, c in code.items() if re.search(r"\[rope\]|def \w*(rope|rotary)", c)]
    assert "rope" not in tables["variants"]


def test_vs_code_debugs_one_test_of_the_edition(files, tree):
    (asked,) = json.loads(files[".vscode/launch.json"])["inputs"]
    assert asked["default"] in {t.test_id for t in load_assignment(tree).edition(EDITION).tests}


def test_overleaf_gets_the_same_files(files):
    with zipfile.ZipFile(io.BytesIO(files["overleaf.zip"])) as opened:
        inside = {f"written/{name}": opened.read(name) for name in opened.namelist()}
    makefile = {"written/Makefile": files["written/Makefile"]}
    assert inside | makefile == {n: c for n, c in files.items() if n.startswith("written/")}


def test_the_reference_passes_every_test_as_a_student_and_is_handed_in(tree, zipped):
    with release.as_student(tree, EDITION, tree / "build/reference", tree / "dist") as copy:
        for script in ("collect_submission.py", "grader.py"):
            release.run(EDITION, copy, script)
        packed = (copy / "assignment5.zip").read_bytes()
    with zipfile.ZipFile(tree / f"dist/test-{EDITION}-reference-expect-53.zip") as released:
        assert zipfile.ZipFile(io.BytesIO(packed)).namelist() == released.namelist()


@pytest.mark.long
def test_a_reference_that_fails_a_test_as_a_student_is_not_released(tree, zipped, tmp_path):
    """The students' zip has a faulty given module."""
    with zipfile.ZipFile(zipped) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    files[f"{student.FOLDER}/src/submission/model.py"] += b"raise ValueError('no model')\n"
    archive.write(tmp_path / zipped.name, files)
    with (
        release.as_student(tree, EDITION, tree / "build/reference", tmp_path) as copy,
        pytest.raises(Failed) as caught,
    ):
        release.run(EDITION, copy, "grader.py")
    assert f"{EDITION}: grader.py failed with exit code 1 for the reference" in str(caught.value)
    assert "ValueError: no model" in str(caught.value)


def test_what_leaks_is_not_released(tree, released, monkeypatch, capsys):
    """With a solution's line in the PDF, the HTML page and the LaTeX, dist/ stays as it is."""
    assignment, topic = tree / "assignment.toml", tree / "handout/topics/demo.tex.j2"
    secret = "truncated = document[: random.randint(MIN_DOCUMENT_LENGTH, longest)]"
    assert texts.bare(secret) in {s.text for s in leaks.secrets_of(tree)}
    monkeypatch.setattr(student, "REPO", tree)
    monkeypatch.setattr(student, "shared", lambda _: {})
    monkeypatch.setattr(build, "PRINT", "\\input{sheet.tex}\n")  # see without_structure
    monkeypatch.setattr(web, "draw", lambda names, _: dict.fromkeys(names, b"<svg/>"))
    listing, before = f"\\begin{{listing}}\n{secret}\n\\end{{listing}}\n", contents(tree / "dist")
    with (
        edited(assignment, "[editions.xcs224n]", f"{SHORT}\n[editions.xcs224n]"),
        edited(topic, "There is nothing", f"\n{listing}There is nothing"),
    ):
        assert student.main(["--edition", "short"]) == 1
    message = capsys.readouterr().err
    for name in ("handout.pdf", "handout.html", "written/sheet.tex", "overleaf.zip/sheet.tex"):
        assert f"short-student.zip/{student.FOLDER}/{name}" in message, message
    assert contents(tree / "dist") == before


@pytest.mark.long
def test_the_handout_needs_no_data_set(tmp_path):
    """Run `make handout` in a fresh clone; the sheet then describes the default data set."""
    tree = copy_of_the_project(tmp_path)
    without_structure(tree)
    made = make(tree, "handout", "EDITION=cs224n", "PAPER=a4")
    assert made.returncode == 0, made.stdout + made.stderr
    assert "cs224n: 15 places for answers, 28 points" in made.stdout
    assert "A4" in captured(["pdfinfo", "cs224n-handout.pdf"], tree / "dist").stdout
    outline = (tree / "dist" / "cs224n-outline.csv").read_text(encoding="utf-8")
    assert '1(c)-ii,"Drawbacks of single-headed attention, part ii",3\n' in outline
    answers = text_of(tree / "dist/cs224n-solutions.pdf")
    assert "for staff only" in answers and answers.count("Rubric") == 15
    solved = set(re.findall(r"Solution of ([\d(]\S+)", " ".join(answers.split())))
    assert len(solved) == 15 + 19 + 1  # section 4 and a part: without rubrics


# ---------------------------------------------------------------- as a student


@pytest.fixture(scope="module")
def unpacked(zipped, tmp_path_factory):
    """Unpack the zip elsewhere, in a folder with a name that people use."""
    folder = tmp_path_factory.mktemp("Unterlagen der Übung")
    with zipfile.ZipFile(zipped) as opened:
        opened.extractall(folder)
    return folder / student.FOLDER


@pytest.mark.long
def test_commands_copied_from_the_pdf_run(unpacked, tree):
    """Print, write (the reference's code), train, collect. The release itself proves full marks."""
    copied = commands_of_the_pdf(unpacked / "handout.pdf")
    assert len(copied) >= 20
    for name, content in starter.reference_of(tree, EDITION).items():
        (unpacked / "src" / "submission" / name).write_bytes(content)
    for command in copied:
        if not command.startswith("python "):
            continue  # conda and pip: the environment is there
        command = command.replace('"..."', '"It makes no difference to any answer"')
        ran = follow.run(unpacked, command)
        # Files of other commands are still missing, and answers are empty, so the exit code is 1.
        may_fail = re.match(r"python (CHANGES|src/(grader|check_written|update|collect))", command)
        assert ran.returncode == 0 or (may_fail and ran.returncode == 1), (command, ran.stderr)
        assert "Traceback" not in ran.stdout + ran.stderr, command
    collected = python(unpacked, "src/collect_submission.py")
    assert collected.returncode == 0, collected.stdout + collected.stderr


def commands_of_the_pdf(path):
    found = [n for n in copied_lines(path) if re.match(r"(python|conda|pip) [a-z]\S", n)]
    return [n for n in found if not re.search(r"\.( |$)", n)]  # lines with a stop are sentences


@pytest.mark.long
def test_answers_are_typeset_and_checked(unpacked):
    written = unpacked / "written"
    path = written / "submission.tex"
    assert python(unpacked, "src/check_written.py").returncode == 1
    text = path.read_text(encoding="utf-8")
    start = "% ### START CODE HERE ###\n"
    path.write_text(text.replace(start, f"{start}Some answer.\n"), encoding="utf-8")
    checked = python(unpacked, "src/check_written.py")
    assert checked.returncode == 0, checked.stdout
    made = make(written, "with_solutions")
    assert made.returncode == 0, made.stdout[-2000:]
    said = text_of(written / "with_solutions.pdf")
    assert said.count("Some answer.") == text.count(start)
    assert make(written, "clean").returncode == 0
    assert not list(written.glob("*.pdf")) and not list(written.glob("*.aux"))
