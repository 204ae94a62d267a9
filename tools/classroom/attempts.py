"""Chooses among several attempts by a student: the latest, the best, or all."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from .submissions import Attempts, Submission


def choose(found: list[Submission], attempts: Attempts) -> tuple[list[Submission], list[str]]:
    """Return the submissions that count, and a line about each that doesn't.

    A member of a group may hand in again alone. Each submission then counts for those students for
    whom it was chosen. The best attempt is the one with the most points on the platform; if some of
    a student's points are unknown, all of the student's attempts are kept.
    """
    if attempts == "all":
        return found, []
    theirs: dict[str, list[Submission]] = defaultdict(list)
    for submission in found:
        for student in submission.students:
            theirs[student.key].append(submission)
    chosen: dict[str, set[str]] = defaultdict(set)
    notes = []
    for key, several in theirs.items():
        several.sort(key=_order)
        kept = several[-1:]
        if attempts == "best":
            kept = _best(several)
            if len(kept) > 1:
                ids = ", ".join(one.submission_id for one in kept)
                notes.append(f"{ids}: all are kept, as their points are not all recorded")
        for one in kept:
            chosen[one.submission_id].add(key)
    why = "a later one" if attempts == "latest" else "a better one"
    counting = []
    for submission in found:
        students = tuple(
            s for s in submission.students if s.key in chosen[submission.submission_id]
        )
        others = len(submission.students) - len(students)
        if students:
            counting.append(replace(submission, students=students))
        if not students:
            notes.append(f"{submission.submission_id} is left out: its students have {why}")
        elif others:
            has = "has" if others == 1 else "have"
            notes.append(f"{submission.submission_id}: {others} of the group {has} {why}")
    return counting, notes


def _best(several: list[Submission]) -> list[Submission]:
    scores = [one.score for one in several if one.score is not None]
    if len(several) > 1 and len(scores) < len(several):
        return several
    return [max(several, key=lambda one: (one.score or 0.0, _order(one)))]


def _order(submission: Submission) -> tuple[float, int, str]:
    return submission.moment, submission.attempt, submission.submission_id
