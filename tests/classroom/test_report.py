"""The report is right, complete, private, and harmless whatever students' names and output are."""

import csv
import html
import html.parser
import io
import json
import random
import re
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from autograder.description import load_course
from classroom.__main__ import main
from classroom.exports import read_export
from classroom.report import numbers
from classroom.report.causes import MOST_BYTES, MOST_LINES, causes_of, quote
from classroom.report.result_pages import titles
from classroom.store import Store
from classroom.submissions import Record, Student, Submission
from tests.accessible import WINDOWS, check_files
from tests.classroom.contents import lay
from tests.classroom.scripted import entry, results_of

# Names and texts contain markup, characters that reverse text, and 300 letters.
MARKUP = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
TURNED = "evil\u202egnp.exe\u2066"
LONG = "Wolfeschlegelsteinhausenbergerdorff" * 9  # 315 letters
NAMES = (MARKUP, TURNED, LONG, "=cmd|' /C calc'!A0", "محمد بن موسى", "Ngô Bảo Châu", "O'Brien, Zoë")
RELEASE = "0123456789abcdef"
FIRST = datetime(2026, 11, 2, 9, 0, tzinfo=timezone(timedelta(hours=-8)))
COUNT = 16
# Test, description, points, topic, and its failure: cause, message.
TESTS = (
    ("1e-0-basic", "ids are sorted", 1.5, "span_corruption", "failed.order", f"wrong\n  {MARKUP}"),
    ("1e-1-hidden", "the span is a quarter", 4.0, "span_corruption", "failed.short", "too short"),
    ("1e-2-hidden", "any alphabet", 2.5, "span_corruption", "error.KeyError", "a.py: KeyError"),
    ("1f-0-basic", "the accuracy on dev", 2.0, "pretraining", "failed.few", f"few {TURNED}"),
    ("1f-1-hidden", "everybody passes", 1.0, "pretraining", "failed.x", "x"),
)
EXPERIMENT = {
    "prediction": f"I predict {MARKUP} {TURNED} {LONG}",
    "earlier_predictions": [MARKUP],
    "parameters": "0" * 64,
    "seed": 7,
    "results": f"pasted after  MASK\nblock 1  {MARKUP} {LONG}",
}
FACTS = {
    "authoritative": True,
    "versions": {"python": "3.11.2", "torch": "2.5.1", "numpy": "2.1", "system": "Linux"},
    "left": [],
    "digest": "digest of x",
    "experiments": {"trace": EXPERIMENT, MARKUP: EXPERIMENT},
}


class Tags(html.parser.HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags, self.text = set(), ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def text_of(folder, name: str) -> str:
    return (folder / "report" / name).read_text(encoding="utf-8")


def rows(folder, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text_of(folder, name))))


# Which of the five tests each of four submissions passes: 11, 5, 5.5 and 1 points of 11.
PASSES = ((1, 1, 1, 1, 1), (1, 0, 1, 0, 1), (0, 0, 1, 1, 1), (0, 0, 0, 0, 1))


def entry_of(index: int, passes: bool, **changed: Any) -> dict[str, Any]:
    """Return the entry of one of the TESTS, with everything that a page may show."""
    test_id, name, points, topic, cause, message = TESTS[index]
    shown = {
        "topic": topic,
        "wall_s": 1.0,
        "output": f"printed by {test_id} {MARKUP}" if index < 2 else "",
        "measured": {"accuracy": 0.3} if test_id == "1f-0-basic" else {},
        "cpu_s": 2.0,
        "peak_bytes": 100 << 20,
    }
    if passes:
        return entry(test_id, name, points, **shown) | changed
    shown |= {"message": message, "cause": cause, "detail": f"staff's detail {MARKUP}"}
    shown |= {"look_at": "f in submission/dataset.py"}
    shown |= {"where": "submission/dataset.py:3" if cause == "error.KeyError" else ""}
    return entry(test_id, name, points, cause.partition(".")[0], **shown) | changed


def record_of(submission: str, tests: list[dict[str, Any]]) -> Record:
    """Return a record with these tests."""
    text = json.dumps(results_of(tests, edition="xcs224n", facts=FACTS))
    return Record(submission, RELEASE, "grade", "graded", "7", "upload", text, processor="Xeon")


def class_of(folder, entries: list[list[dict]], counts: bool = True):
    """Write a class with these tests in its records, and a report on it; return the folder."""
    with Store.create(folder) as store, store.transaction():
        for number, tests in enumerate(entries):
            one = Submission(f"s{number}", (Student(f"k{number}", f"N{number}"),))
            store.add_submissions(folder, "folder", [one])
            record = store.add_record(record_of(one.id, tests))
            if counts:
                store.count(record)
        store.set("release", "r")
    assert main(["report", str(folder)]) == 0
    return folder


