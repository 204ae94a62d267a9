"""The report is right, complete, private, and harmless whatever students' names and output are."""

import csv
import html
import io
import json
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
from classroom.report.causes import MOST_LINES, quote
from classroom.report.result_pages import titles
from classroom.store import Store
from classroom.submissions import Record, Student, Submission
from tests.accessible import WINDOWS, check_files
from tests.classroom.contents import export, lay
from tests.classroom.scripted import entry, results_of

# Names and texts contain markup, characters that reverse text, and 300 letters.
MARKUP = "</script><script>document.title='owned'</script><img src=x onerror=alert(1)>"
TURNED = "evil\u202egnp.exe\u2066"
LONG = "Wolfeschlegelsteinhausenbergerdorff" * 9  # 315 letters
FORMULA, PARTNER = "=cmd|' /C calc'!A0", "O'Brien, Zoë"
DUE = datetime(2026, 11, 4, 8, 0, tzinfo=timezone(timedelta(hours=-8)))
# Who handed in each submission, how many hours after it was due, and which of the tests with points
# it passes: 11, 5, 5.5 and 1 points of 11. The fifth isn't graded, and the last is a staff fault.
CLASS = (
    ([MARKUP], -1, (1, 1, 1, 1)),
    ([TURNED, PARTNER], 1, (1, 0, 1, 0)),
    ([LONG], 2, (0, 0, 1, 1)),
    ([FORMULA], 30, (0, 0, 0, 0)),
    (["محمد بن موسى"], 30, ()),
    (["Ngô Bảo Châu"], -1, ()),
)
# Test, description, points, topic, and its failure: cause, message. The topic of 1f had that number
# once; everybody fails the practice; the last test is dropped, which gives everybody its point.
TESTS = (
    ("1e-0-basic", "ids are sorted", 1.5, "span_corruption", "failed.order", f"wrong\n  {MARKUP}"),
    ("1e-1-hidden", "the span is a quarter", 4.0, "span_corruption", "failed.short", "too short"),
    ("1e-2-hidden", "any alphabet", 2.5, "span_corruption", "error.KeyError", "a.py: KeyError"),
    ("1f-0-basic", "the accuracy on dev", 2.0, "synthesizer", "failed.few", f"few {TURNED}"),
    ("3a-0-basic", "practice", 0.0, "blocks_masks", "failed.mask", "no mask"),
    ("1f-1-hidden", "everybody", 1.0, "synthesizer", "dropped", ""),
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


def turned(name: str) -> str:
    """Return a name as pages show it."""
    return name.replace("\u202e", "[U+202E]").replace("\u2066", "[U+2066]")


def entry_of(index: int, number: int, passes: bool) -> dict[str, Any]:
    """Return the entry of one of the TESTS for a submission, with everything that a page shows."""
    test_id, name, points, topic, cause, message = TESTS[index]
    shown = {
        "topic": topic,
        "wall_s": 1.0,
        "output": f"printed by {test_id} {MARKUP}" if index < 2 else "",
        "measured": {"accuracy": 0.3} if test_id == "1f-0-basic" else {},
        "cpu_s": 1.0 + number,
        "peak_bytes": 100 << 20,
    }
    if not passes:
        shown |= {"message": message, "cause": cause, "detail": f"staff's detail {MARKUP}"}
        shown |= {"look_at": "f in submission/dataset.py"}
        # Only for the submission that fails everything does anybody know the line.
        shown |= {"where": "submission/dataset.py:3" if number == 3 else ""}
    if cause == "dropped":
        shown |= {"score": points}
    return entry(test_id, name, points, "passed" if passes else cause.partition(".")[0], **shown)


class Report:
    """What the command wrote about the class."""

    def __init__(self, folder: Path) -> None:
        self.pages = folder / "report"
        self.index = self.text("index.html")
        self.words = html.unescape(re.sub("<[^>]*>", "", self.index))  # what is to be read in it

    def text(self, name: str) -> str:
        return (self.pages / name).read_text(encoding="utf-8")

    def rows(self, name: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.text(name))))


