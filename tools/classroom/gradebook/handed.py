"""What somebody handed in, and what it earned: the same for coding and for written answers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

PARTS = ("coding", "written")
# "3(a)", "3a: Copying": the sheet's number, where an outline's title begins with it.
NUMBERED = re.compile(r"\W*([0-9]+)\)?\s*\(?([a-z])\)?(?![A-Za-z0-9])")


@dataclass(frozen=True)
class Item:
    """Points for something.

    Attributes:
        id: how overrides call it: "1e-0-basic", or "1.2" as Gradescope numbers a question.
        group: the question of a test, "1e"; "" for a written one.
        most: what there is to earn; None where the source doesn't tell.
        remark: what is said of it besides: its title, the rubric's items that apply.
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
        where: where the points come from.
        items: what they are for.
        time: when it was handed in, with a zone; None where the platform doesn't tell.
        late_by: how late it is, where the platform tells that instead.
        is_late: whether the platform marks it as late, and doesn't tell by how much.
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
    """Return the sheet's number that a title begins with, `3a` of `3(a) Copying`; or ""."""
    found = NUMBERED.match(title)
    return found[1] + found[2] if found else ""
