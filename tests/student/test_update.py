"""update.py: a student's copy gets a later release, and loses nothing, wherever it is killed."""

import errno
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

import environment
import update
from grading.edition import EDITION, Erratum
from grading.release import END, GIVEN, LINES, START, fingerprints, manifest
from tests import pinned
from tests.project import ROOT
from tests.snapshots import check, printed
from tests.student.collecting import NOBODY
from tests.student.folder import Folder, students_copy
from tools import student

Files = dict[str, bytes]
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
    ".venv/pyvenv.cfg": b"home = /usr/bin\n",
    "notes/CHANGES.md": b"mine",
    "src/submission/mine.py": b"x = 1\n",
}
FIRST, SECOND = "2027-spring.1", "2027-spring.2"
HELP = "    # mine\n    x = 1\n"


# -- two releases, and a copy ---------------------------------------------------------------------


def contents(root: Path) -> Files:
    """Return a folder's files by name, without what Python writes."""
    found = (path for path in root.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in found}


def lay_out(root: Path, files: Files) -> Path:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)
    return root


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
    text = files[name].decode()
    assert old in text, (name, old)
    return files | {name: text.replace(old, new, 1).encode()}


@pytest.fixture(scope="module")
def first(tmp_path_factory) -> Files:
    """Return release 1, without the data."""
    copied = students_copy(ROOT, tmp_path_factory.mktemp("first"))
    shutil.rmtree(copied / "src" / "data", ignore_errors=True)
    files = contents(copied) | {
        ANSWERS: b"% answers\n",
        "overleaf.zip": b"packed",
        "README.md": b"1",
    }
    return release(files | {".vscode/settings.json": b"{}\n", "handout.pdf": b"%PDF"}, FIRST)


@pytest.fixture(scope="module")
def second(first) -> Files:
    """Return release 2, in which a test and two given files have changed, and one is new."""
    files = first | {"CHANGES.md": b"- 1e: ...\n", "handout.pdf": b"%PDF 2"}
    files = changed(files, TESTS, '"""', '"""Corrected. ')
    files = changed(files, HELPER, "import", "import math  # given\nimport")
    return release(files, SECOND)


def half_done(files: Files) -> Files:
    """Return what a student has who has written two modules."""
    written = {n: (ROOT / "solutions" / n[4:]).read_bytes() for n in (DATASET, HELPER)}
    return files | OWN | written


def updated(files: Files) -> Files:
    """Return what such a student has to have after an update to these files."""
    reference = ROOT / "solutions" / HELPER[4:]
    helper = changed(
        {HELPER: reference.read_bytes()}, HELPER, "import", "import math  # given\nimport"
    )
    return half_done(files) | helper


class Copy(Folder):
    """A student's folder and the zip of a release."""

    @property
    def zip(self) -> Path:
        return self.root.parent / "NEW.zip"

    def lay_out(self, files: Files) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        lay_out(self.root, files)

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


def test_a_half_done_copy_gets_the_release_and_keeps_its_work(copy, first, second):
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
    for number, name in enumerate(["src/grading/wire.py", "src/grading/pool.py"]):
        (copy.root / name).write_bytes(b"damaged")
        assert copy.update()[0] == 1  # the changed file is beside the new one
        assert copy.before(f"before-{SECOND}-{number + 2}.zip") == {name: b"damaged"}
        assert (copy.root / f"{name}.mine").read_bytes() == b"damaged"
        (copy.root / f"{name}.mine").unlink()
        lay_out(copy.root, {f"before-{SECOND}-2.zip": b"an earlier one"})
    (copy.root / f"before-{SECOND}-2.zip").unlink()
    copy.before()
    assert contents(copy.root) == updated(second)


def test_copies_from_before_releases_had_names_are_updated(copy, first, second):
    tables = json.loads(first[EDITION.as_posix()])
    del tables["editions"]["xcs224n"]["release"]
    old = half_done(first) | {EDITION.as_posix(): json.dumps(tables).encode()}
    copy.lay_out({n: content for n, content in old.items() if n != GIVEN})
    (copy.root / RUN).write_bytes(b"edited")  # the copy doesn't say how it was given
    assert copy.update()[0] == 0
    assert copy.before()[RUN] == b"edited"
    assert contents(copy.root) == updated(second)


