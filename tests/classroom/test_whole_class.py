"""A class of 40 of all kinds, from export to table: nobody is dropped, nobody gets too much.

    python -m pytest tests/classroom/test_whole_class.py -m "long or not long"

The long test grades it again on a scheduler with four workers, while processes are killed.
"""

import csv
import random

import pytest

from classroom.cells import guarded
from tests.classroom.clusters import kill_one_below, wait_for_records
from tests.classroom.tiny import needs_root, table
from tests.variants import all_variants

pytestmark = needs_root
TOPIC = "attention_copying"  # the tiny edition's question
POINTS = 8.0
COUNT = 40


@pytest.fixture(scope="session")
def whole(made, grade, classroom, tmp_path_factory):
    """Return the class, graded on a local cluster: (class, its folder, rows of its table)."""
    cls = made("gradescope", True)
    into = tmp_path_factory.mktemp("whole") / "class"
    code, output = grade(cls.source, into, "--slots", "2")
    assert code == 0, output
    assert classroom("table", "--in", into, "--csv", into / "table.csv").wait(60) == 0
    with open(into / "table.csv", encoding="utf-8", newline="") as file:
        return cls, into, list(csv.DictReader(file))


def test_every_student_comes_out_once_with_the_submission_that_was_theirs(whole):
    cls, _, rows = whole
    handed_in = {
        (guarded(p.name), p.sid or "", p.email, f"submission_{each.number}", each.at.isoformat())
        for each in cls.submissions
        for p in each.people
    }
    assert len(cls.submissions) == COUNT and len(handed_in) > COUNT
    keys = ("name", "sid", "email", "submission", "created_at")
    came_out = [tuple(row[key] for key in keys) for row in rows]
    assert sorted(came_out) == sorted(handed_in)


def test_everybody_gets_what_their_submission_is_worth(whole):
    cls, _, rows = whole
    contents = {f"submission_{each.number}": each.content for each in cls.submissions}
    caught = {v.name: v.caught_by for v in all_variants() if not v.is_right}
    kinds = set()
    for row in rows:
        content = contents[row["submission"]]
        kinds.add(content.kind)
        status = "nothing to grade" if content.refused else "graded"
        assert (row["status"], float(row["max_score"])) == (status, POINTS), content
        score = float(row["score"])
        if content.kind in ("right", "layout"):
            assert score == POINTS, content
        elif content.kind == "wrong":
            is_wrong_here = any(name.startswith(f"{TOPIC}.") for name in caught[content.name])
            assert (score < POINTS) is is_wrong_here, content
        else:
            assert score == 0, content
    assert kinds == {"right", "wrong", "starter", "layout", "attack", "upload"}


@pytest.mark.long
def test_four_workers_and_kills_give_the_same_table(whole, grade, begin, dask, tmp_path):
    cls, graded, _ = whole
    dask.scheduler()
    workers = [dask.worker() for _ in range(4)]
    into = tmp_path / "class"
    process = begin(cls.source, into, *dask.words)
    rng = random.Random(1)
    for count in range(1, 30, 3):
        wait_for_records(into, count, process)
        nanny = rng.choice(workers)
        kill_one_below(nanny, rng)
        if count == 16:
            workers.remove(nanny)
            nanny.kill()
    code, output = process.wait(600), process.stdout.read()
    for _ in range(3):  # a submission killed twice is a staff fault: run the command again
        if code == 1:
            code, output = grade(cls.source, into, *dask.words, within_s=600)
    assert code == 0, output
    assert table(into) == table(graded)
