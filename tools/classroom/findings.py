"""Earlier findings about a submission's parameters: see `tools/classroom/remembered.py`.

A record keeps the findings that it is based on. They are sent along when the submission is graded
again, and used as long as their key is the same, i.e. for the same parameters, code, data, versions
and kind of processor.
"""

from __future__ import annotations

import contextlib
from typing import Any

from grading.errors import UsageError
from tools.classroom.remembered import Findings

from .folder import ClassFolder, read_json

KEY = "findings"  # in a record, in an answer and in a request


def known(folder: ClassFolder, submission_id: str) -> Findings:
    """Return the findings of all releases whose results for a submission have authority."""
    found: Findings = {}
    for path in sorted(folder.submission(submission_id).glob("*.json")):
        with contextlib.suppress(UsageError):  # findings can be found again
            record = read_json(path)
            if isinstance(record, dict) and record.get("counts"):
                found |= of(record)
    return found


def of(answer: dict[str, Any]) -> Findings:
    """Return the findings of an answer, or of a record."""
    return answer.get(KEY) or {}
