"""A release is named, refused where it is unfair, archived whole, and restored elsewhere.

Documents and zips are small fakes here, but for the autograder's content; test_release.py builds
everything once.
"""

import hashlib
import re
import shutil
import stat
import zipfile
from contextlib import nullcontext
from functools import partial

import pytest

from autograder.description import load_course
from tests.project import append, commit_all, contents, edit, write_files
from tools import archive, autograder, datafiles, history, reference, release, restore, student
from tools.arguments import Failed
from tools.handout import build

EDITION = "xcs224n"
FIRST = f"2027-winter.1-{EDITION}.zip"
SECOND = FIRST.replace(".1-", ".2-")
ENTRY = (
    '[[erratum]]\nrelease = 2\ndate = 2027-02-03\nquestion = "1e"\nsentence = "Hidden no more."\n'
)
JUDGE = "solutions/hidden/training.py"
BASIC = "src/questions/span_corruption/tests.py"
CHANGED = "\n# changed\n"
NO_RELEASE = {"manifest.json": b"{}"}


@pytest.fixture
def project(course, tmp_path, monkeypatch):
    """Return a copy of the project; what takes long to build is replaced by small files."""
    tree = shutil.copytree(course, tmp_path / "project")

    def sheet(repo, edition, dataset, paper, folder):
        (folder / f"{edition}-handout.pdf").write_bytes(b"sheet")

    def solutions(repo, editions, dataset, paper, folder):
        for edition in editions:
            (folder / f"{edition}-solutions.pdf").write_bytes(b"solutions")

    def students_zip(repo, edition, made, common, folder):
        name = load_course(repo).release_name.encode()
        files = {"data": (repo / BASIC).read_bytes(), "name": name}
        archive.write(folder / f"{edition}-student.zip", files)
        return ""

    def autograders_zip(repo, edition, trained, folder, **_):
        archive.write(folder / f"autograder-{edition}.zip", autograder.contents(repo, edition))
        return []

    monkeypatch.setattr(student, "check", lambda *_: None)
    monkeypatch.setattr(build, "for_students", sheet)
    monkeypatch.setattr(build, "solutions", solutions)
    monkeypatch.setattr(student, "shared", lambda _: {})
    monkeypatch.setattr(student, "release", students_zip)
    monkeypatch.setattr(autograder, "build", autograders_zip)
    (tmp_path / "assignment5.zip").touch()
    monkeypatch.setattr(release, "as_student", lambda *_: nullcontext(tmp_path))
    monkeypatch.setattr(release, "run", lambda *_: None)
    monkeypatch.setattr(student, "look_for_leaks", lambda *_: None)
    monkeypatch.setattr(reference, "train", lambda *_, **__: tree)
    for module in (release, restore):
        monkeypatch.setattr(module, "REPO", tree)
    return tree


@pytest.fixture
def run(capsys):
    """run(*words) runs the command and returns its exit code, and what it printed."""

    def run(*words, module=release, options=("--edition", EDITION)):
        capsys.readouterr()
        code = module.main([*options, *map(str, words)])
        printed = capsys.readouterr()
        return code, printed.out + printed.err

    return run


def archives(project):
    return {path.name: path.read_bytes() for path in (project / datafiles.ARCHIVE).glob("*.zip")}


def test_the_first_release_is_number_1_and_is_kept_whole(project, run):
    write_files(project / "build/release", {"left.txt": ""})  # by a release that failed
    code, printed = run()
    assert code == 0 and "announcement" not in printed
    assert not (project / "dist/left.txt").exists()
    (path,) = (project / datafiles.ARCHIVE).iterdir()
    assert path.name == FIRST
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    kept = history.read(path)
    with zipfile.ZipFile(path) as opened:
        assert {*kept.manifest["files"], "manifest.json"} == set(opened.namelist())
    data = {f"src/data/{file.name}" for file in (project / "src/data").iterdir()}
    names = ("birth_test.tsv", "seed.txt", "grading_secret")
    secrets = {f"solutions/data/{name}" for name in names}
    owned = {"assignment.toml", "course.toml", "errata.toml"}
    places = {
        "student.zip": f"dist/{EDITION}-student.zip",
        "autograder.zip": f"dist/autograder-{EDITION}.zip",
        f"{EDITION}-handout.pdf": f"dist/{EDITION}-handout.pdf",
        f"{EDITION}-solutions.pdf": f"dist/{EDITION}-solutions.pdf",
    }
    assert set(kept.manifest["files"]) == data | secrets | owned | {*places}
    for name, digest in kept.manifest["files"].items():
        assert kept.read(name) == (content := (project / places.get(name, name)).read_bytes()), name
        assert hashlib.sha256(content).hexdigest() == digest
    assert (kept.manifest["release"], kept.manifest["edition"]) == ("2027-winter.1", EDITION)
    assert kept.manifest["commit"] == "unknown" and "torch" in kept.manifest["versions"]
    before = archives(project)
    code, printed = run()
    assert code == 0 and "2027-winter.1 of xcs224n was archived before" in printed
    assert archives(project) == before


