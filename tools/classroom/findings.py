"""What was found out about a submission's parameters before: see `grading/remembered.py`.

A record keeps the findings that it rests on. They go to whoever grades the submission again, who
takes those whose key is still the same: of the same parameters, code, data, versions and kind of
processor.
"""

from __future__ import annotations

import contextlib
from typing import Any

from grading.errors import UsageError
from grading.remembered import Findings

from .folder import ClassFolder, read_json

KEY = "findings"  # in a record, an answer and a request


def known(folder: ClassFolder, submission_id: str) -> Findings:
    """Return the findings of all releases that graded a submission with authority."""
    found: Findings = {}
    for path in sorted(folder.submission(submission_id).glob("*.json")):
        with contextlib.suppress(UsageError):  # of a record that can't be read, nothing is missed
            record = read_json(path)
            if isinstance(record, dict) and record.get("counts"):
                found |= of(record)
    return found


def of(answer: dict[str, Any]) -> Findings:
    """Return the findings of an answer, or of a record."""
    return answer.get(KEY) or {}
