"""What goes into a zip, and zips whose bytes depend only on content: one date, one order."""

import hashlib
import io
import zipfile
from collections.abc import Collection, Iterable
from pathlib import Path

from pretraining.files import save_atomically

from .arguments import Failed

DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can store


def files_of(repo: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Return the content of the files that an allow-list names, by name.

    Each entry is a file, or a pattern; raises Failed if it matches no file.
    """
    files: dict[str, bytes] = {}
    for pattern in patterns:
        paths = [path for path in sorted(repo.glob(pattern)) if path.is_file()]
        if not paths:
            raise Failed(f"{pattern} is missing: is there a data set? (make world)")
        files |= {path.relative_to(repo).as_posix(): path.read_bytes() for path in paths}
    return files


def packed(files: dict[str, bytes], executable: Collection[str] = ()) -> bytes:
    """Return a zip of files, given by their names in it; some of them are executable."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, DATE)
            info.create_system = 3  # Unix, whatever system this runs on
            info.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(info, files[name], zipfile.ZIP_DEFLATED, compresslevel=9)
    return buffer.getvalue()


def write(
    path: Path, files: dict[str, bytes], executable: Collection[str] = (), mode: int = 0o644
) -> None:
    """Write such a zip atomically, with these permissions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    content = packed(files, executable)
    save_atomically(lambda file: file.write(content), path, mode)


def line_about(path: Path, files: Collection[str]) -> str:
    """Return a line about a zip in dist/, with its size and hash."""
    size, digest = path.stat().st_size / 2**20, hash_of(path)[:16]
    return f"dist/{path.name}: {len(files)} files, {size:.1f} MiB, sha256 {digest}"


def hash_of(path: Path) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