def test_a_correction_needs_an_erratum_and_tells_students_what_to_do(project, run, capsys):
    assert history.main([], project) == 0
    assert run()[0] == 0
    assert history.main([], project) == 0
    append(project / JUDGE, CHANGED)
    capsys.readouterr()
    assert history.main([], project) == 1  # as `make check` says
    made = f"2027-winter.1 of {EDITION} was made before a change of {JUDGE}"
    assert capsys.readouterr().out == f"{made}: run: make release\n"
    code, printed = run("--breaking", "why")
    assert code == 2 and "nothing changes that students rely on" in printed
    code, printed = run()
    assert code == 1 and printed.count("\n") == 1
    assert f"release 2 differs in {JUDGE}; errata.toml should say" in printed
    assert "release = 2" in printed and list(archives(project)) == [FIRST]
    append(project / "errata.toml", ENTRY)
    course = (project / "course.toml").read_text(encoding="utf-8")
    code, printed = run()
    assert code == 0, printed
    assert "release 2027-winter.2" in printed and "- question 1e: Hidden no more." in printed
    assert "you need not download anything" in printed
    assert set(archives(project)) == {FIRST, SECOND}
    now = (project / "course.toml").read_text(encoding="utf-8")
    assert now == re.sub("^release = .", "release = 2", course, flags=re.MULTILINE)
    assert run()[0] == 0 and set(archives(project)) == {FIRST, SECOND}
    # The erratum may come first, too.
    append(project / BASIC, CHANGED)
    append(project / "errata.toml", ENTRY.replace("release = 2", "release = 3"))
    code, printed = run()
    assert code == 0 and "python src/update.py xcs224n-student.zip" in printed
    assert set(archives(project)) == {FIRST, SECOND, FIRST.replace(".1-", ".3-")}


TOML = "assignment.toml"
UNFAIR = [
    # A file, what is replaced in it, by what, and how the line about it begins.
    (
        *(TOML, '"span_corruption", coding = 16', '"span_corruption", coding = 15'),
        "question 1e: span_corruption, 15 for code",
    ),
    (
        *(TOML, 'shapes = { kind = "basic", weight = 1', 'shapes = { kind = "basic", weight = 2'),
        "test synthesizer.",
    ),
    (
        *(TOML, "thresholds = { vanilla = 0.10, synth", "thresholds = { vanilla = 0.20, synth"),
        "threshold of vanilla: 0.2, in 2027-winter.1 0.1\n",
    ),
    (TOML, '  "synthesizer.pretrain.test.predictions",\n', "", "required files: "),
    (
        *(TOML, "max_epochs = 60 # of 1,600 lines", "max_epochs = 70 # of 1,600 lines"),
        "recipe laptop pretrain max_epochs: 70, in 2027-winter.1 60\n",
    ),
    (datafiles.TEST_ANSWERS, "\n", "!\n", "data set: smoke"),
    (datafiles.WIKI, ".\n", "!\n", "data set: smoke"),
    (datafiles.GRADING_SECRET, "\n", "0\n", "grading secret: "),
]


def test_what_is_unfair_needs_a_reason(project, run):
    assert run()[0] == 0
    data = {history.promises(project, EDITION)["data set"]}
    for file, old, new, _ in UNFAIR:
        edit(project / file, old, new)
        data.add(history.promises(project, EDITION)["data set"])
    assert len(data) == 3
    own = [project / "errata.toml", project / "course.toml"]
    before = [path.read_bytes() for path in own]
    code, printed = run()
    assert code == 1 and "BREAKING" in printed
    for *_, words in UNFAIR:
        assert f"  {EDITION}: {words}" in printed
    assert [path.read_bytes() for path in own] == before
    code, printed = run("--breaking", 'It was "wrong".')
    assert code == 0, printed
    assert '- It was "wrong".' in printed
    assert run()[0] == 0 and set(archives(project)) == {FIRST, SECOND}


def test_editions_released_together_have_one_number(project, run):
    assert run(options=())[0] == 0
    append(project / BASIC, CHANGED)
    append(project / "errata.toml", ENTRY)
    assert run()[0] == 0  # one of them only
    code, printed = run(options=())
    assert code == 0, printed
    names = set(archives(project))
    assert {FIRST, SECOND} <= names and len(names) == 6 and load_course(project).release == 2


