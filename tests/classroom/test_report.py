"""The report is complete, private, and harmless whatever students' names and output are."""

import csv
import html.parser
import json
import re
import shutil

import pytest

from tests.classroom.nasty import LONG, MARKUP, NAMES, RELEASE, TURNED, nasty_class
from tools.classroom.__main__ import main
from tools.classroom.folder import Source
from tools.classroom.reports import anonymous


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a class of 16 with a report and an anonymous report."""
    made = nasty_class(tmp_path_factory.mktemp("nasty") / "class", 16)
    (made.path / "repeats.json").write_text(json.dumps({"r": ["1", "2"]}), encoding="utf-8")
    for seed, outcome in (("1", "passed"), ("2", "failed")):
        path = made.submission("submission_04") / "repeats" / f"r-{seed}.json"
        path.parent.mkdir(exist_ok=True)
        test = {"test_id": "1e-0-basic", "outcome": outcome, "score": 0, "max_score": 1}
        record = {"results": {"tests": [test | {"credit": "0", "cause": "failed.x"}]}}
        path.write_text(json.dumps(record), encoding="utf-8")
    source = made.path.parent / "source" / "submission_03"
    (source / "submission").mkdir(parents=True)
    with made.locked():
        made.remember(Source(source.parent, "latest"))
    assert main(["report", str(made.path)]) == 0
    assert main(["report", str(made.path), "--anonymous"]) == 0
    return made


def text_of(folder, name: str) -> str:
    return (folder.path / name).read_text(encoding="utf-8")


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
    with open(folder.path / name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_class_is_there_and_counted_once(folder):
    page = Tags(text_of(folder, "report/index.html"))
    assert "14 of 16 submissions have a\nresult" in page.text
    assert page.tags.count("h1") == 1 and "Everybody passes 1f-1-hidden." in page.text
    statuses = [row["status"] for row in rows(folder, "report/scores.csv")]
    assert statuses == ["graded"] * 14 + ["not graded", "staff fault"]
    assert "passed 1, failed.x 1" in " ".join(page.text.split())
    assert len(rows(folder, "report/varied.csv")) == 2


def test_points_in_all_files_agree(folder):
    graded = [row for row in rows(folder, "report/scores.csv") if row["status"] == "graded"]
    lost = sum(float(row["points_lost"]) for row in rows(folder, "report/tests.csv"))
    total = sum(float(row["score"]) for row in graded)
    assert total + lost == pytest.approx(14 * 11)
    assert sum(float(row["1e"]) + float(row["1f"]) for row in graded) == pytest.approx(total)
    by_cause = {(r["cause"], r["points_lost"]) for r in rows(folder, "report/causes.csv")}
    assert sum(float(points) for _, points in by_cause) == pytest.approx(lost)
    counts = sum(int(row["count"]) for row in rows(folder, "report/outcomes.csv"))
    assert counts == 14 * 5
    assert sum(int(r["submissions"]) for r in rows(folder, "report/days.csv")) == 16


@pytest.mark.parametrize("name", ["report", "report-anonymous"])
def test_nothing_that_students_wrote_acts(folder, name):
    pages = sorted((folder.path / name).rglob("*.html"))
    assert len(pages) == (1 if name == "report-anonymous" else 1 + 15 + 14 + 1)
    for path in pages:
        text = path.read_text(encoding="utf-8")
        page = Tags(text)
        assert not {"script", "img", "iframe", "link", "form", "base"} & set(page.tags)
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
        assert "default-src 'none'" in page_policy(text)
        assert path.stat().st_mode & 0o077 == 0
        for link in re.findall(r'href="([^"#]+)"', text):
            assert (path.parent / link).resolve().is_file()
    if name == "report":
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


def page_policy(text: str) -> str:
    import html

    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    return html.unescape(policy)


def test_a_students_page_is_about_nobody_else_and_holds_nothing_of_staffs(folder):
    pages = sorted((folder.path / "report" / "students").rglob("*.html"))
    assert len(pages) == 15  # 14 submissions, one of them of two
    shared = {"submission_07": ("Student 7", "Partner 7")}
    for path in pages:
        text = path.read_text(encoding="utf-8")
        key = path.parent.name
        for entry in folder.roll().values():
            if entry.submission_id != key:
                assert f"<bdi>{entry.students[0].name}</bdi>" not in text
        for staffs in ("staff's detail", "failed.", "CPU", "digest of", "seed", "Memory"):
            assert staffs not in text.replace("not for students", ""), (path, staffs)
        if key in shared:
            assert sum(name in text for name in shared[key]) == 1  # not even the other's
    staff = text_of(folder, "report/staff/submission_07.html")
    assert all(name in staff for name in shared["submission_07"]) and "not for students" in staff


def test_a_hidden_tests_prints_are_not_shown_to_students(folder):
    import random

    from tests.classroom.nasty import record_of
    from tests.classroom.nasty import test_of as entry_of
    from tools.classroom.reports.result_pages import write_result

    hidden = entry_of(1, False, random.Random(1), output="PRINTED", message="a fixed sentence")
    basic = entry_of(0, True, random.Random(1), output="BASIC")
    for staff in (False, True):
        path = folder.path.parent / f"{staff}.html"
        write_result(path, record_of([basic, hidden]), "Ada", staff, {})
        text = path.read_text(encoding="utf-8")
        assert ("PRINTED" in text) is staff and "BASIC" in text and "a fixed sentence" in text


def test_withheld_grades_have_no_page(folder, tmp_path, capsys):
    (folder.path / "gradebook").mkdir(exist_ok=True)
    file = folder.path / "gradebook" / "withheld.csv"
    file.write_text("student,reason,author,date\ns7@x.edu,x,y,z\nnobody,x,y,z\n", encoding="utf-8")
    into = tmp_path / "out"
    assert main(["report", str(folder.path), "--into", str(into)]) == 0
    assert "'nobody' is not on the roll" in capsys.readouterr().err
    file.unlink()
    assert not (into / "students" / "submission_07").exists()
    assert (into / "students" / "submission_06").exists()
    assert (into / "staff" / "submission_07.html").is_file()
    pages = (into / "pages.csv").read_text(encoding="utf-8").splitlines()
    named = {row["submission"] for row in csv.DictReader(pages)}
    assert "submission_07" not in named and len(named) == 13


def test_an_anonymous_report_tells_of_nobody(folder):
    place = folder.path / "report-anonymous"
    assert not list(place.glob("*/*")) and not (place / "pages.csv").exists()
    whole = "".join(path.read_text(encoding="utf-8") for path in place.iterdir())
    for entry in folder.roll().values():
        assert entry.submission_id not in whole
        for student in entry.students:
            assert student.name not in whole and student.key not in whole
    for text in ("printed", "vocabulary is wrong", "dataset.py", "09:00", "killed", MARKUP):
        assert text not in whole
    key = anonymous.key_of(folder)
    assert anonymous.pseudonym(key, "submission_03") in whole
    assert key.hex() not in whole and not list(place.glob("*pseudonyms*"))
    assert rows(folder, "report/tests.csv") == rows(folder, "report-anonymous/tests.csv")


def test_pseudonyms_stay_and_depend_on_the_key(folder):
    key = anonymous.key_of(folder)
    assert anonymous.key_of(folder) == key and len(key) == 32
    assert anonymous.pseudonym(key, "a") != anonymous.pseudonym(key[::-1], "a")


def test_a_folder_that_holds_something_else_is_not_replaced(folder, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x", encoding="utf-8")
    assert main(["report", str(folder.path), "--into", str(tmp_path / "mine")]) == 2
    assert "contains something else" in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.tex").is_file()


def test_a_release_that_graded_nothing_is_refused(folder, capsys):
    assert main(["report", str(folder.path), "--release", "r9"]) == 2
    assert f"no records of release r9; it has {RELEASE}" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::EncodingWarning")  # axe's package reads its own file
@pytest.mark.requires_tool("chromium")
def test_axe_finds_no_fault_with_the_pages_and_nothing_in_them_acts(folder):
    """Check in light mode on a large screen, in dark mode on a phone, with everything open."""
    from axe_playwright_python.sync_playwright import Axe
    from playwright.sync_api import sync_playwright

    report = folder.path / "report"
    pages = [report / "index.html", report / "staff" / "submission_00.html"]
    pages += sorted((report / "students" / "submission_02").glob("*.html"))
    flags = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    said: list[str] = []
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=flags)
        for scheme, width in (("light", 1280), ("dark", 390)):
            shown = browser.new_page(color_scheme=scheme, viewport={"width": width, "height": 900})
            shown.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
            shown.on("request", lambda request: said.append(request.url))
            for path in pages:
                shown.goto(path.as_uri())
                shown.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                found = Axe().run(shown)
                assert found.violations_count == 0, found.generate_report()
                assert len(found.response["passes"]) > 10
                wide = shown.evaluate("document.documentElement.scrollWidth")
                assert wide <= width, f"{path.name} scrolls sideways"
                assert shown.title() != "owned"
        browser.close()
    assert said and all(each.startswith("file:") for each in said)