def test_scores_questions_tests_and_causes_have_the_numbers_computed_by_hand(tmp_path):
    entries = [
        [entry_of(i, bool(passes), cpu_s=1.0 + number) for i, passes in enumerate(row)]
        for number, row in enumerate(PASSES)
    ]
    four = class_of(tmp_path / "class", entries)
    assert [row["score"] for row in rows(four, "scores.csv")] == ["11", "5", "5.5", "1"]
    first, second = rows(four, "questions.csv")
    assert list(first.values()) == ["1e", "8", "0", "1.875", "3.25", "5", "8", "3.625", "1", "1"]
    assert [second[key] for key in ("question", "max_score", "full", "none")] == ["1f", *"320"]
    index = Tags(text_of(four, "index.html")).text
    assert "the mean is 5.625 and the median\n5.25" in index
    assert "has 4 to\n6.875 points, the whole class 1 to\n11" in index

    table = rows(four, "tests.csv")  # sorted by what they cost
    assert [(row["test"], row["points_lost"], row["passed"]) for row in table] == [
        ("1e-1-hidden", "12", "1"),
        ("1f-0-basic", "4", "2"),
        ("1e-0-basic", "3", "2"),
        ("1e-2-hidden", "2.5", "3"),
        ("1f-1-hidden", "0", "4"),
    ]
    # The test's points are 4, 0, 0, 0, and the rest 7, 5, 5.5, 1, with a mean of 4.625:
    # 9.5 / sqrt(12 * 19.6875) = .61807.
    expected = {"graded": "4", "other_outcomes": "failed 3", "cpu_s_mean": "2.5"}
    expected |= {"cpu_s_greatest": "4", "discrimination": "0.61807"}
    assert {key: table[0][key] for key in expected} == expected
    assert table[4]["discrimination"] == ""  # everybody passes
    assert numbers.correlation([1, 2], [1, 2]) is None  # two points are always on a line
    bars = numbers.histogram([0, 1.0, 9.99, 10, 12], 10)  # with extra credit above the maximum
    assert [*bars.values()] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 3]

    table = rows(four, "causes.csv")
    assert [(row["cause"], row["points_lost"], row["submission"]) for row in table] == [
        *((TESTS[1][4], "12", one) for one in ("s1", "s2", "s3")),
        *((TESTS[3][4], "4", one) for one in ("s1", "s3")),
        *((TESTS[0][4], "3", one) for one in ("s2", "s3")),
        (TESTS[2][4], "2.5", "s3"),
    ]


def test_a_question_has_the_title_of_its_topic_whichever_number_that_has_now(tmp_path):
    renumbered = class_of(tmp_path / "class", [[entry_of(0, False, topic="synthesizer")]])
    index = Tags(text_of(renumbered, "index.html")).text
    assert index.count(titles()["synthesizer"]) == 2  # in the table and with the cause
    assert titles()["span_corruption"] not in index


def test_practice_is_apart_a_place_makes_an_example_and_what_is_dropped_is_no_cause():
    """Everybody fails practice; three fail for one point each, and one for eight."""
    entries = [
        [
            entry_of(0, number == 0, max_score=1.0, where="submission/a.py:3" * (number > 1)),
            entry_of(1, number != 3, max_score=8.0),
            entry_of(2, False, max_score=0.0, test_id="3a-0-basic"),
            entry_of(3, False, outcome="dropped", score=2.0, cause="dropped"),
        ]
        for number in range(4)
    ]
    dear, cheap, practice = causes_of(enumerate(entries))
    assert [(c.lost, len(c.handed), c.is_practice) for c in (dear, cheap, practice)] == [
        *((8, 1, False), (3, 3, False), (0, 4, True))
    ]
    assert (cheap.example, cheap.where, practice.question) == (2, "submission/a.py:3", "3a")
    assert cheap.look_at == "f in submission/dataset.py" and cheap.tests == {"1e-0-basic": 3}


def test_what_has_no_result_is_counted_nowhere(tmp_path, capsys):
    folder = class_of(tmp_path / "class", [[entry_of(0, True)]] * 2, counts=False)
    assert {row["status"] for row in rows(folder, "scores.csv")} == {"not graded"}
    assert not rows(folder, "tests.csv") and not rows(folder, "questions.csv")
    assert "No submission has a result yet." in text_of(folder, "index.html")
    Store.create(tmp_path / "empty").close()
    assert main(["report", str(tmp_path / "empty")]) == 2
    assert "has no results that count" in capsys.readouterr().err


