"""Requirements of a run that counts: what is missing here must not cost a student points."""

from __future__ import annotations

from types import ModuleType

from . import provenance
from .errors import DataError, GradingError
from .question_set import Data


def require_staff(hidden: ModuleType | None) -> None:
    """Refuse a run that counts if hidden tests can't be judged: students would lose points.

    Raises:
        GradingError: staff's judges are missing.
    """
    if hidden is None:
        raise GradingError(
            "this run can't count without solutions/hidden/, which judges hidden tests"
        )


def require_data(data: Data) -> None:
    """Refuse a run that counts without torch or data, which would cost students points.

    Raises:
        GradingError: something is missing or can't be read, which is not the student's fault.
    """
    if not provenance.has_torch():
        raise GradingError("this run can't count without torch, which this Python doesn't have")
    try:
        data.require()
    except DataError as error:
        raise GradingError(f"this run can't count without its data set: {error}") from None