def test_other_zips_of_the_same_name_are_refused(project, run, monkeypatch):
    assert run()[0] == 0
    before, built = archives(project), (project / f"dist/{EDITION}-student.zip").read_bytes()

    def other(repo, edition, made, common, folder):
        archive.write(folder / f"{edition}-student.zip", {"data": b"other"})
        return ""

    monkeypatch.setattr(student, "release", other)
    code, printed = run()
    assert code == 1 and "differs from that of 2027-winter.1 in data, name" in printed
    assert archives(project) == before
    assert (project / f"dist/{EDITION}-student.zip").read_bytes() == built


def test_a_later_release_needs_the_earlier_archives(project, run):
    edit(project / "course.toml", "\nrelease = 1", "\nrelease = 2")
    code, printed = run()
    assert code == 2 and "make restore" in printed and printed.count("\n") == 1


def test_nothing_is_released_where_a_part_of_it_fails(project, run, monkeypatch):
    def fail(*_, **__):
        raise Failed("the reference earns 52 through the zip")

    parts = [(build, "for_students"), (build, "solutions"), (student, "release")]
    proofs = [(student, "look_for_leaks"), (release, "run"), (autograder, "build")]
    for part in (*parts, *proofs):
        with monkeypatch.context() as patched:
            patched.setattr(*part, fail)
            code, printed = run(options=())
        assert code == 1 and "earns 52" in printed, part
        assert not archives(project) and not list(project.glob("dist/*")), part


@pytest.fixture
def clone(project, run, course, tmp_path, monkeypatch):
    """Return a clone without a data set, made after the project's release."""
    assert run()[0] == 0
    clone = shutil.copytree(course, tmp_path / "clone")
    shutil.rmtree(clone / "src/data")
    shutil.rmtree(clone / "solutions/data")
    monkeypatch.setattr(restore, "REPO", clone)
    return clone


@pytest.fixture
def bring_back(project, run):
    """bring_back(*words) restores the project's release in the clone, as `run` runs commands."""
    return partial(run, project / datafiles.ARCHIVE / FIRST, module=restore, options=())


def test_a_clone_gets_what_repeats_a_result_and_loses_nothing(project, clone, bring_back):
    code, printed = bring_back()
    assert code == 0 and "the code here is the release's" in printed
    assert archives(clone) == archives(project)
    data = [f"src/data/{path.name}" for path in (project / "src/data").iterdir()]
    for name in (*history.SECRETS, *data):
        assert (clone / name).read_bytes() == (project / name).read_bytes(), name
    assert stat.S_IMODE((clone / datafiles.GRADING_SECRET).stat().st_mode) == 0o600
    append(clone / JUDGE, CHANGED)
    lost = ("course.toml", datafiles.SEED, datafiles.TEST_ANSWERS, datafiles.WIKI)
    for name in lost:
        append(clone / name, "edited\n")
    before = contents(clone)
    code, printed = bring_back()
    assert code == 2 and printed.count("\n") == 1 and all(name in printed for name in lost)
    assert contents(clone) == before
    code, printed = bring_back("--force")
    assert code == 0 and f"from the release's in {JUDGE}: check out unknown" in printed
    (folder,) = (path for path in (clone / datafiles.ARCHIVE).iterdir() if path.is_dir())
    for name in lost:
        assert (folder / name.rpartition("/")[2]).read_bytes() == before[name]
        assert (clone / name).read_bytes() == (project / name).read_bytes()
    assert bring_back()[0] == 0  # nothing differs any more


def test_what_git_has_may_be_replaced_and_the_archive_names_the_commit(clone, bring_back):
    append(clone / "course.toml", "# committed\n")
    commit_all(clone, "All")
    assert bring_back()[0] == 0
    head = history.git(clone, "rev-parse", "HEAD").strip()
    assert re.fullmatch("[0-9a-f]{40}", head)
    assert history.commit_of(clone) == head  # an archive has the files that a course owns
    append(clone / "course.toml", "# not committed\n")
    code, printed = bring_back()
    assert code == 2 and "course.toml: not as in" in printed
    append(clone / JUDGE, CHANGED)
    assert history.commit_of(clone) == f"{head} with uncommitted changes"


def test_what_is_no_archive_is_one_line(project, run, tmp_path):
    path = tmp_path / "some.zip"
    for write in (lambda: path.write_bytes(b"PK"), lambda: archive.write(path, NO_RELEASE)):
        write()
        code, printed = run(path, module=restore, options=())
        assert code == 2 and printed.count("\n") == 1 and "some.zip" in printed
