"""Handing in: if no zip can be written, one line says why, and no partial file is left."""

import errno
import os
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import collect_submission
from grading import staging
from grading.edition import EDITION
from tests.snapshots import check
from tests.student.collecting import Desk

Damage = Callable[[Desk], object]


def put(name: str, content: bytes) -> Damage:
    return lambda desk: (desk.root / name).write_bytes(content)


def link(name: str) -> Damage:
    def replace(desk: Desk) -> None:
        secret = desk.root.parent / "elsewhere"
        secret.write_text("secret = 1\n", encoding="utf-8")
        (desk.root / name).unlink()
        (desk.root / name).symlink_to(secret)

    return replace


def nothing(desk: Desk) -> None:
    (desk.root / "folder.zip").mkdir()


# What is done before, and the arguments, with A5 for the folder.
REFUSED: dict[str, tuple[Damage, list[str]]] = {
    "two copies that differ": (put("src/vanilla.model.params", b"others"), []),
    "no code, which commands are not": (lambda desk: shutil.rmtree(desk.code), []),
    "no description": (lambda desk: (desk.root / EDITION).unlink(), []),
    "more than Gradescope takes": (put("vanilla.finetune.params", b"\0" + os.urandom(249_999)), []),
    "more than the grader unpacks": (put("src/submission/mine.py", b"#" * 400_000), []),
    "a module is a link": (link("src/submission/model.py"), []),
    "an output is a link": (link("vanilla.model.params"), []),
    "no .zip": (nothing, ["--out", "A5/assignment5"]),
    "an output as the zip": (nothing, ["--out", "A5/vanilla.model.params"]),
    "a module as the zip": (nothing, ["--out", "A5/src/submission/model.py"]),
    "no folder for the zip": (nothing, ["--out", "A5/no/such/folder/x.zip"]),
    "a folder as the zip": (nothing, ["--out", "A5/folder.zip"]),
    "a folder that is a file": (nothing, ["--out", "A5/src/edition.json/x.zip"]),
    "an unknown option": (nothing, ["--what"]),
}


def contents(desk: Desk) -> dict[Path, bytes | None]:
    return {p: p.read_bytes() if p.is_file() else None for p in desk.root.rglob("*")}


def test_what_cannot_be_packed_is_one_line_and_nothing_is_written(desk, monkeypatch):
    monkeypatch.setattr(collect_submission, "MAX_UPLOAD_BYTES", 200_000)
    monkeypatch.setattr(staging, "MAX_TOTAL_BYTES", 350_000)
    monkeypatch.setattr("sys.argv", ["collect_submission.py"])
    found = {}
    for title, (damage, arguments) in REFUSED.items():
        desk.renew()
        damage(desk)
        before = contents(desk)
        code, out, err = desk.collect(*(n.replace("A5", str(desk.root)) for n in arguments))
        assert (code, out) == (2, "")
        assert contents(desk) == before
        found[title] = re.sub(r"(have|/\w+\.py \()( ?)[\d.]+ ", r"\1\2N ", err)
    check("collect_refused", found, {str(desk.root): "A5"})


CUT_SHORT = [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space left on device"), 2)]


def test_a_write_cut_short_leaves_the_older_zip_and_no_other_file(desk, monkeypatch):
    desk.collect()
    older, found = contents(desk), {}
    for error, code in CUT_SHORT:
        calls = iter([None, None, error])

        def fail(*arguments, calls=calls, **keywords):
            if wrong := next(calls):
                raise wrong

        with monkeypatch.context() as patch:
            patch.setattr(zipfile.ZipFile, "writestr", fail)
            got, out, err = desk.collect()
        assert (got, out) == (code, "")
        assert contents(desk) == older
        found[type(error).__name__] = err
    check("collect_cut_short", found, {str(desk.root): "A5"})
