"""Zips whose bytes depend on their content alone: sorted names, one date, fixed permissions."""

import io
import zipfile
from pathlib import Path
from typing import IO

from pretraining.files import save_atomically

DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can say


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip of these files, by their names in it."""
    buffer = io.BytesIO()
    _pack(buffer, files, ())
    return buffer.getvalue()


def write(path: Path, files: dict[str, bytes], executable: tuple[str, ...] = ()) -> None:
    """Write a zip, whole or not at all.

    Args:
        files: contents by name in the archive.
        executable: the names that get permission to execute.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    save_atomically(lambda file: _pack(file, files, executable), path)


def _pack(file: IO[bytes], files: dict[str, bytes], executable: tuple[str, ...]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, DATE)
            info.create_system = 3  # Unix, on whatever system this runs
            info.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(info, files[name], zipfile.ZIP_DEFLATED, compresslevel=9)
