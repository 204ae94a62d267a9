"""update.py: a student's copy gets a later release, and loses nothing, wherever it is killed."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

import environment
import update
from grading.edition import EDITION, Erratum
from grading.errors import UsageError
from grading.release import END, GIVEN, LINES, START, fingerprints, given_files, manifest
from tests import pinned
from tests.interpreter import python
from tests.project import ROOT, contents, write_files
from tests.snapshots import check, printed
from tests.student.folder import Files, Folder, students_copy
from tests.systems import become
from tools import student

DATASET, HELPER = "src/submission/dataset.py", "src/submission/helper.py"
RUN, TESTS = "src/run.py", "src/questions/span_corruption/tests.py"
ANSWERS = "written/submission.tex"
# What only a student has, or has filled in.
OWN = {
    "vanilla.model.params": b"\x00\r\nweights",
    "src/vanilla.nopretrain.dev.predictions": b"Rome\n",
    "training_seed.txt": b"7\n",
    ANSWERS: b"my answers\r\n",
    "overleaf.zip": b"my packed answers",
    "venv/pyvenv.cfg": b"home = /usr/bin\n",
    "src/submission/mine.py": b"x = 1\n",
}
FIRST, SECOND = "2027-spring.1", "2027-spring.2"


# -- two releases, and a copy ---------------------------------------------------------------------


def release(files: Files, name: str, edition: str = "xcs224n") -> Files:
    """Return these files as a release, with the lists that tools/student.py makes."""
    files = {n: content for n, content in files.items() if n != GIVEN}
    tables = json.loads(files[EDITION.as_posix()])
    tables["editions"] = {edition: next(iter(tables["editions"].values())) | {"release": name}}
    tables["default_edition"] = edition
    files[EDITION.as_posix()] = json.dumps(tables).encode()
    code = {n[4:]: c for n, c in files.items() if re.match("src/(submission|pretraining)/", n)}
    lines = fingerprints({n: content.decode() for n, content in code.items()})
    files[f"src/{LINES}"] = json.dumps(lines).encode()
    return files | {GIVEN: manifest(files)}


def changed(files: Files, name: str, old: str, new: str) -> Files:
    text = files.get(name, b"").decode()
    assert old in text, (name, old)
    return files | {name: text.replace(old, new, 1).encode("utf-8", "surrogateescape")}


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Files:
    """Return release 1, without the data."""
    copied = students_copy(ROOT, tmp_path_factory.mktemp("first"))
    shutil.rmtree(copied / "src" / "data", ignore_errors=True)
    files = contents(copied) | {ANSWERS: b"% answers\n", "overleaf.zip": b"packed"}
    return release(files | {"README.md": b"1", "handout.pdf": b"%PDF"}, FIRST)


@pytest.fixture(scope="module")
def second(first) -> Files:
    """Return release 2, in which a test and two given files have changed, and one is new."""
    files = first | {"CHANGES.md": b"- 1e: ...\n", "handout.pdf": b"%PDF 2"}
    files = changed(files, TESTS, '"""', '"""Corrected. ')
    return release(changed(files, HELPER, "import", "import math  # given\nimport"), SECOND)


def half_done(files: Files) -> Files:
    """Return what a student has who has written two modules."""
    written = {n: (ROOT / "solutions" / n[4:]).read_bytes() for n in (DATASET, HELPER)}
    return files | OWN | written


def updated(files: Files) -> Files:
    """Return what such a student has to have after an update to these files."""
    return changed(half_done(files), HELPER, "import", "import math  # given\nimport")


class Copy(Folder):
    """A student's folder and the zip of a release."""

    @property
    def zip(self) -> Path:
        return self.root.parent / "NEW.zip"

    def lay_out(self, files: Files) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        write_files(self.root, files)

    def pack(self, files: Files) -> None:
        with zipfile.ZipFile(self.zip, "w") as opened:
            for name, content in files.items():
                opened.writestr(f"assignment5/{name}", content)

    def update(self, *words: str) -> tuple[int, str, str]:
        return self.run(update.main, str(self.zip), "--folder", str(self.root), *words)

    def before(self, name: str = f"before-{SECOND}.zip") -> Files:
        """Remove a zip of what was replaced; return its files."""
        with zipfile.ZipFile(self.root / name) as opened:
            files = {inner: opened.read(inner) for inner in opened.namelist()}
        (self.root / name).unlink()
        return files


