"""The HTML report is complete, self-contained, and safe whatever a student's code prints."""

import html.parser
import itertools
import re
import shutil

import pytest

from autograder import pages
from grading import report
from grading.results import Results, TestResult
from grading.verdicts import Outcome
from tests import pinned
from tests.accessible import check_files
from tests.interpreter import python
from tools import starter

EDITION = pinned.load().edition(None)
VOID = {"meta", "rect", "path", "link", "br", "img", "input"}


class Checker(html.parser.HTMLParser):
    """Fails if tags don't match; collects what a reader would see."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.text, self.attributes = [], [], "", []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text += data


def parsed(page):
    checker = Checker()
    checker.feed(page)
    checker.close()
    assert checker.open == []
    return checker


@pytest.fixture
def results():
    texts = {
        "message": "<b>wrong</b> & so on\n  got: </pre><script>alert(1)</script>",
        "output": "PRINTED <i>",
        "detail": "DETAIL",
    }
    tests = [
        TestResult(
            spec=spec,
            description=f"does {spec.name}",
            outcome=outcome,
            score=spec.max_score / 2,
            **texts,
        )
        for spec, outcome in zip(EDITION.tests, itertools.cycle(Outcome), strict=False)
    ]
    made = Results(EDITION, 5, tests)
    made.facts = {"layers": ["own uid"], "versions": {"torch": "2"}, "judged_by": "f" * 64}
    return made


def shown(results, is_judged=True):
    """Return a student's page."""
    return report.page(results, report.Report.of(results, staff=False, is_judged=is_judged))


@pytest.mark.parametrize("staff", [False, True])
def test_every_test_stands_in_it_with_points_and_outcome(results, staff):
    page = parsed(pages.page(results) if staff else shown(results))
    assert "script" not in page.tags and "i" not in page.tags
    for test in results.tests:
        line = re.search(
            rf"{test.spec.test_id} ([a-z, ]+), (?:[\d.]+ of|worth [\d.]+|no points)", page.text
        )
        assert line and line[1] == test.outcome.value
    assert f"{results.score.normalize():f} of 53 points" in page.text


@pytest.mark.requires_tool("chromium")
def test_the_pages_are_for_everybody(results, tmp_path):
    texts = [shown(results), pages.page(results), shown(results, is_judged=False)]
    files = [tmp_path / f"{number}.html" for number in range(len(texts))]
    for file, text in zip(files, texts, strict=True):
        file.write_text(text, encoding="utf-8")
    check_files(files)


def test_a_students_report_holds_nothing_for_staff(results):
    page = parsed(shown(results))
    hidden = sum(t.spec.is_hidden for t in results.tests)
    assert "DETAIL" not in page.text
    assert page.text.count("PRINTED") == len(results.tests) - hidden
    staff = parsed(pages.page(results))
    assert staff.text.count("DETAIL") == staff.text.count("PRINTED") == len(results.tests)
    assert "not for students" in staff.text


def test_it_needs_nothing_else_and_tells_readers_what_pictures_show(results):
    page = parsed(pages.page(results))
    addresses = [value for name, value in page.attributes if name in ("href", "src")]
    assert addresses and all(address.startswith("#") for address in addresses)
    pictures = [value for name, value in page.attributes if name == "aria-label"]
    assert len(pictures) == sum(1 for q in EDITION.questions if q.tests and q.coding)
    assert all(re.fullmatch(r"[\d.]+ of [\d.]+ points", label) for label in pictures)
    assert page.tags.count("h1") == 1
    ids = {value for name, value in page.attributes if name == "id"}
    assert {address[1:] for address in addresses} <= ids


def test_the_command_writes_both_reports(tree, tmp_path):
    # README.md's command, on one question to be quick.
    mine, staffs = tmp_path / "report.html", tmp_path / "staff.html"
    options = ("--html", str(mine), "--staff-html", str(staffs), "--seed", "7")
    ran = python(tree, "src/grader.py", "1b", *options, "--edition", "cs224n")
    assert ran.returncode == 1, ran.stdout + ran.stderr  # the starter
    assert "Assignment 5" in parsed(mine.read_text(encoding="utf-8")).text
    assert "not for students" in parsed(staffs.read_text(encoding="utf-8")).text


def test_without_the_judges_the_command_writes_a_report_without_points(tree, tmp_path):
    """As in a student's folder."""
    shutil.copytree(tree / "src", tmp_path / "src")
    (tmp_path / "src" / "edition.json").write_bytes(starter.edition_file(tree, "xcs224n"))
    ran = python(tmp_path, "src/grader.py", "3a", "--html", "report.html")
    assert ran.returncode == 1, ran.stdout + ran.stderr  # the starter
    page = parsed((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "Problem Set 5: basic 0 of 2; 2 hidden tests are graded when you submit" in page.text
    assert "points in all" not in page.text and "of 53" not in page.text


def test_a_report_that_cannot_be_written_is_refused_before_grading(tree):
    ran = python(tree, "src/grader.py", "1b", "--html", "no/such/report.html")
    assert ran.returncode == 2 and "--html no/such/report.html: there is no folder" in ran.stderr


def test_without_jinja2_a_page_is_refused_before_grading(tree):
    code = (
        "import sys; sys.modules['jinja2'] = None; sys.path.insert(0, 'src')\n"
        "from grading import cli; from questions.course import Course\n"
        "sys.exit(cli.main(Course(), ['3a', '--html', 'report.html']))"
    )
    ran = python(tree, "-c", code)
    assert ran.returncode == 2 and "need jinja2" in ran.stderr and "Traceback" not in ran.stderr
