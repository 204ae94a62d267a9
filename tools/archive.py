"""Write zips whose bytes depend only on content: sorted names, one date, fixed permissions."""

import io
import zipfile
from pathlib import Path
from typing import IO

from pretraining.files import save_atomically

DATE = (1980, 1, 1, 0, 0, 0)  # the earliest that a zip can store


def packed(files: dict[str, bytes]) -> bytes:
    """Return a zip of files, which are given by their names in it."""
    buffer = io.BytesIO()
    _pack(buffer, files, ())
    return buffer.getvalue()


def write(
    path: Path, files: dict[str, bytes], executable: tuple[str, ...] = (), mode: int = 0o644
) -> None:
    """Write a zip atomically.

    Args:
        files: contents by name in the archive.
        executable: the names of the files that are made executable.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    save_atomically(lambda file: _pack(file, files, executable), path, mode)


def _pack(file: IO[bytes], files: dict[str, bytes], executable: tuple[str, ...]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, DATE)
            info.create_system = 3  # Unix, whatever system this runs on
            info.external_attr = (0o100755 if name in executable else 0o100644) << 16
            archive.writestr(info, files[name], zipfile.ZIP_DEFLATED, compresslevel=9)