@pytest.fixture
def copy(tmp_path, monkeypatch, capsys, first, second) -> Copy:
    monkeypatch.chdir(tmp_path)
    copy = Copy(tmp_path / "Übung 5 (copy)", capsys)
    copy.lay_out(half_done(first))
    copy.pack(second)
    return copy


# -- what an update does --------------------------------------------------------------------------


def test_a_half_done_copy_gets_the_release_and_keeps_its_work(copy, second):
    old = contents(copy.root)
    times = {name: (copy.root / name).stat().st_mtime_ns for name in OWN}
    shown = copy.update("--show")
    assert contents(copy.root) == old
    code, out, err = copy.update()
    check("update", {"update": out})
    assert (code, err) == (0, "") and shown == (0, out.rpartition("Updated")[0], "")
    replaced = copy.before()
    new = contents(copy.root)
    assert new == updated(second)
    assert replaced == {name: old[name] for name in old if new[name] != old[name]}
    assert times == {name: (copy.root / name).stat().st_mtime_ns for name in OWN}
    assert copy.update() == (0, f"Nothing to update: this copy is xcs224n {SECOND}.\n", "")
    assert contents(copy.root) == new


def test_an_update_repairs_what_is_damaged_and_an_earlier_zip_of_it_stays(copy, second):
    copy.update()
    (copy.root / TESTS).write_bytes(b"damaged")
    assert copy.update()[0] == 1  # the changed file is beside the new one
    assert copy.before(f"before-{SECOND}-2.zip") == {TESTS: b"damaged"}
    assert TESTS in copy.before()
    assert contents(copy.root) == updated(second) | {f"{TESTS}.mine": b"damaged"}


def test_what_is_edited_is_kept_where_the_list_of_given_files_is_gone(copy, second):
    (copy.root / GIVEN).unlink()
    (copy.root / RUN).write_bytes(b"edited")
    assert copy.update()[0] == 0
    assert copy.before()[RUN] == b"edited"
    assert contents(copy.root) == updated(second)


def test_an_unpacked_zip_a_link_to_the_folder_and_line_ends_of_windows_will_do(
    copy, first, second, tmp_path
):
    given = {n: c for n, c in half_done(first).items() if n.endswith((".py", ".md"))}
    text = {n: c.replace(b"\n", b"\r\n") for n, c in given.items() if n not in OWN}
    write_files(copy.root, text)
    write_files(tmp_path / "Downloads" / "assignment5", second)
    (tmp_path / "link").symlink_to(copy.root)
    ran = python(tmp_path, "link/src/update.py", "Downloads/assignment5")
    assert (ran.returncode, ran.stderr) == (0, "")
    copy.before()
    assert contents(copy.root) == updated(second)


# -- what a student has changed -------------------------------------------------------------------

BROKEN = "        return ids[:-1], ids[1:]\n"
HEAD = "import random\n"
# Those whose changes are in the new file.
INSIDE = {
    "nothing": (DATASET, "", ""),
    "a syntax error between the markers": (DATASET, BROKEN, "        return ids[\n"),
}
EDITS = INSIDE | {
    "a helper outside the markers": (DATASET, HEAD, HEAD + "HALF = 2\n"),
    "a syntax error outside the markers": (DATASET, HEAD, HEAD + "def f(\n"),
    "a marker was lost": (DATASET, END, ""),
    "a region was lost": (DATASET, f"{START}\n", "\n"),
    "code that is not UTF-8": (DATASET, "# Uniform", "# \udce9"),
    "a given command": (RUN, '"""', '"""Mine. '),
    "a given module": ("src/pretraining/recipes.py", '"""', '"""Mine. '),
    "an own file where a new one comes": ("CHANGES.md", "", "mine"),
}


