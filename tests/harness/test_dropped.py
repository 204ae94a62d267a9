"""A test that is dropped isn't run, costs nobody anything, and leaves all others as they were."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest

from autograder import authoritative
from autograder.description import StaffAssignment, load_assignment
from autograder.gradescope import document
from autograder.judging import course_runner
from grading import cli
from grading.runner import Observer, Options, Runner
from grading.verdicts import ExitCode, Outcome, Results, exit_code
from questions.course import Course
from tests import pinned
from tests.classroom.tiny import TINY
from tests.project import copy_of_the_project
from tools import autograder, container, emulate, world
from tools.handout import first_page

REASON = "its keys were not orthogonal"
BASIC = "perpendicular = { kind = "
HIDDEN = "any_query = { kind = "
WORTH = {"1a-0-basic": 1, "1a-1-hidden": 3, "1a-2-basic": 1, "1a-3-hidden": 3}
STARTER = "raise NotImplementedError\n"
# Right for perpendicular keys alone: earns what 1a-0-basic is worth.
WEAK = "return 1000 * keys[j]\n"


def described(folder, *lines: str) -> StaffAssignment:
    """Return an assignment in which the tests with these lines are dropped, the first of each."""
    text = pinned.text() + TINY
    for line in lines:
        assert line in text
        text = text.replace(line, line.replace("{", f"{{ dropped = {json.dumps(REASON)},"), 1)
    (folder / "assignment.toml").write_text(text, encoding="utf-8")
    return load_assignment(folder)


@pytest.fixture
def runner(tmp_path) -> Runner:
    return course_runner(described(tmp_path, BASIC, HIDDEN), Course())


def ends(results: Results) -> dict[str, tuple[str, Decimal]]:
    return {t.spec.test_id: (t.outcome.value, t.score) for t in results.tests}


def test_everybody_gets_its_points_and_no_other_verdict_changes(tmp_path, run, write_query, pools):
    upload = write_query(WEAK)
    options = Options(submission=upload, edition="tiny")
    undropped = course_runner(described(tmp_path), Course())
    before = undropped.run(options, 7, Observer(), pools["zygote"])
    after = run(upload, edition="tiny")
    dropped = {"1a-0-basic", "1a-3-hidden"}
    for old, new in zip(before.tests, after.tests, strict=True):
        assert new.spec.max_score == old.spec.max_score == WORTH[new.spec.test_id]
        if new.spec.test_id in dropped:
            assert (new.outcome, new.score, new.credit) == (Outcome.DROPPED, new.spec.max_score, 1)
            assert new.message == f"everybody gets its points: {REASON}"
        else:
            same = {"spec": old.spec, "wall_s": 0, "cpu_s": 0, "peak_bytes": 0}
            assert replace(old, **same) == replace(new, **same)
    kept = sum(test.score for test in before.tests if test.spec.test_id not in dropped)
    assert (after.score, after.max_score) == (kept + 4, before.max_score)


def test_it_fails_no_run_and_whoever_was_not_asked_for_it_gets_no_points(run, write_query):
    upload = write_query(STARTER)
    results = run(upload, "1a-0-basic", "1a-3-hidden", edition="tiny")
    assert exit_code(results.outcomes) is ExitCode.OK
    assert results.score == results.max_score == 4
    other = run(upload, "1a-1-hidden", edition="tiny")
    assert {*ends(other).values()} == {("failed", 0), ("not run", 0)}


def test_an_upload_with_nothing_to_grade_gets_its_points_too(runner):
    results = authoritative.nothing_to_grade(runner.blank(runner.assignment.edition("tiny"), 7, ""))
    lacking = ("missing file", 0)
    assert [*ends(results).values()] == [("dropped", 1), lacking, lacking, ("dropped", 3)]
    assert results.as_dict(staff=True)["score"] == 4


def test_gradescope_gives_its_points_and_says_why(run, write_query):
    results = run(write_query(STARTER), edition="tiny")
    extra = {"judged_by": "0" * 64, "versions": {}, "layers": [], "missing": []}
    content = document.document(results, "visible", [], extra | {"authoritative": True}, 1.0)
    document.serialize(content)
    entries = {entry["name"].partition(":")[0]: entry for entry in content["tests"]}
    status = [entry["status"] for entry in entries.values()]
    assert status == ["passed", "failed", "failed", "passed"]
    assert entries["1a-3-hidden"]["score"] == entries["1a-3-hidden"]["max_score"] == 3
    assert entries["1a-3-hidden"]["extra_data"] == {"outcomes": {"1a-3-hidden": "dropped"}}
    assert content["score"] == 4
    assert "\n".join(emulate.student_lines(content)).count(REASON) == 2


def test_the_list_and_the_sheet_name_it(runner, capsys):
    edition = runner.assignment.edition("tiny")
    cli._list(edition, runner.select(edition, ()))
    assert capsys.readouterr().out.count(f"(dropped: {REASON})") == 2
    assert first_page.tests_in_words(edition.tests).endswith("; 2 dropped")


@pytest.mark.long
@pytest.mark.requires_root
def test_the_build_expects_its_points_from_the_untouched_starter(tmp_path):
    tree = copy_of_the_project(tmp_path / "course")
    described(tree, BASIC, HIDDEN)
    assert world.main(["--dataset", "smoke", "--seed", "1", "--out", str(tree)]) == 0
    autograder.keep_secret(tree)
    limits = container.Limits(cpus=2.0)
    lines = autograder.build(tree, "tiny", tmp_path, tmp_path / "course" / "dist", limits)
    assert "expect-8.zip: earned 8" in lines[1] and "starter-expect-4.zip: earned 4" in lines[2]
