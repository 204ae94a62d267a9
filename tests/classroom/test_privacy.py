"""`forget` and `purge` remove exactly what they should, and name what they can't remove."""

import io
import json
import re
import shlex
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from classroom.__main__ import main
from classroom.arguments import count
from classroom.store import Store
from classroom.submissions import Record, Student, Submission
from tests.snapshots import check

ADA = Student("ada@example.edu", 'Zoe\u0301 "Ada" Byron', "Ada@example.edu", "007007")
BOB = Student("bob@example.edu", "Maria Silva", "bob@example.edu", "0080")
CAT = Student("cat@example.edu", "Maria Silva", "cat@example.edu")
SUBMISSIONS = (
    Submission("submission_1", (ADA,), datetime(2026, 11, 1, tzinfo=UTC)),
    Submission("submission_2", (ADA, BOB), datetime(2026, 11, 2)),
    Submission("submission_3", (CAT,), datetime.fromisoformat("2026-11-02 20:00:00-08:00")),
    Submission("submission_4", (CAT,)),
)
NAMES = ("Byron", "Silva", "example", "0070", "0080")


def add(folder, *submissions):
    """Make a class in which each of these has two records."""
    with Store.create(folder) as store:
        store.add_submissions(Path("export"), "Gradescope export", submissions)
        for submission in submissions:
            for release in ("one", "two"):
                record = Record(submission.id, release, "grade", "graded", "7", "", RESULTS)
                store.count(store.add_record(record))


RESULTS = json.dumps({"score": 1.0, "max_score": 2.0, "tests": []})


@pytest.fixture
def folder(tmp_path) -> Path:
    add(tmp_path / "class", *SUBMISSIONS)
    return tmp_path / "class"


@pytest.fixture
def forget(folder, capsys):
    """Return forget(words...), which returns the exit code and what was printed."""

    def run(*words, into=folder):
        code = main(["forget", *words, "--in", str(into)])
        return code, "".join(capsys.readouterr())

    return run


def rows(folder, sql):
    with Store.existing(folder) as store:
        return [tuple(row) for row in store.rows(sql)]


def rest(folder):
    """Return the numbers of the submissions that are left, all of which have their records."""
    there = rows(folder, "SELECT s.id, count(records.id) FROM submissions s "
                 "LEFT JOIN records ON submission = s.id GROUP BY 1")  # fmt: skip
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
    assert rows(folder, "SELECT student FROM authors WHERE submission = 'submission_2'") == [(2,)]
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


def test_what_is_not_clear_is_refused_and_nothing_is_removed(folder, capsys):
    before, found = everything(folder), {}
    for words in REFUSED:
        assert main([*words, "--in", str(folder)]) == 2
        found[" ".join(map(repr, words))] = capsys.readouterr().err
        assert everything(folder) == before
    assert main(["forget", "Ada", "--in", str(folder / "missing")]) == 2
    found["in a folder that is missing"] = capsys.readouterr().err
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
    "mail.txt": b"To: <STUDENT763093@example.edu>",
    "Ångström_Søren.txt": b"",
    "an angstromsoren_LATE_34_208_work.txt": b"",
}


