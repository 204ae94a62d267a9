"""Each view of a run: for students and staff, in the terminal, as web page, JSON, and Gradescope.

The runs are those of made.py, so that the files show the same run side by side.
"""

import copy
import io
import json
import re
import sys

import pytest

from autograder import console, pages
from autograder.gradescope import document, metadata, session
from classroom.report import result_pages
from grading import report
from grading.staging import Omission, Staged
from tests import pinned
from tests.snapshots import check, in_lines, made
from tools import emulate

MIXED = "some of everything"
STAGED = Staged(
    None,
    taken={f"submission/{n}.py": f"ROOT/src/submission/{n}.py" for n in ("attention", "dataset")}
    | {"vanilla.model.params": "ROOT/vanilla.model.params"},
    omissions=[Omission(f"notes{n}.txt", "why") for n in range(5)],
    added=["model.py", "trainer.py"],
    renamed={"submission/helper.py": "submission/Helper (1).py"},
    required=("submission/helper.py", "vanilla.pretrain.params"),
)


def students(run, monkeypatch, width=0):
    """Return what students read in a file, or in a terminal of some width."""
    screen = io.StringIO()
    screen.isatty = lambda: width > 0
    lines = report.student_lines(made.results(run, False), [report.files_line(STAGED)])
    monkeypatch.setattr(sys, "stdout", screen)
    for name, value in {"COLUMNS": str(width), "TERM": "xterm", "NO_COLOR": ""}.items():
        monkeypatch.setenv(name, value)
    report.show(lines)
    return screen.getvalue().replace("\033", "ESC").removesuffix("\n")


@pytest.mark.parametrize(("name", "width"), [("student", 0), ("student_60", 60), ("colours", 80)])
def test_terminal_of_students(name, width, monkeypatch):
    runs = [MIXED] if width else made.RUNS
    texts = {run: students(run, monkeypatch, width) for run in runs}
    codes = r"" if name == "colours" else r"ESC\[[\d;]*m"
    check(f"terminal_{name}", {run: re.sub(codes, "", text) for run, text in texts.items()})


def test_terminal_of_staff(capsys):
    shown = {}
    for run in (MIXED, "a basic and a hidden test are dropped", "interrupted", "the grader failed"):
        results = made.results(run, True)
        console.show_staged(STAGED)
        for test in results.selected_tests:
            console.show_next(results, test)
        console.show_summary(results)
        shown[run] = capsys.readouterr().out
    check("terminal_staff", shown)


@pytest.mark.parametrize("whose", ["at_home", "student", "staff"])
def test_report_as_a_web_page(whose):
    texts = {}
    for run in (MIXED, "one question", "the grader failed"):
        results = made.results(run, whose != "at_home")
        shown = report.Report.of(results, staff=False, is_judged=whose != "at_home")
        page = pages.page(results) if whose == "staff" else report.page(results, shown)
        is_whole = run == MIXED and whose != "student"  # whose questions are as at home
        texts[run] = in_lines(page) if is_whole else in_lines(page).partition("<h2")[0]
    check(f"report_{whose}", texts)


def test_results_as_json(tmp_path):
    """What students' results hold, and in what staff's differ from them."""
    contents = []
    for staff in (False, True):
        made.results("one question", staff).write(tmp_path / "results.json", staff=staff)
        contents.append(json.loads((tmp_path / "results.json").read_text(encoding="utf-8")))
    same, staffs = contents
    tests = zip(same["tests"], staffs["tests"], strict=True)
    more = _additions(same, staffs) | {"tests": [_additions(*both) for both in tests]}
    texts = {"students'": _laid_out(same)}
    texts["what differs in staff's"] = _laid_out(more)
    check("json", texts)


def _additions(content, other):
    return {key: value for key, value in other.items() if value != content.get(key)}


def _laid_out(content):
    """Return JSON with each test on a line."""
    tests = [json.dumps(test, ensure_ascii=False) for test in content["tests"]]
    others = {key: value for key, value in content.items() if key != "tests"}
    return "\n".join([json.dumps(others, indent=1, ensure_ascii=False), *tests])


NOTES = ["You submitted 2 times before; best so far: 12 points.", "Missing files: helper.py."]
EXTRA = {"judged_by": "f" * 64, "versions": {"torch": "2"}, "layers": [], "missing": []}
EXTRA |= {"authoritative": True, "submission": "submission 7", "graded": "now", "digest": ""}


def test_gradescope():
    shown = {}
    for run in (MIXED, "the untouched starter"):
        content = document.document(made.results(run, True), "visible", NOTES, EXTRA, 12.4)
        shown[f"{run}: what students see"] = "\n".join(emulate.student_lines(content))
    content = document.document(made.results(MIXED, True), "visible", NOTES, EXTRA, 12.4)
    shown[f"{MIXED}: results.json"] = _laid_out(content)
    content = document.document(made.results(MIXED, True), "after_published", NOTES, EXTRA, 12.4)
    later = "hidden tests after_published: what students see"
    shown[later] = "\n".join(emulate.student_lines(content))
    check("gradescope", shown)


def test_a_classs_result_pages(tmp_path, monkeypatch):
    known = {"span_corruption": "Define a span corruption function"}
    monkeypatch.setattr(result_pages, "titles", lambda: known)
    results = json.dumps(made.results(MIXED, True).as_dict(staff=True))
    record = {"results": results, "outcome": "graded", "reason": "", "processor": ""}
    refused = record | {"outcome": "nothing to grade", "reason": "it holds no files"}
    lost = record | {"results": None, "outcome": "staff fault", "reason": "lost"}
    pages = {}
    for title, each, staff in (
        ("a student's", record, False),
        ("staff's", record, True),
        ("nothing was graded", refused | {"results": None}, False),
        ("a staff fault, for staff", lost, True),
    ):
        path = tmp_path / "page.html"
        result_pages.write_result(path, each, "Ada Lovelace", staff, "A note.")
        page = in_lines(path.read_text(encoding="utf-8"))
        pages[title] = page.partition("<h2")[0]  # the rest is that of the reports
    check("class_result_pages", pages)


def test_notes_on_gradescope(tmp_path):
    """What stands above all tests: when the work came, earlier uploads, and what waits."""
    texts, edition = {}, copy.deepcopy(pinned.load().edition("xcs224n"))
    object.__setattr__(edition.gradescope, "hidden_feedback_a_day", 1)
    for kind in emulate.KINDS:
        path = tmp_path / "submission_metadata.json"
        about = emulate.about(kind)
        if about is not None:
            path.write_text(about if isinstance(about, str) else json.dumps(about), "utf-8")
        known = metadata.read(path)
        path.unlink(missing_ok=True)
        lines = [metadata.arrival(known), session.earlier(known, edition)]
        if known.until_feedback(1):
            lines.append(session.why_later(known, edition))
        texts[kind] = "\n".join([*lines, *(f"staff: {problem}" for problem in known.problems)])
    texts["moments"] = "\n".join(filter(None, document.LATER.values()))
    check("gradescope_notes", texts, {str(tmp_path): "TMP"})
