"""What somebody handed in and the points it earned, for coding and for written answers alike."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

PARTS = ("coding", "written")
# The sheet's number at the beginning of an outline's title: "3(a)", "3a: Copying".
NUMBERED = re.compile(r"\W*([0-9]+)\)?\s*\(?([a-z])\)?(?![A-Za-z0-9])")


@dataclass(frozen=True)
class Item:
    """Points for a test, or for a written question.

    Attributes:
        id: its name in overrides: "1e-0-basic", or "1.2" as Gradescope numbers a question.
        group: the question that a test belongs to, "1e"; "" for a written question.
        most: the maximum points; None if the source doesn't contain them.
        remark: what else is known: the title, the rubric items that apply.
    """

    id: str
    points: Fraction
    most: Fraction | None
    is_extra: bool = False
    group: str = ""
    remark: str = ""
    source: str = ""


@dataclass(frozen=True)
class Handed:
    """What one person handed in for one part.

    Attributes:
        part: "coding" or "written".
        submission: its ID on the platform; "" if there is none.
        where: the source of the points.
        items: what the points are for.
        time: when it was handed in, with a time zone; None if the platform doesn't say.
        late_by: how late it is, if the platform says that instead.
        is_late: whether the platform marks it as late without saying by how much.
        gap: why there are no points that count; "" if there are.
        attempt: how many times the student handed in, as far as is known.
    """

    part: str
    submission: str
    where: str
    items: tuple[Item, ...] = ()
    time: datetime | None = None
    late_by: timedelta | None = None
    is_late: bool = False
    gap: str = ""
    attempt: int = 1


def question_of(title: str) -> str:
    """Return the sheet's number at the beginning of a title, `3a` in `3(a) Copying`, or ""."""
    found = NUMBERED.match(title)
    return found[1] + found[2] if found else ""