def test_an_unpacked_zip_and_a_link_to_the_folder_will_do(copy, second, tmp_path):
    lay_out(tmp_path / "Downloads" / "assignment5", second)
    (tmp_path / "link").symlink_to(copy.root)
    command = [sys.executable, tmp_path / "link" / "src" / "update.py"]
    ran = subprocess.run(
        [*command, tmp_path / "Downloads" / "assignment5"], capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, b"")
    copy.before()
    assert contents(copy.root) == updated(second)


def test_files_with_line_ends_of_windows_are_those_that_were_given(copy, first, second):
    text = {
        n: c for n, c in half_done(first).items() if n.endswith((".py", ".md")) and n not in OWN
    }
    lay_out(copy.root, {n: c.replace(b"\n", b"\r\n") for n, c in text.items()})
    assert copy.update()[0] == 0
    copy.before()
    assert contents(copy.root) == updated(second)


# -- what a student has changed -------------------------------------------------------------------

BROKEN = "        return ids[:-1], ids[1:]\n"
HEAD = "import random\n"
EDITS = {
    "nothing": (DATASET, "", ""),
    "a helper outside the markers": (DATASET, HEAD, HEAD + "HALF = 2\n"),
    "a syntax error between the markers": (DATASET, BROKEN, "        return ids[\n"),
    "a syntax error outside the markers": (DATASET, HEAD, HEAD + "def f(\n"),
    "a marker was lost": (DATASET, END, ""),
    "a marker was mistyped": (DATASET, START, "## START code here"),
    "both markers were lost": (DATASET, None, None),
    "code that is not UTF-8": (DATASET, "# Uniform", "# \udce9"),
    "a given command": (RUN, '"""', '"""Mine. '),
    "a given module": ("src/pretraining/recipes.py", '"""', '"""Mine. '),
    "settings": (".vscode/settings.json", "{}", '{"a": 1}'),
    "an own file where a new one comes": ("CHANGES.md", "", "mine"),
}


def edited(files: Files, name: str, old: str | None, new: str | None) -> Files:
    text = files.get(name, b"").decode()
    if old is None:
        return files | {name: text.replace(START, "").replace(END, "").encode()}
    assert old in text
    return files | {name: text.replace(old, new, 1).encode("utf-8", "surrogateescape")}


def test_what_a_student_has_changed_is_kept_beside_its_file_and_named(copy, first, second):
    """The new file has the student's part, or the student's stays and the new one is beside."""
    texts = {}
    second = changed(second, DATASET, "class Char", "GIVEN = 2\n\n\nclass Char")
    second = changed(second, "src/pretraining/recipes.py", '"""', '"""Given. ')
    copy.pack(release(second, SECOND))
    expected = changed(updated(second), DATASET, "class Char", "GIVEN = 2\n\n\nclass Char")
    for title, (name, old, new) in EDITS.items():
        theirs = edited(half_done(first), name, old, new)
        copy.lay_out(theirs)
        code, out, err = copy.update()
        texts[title] = printed(code, out[out.find("Updated") :], err)
        now, replaced = contents(copy.root), copy.before()
        if f"{name}.new" in now:
            assert now[name] == theirs[name] and name not in replaced
            assert now.pop(f"{name}.new") == second[name]
        elif title == "a syntax error between the markers":
            assert now[name] == edited(expected, name, old, new)[name]
        else:
            assert now[name] == expected[name]
            assert now.pop(f"{name}.mine", theirs.get(name)) == theirs.get(name)
            assert replaced.get(name) == theirs.get(name)
        rest = {n: content for n, content in expected.items() if n != name}
        del now[f"before-{SECOND}.zip"]
        assert {n: c for n, c in now.items() if n not in (name, GIVEN, f"src/{LINES}")} == {
            n: c for n, c in rest.items() if n not in (GIVEN, f"src/{LINES}")
        }
        assert copy.update()[1].count("To do") == texts[title].count("stays as it is")
    check("update_edits", texts)


INTERFACES = {
    "another signature": ("(self, idx: int) -> tuple[torch", "(self, number: int) -> tuple[torch"),
    "another docstring": ("Corrupt document number idx", "Corrupt a document"),
    "another name of the function": ("def __getitem__(self, idx: int)", "def item(self, idx: int)"),
    "another class": ("class CharCorruptionDataset", "class CorruptedDocuments"),
    "two parts of its topic for one": ("# [span corruption]", "# [other]"),
}


