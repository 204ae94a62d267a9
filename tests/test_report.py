"""The HTML report is complete, self-contained, and safe whatever a student's code prints."""

import base64
import hashlib
import itertools
import re
from html import unescape

import pytest

from autograder import pages
from grading import report
from grading.verdicts import Outcome, Results, TestResult
from tests.accessible import check_files
from tests.interpreter import python
from tests.snapshots.made import EDITION

TEXTS = {
    "message": "<b>wrong</b> & so on\n  got: </pre><script>alert(1)</script>",
    "output": "PRINTED <i>",
    "detail": "DETAIL",
}


@pytest.fixture
def results():
    tests = [
        TestResult(
            spec=spec, description="does it", outcome=outcome, score=spec.max_score / 2, **TEXTS
        )
        for spec, outcome in zip(EDITION.tests, itertools.cycle(Outcome), strict=False)
    ]
    made = Results(EDITION, 5, tests)
    made.facts = {"layers": ["own uid"], "versions": {"torch": "2"}, "judged_by": "f" * 64}
    return made


def students(results, is_judged=True):
    return report.page(results, report.Report.of(results, staff=False, is_judged=is_judged))


def test_what_code_prints_is_no_code_and_what_hidden_tests_say_is_for_staff(results):
    """tests/snapshots holds what else stands in the pages."""
    for page, is_staff in ((students(results), False), (pages.page(results), True)):
        assert "<script" not in page and "<i>" not in page
        addresses = re.findall(r'(?:href|src)="([^"]*)"', page)
        assert addresses and all(address.startswith("#") for address in addresses)
        hidden = sum(test.spec.is_hidden for test in results.tests)
        count = len(results.tests) if is_staff else len(results.tests) - hidden
        assert page.count("PRINTED") == count
        assert page.count("DETAIL") == (count if is_staff else 0)
        assert ("not for students" in page) == is_staff


@pytest.mark.requires_tool("chromium")
def test_the_pages_are_for_everybody(results, tmp_path):
    """A student's page is like one of these, with other words."""
    for name, text in (("staff", pages.page(results)), ("home", students(results, False))):
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    check_files(sorted(tmp_path.glob("*.html")))


def test_staffs_command_writes_both_reports(tree, tmp_path):
    mine, staffs = tmp_path / "report.html", tmp_path / "staff.html"
    options = ("--html", str(mine), "--staff-html", str(staffs), "--seed", "7")
    ran = python(tree, "src/grader.py", "1b", *options, "--edition", "cs224n")
    assert ran.returncode == 1, ran.stdout + ran.stderr  # the starter
    assert "Assignment 5" in mine.read_text(encoding="utf-8")
    assert "not for students" in staffs.read_text(encoding="utf-8")


@pytest.fixture
def template(tmp_path):
    """Return the template of a page that shows a text."""
    text = '{% extends "page.html.j2" %}{% block content %}<p id="{{ text }}">{{ text }}'
    (tmp_path / "shown.html.j2").write_text(text + "{% endblock %}", encoding="utf-8")
    (tmp_path / "shown.css").write_text("p { color: red }\n", encoding="utf-8")
    return tmp_path / "shown.html.j2"


def test_what_is_shown_is_escaped_and_what_is_hidden_is_shown(template):
    nasty = "</p></title><script>\"'&\u202e\u2066\u200b\ufeff\u2028\x00\x1b\ud800\r\nساعت\u200cها"
    page = report.render(template, title=nasty, text=nasty)
    shown = "</p></title><script>\"'&" + "".join(
        f"[U+{code}]" for code in "202E 2066 200B FEFF 2028 0000 001B D800".split()
    )
    assert unescape(page).count(shown + "\nساعت\u200cها") == 3
    assert page.count("</title") == 1 and "<script" not in page
    assert page.encode("utf-8")  # everything in it can be written


def test_the_policy_allows_the_inlined_styles_alone(template):
    page = report.render(template, title="a", text="b")
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    styles = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    assert len(styles) == 2
    digests = [hashlib.sha256(text.encode("utf-8")).digest() for text in styles]
    one, two = (f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)
    fixed = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src"
    assert unescape(policy) == f"{fixed} {one} {two}"
