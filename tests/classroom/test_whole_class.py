"""A class of 10 of all kinds, from export to scores: nobody is dropped, nobody gets too much."""

from datetime import UTC

import pytest

from tests.classroom.graded import rows_of
from tests.classroom.make_class import make_class
from tests.classroom.tiny import needs_root
from tests.variants import all_variants

pytestmark = needs_root
TOPIC = "attention_copying"  # the tiny edition's question
POINTS = 8.0
COUNT = 10
COLUMNS = ("name", "sid", "email", "submission", "submitted")  # who handed in what
COLUMNS += ("outcome", "score", "max_score", "reason")


@pytest.fixture(scope="session")
def whole(graded, tmp_path_factory):
    """Return the class, graded on a local cluster: (class, rows of the view `scores`)."""
    folder = tmp_path_factory.mktemp("whole")
    cls, into = make_class(folder / "made", COUNT, packed=True), folder / "class"
    code, output = graded(cls.source, into)
    assert code == 0, output
    ends = "SELECT group_concat(DISTINCT outcome) FROM tests WHERE tests.record = scores.record"
    rows = rows_of(into, f"SELECT {', '.join(COLUMNS)}, ({ends}) FROM scores")
    return cls, [dict(zip((*COLUMNS, "ends"), row, strict=True)) for row in rows]


def test_every_student_comes_out_once_with_the_submission_that_was_theirs(whole):
    cls, rows = whole
    handed_in = {
        (p.name, p.sid, p.email, f"submission_{each.number}", each.at.astimezone(UTC).isoformat())
        for each in cls.submissions
        for p in each.people
    }
    assert len(cls.submissions) == COUNT and len(handed_in) > COUNT
    came_out = [tuple(row[key] for key in COLUMNS[:5]) for row in rows]
    assert sorted(came_out, key=str) == sorted(handed_in, key=str)


def test_everybody_gets_what_their_submission_is_worth(whole):
    cls, rows = whole
    contents = {f"submission_{each.number}": each.content for each in cls.submissions}
    caught = {v.name: v.caught_by for v in all_variants() if not v.is_right}
    kinds = set()
    for row in rows:
        content = contents[row["submission"]]
        kinds.add(content.kind)
        status = "nothing to grade" if content.refused else "graded"
        assert (row["outcome"], float(row["max_score"])) == (status, POINTS), content
        assert bool(row["reason"]) == (row["ends"] == "missing file") == content.refused, content
        score = float(row["score"])
        if content.kind in ("right", "layout"):
            assert score == POINTS, content
        elif content.kind == "wrong":
            is_wrong_here = any(name.startswith(f"{TOPIC}.") for name in caught[content.name])
            assert (score < POINTS) is is_wrong_here, content
        else:
            assert score == 0, content
    assert kinds == {"right", "wrong", "starter", "layout", "attack", "upload"}