def test_what_a_student_has_changed_is_kept_beside_its_file_and_named(copy, first, second):
    """The new file has the student's part, or the student's stays and the new one is beside."""
    texts, given = {}, (DATASET, "class Char", "GIVEN = 2\n\n\nclass Char")
    second = changed(second, *given)
    second = release(changed(second, "src/pretraining/recipes.py", '"""', '"""Given. '), SECOND)
    copy.pack(second)
    expected = changed(updated(second), *given)
    for title, (name, *edit) in EDITS.items():
        theirs = changed(half_done(first), name, *edit)
        if title == "a region was lost":
            theirs = changed(theirs, name, f"{END}\n", "\n")
        copy.lay_out(theirs)
        code, out, err = copy.update()
        texts[title] = printed(code, out[out.find("Updated") :], err)
        replaced = copy.before().get(name)
        now = contents(copy.root)
        got, mine, new = (now.pop(name + end, None) for end in ("", ".mine", ".new"))
        if new is not None:
            assert (got, mine, new, replaced) == (theirs[name], None, second[name], None)
            assert copy.update()[1].count("To do") == 1
        elif title in INSIDE:
            part = changed(expected, name, *edit)[name]
            assert (got, mine, replaced) == (part, None, theirs[name])
        else:
            assert (got, mine, replaced) == (expected[name], theirs[name], theirs[name])
        assert now == {n: content for n, content in expected.items() if n != name}
    check("update_edits", texts)


INTERFACES = {
    "another signature": ("(self, idx: int) -> tuple[torch", "(self, number: int) -> tuple[torch"),
    "another name of the function": ("def __getitem__(self, idx: int)", "def item(self, idx: int)"),
    "two parts of its topic for one": ("# [span corruption]", "# [other]"),
}


def test_a_changed_function_around_a_part_is_said_with_its_docstring(copy, first, second):
    texts = {}
    part = half_done(first)[DATASET].decode().partition(START)[2].partition(END)[0]
    for title, edit in INTERFACES.items():
        copy.pack(release(changed(second, DATASET, *edit), SECOND))
        copy.lay_out(half_done(first))
        code, out, err = copy.update()
        texts[title] = printed(code, out.partition("was replaced.\n")[2], err)
        now = contents(copy.root)
        is_lost = title.startswith("two")
        assert (part in now[DATASET].decode(), f"{DATASET}.mine" in now) == (not is_lost, is_lost)
    check("update_interfaces", texts)


def test_new_forms_for_answers_are_put_beside_the_answers(copy, first, second):
    files = second | {ANSWERS: b"% answers, one more\n", "overleaf.zip": b"packed again"}
    files = release(files, SECOND)
    copy.pack(files)
    code, out, _ = copy.update()
    check("update_answers", {"new forms": out[out.find("Updated") :]})
    now = contents(copy.root)
    assert code == 1 and now[f"{ANSWERS}.new"] == files[ANSWERS]
    assert {name: now[name] for name in OWN} == OWN
    copy.lay_out(first)  # without answers
    assert copy.update()[0] == 0
    copy.before()
    assert contents(copy.root) == files


# -- refused, and nothing is changed --------------------------------------------------------------


def renamed(files: Files, old: str, new: str) -> Files:
    return release({new if n == old else n: c for n, c in files.items()}, SECOND)


ZIPS = {
    "another edition": lambda files: release(files, SECOND, "cs224n"),
    "another term": lambda files: release(files, "2027-fall.2"),
    "an older release": lambda files: release(files, "2027-spring.0"),
    "a changed file": lambda files: files | {RUN: b"changed"},
    "a missing file": lambda files: {n: c for n, c in files.items() if n != RUN},
    "a name of Windows": lambda files: renamed(files, "README.md", "src/Aux.md"),
    "a name that leads outside": lambda files: renamed(files, "README.md", "../README.md"),
    "two cases of a name": lambda files: release(files | {"readme.MD": b"2"}, SECOND),
    "an upload": lambda files: {"submission/dataset.py": files[DATASET]},
    "lists that are no lists": lambda files: files | {GIVEN: b"[1]"},
    "no edition": lambda files: release(files, SECOND) | {EDITION.as_posix(): b"{"},
}


