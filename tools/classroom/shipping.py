"""What is sent to workers: the release, the seed of the class, and submissions.

A release has everything that the autograder has (`tools/autograder.py`), but for the secret of the
seeds and what only Gradescope needs. Its digest names it: the same files, the same release.
"""

from __future__ import annotations

import hashlib
import hmac
import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.errors import SubmissionError, UsageError
from grading.staging import Provided, stage

from .. import archive, autograder, leaks

SHIPPED = ("assignment.toml", "src/", "solutions/")


@dataclass(frozen=True)
class Release:
    """What grades, as a zip; `seed` is the class's own, the same for all of its submissions."""

    digest: str
    content: bytes
    seed: int


def make_release(repo: Path, edition: str) -> Release:
    """Pack what grades an edition, and derive the class's seed.

    Raises:
        UsageError: something that belongs into it is missing.
    """
    autograder.keep_secret(repo)
    try:
        files = autograder.contents(repo, edition)
    except autograder.BuildFailed as error:
        raise UsageError(str(error)) from None
    secret = files.pop(leaks.GRADING_SECRET)
    shipped = {name: files[name] for name in sorted(files) if name.startswith(SHIPPED)}
    digest = hashlib.sha256(edition.encode("utf-8"))
    for name, content in shipped.items():
        digest.update(f"\0{name}\0".encode() + hashlib.sha256(content).digest())
    return Release(digest.hexdigest(), archive.packed(shipped), seed_of(secret, digest.hexdigest()))


def seed_of(secret: bytes, release: str) -> int:
    """Return a class's seed: HMAC-SHA256 of the release's digest, 63 bits of it.

    Nobody without the secret can foresee it, and no student is ever told.
    """
    digest = hmac.new(secret.strip(), release.encode("ascii"), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1


@dataclass(frozen=True)
class Packed:
    """A submission as it is sent: a zip of what the grader takes, and what stays behind and why."""

    content: bytes
    left: list[str]


def pack(upload: Path, work: Path, provided: Provided) -> Packed:
    """Pack what the grader takes of a submission, by the grader's own rules.

    No code is run. What is hostile about a zip is met here, and what nobody needs (an environment,
    say) isn't sent. The grader takes the same of what is sent.

    Args:
        upload: a folder or zip.
        work: an empty folder.
        provided: what the question set adds; it isn't sent.

    Raises:
        SubmissionError: there is nothing to grade.
    """
    try:
        staged = stage(upload, work / "staged", provided)
    except SubmissionError as error:
        why = str(error)
        for path in (work / "staged.unpacked", upload):  # of a zip, of a folder
            why = why.replace(str(path), "the upload")
        raise SubmissionError(why) from None
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as opened:  # stored: parameters hardly shrink
        for name in sorted(staged.taken):
            opened.write(staged.root / name, name)
    return Packed(buffer.getvalue(), staged.left)


@dataclass(frozen=True)
class Job:
    """A submission to grade, or some tests of it.

    Attributes:
        submission_id: whose it is; workers are not told.
        upload: the zip to send, and
        left: what stays behind of what was handed in (`pack`).
        request: what a host is asked (`grading/host.py`), but for the file.
    """

    submission_id: str
    upload: bytes
    left: list[str]
    request: dict[str, Any]