RUBRIC = """points,description,kind
0.75,A prediction that could be <wrong>,criterion
,In block 2,wrong answer
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Report:
    """Return the report on the class.

    The third student is withheld, and the platform doesn't say how late; the fourth has more time.
    """
    folder = tmp_path_factory.mktemp("report")
    for number, (names, hours, _) in enumerate(CLASS):
        at = (DUE + timedelta(hours=hours)).isoformat(" ")
        files = {"submission/dataset.py": f"one\ntwo\nthree {number}\n".encode()}
        export(folder / "source", number, names, at, files)
    (folder / "6a.csv").write_text(RUBRIC, encoding="utf-8")
    source, path = read_export(folder / "source"), folder / "class"
    with Store.create(path) as store, store.transaction():
        store.add_submissions(folder / "source", source.kind, source.submissions)
        for number, (_, _, passes) in enumerate(CLASS):
            tests = [entry_of(i, number, p) for i, p in enumerate((*passes, False, False))]
            text = json.dumps(results_of(tests, edition="current", facts=FACTS))
            values = f"submission_{number}", "r", "grade", "graded", "7", "upload", text
            record = Record(*values, processor="Xeon")
            if number == 5:
                why = f"its worker was killed {MARKUP}"
                store.add_record(replace(record, outcome="staff fault", results=None, reason=why))
            elif number != 4:
                store.count(store.add_record(record))
        store.set("release", "r")
        store.set("edition", "current")
        late = "UPDATE submissions SET submitted = NULL, late = 1 WHERE id = 'submission_2'"
        store.db.execute(late)  # as in a download from Canvas
        for kind, number, value in (
            ("withheld", 2, ""),
            ("extension", 3, "2026-11-08 12:00-08:00"),
        ):
            decided = {"kind": kind, "student": f"submission_{number}", "value": value}
            store.add("decisions", decided | {"reason": "x", "author": "y", "date": "2026-11-01"})
    course = load_course()
    dates = course.dates.model_copy(update={"due": DUE})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "load_course", lambda: course.model_copy(update={"dates": dates}))
        assert main(["report", str(path), "--rubrics", str(folder)]) == 0
    return Report(path)


def test_scores_questions_tests_and_causes_have_the_numbers_computed_by_hand(report):
    scores = [(row["score"], row["status"]) for row in report.rows("scores.csv")]
    assert scores[:4] == [(score, "graded") for score in ("11", "5", "5.5", "1")]
    assert scores[4:] == [("", "not graded"), ("", "staff fault")]
    first, second, third = report.rows("questions.csv")
    assert list(first.values()) == ["1e", "8", "0", "1.875", "3.25", "5", "8", "3.625", "1", "1"]
    assert [second[key] for key in ("question", "max_score", "full", "none")] == ["1f", *"320"]
    assert (third["question"], third["max_score"]) == ("3a", "0")
    assert "4 of\n6 submissions have a result" in report.words
    assert "the mean is 5.625 and the median\n5.25" in report.words
    assert "has 4 to\n6.875 points, the whole class 1 to\n11" in report.words

    table = report.rows("tests.csv")  # sorted by what they cost
    assert [(row["test"], row["points_lost"], row["passed"]) for row in table] == [
        ("1e-1-hidden", "12", "1"),
        ("1f-0-basic", "4", "2"),
        ("1e-0-basic", "3", "2"),
        ("1e-2-hidden", "2.5", "3"),
        ("1f-1-hidden", "0", "0"),
        ("3a-0-basic", "0", "0"),
    ]
    expected = {"graded": "4", "other_outcomes": "failed 3", "cpu_s_mean": "2.5"}
    expected |= {"cpu_s_greatest": "4"}
    assert {key: table[0][key] for key in expected} == expected
    bars = numbers.histogram([0, 1.0, 9.99, 10, 12], 10)  # with extra credit above the maximum
    assert [*bars.values()] == [1, 1, 0, 0, 0, 0, 0, 0, 0, 3]

    table = report.rows("causes.csv")
    assert [(row["cause"], row["points_lost"], row["submission"][-1]) for row in table] == [
        *((TESTS[1][4], "12", one) for one in "123"),
        *((TESTS[3][4], "4", one) for one in "13"),
        *((TESTS[0][4], "3", one) for one in "23"),
        (TESTS[2][4], "2.5", "3"),
        *((TESTS[4][4], "0", one) for one in "0123"),
    ]


def test_causes_have_an_example_with_a_known_line_and_practice_is_apart(report):
    failures = html.unescape(report.index).partition('id="causes"')[2].partition('id="tests"')[0]
    causes, practice = failures.split('id="practice"')
    assert "failed.mask" in practice and "failed.mask" not in causes
    assert practice.count("message to <bdi>") == 1 and "three" not in practice
    assert causes.count(f"message to <bdi>{FORMULA}") == 4
    assert causes.count(">    3  three 3") == 4
    # A question has the title of its topic, whichever number that has now.
    titled = titles()["synthesizer"]
    assert titled in causes and titles()["pretraining"] not in report.index


def test_late_is_what_it_is_for_grades(report):
    on_time, one, two = "on time", "1 day late", "2 days late"
    late = [row["lateness"] for row in report.rows("scores.csv")]
    assert late == [on_time, one, "late", on_time, two, on_time]
    chart = re.search(r"Submissions by lateness.*?</table>", report.index, re.S)
    labels = re.findall(r'<th scope="row">(.*?)</th><td class="number">(\d+)', chart[0])
    assert labels == [(on_time, "3"), (one, "1"), (two, "1"), ("late", "1")]


def test_a_class_without_results_is_refused_or_has_an_empty_report(tmp_path, command):
    with Store.create(tmp_path / "empty") as store:
        store.add_submissions(tmp_path, "folder", [Submission("s0", (Student("k", "N"),))])
        path = store.path
    assert command("report", path)[0] == 2
    with Store.existing(path, writes=True) as store:
        store.set("release", "r")
    code, _, error = command("report", path)
    assert code == 0 and "examples are shown without code: " in error
    assert "No submission has a result yet." in Report(path).index


CODE = '''import x

class Data:
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
        ("submission/dataset.py:5", "", CODE, [*"1234", ">", *"6789"]),  # the lines around
        ("", FUNCTION, CODE, ["4", "9", "10"]),  # without its docstring
        ("../../etc/passwd:1", "", CODE, []),
        ("", FUNCTION, CODE + "        x = 1\n" * 500, ["4", *map(str, range(9, 8 + MOST_LINES))]),
        ("", FUNCTION, CODE + "def f(:\n", []),
    ],
)
def test_what_is_quoted_is_what_tests_point_to(tmp_path, where, look_at, text, shown):
    lay(tmp_path / "class" / "one", {"submission/dataset.py": text.encode()})
    (submission,) = read_export(tmp_path / "class").submissions
    lines = quote(submission, where, look_at).splitlines()
    assert [line.split()[0] for line in lines] == shown


def test_all_pages_are_there_and_nothing_that_students_wrote_acts(report):
    pages = sorted(report.pages.rglob("*.html"))
    assert len(pages) == 1 + 5 + 4  # of the class, for staff, and for students
    for path in pages:
        text = path.read_text(encoding="utf-8")
        tags = {*re.findall(r"<(\w+)", text)}
        assert not {"script", "img", "iframe", "link", "form", "base"} & tags
        assert not re.search(r"<[^>]*\s(on\w+|style)=", re.sub('"[^"]*"', "", text))
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert "default-src 'none'" in html.unescape(policy)
        assert path.stat().st_mode & 0o077 == 0
        for link in re.findall(r'href="([^"#]+)"', text):
            assert (path.parent / link).resolve().is_file()
    assert all(text in report.words for text in (MARKUP, LONG, turned(TURNED)))
    named = [(row["submission"][-1], row["name"]) for row in report.rows("pages.csv")]
    # Guarded: no spreadsheet runs it. Whose grades are withheld has no page.
    assert named == [("0", MARKUP), ("1", TURNED), ("1", PARTNER), ("3", f"'{FORMULA}")]


def test_a_students_page_is_about_nobody_else_and_holds_nothing_of_staffs(report):
    for row in report.rows("pages.csv"):
        text, own = report.text(row["page"]), turned(row["name"].removeprefix("'"))
        named = {name for names, *_ in CLASS for name in map(turned, names)} - {own, MARKUP}
        assert f"<bdi>{own}</bdi>" in html.unescape(text)
        assert not [name for name in named if name in html.unescape(text)]
        assert "printed by 1e-0-basic" in text
        hidden = ("staff's detail", "failed.", "CPU", "digest of", "seed", "Memory", "Experiment")
        for staffs in (*hidden, "printed by 1e-1-hidden"):
            assert staffs not in text.replace("not for students", ""), (row, staffs)


def test_staffs_pages_have_everybody_every_detail_and_rubrics(report):
    page = report.text("staff/submission_1.html")
    parts = (turned(TURNED), "Zoë", "not for students", "printed by 1e-1-hidden", "digest of")
    assert all(part in page for part in (*parts, "Memory", "staff&#39;s detail"))
    assert page.count("<dt>0.75</dt><dd>A prediction that could be &lt;wrong&gt;</dd>") == 1
    assert page.count("Experiment: ") == 2 and "pasted after  MASK\nblock 1" in page
    assert "its worker was killed" in report.text("staff/submission_5.html")


@pytest.mark.requires_tool("chromium")
def test_the_pages_are_for_everybody_and_nothing_in_them_acts(report):
    """Students' pages have the template of `tests/test_report.py`."""
    check_files([report.pages / "index.html"])
    check_files([report.pages / "staff" / "submission_0.html"], WINDOWS[1:2])
