"""What students hand in: golden variants, starters, earlier years' layouts, hostile uploads.

Nothing is run here; whatever is graded runs in the sandbox.
"""

import functools
import io
import stat
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.redteam import arena
from tests.variants import ROOT, Variant, all_variants, lay_out

DATE = (2026, 11, 2, 12, 0, 0)
ZIP_NAME = "upload.zip"


@dataclass(frozen=True)
class Link:
    """A symbolic link."""

    target: str


Files = dict[str, "bytes | Link"]


@dataclass(frozen=True)
class Content:
    """What somebody hands in.

    Attributes:
        kind: right, wrong, starter, layout (right, in an unusual layout), attack or upload.
        name: which one of that kind.
        files: the files by name; empty if there is `packed`.
        packed: the bytes of a zip that a platform doesn't unpack.
        refused: whether there is nothing that the grader can grade.
    """

    kind: str
    name: str
    files: Files = field(default_factory=dict)
    packed: bytes | None = None
    refused: bool = False


def contents() -> dict[str, list[Callable[[], Content]]]:
    """Return functions that make the contents, by kind."""
    variants = all_variants()
    attacks = [
        name for name, path in arena.ATTACKS.items() if not arena.header(path, arena.HANDS_IN)
    ]
    partial = functools.partial
    return {
        "right": [partial(golden, variant) for variant in variants if variant.is_right],
        "wrong": [partial(golden, variant) for variant in variants if not variant.is_right],
        "starter": [starter],
        "layout": [partial(laid_out, name) for name in LAYOUTS],
        "attack": [partial(attack, name) for name in attacks],
        "upload": [partial(uploaded, name) for name in UPLOADS],
    }


def golden(variant: Variant) -> Content:
    """Return the reference with a variant laid over it."""
    return Content("right" if variant.is_right else "wrong", variant.name, _complete(variant))


def starter() -> Content:
    """Return what students start from."""
    return Content("starter", "untouched", _package(ROOT / "src" / "submission"))


def laid_out(name: str) -> Content:
    """Return the reference in the layout of an earlier year, another system or another habit."""
    return Content("layout", name, LAYOUTS[name](_complete(None)))


def attack(name: str) -> Content:
    """Return the starter with an attack on the grader in one of its modules."""
    body = arena.ATTACKS[name].read_text(encoding="utf-8")
    prelude = arena.PRELUDE.replace("HOME_SECRET_PATH", "/home/nobody/secret")
    module = (prelude + body + arena.EPILOGUE).encode("utf-8")
    files = _package(ROOT / "src" / "submission") | {"submission/attention_exploration.py": module}
    return Content("attack", name, files)


def uploaded(name: str) -> Content:
    """Return an upload that isn't a submission, or hardly one."""
    made = UPLOADS[name]()
    if isinstance(made, bytes):
        return Content("upload", name, packed=made, refused=True)
    return Content("upload", name, made, refused=True)


def zipped(files: Files) -> bytes:
    """Return a zip with these files; equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as writer:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, DATE)
            is_link = isinstance(content, Link)
            info.external_attr = (stat.S_IFLNK | 0o777 if is_link else stat.S_IFREG | 0o644) << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            writer.writestr(info, content.target if is_link else content)
    return buffer.getvalue()


RIGHT = Content("right", "", {"submission/a.py": b"x = 1\n"})


def lay(folder: Path, content: Content) -> None:
    """Write what somebody hands in to a new folder; a zip that isn't unpacked is a file in it."""
    folder.mkdir(parents=True)
    files = content.files or ({} if content.packed is None else {ZIP_NAME: content.packed})
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, Link):
            (folder / name).symlink_to(text.target)
        else:
            (folder / name).write_bytes(text)


def pack(source: Path, top: Path | None = None) -> Path:
    """Return a folder as a zip that keeps empty folders and links; names begin below `top`."""
    target = source.with_name(source.name + ".zip")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as writer:
        for path in sorted(source.rglob("*")):
            name = path.relative_to(top or source).as_posix()
            if path.is_symlink():
                info = zipfile.ZipInfo(name, DATE)
                info.external_attr = (stat.S_IFLNK | 0o777) << 16
                writer.writestr(info, str(path.readlink()))
            else:
                writer.write(path, name)
    return target


@functools.cache
def _complete(variant: Variant | None) -> Files:
    with tempfile.TemporaryDirectory() as folder:
        return _package(lay_out(variant, Path(folder)) / "submission")


def _package(folder: Path) -> Files:
    return {f"submission/{path.name}": path.read_bytes() for path in sorted(folder.glob("*.py"))}


def _moved(files: Files, to: str) -> Files:
    return {to + name: content for name, content in files.items()}


def _without_given(files: Files) -> Files:
    given = ("model.py", "trainer.py", "utils.py", "__init__.py")
    return {name: content for name, content in files.items() if not name.endswith(given)}


LAYOUTS: dict[str, Callable[[Files], Files]] = {
    "in one folder": lambda files: _moved(files, "cs224n-a5/"),
    "below src": lambda files: _moved(files, "src/"),
    "modules alone": lambda files: {name.split("/")[1]: text for name, text in files.items()},
    "without given modules": _without_given,
    "packed on a Mac": lambda files: (
        (files | {f"__MACOSX/._{name.split('/')[1]}": b"\0\5\26\7" for name in files})
        | {".DS_Store": b"\0\0\0\1Bud1"}
    ),
    "with a cache": lambda files: files | {"submission/__pycache__/model.cpython-312.pyc": b"\0"},
}


# Other archives that the grader refuses are in the tests of the harness: the class passes them on.
UPLOADS: dict[str, Callable[[], "bytes | Files"]] = {
    "nothing": dict,
    "a zip without files": lambda: zipped({}),
    "0 bytes": lambda: b"",
    "no zip": lambda: b"I could not make it work, sorry\n",
    "a zip cut short": lambda: zipped({"submission/a.py": b"x = 1\n" * 99})[:-40],
    "a name that leads outside": lambda: zipped({"../../submission/a.py": b"x = 1\n"}),
    "a link in a zip": lambda: zipped({"submission": Link("/etc"), "a.txt": b""}),
    "a link": lambda: {"submission/a.py": Link("/etc/passwd"), "submission/b.py": b""},
    "a report alone": lambda: {"report.pdf": b"%PDF-1.7\n"},
    "no Python": lambda: {"submission/notes.txt": b"see my other submission\n"},
}