def zipped(name, content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(name, content)
    return buffer.getvalue()


def test_every_spelling_is_found_also_in_zips_and_names_until_it_is_gone(tmp_path, forget):
    folder, address = tmp_path / "spelled", "student763093@example.edu"
    soren = Student(address, "Søren Ångström", address, "0763093")
    add(folder, Submission("submission_9", (soren,)), *SUBMISSIONS)
    packed = zipped("3.csv", SPELLINGS["cp1252.csv"])
    files = SPELLINGS | {
        "written.zip": packed,
        "outer.zip": zipped("written.zip", packed),
        "names.zip": zipped("Søren Ångström/3.csv", b"x" * 100),
        "cut.zip": packed[:-9],
    }
    others = {"other.csv": "Maria Silva, Søren, 17630931".encode(), "other.bin": b"\0\xff" * 99}
    (folder / "gradebook").mkdir()
    for name, content in (files | others).items():
        (folder / "gradebook" / name).write_bytes(content)
    for pages in ("report", "similar", "regrades"):
        (folder / pages / "x").mkdir(parents=True)
    code, said = forget("0763093", into=folder)
    named = re.findall("gradebook/(.*?) (?:names the student|can't be searched)", said)
    assert code == 1 and sorted(named) == sorted(files)
    assert not any((folder / pages).exists() for pages in ("report", "similar", "regrades"))
    again = next(line for line in said.splitlines() if line.startswith("To check: "))
    words = shlex.split(again)[6:-2]
    assert again.endswith(str(folder)) and "Søren Ångström" in words and "0763093" in words
    (folder / "report").mkdir()
    (folder / "report" / "index.html").write_text("Søren Ångström", encoding="utf-8")
    assert forget(*words, into=folder)[0] == 1 and not (folder / "report").exists()
    for name in files:
        assert forget(*words, into=folder)[0] == 1
        (folder / "gradebook" / name).unlink()
    code, said = forget(*words, into=folder)
    assert code == 0, said


@pytest.mark.parametrize(
    "asked", ["Ada Byron", "Byron, Ada", "340934", "canvas:340934", "byronada"]
)
def test_a_canvas_student_is_found_by_every_name(tmp_path, forget, asked):
    ada = Student("canvas:340934", "byronada", canvas_id="340934")
    folder = tmp_path / "canvas"
    add(folder, Submission("canvas_340934_208", (ada,)), *SUBMISSIONS[2:])
    (folder / "grades").mkdir()
    (folder / "grades" / "canvas.csv").write_text('"Byron, Ada",340934,007', encoding="utf-8")
    code, said = forget(asked, into=folder)
    assert code == 1 and "grades/canvas.csv names the student" in said
    assert rest(folder) == "34"


# Decisions, by kind, student, value and reason; and names and IDs of written scores.
DECISIONS = (
    ("extension", "007007", "2026-11-09", "ill"),
    ("override", "submission_1", "3", "regraded"),
    ("late_days", "cat@example.edu", "0080", "asked with Byron, Zoé Ada"),
    ("same_as", "zb99", "Ada@example.edu", ""),
)
WRITTEN = (("Zoé Ada Byron", ""), ("?", "ZB99"), ("Maria Silva", ""))


def test_what_was_decided_goes_too_and_what_names_the_student_elsewhere_is_reported(folder, forget):
    regrade = {"number": 1, "gone": ["submission_1", "submission_3"]}
    before = folder / "before-import"  # what staff wrote there stays
    (before / "records" / "submission_3").mkdir(parents=True)
    (before / "gradebook").mkdir()
    (before / "roll.json").write_text("{}", encoding="utf-8")
    (before / "gradebook" / "canvas.csv").write_text("Zoé Ada Byron", encoding="utf-8")
    with Store.existing(folder, writes=True) as store, store.transaction():
        store.set("regrade", json.dumps(regrade))
        store.note("regrade-1 applied", reason='Zoé "Ada" Byron complained')
        insert = "INSERT INTO decisions (kind, student, value, reason) VALUES (?, ?, ?, ?)"
        store.db.executemany(insert, DECISIONS)
        insert = "INSERT INTO written VALUES ('', ?, ?, '', '', '', '', '1', '', '', '')"
        store.db.executemany(insert, WRITTEN)
    code, said = forget("007007")
    assert code == 1 and b"zb99" not in everything(folder).lower()
    assert [line.split("class.db ")[1] for line in said.splitlines() if "class.db " in line] == [
        "names the student in 1 row of decisions: correct or remove it",
        "names the student in 1 row of history: correct or remove it",
    ]
    assert rows(folder, "SELECT student FROM decisions") == [("cat@example.edu",)]
    assert rows(folder, "SELECT name FROM written") == [("Maria Silva",)]
    ((text,),) = rows(folder, "SELECT value FROM class WHERE key = 'regrade'")
    assert json.loads(text) == regrade | {"gone": ["submission_3"]}
    assert "before-import/gradebook/canvas.csv names the student" in said
    assert [path.name for path in before.iterdir()] == ["gradebook"]


def test_another_student_of_that_name_stays_and_is_not_reported(folder, forget):
    (folder / "other.csv").write_text("Maria Silva", encoding="utf-8")
    code, said = forget("bob@example.edu")
    assert code == 0 and "names the student" not in said
    emails = rows(folder, "SELECT email FROM students ORDER BY 1")
    assert emails == [("Ada@example.edu",), ("cat@example.edu",)]


def test_a_submission_is_forgotten_and_the_next_one_counts(tmp_path, forget):
    ada = Student("canvas:34", "byronada", canvas_id="34")
    folder = tmp_path / "canvas"
    add(folder, *(Submission(f"canvas_34_{n}", (ada,), number=n) for n in (208, 307)))
    assert rows(folder, "SELECT submission FROM scores") == [("canvas_34_307",)]
    assert forget("canvas_34_307", into=folder)[0] == 0
    assert rows(folder, "SELECT name, submission FROM scores") == [("byronada", "canvas_34_208")]


@pytest.mark.parametrize(
    "before, kept",
    [
        ("2026-11-01T00:00:00+00:00", "1234"),
        ("2026-11-02T00:00:00+00:00", "234"),
        ("2026-11-02T00:00:01+00:00", "34"),
        ("2026-11-03T04:00:00+00:00", "34"),
        ("2026-11-03T04:00:01+00:00", "4"),
        ("2027-11-05T00:00:00+00:00", "4"),  # the fourth has no time, but records
        ("2027-11-06", ""),
    ],
)
def test_what_is_older_is_purged(folder, capsys, before, kept):
    with Store.existing(folder, writes=True) as store, store.transaction():
        for release, day in (("one", "01"), ("two", "05")):
            at = f"2027-11-{day}T00:00:00+00:00"
            store.db.execute("UPDATE records SET at = ? WHERE release = ?", (at, release))
    assert main(["purge", "--before", before, "--in", str(folder)]) == 0
    said = capsys.readouterr().out
    assert rest(folder) == kept
    gone = [n for n in "1234" if n not in kept]
    assert [line[11] for line in said.splitlines() if line.startswith("submission_")] == gone
    assert f"{count(len(gone), 'submission')} from before" in said and f"{len(kept)} kept" in said
    assert not any(name in said for name in NAMES)
    assert (b"Byron" in everything(folder)) == bool({"1", "2"} & {*kept})
