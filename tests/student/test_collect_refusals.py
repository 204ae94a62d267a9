"""Handing in: if no zip can be written, one line says why, and no partial file is left."""

import contextlib
import errno
import os
import re
import shutil
import stat
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import collect_submission
from grading import paths, staging
from tests.student.collecting import (
    NOBODY,
)


def refused(desk, *arguments: str) -> str:
    """Return the one line of a call that writes nothing."""
    before = sorted(desk.root.rglob("*"))
    code, out, err = desk.collect(*arguments)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1 and err.endswith("; nothing was written\n")
    assert sorted(desk.root.rglob("*")) == before
    return err


def test_two_copies_that_differ_are_refused_by_name(desk):
    name = "vanilla.model.params"
    (desk.root / "src" / name).write_bytes(b"others")
    said = refused(desk)
    assert f"there are two different files {name}: " in said
    assert str(desk.root / name) in said and str(desk.root / "src" / name) in said


def test_no_code_is_refused_and_commands_are_not_taken_for_it(desk):
    shutil.rmtree(desk.code)
    assert "src/submission contains no *.py" in refused(desk)


def test_a_broken_description_is_refused(desk):
    (desk.root / "assignment.toml").unlink()
    assert "assignment.toml is missing" in refused(desk)


def test_more_than_gradescope_takes_is_refused_with_the_largest(desk, monkeypatch):
    monkeypatch.setattr(collect_submission, "MAX_UPLOAD_BYTES", 200_000)
    (desk.root / "vanilla.finetune.params").write_bytes(os.urandom(250_000))
    said = refused(desk)
    assert re.search(
        r"would have [23]\d\d\.\d kB, Gradescope accepts 200\.0 kB; the largest files:", said
    )
    assert "the largest files: vanilla.finetune.params (250.0 kB)" in said


@pytest.mark.parametrize("name", ["src/submission/model.py", "vanilla.model.params"])
def test_a_link_is_refused_and_named(desk, tmp_path, name):
    secret = tmp_path / "elsewhere"
    secret.write_text("secret = 1\n", encoding="utf-8")
    (desk.root / name).unlink()
    (desk.root / name).symlink_to(secret)
    assert f"{name} is a link, and links are not followed" in refused(desk)


def test_more_than_the_grader_unpacks_is_refused(desk, monkeypatch):
    sizes = [p.stat().st_size for p in (*desk.code.iterdir(), *desk.root.glob("*.p*"))]
    monkeypatch.setattr(staging, "MAX_TOTAL_BYTES", max(sizes) + 1)
    assert "too large: its files up to" in refused(desk)


@pytest.mark.parametrize("out", ["assignment5", "vanilla.model.params", "src/submission/model.py"])
def test_only_a_zip_is_written(desk, out):
    path = desk.root / out
    before = path.read_bytes() if path.exists() else None
    assert "expected a name that ends in .zip" in refused(desk, "--out", str(path))
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("out", ["no/such/folder/x.zip", "folder.zip", "assignment.toml/x.zip"])
def test_a_place_that_is_none_is_refused(desk, out):
    (desk.root / "folder.zip").mkdir()
    assert "expected a file in an existing folder" in refused(desk, "--out", str(desk.root / out))


@contextlib.contextmanager
def without_rights() -> Iterator[None]:
    """Run as a user other than root, who may write everywhere."""
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
        written.append(arguments)
        if len(written) == 3:
            raise error

    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    got, out, err = desk.collect()
    assert (got, out) == (code, "")
    assert words in err
    assert desk.zip.read_bytes() == older
    assert sorted(desk.root.iterdir()) == files


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_others_may_read_the_zip(desk):
    desk.collect()
    assert stat.S_IMODE(desk.zip.stat().st_mode) == 0o644
