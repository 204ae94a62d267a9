"""The made submissions of net.py: layouts, missing files, broken and hostile code."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

from tools.reference import compose

from .redteam import arena
from .variants import ROOT

Build = Callable[[Path], Path]
METADATA = {
    "id": 123456,
    "created_at": "2027-01-20T20:15:00.000000-08:00",
    "assignment": {
        "id": 25828,
        "course_id": 2,
        "title": "Problem Set 5",
        "due_date": "2027-01-31T23:59:00.000000-08:00",
        "release_date": "2027-01-02T00:00:00.000000-08:00",
        "total_points": "53.0",
    },
    "submission_method": "upload",
    "users": [{"email": "student@example.com", "id": 1234, "name": "Student User"}],
    "previous_submissions": [],
}
EXPLORATION = "submission/attention_exploration.py"
DATASET = "submission/dataset.py"
HELPER = "submission/helper.py"


def attack(body: str) -> Build:
    """Return a builder of the submission that red-team's arena makes of an attack."""

    def build(folder: Path) -> Path:
        package = folder / "upload" / "submission"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        home = str(folder / "no secret")
        prelude = arena.PRELUDE.replace("HOME_SECRET_PATH", home)
        text = prelude + body + arena.EPILOGUE
        (package / "attention_exploration.py").write_text(text, encoding="utf-8")
        return package.parent

    return build


def reference(folder: Path) -> Path:
    """The complete code, without trained files."""
    upload = folder / "upload"
    compose(ROOT, upload)
    shutil.rmtree(upload / "pretraining", ignore_errors=True)
    return upload


def starter(folder: Path) -> Path:
    """What students begin with."""
    upload = folder / "upload"
    shutil.copytree(ROOT / "src" / "submission", upload / "submission")
    return upload


def trained(place: Path) -> Build:
    """The reference with all trained files, which lie in `place`."""

    def build(folder: Path) -> Path:
        upload = reference(folder)
        for path in (*place.glob("*.params"), *place.glob("*.predictions")):
            shutil.copy(path, upload)
        return upload

    return build


def without(*names: str) -> Build:
    def build(folder: Path) -> Path:
        upload = reference(folder)
        for name in names:
            (upload / name).unlink()
        return upload

    return build


def changed(name: str, edit: Callable[[str], str]) -> Build:
    def build(folder: Path) -> Path:
        upload = reference(folder)
        path = upload / name
        path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8")
        return upload

    return build


def begins(name: str, text: str) -> Build:
    """The reference, one of whose modules begins with these lines (after __future__)."""
    future = "from __future__ import annotations\n"

    def edit(source: str) -> str:
        return future + text + "\n" + source.replace(future, "")

    return changed(name, edit)


def moved(place: str, package: str = "submission") -> Build:
    """The package of the reference in another place, under another name."""

    def build(folder: Path) -> Path:
        source = reference(folder)
        upload = folder / "moved"
        (upload / place).mkdir(parents=True)
        (source / "submission").rename(upload / place / package)
        return upload

    return build


def flat(folder: Path) -> Path:
    upload = reference(folder)
    return upload / "submission"


def zipped(build_upload: Build, prefix: str = "") -> Build:
    def build(folder: Path) -> Path:
        upload = build_upload(folder)
        path = folder / "upload.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(p for p in upload.rglob("*") if p.is_file()):
                archive.write(file, prefix + file.relative_to(upload).as_posix())
        return path

    return build


def with_file(name: str, content: bytes) -> Build:
    def build(folder: Path) -> Path:
        upload = reference(folder)
        (upload / name).parent.mkdir(parents=True, exist_ok=True)
        (upload / name).write_bytes(content)
        return upload

    return build


def only(name: str, content: bytes) -> Build:
    def build(folder: Path) -> Path:
        upload = folder / "upload"
        (upload / name).parent.mkdir(parents=True)
        (upload / name).write_bytes(content)
        return upload

    return build


def linked(folder: Path) -> Path:
    upload = reference(folder)
    (upload / EXPLORATION).unlink()
    os.symlink("/etc/passwd", upload / EXPLORATION)
    return upload


def with_dev_predictions(lines: int) -> Build:
    """Files of predictions without parameters."""
    text = "London\n" * lines
    return with_file("vanilla.nopretrain.dev.predictions", text.encode())


SUBMISSIONS: dict[str, Build] = {
    "reference": reference,
    "starter": starter,
    "zip": zipped(reference),
    "zip in a folder": zipped(reference, "assignment5/"),
    "src": moved("src"),
    "wrapped": moved("assignment5"),
    "colab": moved("content/drive/MyDrive/assignment5/src"),
    "capitals": moved(".", "Submission"),
    "copy": moved(".", "submission (1)"),
    "public layout": moved(".", "src"),
    "flat": flat,
    "no helper": without(HELPER),
    "no dataset": without(DATASET),
    "no given files": without("submission/model.py", "submission/trainer.py"),
    "only exploration": without(
        HELPER, DATASET, "submission/attention.py", "submission/london_baseline.py"
    ),
    "empty": only("notes.txt", b"nothing\n"),
    "a pdf": only("homework/answers.pdf", b"%PDF-1.4\n"),
    "a rar": only("homework/hw.rar", b"Rar!\x1a\x07\x00"),
    "link": linked,
    "syntax error": begins(DATASET, "def broken(:\n    pass"),
    "import error": begins(DATASET, "import pandas_of_nobody"),
    "name error at import": begins(EXPLORATION, "undefined_name"),
    "exits at import": begins(EXPLORATION, "import sys\nsys.exit(3)"),
    "hard exit at import": begins(EXPLORATION, "import os\nos._exit(0)"),
    "loops at import": begins(EXPLORATION, "while True:\n    pass"),
    "reads input": begins(EXPLORATION, "input('name? ')"),
    "breakpoint": begins(EXPLORATION, "breakpoint()"),
    "prints at import": begins(DATASET, "print('hello ' * 1000)"),
    "raises a group": begins(EXPLORATION, "raise ExceptionGroup('a', [ValueError('b')])"),
    "crashes": begins(EXPLORATION, "import ctypes\nctypes.string_at(0)"),
    "recurses": begins(EXPLORATION, "def f():\n    return f()\nf()"),
    "null bytes": changed(EXPLORATION, lambda text: text.replace("\n", "\0\n", 1)),
    "latin-1": with_file(EXPLORATION, "# -*- coding: latin-1 -*-\n# \xfc\n".encode("latin-1")),
    "bare import": begins(HELPER, "import dataset"),
    "import torch": begins(EXPLORATION, "import torch"),
    "writes beside itself": begins(DATASET, "open(__file__ + '.log', 'w').close()"),
    "float64": begins(HELPER, "import torch\ntorch.set_default_dtype(torch.float64)"),
    "helper returns nothing": changed(
        HELPER, lambda text: text.replace("return attention_model", "return None")
    ),
    "few predictions": with_dev_predictions(3),
    "many predictions": with_dev_predictions(20),
    "odd parameters": with_file("vanilla.model.params", b"not a checkpoint"),
    "stray archive": with_file("old.zip", b"PK\x05\x06" + bytes(18)),
}
