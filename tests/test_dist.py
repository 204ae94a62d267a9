"""dist/: its manifest is true after each command, and `make check` names what is out of date."""

import hashlib
import importlib
import json
import shutil
from types import SimpleNamespace

import pytest

from tests.project import copy_of_the_project, make
from tools import autograder, dist, reference, student, world
from tools.handout import build, checks

handout = importlib.import_module("tools.handout.__main__")
EDITION = "xcs224n"
SHEET = ("handout.pdf", "handout.html", "outline.csv", "solutions.pdf")
SHEETS = tuple(f"{EDITION}-{name}" for name in SHEET)
ZIPS = {
    "student": (f"{EDITION}-student.zip",),
    "autograder": (f"autograder-{EDITION}.zip", f"test-{EDITION}-reference-expect-53.zip"),
}


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    tree = copy_of_the_project(tmp_path_factory.mktemp("project"))
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0
    return tree


@pytest.fixture
def project(copied, monkeypatch):
    """A project whose commands write small files in place of what they build."""

    def built(*names):
        def fake(*arguments):
            folder = arguments[-1]
            for name in names:
                (folder / name).write_text(f"{name} {len(arguments)}", encoding="utf-8")
            return SimpleNamespace(lines=lambda: [])

        return fake

    monkeypatch.setattr(checks, "check", lambda *_: None)
    monkeypatch.setattr(reference, "train", lambda *_, **__: copied)
    monkeypatch.setattr(build, "build", built(*SHEETS))
    makes_student = built(*SHEETS, *ZIPS["student"])
    monkeypatch.setattr(student, "release", lambda *a: (makes_student(*a), ""))
    makes_autograder = built(*ZIPS["autograder"])
    monkeypatch.setattr(autograder, "build", lambda *a: [str(makes_autograder(*a))])
    for module in (handout, student, autograder):
        monkeypatch.setattr(module, "REPO", copied)
    monkeypatch.setattr(autograder, "DIST", copied / "dist")
    shutil.rmtree(copied / "dist", ignore_errors=True)
    for module in (student, autograder):
        assert module.main(["--edition", EDITION]) == 0
    assert dist.stale(copied) == []
    return copied


@pytest.fixture
def edited(project):
    """edited(name, text) appends to a file of the project, until the test ends."""
    before = {}

    def edit(name, text):
        path = project / name
        before.setdefault(path, path.read_bytes())
        path.write_bytes(before[path] + text.encode())

    yield edit
    for path, content in before.items():
        path.write_bytes(content)


@pytest.mark.parametrize("module", [handout, student, autograder])
def test_the_manifest_is_true_after_each_command(project, module):
    folder = project / "dist"
    (folder / f"{EDITION}-handout.pdf").write_text("an edited one", encoding="utf-8")
    assert module.main(["--edition", EDITION]) == 0
    listed = json.loads((folder / dist.MANIFEST).read_text(encoding="utf-8"))
    assert listed.keys() == {*SHEETS, *ZIPS["student"], *ZIPS["autograder"]}
    wrong = [name for name, entry in listed.items() if entry["sha256"] != sha256(folder / name)]
    # `make autograder` does not make the sheet, so it doesn't record another one, either.
    assert wrong == [f"{EDITION}-handout.pdf"] * (module is autograder)
    lines = [f"dist/{name} is not the file that was made: run: make handout" for name in wrong]
    assert dist.stale(project) == lines


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("name", "stale"),
    [
        ("course.toml", {*SHEETS, *ZIPS["student"]}),
        ("handout/topics/demo.tex.j2", {*SHEETS, *ZIPS["student"]}),
        ("solutions/written/consider_accuracy.tex.j2", {f"{EDITION}-solutions.pdf"}),
        ("solutions/hidden/training.py", {*ZIPS["autograder"]}),
        ("src/questions/rope/tests.py", {*ZIPS["student"], *ZIPS["autograder"]}),
        ("src/data/wiki.txt", {*ZIPS["student"], *ZIPS["autograder"]}),
        ("assignment.toml", {*SHEETS, *ZIPS["student"], *ZIPS["autograder"]}),
        ("README.md", set()),
    ],
)
def test_what_an_edit_puts_out_of_date(project, edited, name, stale):
    edited(name, "\n")
    lines = dist.stale(project)
    assert {line.partition(" ")[0] for line in lines} == {f"dist/{each}" for each in stale}
    assert all("was made before a change of " in line for line in lines)


@pytest.mark.requires_tool("make")
def test_check_names_what_is_out_of_date(project, edited):
    assert (ran := make(project, "check")).returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.splitlines()[-1] == "dist/ is up to date"
    edited("course.toml", "# due = 2027-02-07T23:59:00-08:00\n")
    ran = make(project, "check")
    assert ran.returncode != 0
    rule = "was made before a change of course.toml: run: make"
    assert f"dist/{EDITION}-handout.pdf {rule} handout\n" in ran.stdout
    assert f"dist/{EDITION}-student.zip {rule} student\n" in ran.stdout
    assert "autograder" not in ran.stdout
    assert handout.main(["--edition", EDITION]) == 0
    (line,) = dist.stale(project)  # the students' zip holds the old sheet
    assert line.startswith(f"dist/{EDITION}-student.zip ")


@pytest.mark.requires_tool("make")
@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (  # as if the line of a topic's only test had been deleted
            "src/questions/attention_exploration/tests.py",
            """

class Unseen(AttentionCase):
    topic = "consider_unseen"

    @graded()
    def test_forgotten(self):
        "is in no table"
""",
            "Unseen.test_forgotten is not in assignment.toml, [topics.consider_unseen.tests]",
        ),
        (
            "assignment.toml",
            '[topics.consider_unseen.tests]\nlines = { kind = "basic" }\n',
            "no class in src/questions/ has the topic 'consider_unseen'",
        ),
    ],
)
def test_check_finds_a_test_that_is_not_both_written_and_described(
    project, edited, name, text, words
):
    edited(name, text)
    ran = make(project, "check")
    assert ran.returncode != 0 and words in ran.stderr and "Traceback" not in ran.stderr


def test_a_missing_file_is_named_and_one_of_somebody_else_is_not(project):
    folder = project / "dist"
    (folder / "notes.txt").write_text("of somebody", encoding="utf-8")
    (folder / f"{EDITION}-outline.csv").unlink()
    assert dist.stale(project) == [f"dist/{EDITION}-outline.csv is missing: run: make handout"]


@pytest.mark.parametrize("content", [None, "{", "[]", '{"a.pdf": {"bytes": 1, "sha256": "00"}}'])
def test_without_a_manifest_of_ours_nothing_is_up_to_date(project, content, capsys):
    path = project / "dist" / dist.MANIFEST
    path.unlink() if content is None else path.write_text(content, encoding="utf-8")
    capsys.readouterr()
    assert dist.main([], project) == 1
    line = "dist/manifest.json doesn't say what was made from what: run: make release\n"
    assert capsys.readouterr().out == line


def test_an_empty_project_is_up_to_date(tmp_path, capsys):
    assert dist.main([], tmp_path) == 0
    assert capsys.readouterr().out == "dist/ is up to date\n"
