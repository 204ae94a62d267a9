"""The report is complete, private, and harmless whatever students' names and output are."""

import csv
import html.parser
import random
import re
from datetime import datetime

import pytest

from autograder.description import load_course
from classroom.__main__ import main
from classroom.report import numbers
from classroom.report.result_pages import write_result
from classroom.store import Store
from tests.accessible import check_files
from tests.classroom.nasty import FIRST, LONG, MARKUP, NAMES, TURNED, nasty_class, record_of
from tests.classroom.nasty import test_of as entry_of


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a class of 16 with a report."""
    path = nasty_class(tmp_path_factory.mktemp("nasty") / "class", 16)
    (path.parent / "source" / "submission_03" / "submission").mkdir(parents=True)
    assert main(["report", str(path)]) == 0
    return path


def text_of(folder, name: str) -> str:
    return (folder / name).read_text(encoding="utf-8")


class Tags(html.parser.HTMLParser):
    """The tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") or name == "style" for name, _ in attrs)

    def handle_data(self, data):
        self.text += data


def rows(folder, name: str) -> list[dict[str, str]]:
    with open(folder / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_class_is_there_and_counted_once(folder):
    page = Tags(text_of(folder, "report/index.html"))
    assert "14 of\n16 submissions have a result" in page.text
    assert page.tags.count("h1") == 1
    statuses = [row["status"] for row in rows(folder, "report/scores.csv")]
    assert statuses == ["graded"] * 14 + ["not graded", "staff fault"]


def test_points_in_all_files_agree(folder):
    graded = [row for row in rows(folder, "report/scores.csv") if row["status"] == "graded"]
    lost = sum(float(row["points_lost"]) for row in rows(folder, "report/tests.csv"))
    total = sum(float(row["score"]) for row in graded)
    assert total + lost == pytest.approx(14 * 11)
    assert sum(float(row["1e"]) + float(row["1f"]) for row in graded) == pytest.approx(total)
    by_cause = {(r["cause"], r["points_lost"]) for r in rows(folder, "report/causes.csv")}
    assert sum(float(points) for _, points in by_cause) == pytest.approx(lost)
    assert {row["graded"] for row in rows(folder, "report/tests.csv")} == {"14"}


def test_nothing_that_students_wrote_acts(folder):
    pages = sorted((folder / "report").rglob("*.html"))
    assert len(pages) == 1 + 15 + 14 + 1
    for path in pages:
        text = path.read_text(encoding="utf-8")
        page = Tags(text)
        assert not {"script", "img", "iframe", "link", "form", "base"} & set(page.tags)
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
        assert "default-src 'none'" in page_policy(text)
        assert path.stat().st_mode & 0o077 == 0
        for link in re.findall(r'href="([^"#]+)"', text):
            assert (path.parent / link).resolve().is_file()
    index = Tags(text_of(folder, "report/index.html")).text
    assert (
        MARKUP in index
        and LONG in index
        and TURNED.replace("\u202e", "[U+202E]") in (index.replace("[U+2066]", "\u2066"))
    )
    (first, *_) = rows(folder, "report/pages.csv")
    assert first["name"] == MARKUP
    names = [row["name"] for row in rows(folder, "report/pages.csv")]
    assert "'" + NAMES[3] in names  # guarded: no spreadsheet runs it


def roll(folder):
    with Store.existing(folder) as store:
        return [tuple(row) for row in store.rows(
            "SELECT submission, name, key FROM authors JOIN students ON id = student")]  # fmt: skip


def page_policy(text: str) -> str:
    import html

    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    return html.unescape(policy)


def test_a_students_page_is_about_nobody_else_and_holds_nothing_of_staffs(folder):
    pages = sorted((folder / "report" / "students").rglob("*.html"))
    assert len(pages) == 15  # 14 submissions, one of them of two
    shared = {"submission_07": ("Student 7", "Partner 7")}
    for path in pages:
        text = path.read_text(encoding="utf-8")
        key = path.parent.name
        for submission, name, _ in roll(folder):
            if submission != key:
                assert f"<bdi>{name}</bdi>" not in text
        for staffs in ("staff's detail", "failed.", "CPU", "digest of", "seed", "Memory"):
            assert staffs not in text.replace("not for students", ""), (path, staffs)
        if key in shared:
            assert sum(name in text for name in shared[key]) == 1  # not even the other's
    staff = text_of(folder, "report/staff/submission_07.html")
    assert all(name in staff for name in shared["submission_07"]) and "not for students" in staff


def test_a_hidden_tests_prints_are_not_shown_to_students(tmp_path):
    rng = random.Random(1)
    hidden = entry_of(1, False, rng, output="PRINTED", message="a fixed sentence")
    basic = entry_of(0, True, rng, output="BASIC")
    record = vars(record_of("submission_1", [basic, hidden]))
    for staff in (False, True):
        path = tmp_path / f"{staff}.html"
        write_result(path, record, "Ada", staff, {}, "")
        text = path.read_text(encoding="utf-8")
        assert ("PRINTED" in text) is staff and "BASIC" in text and "a fixed sentence" in text


def test_staffs_page_shows_experiments_with_the_rubric_of_their_question(other, tmp_path, capsys):
    with Store.existing(other, writes=True) as store:
        store.set("edition", "current")
    rubrics = tmp_path / "rubrics"
    rubrics.mkdir()
    assert main(["report", str(other), "--rubrics", str(rubrics)]) == 2
    assert "has no rubric of this edition's questions" in capsys.readouterr().err
    rows = "points,description,kind\n"
    text = f"{rows}0.75,A prediction that could be <wrong>,criterion\n,In block 2,wrong answer\n"
    (rubrics / "6a.csv").write_text(text, encoding="utf-8")
    assert main(["report", str(other), "--rubrics", str(rubrics)]) == 0
    page = text_of(other, "report/staff/submission_03.html")
    assert page.count("<dt>0.75</dt><dd>A prediction that could be &lt;wrong&gt;</dd>") == 1
    assert page.count("Experiment: ") == 2 and "pasted after  MASK\nblock 1" in page
    (student,) = (other / "report/students/submission_03").glob("*.html")
    assert "Experiment" not in student.read_text(encoding="utf-8")


def decide(folder, kind, student, value=""):
    with Store.existing(folder, writes=True) as store:
        store.db.execute(
            "INSERT INTO decisions (kind, student, value, reason, author, date) "
            "VALUES (?, ?, ?, 'x', 'y', '2026-11-01')",
            (kind, student, value),
        )


@pytest.fixture
def other(tmp_path):
    return nasty_class(tmp_path / "class", 16)


def test_withheld_grades_have_no_page(other):
    decide(other, "withheld", "s7@x.edu")
    assert main(["report", str(other)]) == 0
    report = other / "report"
    assert not (report / "students" / "submission_07").exists()
    assert (report / "students" / "submission_06").exists()
    assert (report / "staff" / "submission_07.html").is_file()
    named = {row["submission"] for row in rows(other, "report/pages.csv")}
    assert "submission_07" not in named and len(named) == 13


def test_late_is_what_it_is_for_grades(other, monkeypatch):
    """The class hands in from November 2, 9:00, every five hours; one has an extension."""
    course = load_course()
    due = datetime(2026, 11, 4, 8, 0, tzinfo=FIRST.tzinfo)  # 47 hours: after ten of them
    dates = course.dates.model_copy(update={"due": due})
    made = course.model_copy(update={"dates": dates})
    monkeypatch.setattr(numbers, "load_course", lambda: made)
    with Store.existing(other, writes=True) as store:  # as in a download from Canvas
        store.db.execute(
            "UPDATE submissions SET submitted = NULL, late = 1 WHERE id = 'submission_09'"
        )
    decide(other, "extension", "s11@x.edu", "2026-11-08 12:00-08:00")
    assert main(["report", str(other)]) == 0
    late = {row["submission"]: row["lateness"] for row in rows(other, "report/scores.csv")}
    on_time, one = "on time", "1 day late"
    found = [late[f"submission_{n:02}"] for n in range(8, 16)]
    assert found == [on_time, "late", one, on_time, one, one, one, "2 days late"]
    assert "1 day late" in Tags(text_of(other, "report/index.html")).text


def test_without_results_there_is_no_report(tmp_path, capsys):
    Store.create(tmp_path / "class").close()
    assert main(["report", str(tmp_path / "class")]) == 2
    assert "has no results that count" in capsys.readouterr().err


@pytest.mark.requires_tool("chromium")
def test_the_pages_are_for_everybody_and_nothing_in_them_acts(folder):
    report = folder / "report"
    pages = [report / "index.html", report / "staff" / "submission_00.html"]
    check_files([*pages, *sorted((report / "students" / "submission_02").glob("*.html"))])