def test_a_changed_function_around_a_part_is_said_with_its_docstring(copy, first, second):
    texts = {}
    for title, (old, new) in INTERFACES.items():
        files = changed(second, DATASET, old, new)
        copy.pack(release(files, SECOND))
        copy.lay_out(half_done(first))
        code, out, err = copy.update()
        texts[title] = printed(code, out.partition("was replaced.\n")[2], err)
        part = half_done(first)[DATASET].decode().partition(START)[2].partition(END)[0]
        is_lost = title.startswith("two")
        assert (part in (copy.root / DATASET).read_text(encoding="utf-8")) != is_lost
        assert (copy.root / f"{DATASET}.mine").exists() == is_lost
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


def link_in(path: Path) -> None:
    """Put a link in place of one of a zip's files."""
    with zipfile.ZipFile(path) as opened:
        files = {name: opened.read(name) for name in opened.namelist()}
    link = zipfile.ZipInfo("assignment5/README.md")
    link.create_system, link.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(path, "w") as opened:
        for name, content in files.items():
            linked = name == link.filename
            opened.writestr(*((link, "/etc/passwd") if linked else (name, content)))


def renamed(files: Files, old: str, new: str) -> Files:
    return release({new if n == old else n: c for n, c in files.items()}, SECOND)


ZIPS = {
    "another edition": lambda files: release(files, SECOND, "cs224n"),
    "another term": lambda files: release(files, "2027-fall.2"),
    "an older release": lambda files: release(files, "2027-spring.0"),
    "a changed file": lambda files: files | {RUN: b"changed"},
    "a missing file": lambda files: {n: c for n, c in files.items() if n != RUN},
    "a name of Windows": lambda files: renamed(files, "README.md", "src/Aux.md"),
    "a name with a dot at its end": lambda files: renamed(files, "README.md", "src./README.md"),
    "two cases of a name": lambda files: release(files | {"readme.MD": b"2"}, SECOND),
    "an upload": lambda files: {"submission/dataset.py": files[DATASET]},
    "lists that are no lists": lambda files: files | {GIVEN: b"[1]"},
    "no edition": lambda files: release(files, SECOND) | {EDITION.as_posix(): b"{"},
}
FOLDERS = {
    "a link inside": lambda root: os.symlink(root.parent, root / "CHANGES.md"),
    "a folder in the way": lambda root: (root / "CHANGES.md").mkdir(),
    "a file in the way": lambda root: (
        shutil.rmtree(root / "src/grading"),
        lay_out(root, {"src/grading": b""}),
    ),
    "no copy of the assignment": lambda root: (root / EDITION).unlink(),
}


def test_what_can_not_be_done_is_one_line_and_nothing_changes(copy, first, second):
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
    copy.pack(second)
    link_in(copy.zip)
    refused("a link in the zip")
    copy.zip.write_bytes(b"PK\x03\x04 no zip")
    refused("no zip")
    copy.zip.unlink()
    refused("no such file")
    copy.pack(second)
    for title, damage in FOLDERS.items():
        copy.lay_out(half_done(first))
        damage(copy.root)
        refused(title)
    check("update_refused", texts, {str(copy.root): "A5", str(copy.zip): "NEW.zip"})


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
@pytest.mark.parametrize("where", [".", "src/questions/span_corruption", "handout.pdf"])
@pytest.mark.sampled(3)
def test_a_read_only_folder_or_file_is_one_line(copy, monkeypatch, where):
    with tempfile.TemporaryDirectory() as outer:  # tmp_path is closed to others
        os.chmod(outer, 0o755)
        root = shutil.copytree(copy.root, Path(outer) / "a5")
        shutil.copy2(copy.zip, outer)
        root.chmod(0o777)
        if os.geteuid() == 0:  # who may write everywhere
            for path in root.rglob("*"):
                os.chown(path, NOBODY, NOBODY)
            monkeypatch.setattr(update.os, "access", os.access)
        (root / where).chmod(0o555)
        before = contents(root)
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        command = [sys.executable, "-B", root / "src" / "update.py", root.parent / "NEW.zip"]
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", cwd="/", **user)
        assert (ran.returncode, contents(root)) == (2, before)
        place = (root / where).resolve()
        assert ran.stderr == f"update.py: {place} is read-only; nothing was changed\n"


