"""`forget` and `purge` remove exactly what they should, and name what they can't remove."""

import json
import re
import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from classroom.arguments import count
from classroom.store import Store
from classroom.submissions import Record, Student, Submission
from tests.classroom.contents import lay, zipped
from tests.classroom.graded import rows_of
from tests.classroom.scripted import results_of
from tests.snapshots import check

ADA = Student("ada@example.edu", 'Zoe\u0301 "Ada" Byron', "Ada@example.edu", "007007")
BOB = Student("bob@example.edu", "Maria Silva", "bob@example.edu", "0080")
CAT = Student("cat@example.edu", "Maria Silva", "cat@example.edu")
SOREN = Student("s763093@example.edu", "Søren Ångström", "s763093@example.edu", "0763093")
SUBMISSIONS = (
    Submission("submission_1", (ADA,), datetime(2026, 11, 1, tzinfo=UTC)),
    Submission("submission_2", (ADA, BOB), datetime(2026, 11, 2)),
    Submission("submission_3", (CAT,), datetime.fromisoformat("2026-11-02 20:00:00-08:00")),
    Submission("submission_4", (CAT,)),
)
NAMES = ("Byron", "Silva", "example", "0070", "0080")


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a class in which each submission has two records."""
    results = json.dumps(results_of([]))
    with Store.create(tmp_path / "class") as store:
        store.add_submissions(Path("export"), "Gradescope export", SUBMISSIONS)
        for submission in SUBMISSIONS:
            for release in ("one", "two"):
                record = Record(submission.id, release, "grade", "graded", "7", "", results)
                store.count(store.add_record(record))
    return tmp_path / "class"


def add(folder, submission):
    with Store.existing(folder, writes=True) as store:
        store.add_submissions(Path("export"), "folder", [submission])


@pytest.fixture
def forget(folder, command):
    """Return forget(words...), which returns the exit code and what was printed."""

    def run(*words):
        code, *said = command("forget", *words, "--in", folder)
        return code, "".join(said)

    return run


def rest(folder):
    """Return the numbers of the submissions that are left, all of which have their records."""
    there = rows_of(folder, "SELECT submission, count(*) FROM records GROUP BY 1")
    assert all(count == 2 for _, count in there)
    return "".join(key[-1] for key, _ in there)


def everything(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "asked", ["ADA@example.edu", "007007", 'zoé "ada"  byron', "Byron,  Zoe (Ada)", ADA.name]
)
def test_a_student_is_forgotten_in_every_byte(folder, forget, asked):
    assert b"Byron" in everything(folder) and b"007007" in everything(folder)
    code, said = forget(asked)
    assert code == 0, said
    check("classroom_forget", {"forget": said}, {str(folder): "CLASS"})
    assert not any(name in said for name in NAMES)
    assert rest(folder) == "234"
    group = "SELECT student FROM authors WHERE submission = 'submission_2'"
    assert rows_of(folder, group) == [(2,)]
    left = everything(folder)
    assert not any(name in left.lower() for name in (b"byron", b"007007", b"ada@", b"submission_1"))
    code, said = forget(asked)
    assert code == 0 and "not on the roll" in said


REFUSED = (
    ("forget", "maria silva"),  # two of that name
    ("forget", "Maria"),
    ("forget", "bob@example.edu", "Byron"),
    ("forget", "bob@example.edu", "007007"),
    ("forget", "7007"),
    ("forget", ""),
    *(("purge", "--before", date) for date in ("soon", "", "2026-13-01", "1.11.2026")),
)


def test_what_is_not_clear_is_refused_and_nothing_is_removed(folder, command):
    before, found = everything(folder), {}
    for words in REFUSED:
        code, _, found[" ".join(map(repr, words))] = command(*words, "--in", folder)
        assert code == 2 and everything(folder) == before
    code, _, error = command("forget", "Ada", "--in", folder / "missing")
    assert code == 2
    found["in a folder that is missing"] = error
    assert all(text.count("\n") == 1 for text in found.values())
    check("classroom_refused", found, {str(folder): "CLASS"})


# As in a class's folder in practice: each of these named a student of whom nothing was said.
SPELLINGS = {
    "canvas.csv": 'Student,ID,SIS User ID\n"Ångström, Søren",763093,\n'.encode(),
    "utf-16.csv": "Søren Ångström;1\n".encode("utf-16"),
    "without-mark.csv": "Ångström;Søren;1\n".encode("utf-16-be"),
    "cp1252.csv": "Søren Ångström,1\n".encode("cp1252"),
    "capitals.txt": "SØREN ÅNGSTRÖM".encode(),
    "blanks.txt": "Søren  \u00a0A\u030angstro\u0308m".encode(),
    "json.json": json.dumps({"name": "Søren Ångström"}).encode(),
    "page.html": b"<b>S&oslash;ren &Aring;ngstr&#246;m</b>",
    "ids.csv": b"x;0763093",
    "mail.txt": b"To: <S763093@example.edu>",
    "Ångström_Søren.txt": b"",
    "an angstromsoren_LATE_34_208_work.txt": b"",
}


def test_every_spelling_is_found_also_in_zips_and_names_until_it_is_gone(folder, forget):
    add(folder, Submission("submission_9", (SOREN,)))
    packed = zipped({"3.csv": SPELLINGS["cp1252.csv"]})
    files = SPELLINGS | {
        "written.zip": packed,
        "outer.zip": zipped({"written.zip": packed}),
        "names.zip": zipped({"Søren Ångström/3.csv": b"x" * 100}),
        "cut.zip": packed[:-9],
    }
    others = {"other.csv": "Maria Silva, Søren, 17630931".encode(), "other.bin": b"\0\xff" * 99}
    lay(folder / "gradebook", files | others)
    for pages in ("report", "similar", "regrades"):
        (folder / pages / "x").mkdir(parents=True)
    code, said = forget("0763093")
    named = re.findall("gradebook/(.*?) (?:names the student|can't be searched)", said)
    assert code == 1 and sorted(named) == sorted(files)
    assert not any((folder / pages).exists() for pages in ("report", "similar", "regrades"))
    again = next(line for line in said.splitlines() if line.startswith("To check: "))
    words = shlex.split(again)[6:-2]
    assert again.endswith(str(folder)) and "Søren Ångström" in words and "0763093" in words
    lay(folder / "report", {"index.html": "Søren Ångström".encode()})
    assert forget(*words)[0] == 1 and not (folder / "report").exists()
    for name in files:
        assert forget(*words)[0] == 1
        (folder / "gradebook" / name).unlink()
    code, said = forget(*words)
    assert code == 0, said


@pytest.mark.parametrize("asked", ["Grace Hopper", "340934", "hoppergrace"])
def test_a_canvas_student_is_found_by_every_name(folder, forget, asked):
    grace = Student("canvas:340934", "hoppergrace", canvas_id="340934")
    add(folder, Submission("canvas_340934_208", (grace,)))
    files = {"canvas.csv": b'"Hopper, Grace",007', "mine.csv": b"Ho, Pper-Graceland\nGrace H."}
    lay(folder / "grades", files)
    code, said = forget(asked)
    assert code == 1 and "grades/canvas.csv names the student" in said and "mine" not in said
    assert rest(folder) == "1234"


# Decisions, by kind, student, value and reason; and names and IDs of written scores.
DECISIONS = (
    ("extension", "007007", "2026-11-09", "ill"),
    ("override", "submission_1", "3", "regraded"),
    ("late_days", "cat@example.edu", "0080", "asked with Byron, Zoé Ada"),
    ("same_as", "zb99", "Ada@example.edu", ""),
)
WRITTEN = (("Zoé Ada Byron", ""), ("?", "ZB99"), ("Maria Silva", ""))
INSERT_WRITTEN = "INSERT INTO written VALUES ('', ?, ?, '', '', '', '', '1', '', '', '')"


def test_what_was_decided_goes_too_and_what_names_the_student_elsewhere_is_reported(folder, forget):
    before = folder / "before-import"  # what staff wrote there stays
    files = {"records/submission_3/one.json": b"{}", "roll.json": b"{}"}
    lay(before, files | {"gradebook/canvas.csv": "Zoé Ada Byron".encode()})
    with Store.existing(folder, writes=True) as store, store.transaction():
        store.note("regrade-1 applied", reason='Zoé "Ada" Byron complained')
        insert = "INSERT INTO decisions (kind, student, value, reason) VALUES (?, ?, ?, ?)"
        store.db.executemany(insert, DECISIONS)
        store.db.executemany(INSERT_WRITTEN, WRITTEN)
    code, said = forget("007007")
    assert code == 1 and b"zb99" not in everything(folder).lower()
    assert [line.split("class.db ")[1] for line in said.splitlines() if "class.db " in line] == [
        "names the student in 1 row of decisions: correct or remove it",
        "names the student in 1 row of history: correct or remove it",
    ]
    assert rows_of(folder, "SELECT student FROM decisions") == [("cat@example.edu",)]
    assert rows_of(folder, "SELECT name FROM written") == [("Maria Silva",)]
    assert "before-import/gradebook/canvas.csv names the student" in said
    assert [path.name for path in before.iterdir()] == ["gradebook"]


def test_another_student_of_that_name_stays_and_the_next_submission_counts(folder, forget):
    (folder / "other.csv").write_text("Maria Silva", encoding="utf-8")
    with Store.existing(folder, writes=True) as store:
        store.db.execute(INSERT_WRITTEN, ("Maria Silva", ""))
    code, said = forget("bob@example.edu")
    assert code == 0 and "names the student" not in said
    assert rows_of(folder, "SELECT name FROM written") == [("Maria Silva",)]
    emails = rows_of(folder, "SELECT email FROM students ORDER BY 1")
    assert emails == [("Ada@example.edu",), ("cat@example.edu",)]
    counting = "SELECT submission FROM scores WHERE email LIKE 'Ada%'"
    assert rows_of(folder, counting) == [("submission_2",)]
    assert forget("submission_2")[0] == 0
    assert rows_of(folder, counting) == [("submission_1",)]


@pytest.mark.parametrize(
    "before, kept",
    [
        ("2026-11-01T00:00:00+00:00", "1234"),
        ("2026-11-02T00:00:00+00:00", "234"),
        ("2026-11-03T04:00:00+00:00", "34"),
        ("2026-11-03T04:00:01+00:00", "4"),
        ("2027-11-05T00:00:00+00:00", "4"),  # the fourth has no time, but records
        ("2027-11-06", ""),
    ],
)
def test_what_is_older_is_purged(folder, command, before, kept):
    with Store.existing(folder, writes=True) as store, store.transaction():
        for release, day in (("one", "01"), ("two", "05")):
            at = f"2027-11-{day}T00:00:00+00:00"
            store.db.execute("UPDATE records SET at = ? WHERE release = ?", (at, release))
    (folder / "before.csv").touch()
    lay(folder / ".report.draft", {"scores.csv": b"Byron"})  # of a command that was killed
    code, said, _ = command("purge", "--before", before, "--in", folder)
    assert code == 0 and rest(folder) == kept
    gone = [n for n in "1234" if n not in kept]
    assert [line[11] for line in said.splitlines() if line.startswith("submission_")] == gone
    assert f"{count(len(gone), 'submission')} from before" in said and f"{len(kept)} kept" in said
    assert "before.csv in " in said and "may still name students" in said
    assert not any(name in said for name in NAMES)
    assert (b"Byron" in everything(folder)) == bool({"1", "2"} & {*kept})