def moved_away(folder: Path) -> None:
    """Put a folder elsewhere, and a link to it in its place."""
    folder.symlink_to(folder.rename(folder.parent.parent / "elsewhere"))


FOLDERS = {
    "a link inside": lambda root: os.symlink(root.parent, root / "CHANGES.md"),
    "a folder that is a link": lambda root: moved_away(root / "src"),
    "a folder in the way": lambda root: (root / "CHANGES.md").mkdir(),
    "no copy of the assignment": lambda root: (root / EDITION).unlink(),
}


def held(source: Path, target: Path) -> None:
    """Fail like os.rename() on Windows where another program has a file open."""
    if source.name == "handout.pdf":
        raise PermissionError(errno.EACCES, "Access is denied", str(source))


# In place of functions of `os`, since root may write everywhere.
PLACES = {
    "a read-only folder": ("access", lambda path, mode: path.name != "span_corruption"),
    "a read-only file": ("access", lambda path, mode: path.name != "handout.pdf"),
    "a file that is open on Windows": ("rename", held),
}


def test_what_can_not_be_done_is_one_line_and_nothing_changes(copy, first, second, monkeypatch):
    texts = {}

    def refused(title: str) -> None:
        before = contents(copy.root)
        code, out, err = copy.update()
        assert code == 2 and err.count("\n") == 1, (title, out, err)
        assert contents(copy.root) == before and not (copy.root / ".update").exists()
        texts[title] = err

    for title, make in ZIPS.items():
        copy.pack(make(second))
        refused(title)
    with monkeypatch.context() as patch:
        patch.setattr("grading.release.MAX_TOTAL_BYTES", 100_000)
        refused("more than fits into the memory")
    copy.zip.write_bytes(b"PK\x03\x04 no zip")
    refused("no zip")
    copy.zip.unlink()
    refused("no such file")
    copy.pack(second)
    for title, (name, function) in PLACES.items():
        with monkeypatch.context() as patch:
            patch.setattr(update.os, name, function)
            become("win32", patch)
            refused(title)
    for title, damage in FOLDERS.items():
        copy.lay_out(half_done(first))
        damage(copy.root)
        refused(title)
    check("update_refused", texts, {str(copy.root): "A5", str(copy.zip): "NEW.zip"})


@pytest.mark.parametrize(
    ("error", "code"),
    [(OSError(errno.ENOSPC, "No space left on device"), 2), (KeyboardInterrupt(), 130)],
)
def test_a_full_disk_and_ctrl_c_change_nothing(copy, monkeypatch, error, code):
    monkeypatch.setattr(update.os, "fsync", Mock(side_effect=[None, None, error]))
    before = contents(copy.root)
    ended, _, err = copy.update()
    assert (ended, contents(copy.root)) == (code, before)
    assert err.endswith("; nothing was changed\n")


# -- killed ---------------------------------------------------------------------------------------

# Runs a command, and kills it just before it writes for the Nth time; N = 0 counts the times.
KILLER = """
import os, runpy, signal, sys
moment, count = int(sys.argv[1]), 0
def hook(event, arguments):
    global count
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wxa+")
    if writes or event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
        count += 1
        if count == moment:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
sys.argv = sys.argv[2:]
sys.path[0] = os.path.dirname(sys.argv[0])
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
finally:
    print(count, file=sys.stderr)
"""


@pytest.fixture
def everything(copy, second) -> Files:
    """Change each given module of release 2; return what the copy has to have in the end."""
    changes = {n: c + b"\n# 2\n" for n, c in second.items() if n.endswith(".py") and n not in OWN}
    files = release(second | changes, SECOND)
    copy.pack(files)
    ends = {n: c + b"\n# 2\n" for n, c in updated(second).items() if n in (DATASET, HELPER)}
    return files | OWN | ends


