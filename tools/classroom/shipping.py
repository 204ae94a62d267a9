"""Packs what is sent to workers: the release, the class's seed, and submissions.

A release contains everything that the autograder contains (`tools/autograder.py`), except for the
grading secret and what only Gradescope needs. It is named by its digest, so the same files are the
same release.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.errors import UsageError
from grading.staging import Provided

from .. import archive, autograder, leaks
from .uploads import Upload

SHIPPED = ("autograder/", "src/", "solutions/")
# What serves a class on its workers, and is not packed for Gradescope.
HOST = ("__init__", "deciding", "host", "import_graph", "remembered")


@dataclass(frozen=True)
class Release:
    """The grader as a zip; `seed` is the class's, the same for all of its submissions."""

    digest: str
    content: bytes
    seed: int


def make_release(repo: Path, edition: str) -> Release:
    """Pack what grades an edition, and derive the class's seed.

    Raises:
        UsageError: if a part of it is missing.
    """
    autograder.keep_secret(repo)
    try:
        files = autograder.contents(repo, edition)
    except autograder.BuildFailed as error:
        raise UsageError(str(error)) from None
    secret = files.pop(leaks.GRADING_SECRET)
    shipped = {name: files[name] for name in sorted(files) if name.startswith(SHIPPED)}
    for name in HOST:
        shipped[f"tools/classroom/{name}.py"] = (repo / f"tools/classroom/{name}.py").read_bytes()
    digest = hashlib.sha256(edition.encode("utf-8"))
    for name, content in shipped.items():
        digest.update(f"\0{name}\0".encode() + hashlib.sha256(content).digest())
    return Release(digest.hexdigest(), archive.packed(shipped), seed_of(secret, digest.hexdigest()))


def seed_of(secret: bytes, release: str) -> int:
    """Return a class's seed: 63 bits of the HMAC-SHA256 of the release's digest.

    It can't be predicted without the secret, and is never shown to students.
    """
    digest = hmac.new(secret.strip(), release.encode("ascii"), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@dataclass(frozen=True)
class Packed:
    """A submission as it is sent.

    Attributes:
        content: a zip of what is graded.
        facts: what its results should say of the upload: which files are left out and why, and
            where the code was, if in an unusual place.
    """

    content: bytes
    facts: dict[str, Any]


def pack(upload: Upload, work: Path, provided: Provided, required: tuple[str, ...] = ()) -> Packed:
    """Pack the files of a submission that the grader takes, by the grader's own rules.

    No code is run. Hostile zips are dealt with here, and files that nobody needs, such as a whole
    environment, aren't sent. From the packed files, the grader takes the same as from the upload.

    Args:
        work: an empty folder.
        provided: what the question set adds; it isn't sent.
        required: the files that count.

    Raises:
        SubmissionError: if there is nothing to grade.
    """
    staged = upload.stage(work / "staged", provided, required)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:  # uncompressed: parameters hardly shrink
        for name in sorted(staged.taken):
            opened.write(staged.root / name, name)
        for name in sorted({*staged.renamed.values()} - staged.taken.keys()):
            opened.writestr(name, b"")  # for messages about it
    return Packed(buffer.getvalue(), {"left": [*map(str, staged.omissions)], "place": staged.place})


@dataclass(frozen=True)
class Job:
    """A submission to grade, or some tests of it.

    Attributes:
        submission_id: its id, which workers don't see.
        upload: the zip to send.
        facts: what its results should say of the upload (`Packed`).
        request: the request to a host (`tools/classroom/host.py`), except for the file.
    """

    submission_id: str
    upload: bytes
    facts: dict[str, Any]
    request: dict[str, Any]
