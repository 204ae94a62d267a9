"""Pseudonyms: a submission always has the same one, which can't be reversed without the key.

The key is kept in the class's folder, apart from what is passed on to others.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets

from ..folder import ClassFolder, read_json, write_json

KEY = "pseudonyms.json"


def key_of(folder: ClassFolder) -> bytes:
    """Return the key of a class; it is drawn at random when it is first needed."""
    path = folder.path / KEY
    if not path.is_file():
        write_json(path, {"key": secrets.token_hex(32)})
    return bytes.fromhex(read_json(path)["key"])


def pseudonym(key: bytes, submission_id: str) -> str:
    """Return the pseudonym of a submission: 40 bits of HMAC-SHA256.

    The probability that two of 1,000 submissions have the same is below 1000^2 / 2^41 < 5e-7.
    """
    digest = hmac.new(key, submission_id.encode("utf-8"), hashlib.sha256).hexdigest()
    return f"s-{digest[:10]}"