def killed(copy: Copy, moment: int) -> subprocess.CompletedProcess:
    return python(copy.root, "-B", "-c", KILLER, str(moment), "src/update.py", copy.zip)


@pytest.fixture
def total(copy, first, everything) -> int:
    """Return how often an update of this copy writes."""
    whole = killed(copy, 0)
    assert whole.returncode == 0, whole.stderr
    copy.lay_out(half_done(first))
    total = int(whole.stderr.split()[-1])
    assert total > 200  # it writes, renames and tidies up, each in a third of the moments
    return total


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_an_update_that_is_killed_is_completed_by_the_same_command(
    copy, first, everything, total, kills
):
    old = half_done(first)
    for moment in range(total - 1, 0, -total // kills):
        copy.lay_out(old)
        assert killed(copy, moment).returncode == -signal.SIGKILL
        found = contents(copy.root)
        begun = f".update/{environment.JOURNAL}" in found
        found = {n: c for n, c in found.items() if not n.startswith((".update/", "before-"))}
        assert begun or found in (old, everything), moment
        assert {name: found[name] for name in OWN} == OWN
        for name, content in found.items():  # each file is whole, and of one of the two
            assert content in (old.get(name), everything.get(name)), (moment, name)
        again = killed(copy, 0)
        assert again.returncode == 0, (moment, again.stderr)
        replaced = copy.before()
        assert contents(copy.root) == everything, moment
        assert replaced == {n: old[n] for n in old if old[n] != everything[n]}, moment


def test_any_command_completes_an_update_before_it_begins(copy, everything, total):
    killed(copy, total * 5 // 6)
    (copy.root / HELPER).write_bytes(b"edited since")
    ran = python(copy.root, "-B", "src/collect_submission.py", "--help")
    assert (ran.returncode, ran.stdout[:15]) == (0, "usage: collect_")
    assert ran.stderr == "collect_submission.py: completed the update that was interrupted\n"
    copy.before()
    assert contents(copy.root) == everything | {f"{HELPER}.mine": b"edited since"}


def test_a_file_that_is_held_open_meanwhile_is_one_line_and_the_same_command_does_the_rest(
    copy, monkeypatch, second
):
    def replace_but(source, target, replace=os.replace):
        if str(target).endswith("handout.pdf"):
            raise PermissionError(errno.EACCES, "Access is denied", str(source), None, str(target))
        replace(source, target)

    denied = f"{os.path.relpath(copy.root / 'handout.pdf')}: Access is denied"
    with monkeypatch.context() as patch:
        patch.setattr(environment.os, "replace", replace_but)
        code, _, err = copy.update()
        assert (code, err) == (2, f"update.py: {denied}; the same command does the rest\n")
    assert copy.update() == (0, f"Nothing to update: this copy is xcs224n {SECOND}.\n", "")
    copy.before()
    assert contents(copy.root) == updated(second)


def test_an_unpacked_release_gives_no_file_outside_it(tmp_path):
    (tmp_path / "mine").write_bytes(b"1")
    for name in ("../mine", f"{tmp_path}/mine"):
        folder = write_files(tmp_path / "NEW", {GIVEN: manifest({name: b"1"})})
        with pytest.raises(UsageError, match="not as the course made it"):
            given_files(folder)


# -- what a release says of itself ----------------------------------------------------------------


def test_changes_md_lists_what_the_terms_releases_corrected_the_latest_first():
    errata = (
        Erratum(2, "2027-02-03", "1e", ("1e-3-basic",), "An empty span is accepted."),
        Erratum(3, "2027-02-05", "", (), "The sheet names the forum."),
    )
    edition = pinned.load().edition("xcs224n")
    texts = {
        "release 1": student.changes(replace(edition, release=FIRST)),
        "release 3": student.changes(replace(edition, release="2027-spring.3", errata=errata)),
    }
    check("update_changes", texts)