CODE = '''import x

class Data:
    def get(self):
        return 0

    def get(self, index):
        """Return

        something long.
        """
        a = 1
        return a
'''
FUNCTION = "Data.get in submission/dataset.py"


@pytest.mark.parametrize(
    "where, look_at, text, shown",
    [
        ("submission/dataset.py:5", "", CODE, "1 2 3 4 > 6 7 8 9"),  # the lines around
        # A function is shown without its docstring, as it was defined last.
        ("", FUNCTION, CODE, "7 12 13"),
        ("submission/other.py:3", "", CODE, ""),
        ("../../etc/passwd:1", "", CODE, ""),
        ("", "Data.missing in submission/dataset.py", CODE, ""),
        ("", "submission/dataset.py", CODE, ""),
        # What is long is cut, and what is no Python has no functions.
        ("", FUNCTION, CODE + "        x = 1\n" * 500, [7, *range(12, 11 + MOST_LINES)]),
        *(("", FUNCTION, CODE + end, "") for end in ("def f(:\n", "\0", "(" * 5_000)),
        ("", FUNCTION, CODE + "#" + "x" * MOST_BYTES, ""),
    ],
)
def test_what_is_quoted_is_what_tests_point_to(tmp_path, where, look_at, text, shown):
    lay(tmp_path / "class" / "one", {"submission/dataset.py": text.encode()})
    (submission,) = read_export(tmp_path / "class").submissions
    lines = quote(submission, where, look_at).splitlines()
    numbers = shown.split() if isinstance(shown, str) else [*map(str, shown)]
    assert [line.split()[0] for line in lines] == numbers
    assert ">" not in numbers or lines[4] == ">    5          return 0"


def nasty_class(path: Path) -> Path:
    """Write a class; the last submission is a staff fault, and the one before isn't graded."""
    rng = random.Random(1)
    with Store.create(path) as store, store.transaction():
        for number in range(COUNT):
            name = NAMES[number] if number < len(NAMES) else f"Student {number}"
            students = [Student(f"s{number}@x.edu", name, f"s{number}@x.edu", f"{number:05}")]
            if number % 8 == 7:
                students.append(Student(f"p{number}@x.edu", f"Partner {number}"))
            key, at = f"submission_{number:02}", FIRST + timedelta(hours=5 * number)
            made = Submission(key, tuple(students), at, attempt=1 + number % 3)
            store.add_submissions(path.parent / "source", "folder", [made])
            skill = rng.random()
            passes = [index == 4 or rng.random() < skill for index in range(len(TESTS))]
            record = record_of(key, [entry_of(i, p) for i, p in enumerate(passes)])
            if number == COUNT - 1:
                why = f"its worker was killed {MARKUP}"
                store.add_record(replace(record, outcome="staff fault", results=None, reason=why))
            elif number != COUNT - 2:
                store.count(store.add_record(record))
        store.set("release", RELEASE)
        store.set("edition", "xcs224n")
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a class of 16 with a report."""
    path = nasty_class(tmp_path_factory.mktemp("nasty") / "class")
    (path.parent / "source" / "submission_03" / "submission").mkdir(parents=True)
    assert main(["report", str(path)]) == 0
    return path


def test_the_class_is_there_and_counted_once_and_nothing_that_students_wrote_acts(folder):
    pages = sorted((folder / "report").rglob("*.html"))
    assert len(pages) == 1 + 15 + 14 + 1
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not {"script", "img", "iframe", "link", "form", "base"} & Tags(text).tags
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert "default-src 'none'" in html.unescape(policy)
        assert path.stat().st_mode & 0o077 == 0
        for link in re.findall(r'href="([^"#]+)"', text):
            assert (path.parent / link).resolve().is_file()
    index = Tags(text_of(folder, "index.html")).text
    turned = TURNED.replace("\u202e", "[U+202E]").replace("\u2066", "[U+2066]")
    assert all(text in index for text in (MARKUP, LONG, turned))
    assert "14 of\n16 submissions have a result" in index
    statuses = [row["status"] for row in rows(folder, "scores.csv")]
    assert statuses == ["graded"] * 14 + ["not graded", "staff fault"]
    assert {row["graded"] for row in rows(folder, "tests.csv")} == {"14"}
    names = [row["name"] for row in rows(folder, "pages.csv")]
    assert names[0] == MARKUP and "'" + NAMES[3] in names  # guarded: no spreadsheet runs it


def test_a_students_page_is_about_nobody_else_and_holds_nothing_of_staffs(folder):
    pages = sorted((folder / "report" / "students").rglob("*.html"))
    assert len(pages) == 15  # 14 submissions, one of them of two
    with Store.existing(folder) as store:
        roll = store.rows("SELECT submission, name FROM authors JOIN students ON id = student")
    partners = ("Student 7", "Partner 7")
    for path in pages:
        text = path.read_text(encoding="utf-8")
        for submission, name in roll:
            if submission != path.parent.name:
                assert f"<bdi>{name}</bdi>" not in text
        assert "printed by 1e-0-basic" in text
        hidden = ("staff's detail", "failed.", "CPU", "digest of", "seed", "Memory", "Experiment")
        for staffs in (*hidden, "printed by 1e-1-hidden"):
            assert staffs not in text.replace("not for students", ""), (path, staffs)
        if path.parent.name == "submission_07":
            assert sum(name in text for name in partners) == 1  # not even the other's
    staff = text_of(folder, "staff/submission_07.html")
    for part in (*partners, "not for students", "printed by 1e-1-hidden", "digest of", "Memory"):
        assert part in staff


@pytest.mark.requires_tool("chromium")
def test_the_pages_are_for_everybody_and_nothing_in_them_acts(folder):
    """Students' pages have the template of `tests/test_report.py`."""
    check_files([folder / "report" / "index.html"], WINDOWS[:2])
    check_files([folder / "report" / "staff" / "submission_00.html"], WINDOWS[1:2])