def test_a_file_that_a_program_of_windows_holds_open_is_one_line(copy, monkeypatch):
    def rename(source, target):
        if source.name == "handout.pdf":
            raise PermissionError(errno.EACCES, "Access is denied", str(source))

    monkeypatch.setattr(update.os, "rename", rename)
    monkeypatch.setattr(environment, "_windows", lambda: True)
    before = contents(copy.root)
    code, _, err = copy.update()
    assert code == 2 and contents(copy.root) == before
    assert err.endswith(
        "handout.pdf: Access is denied (is it open in another program?); nothing was changed\n"
    )


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
)
def test_a_full_disk_and_ctrl_c_change_nothing(copy, monkeypatch, error):
    writes = iter([Path.write_bytes, Path.write_bytes])

    def write(path, content):
        if not (one := next(writes, None)):
            raise error
        one(path, content)

    monkeypatch.setattr(update, "_write", write)
    before = contents(copy.root)
    code, _, err = copy.update()
    assert code == (130 if isinstance(error, KeyboardInterrupt) else 2)
    assert contents(copy.root) == before and err.endswith("; nothing was changed\n")


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
    command = [sys.executable, "-B", "-c", KILLER, str(moment)]
    words = [copy.root / "src" / "update.py", copy.zip]
    return subprocess.run([*command, *words], capture_output=True, encoding="utf-8", check=False)


def survives(copy: Copy, moments: list[int], first: Files, everything: Files) -> None:
    """Kill an update at each of these moments; the same command must do the rest."""
    old, finished = half_done(first), 0
    for moment in moments:
        copy.lay_out(old)
        assert killed(copy, moment).returncode == -signal.SIGKILL
        found = contents(copy.root)
        begun = f".update/{environment.JOURNAL}" in found
        assert {name: found[name] for name in OWN} == OWN
        for name, content in found.items():  # each file is whole, and of one of the two
            if not name.startswith((".update/", "before-")):
                both = (old.get(name), everything.get(name))
                assert content in both if begun else content in both[:1] or finished, (moment, name)
        again = killed(copy, 0)
        assert again.returncode == 0, (moment, again.stderr)
        replaced = copy.before()
        assert contents(copy.root) == everything, moment
        assert replaced == {n: old[n] for n in old if old[n] != everything[n]}, moment


def moments_of(copy: Copy) -> int:
    """Return how often an update of this copy writes."""
    whole = killed(copy, 0)
    assert whole.returncode == 0, whole.stderr
    total = int(whole.stderr.split()[-1])
    assert total > 200  # it writes, renames and tidies up
    return total


# A third of the moments each is before it writes, while it writes, and while it renames.
@pytest.mark.parametrize(
    "moments",
    [
        pytest.param(lambda total: [total // 2, total - 1], id="two"),
        pytest.param(
            lambda total: random.sample(range(1, total), 20), id="twenty", marks=pytest.mark.long
        ),
    ],
)
def test_an_update_that_is_killed_is_completed_by_the_same_command(
    copy, first, everything, moments
):
    survives(copy, moments(moments_of(copy)), first, everything)


def test_any_command_completes_an_update_before_it_begins(copy, first, everything):
    total = moments_of(copy)
    copy.lay_out(half_done(first))
    killed(copy, total * 5 // 6)
    (copy.root / HELPER).write_bytes(b"edited since")
    command = [sys.executable, "-B", "src/collect_submission.py", "--help"]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", cwd=copy.root, check=False)
    assert (ran.returncode, ran.stdout[:15]) == (0, "usage: collect_")
    assert ran.stderr == "collect_submission.py: completed the update that was interrupted\n"
    copy.before()
    beside = {f"{HELPER}.mine": b"edited since"}
    assert contents(copy.root) == everything | beside


def test_a_file_that_is_held_open_meanwhile_is_one_line_and_the_same_command_does_the_rest(
    copy, monkeypatch, second
):
    def replace_but(source, target, replace=os.replace):
        if str(target).endswith("handout.pdf"):
            raise PermissionError(errno.EACCES, "Access is denied", str(source), None, str(target))
        replace(source, target)

    pdf = os.path.relpath(copy.root / "handout.pdf")
    with monkeypatch.context() as patch:
        patch.setattr(environment.os, "replace", replace_but)
        patch.setattr(environment, "ROOT", str(copy.root))
        code, _, err = copy.update()
        expected = f"update.py: {pdf}: Access is denied; the same command does the rest\n"
        assert (code, err) == (2, expected)
        patch.setattr("sys.argv", ["grader.py"])
        code, _, err = copy.run(lambda _: environment.check())
        assert (code, err) == (
            2,
            f"grader.py: an update was interrupted; {pdf}: Access is denied\n",
        )
    assert copy.update() == (0, f"Nothing to update: this copy is xcs224n {SECOND}.\n", "")
    copy.before()
    assert contents(copy.root) == updated(second)


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