RUBRIC = """points,description,kind
0.75,A prediction that could be <wrong>,criterion
,In block 2,wrong answer
"""


def test_staff_see_rubrics_withheld_grades_have_no_page_and_late_is_what_it_is_for_grades(
    tmp_path, monkeypatch, capsys
):
    """The class hands in from November 2, 9:00, every five hours; the work is due 47 hours later.

    Somebody is withheld, and another extended.
    """
    folder, report = nasty_class(tmp_path / "class"), tmp_path / "class" / "report"
    with Store.existing(folder, writes=True) as store, store.transaction():
        store.set("edition", "current")
        store.db.execute(  # as in a download from Canvas
            "UPDATE submissions SET submitted = NULL, late = 1 WHERE id = 'submission_09'"
        )
        store.db.executemany(
            "INSERT INTO decisions (kind, student, value, reason, author, date) "
            "VALUES (?, ?, ?, 'x', 'y', '2026-11-01')",
            [
                ("withheld", "s7@x.edu", ""),
                ("extension", "s11@x.edu", "2026-11-08 12:00-08:00"),
            ],
        )
    (tmp_path / "6a.csv").write_text(RUBRIC, encoding="utf-8")
    course = load_course()
    due = datetime(2026, 11, 4, 8, 0, tzinfo=FIRST.tzinfo)
    course = course.model_copy(update={"dates": course.dates.model_copy(update={"due": due})})
    monkeypatch.setattr(numbers, "load_course", lambda: course)
    assert main(["report", str(folder), "--rubrics", str(report)]) == 2
    assert "has no rubric of this edition's questions" in capsys.readouterr().err
    assert main(["report", str(folder), "--rubrics", str(tmp_path)]) == 0

    page = text_of(folder, "staff/submission_03.html")
    assert page.count("<dt>0.75</dt><dd>A prediction that could be &lt;wrong&gt;</dd>") == 1
    assert page.count("Experiment: ") == 2 and "pasted after  MASK\nblock 1" in page
    assert not (report / "students" / "submission_07").exists()
    assert (report / "students" / "submission_06").exists()
    assert (report / "staff" / "submission_07.html").is_file()
    named = {row["submission"] for row in rows(folder, "pages.csv")}
    assert "submission_07" not in named and len(named) == 13
    late = {row["submission"]: row["lateness"] for row in rows(folder, "scores.csv")}
    on_time, one = "on time", "1 day late"
    found = [late[f"submission_{n:02}"] for n in range(8, 16)]
    assert found == [on_time, "late", one, on_time, one, one, one, "2 days late"]
    chart = re.search(r"Submissions by lateness.*?</table>", text_of(folder, "index.html"), re.S)
    labels = re.findall(r'<th scope="row">(.*?)</th><td class="number">(\d+)', chart[0])
    assert labels == [(on_time, "10"), (one, "4"), ("2 days late", "1"), ("late", "1")]
