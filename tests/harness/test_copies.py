"""Work from a copy of another release, edition or term is graded like any other, and named."""

import json
from dataclasses import replace

import pytest

from autograder.judging import course_runner
from grading import report
from grading.edition import Erratum
from grading.runner import Observer, Options
from questions.course import Course
from tests import pinned

HERE = "2027-spring.3"
ERRATA = (
    Erratum(2, "2027-02-03", "1e", ("1e-3-basic",), "It refused an empty span."),
    Erratum(3, "2027-02-05", "1f", (), "The command had a slip."),
)


@pytest.fixture(scope="module")
def runner():
    assignment = pinned.load()
    editions = {
        name: replace(edition, release=HERE, errata=ERRATA)
        for name, edition in assignment.editions.items()
    }
    return course_runner(replace(assignment, editions=editions), Course())


@pytest.fixture
def grade(runner, submission, pools):
    """Grade the reference's files with this release.json, or with these bytes in its place."""

    def run(content, *words: str, edition: str = "xcs224n", place: str = "release.json"):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        (submission / place).write_bytes(data)
        options = Options(submission=submission, edition=edition, selection=words)
        return runner.run(options, 7, Observer(), pools["zygote"])

    return run


def copy(release: str, edition: str = "xcs224n") -> dict[str, str]:
    return {"release": release, "edition": edition}


def said(results) -> list[str]:
    return results.facts.get("warnings", [])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (copy("2027-spring.3"), ""),
        (copy("2027-spring.2"), "your copy is release 2; release 3, which grades it, corrects 1f"),
        (
            copy("2027-spring.1"),
            "your copy is release 1; release 3, which grades it, corrects 1e-3-basic and 1f (",
        ),
        (copy("2027-spring.4"), "your copy is release 4, and this grader is still release 3: tell"),
        (
            copy("2026-fall.1"),
            "this is work on xcs224n of 2026-fall.1, and it is graded as xcs224n of 2027-spring.3: "
            "copy your work to this term's zip, train again",
        ),
        (
            copy("2027-spring.3", "cs224n"),
            "this is work on cs224n of 2027-spring.3, and it is graded as xcs224n of "
            "2027-spring.3: hand it in where cs224n is",
        ),
    ],
)
def test_another_copy_is_named_in_one_line_and_costs_nothing(grade, content, words):
    results = grade(content, "3a")
    assert [line.startswith(words) for line in said(results)] == [True] * bool(words)
    assert {test.outcome.value for test in results.selected_tests} == {"passed"}
    assert results.facts["release"] == HERE and results.facts["copy"] == content
    assert "release.json" not in results.facts["files"] and not results.facts["left"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe{",
        b"[" * 900,
        b"[]",
        b"{}",
        {"release": 3, "edition": "xcs224n"},
        copy("2027-spring"),
        copy("2027-spring.0"),
        copy("2027 spring.1\nseed 7"),
        copy("2027-spring.1", "x" * 41),
        copy("2027-spring.1", "<b>"),
        copy("2027-spring.1" * 100),
    ],
)
def test_a_broken_file_says_nothing_and_costs_nothing(grade, content):
    results = grade(content, "3a-0-basic")
    assert said(results) == [] and results.facts["copy"] == {}
    assert results.selected_tests[0].outcome.value == "passed"


def test_a_link_says_nothing(grade, submission, tmp_path):
    (tmp_path / "other").write_text(json.dumps(copy("2027-spring.1")), encoding="utf-8")
    (submission / "elsewhere.json").symlink_to(tmp_path / "other")
    (submission / "release.json").symlink_to("elsewhere.json")
    results = grade(b"{}", "3a-0-basic", place="unread.json")
    assert results.facts["copy"] == {} and results.selected_tests[0].outcome.value == "passed"


def test_the_code_may_lie_beside_it(grade, submission):
    for path in (submission / "submission").iterdir():
        path.rename(submission / path.name)
    (submission / "submission").rmdir()
    results = grade(copy("2027-spring.1"), "3a-0-basic")
    assert results.facts["copy"] == copy("2027-spring.1")
    assert not any("release.json" in line for line in results.facts["left"])


def test_what_another_edition_lacks_is_put_down_to_the_edition(grade, submission):
    path = submission / "submission" / "attention.py"
    text = path.read_text(encoding="utf-8")
    # as in the copies of editions that don't train this variant, which still use the name
    assert "\ndef precompute_rotary_emb(" in text
    path.write_text(
        text.replace("\ndef precompute_rotary_emb(", "\ndef another("), encoding="utf-8"
    )
    results = grade(copy("2027-spring.3", "cs224n"), "1h", edition="current")
    ends = {test.spec.test_id: test.message for test in results.selected_tests}
    cause = "this is work on cs224n of 2027-spring.3"
    lacks = f"has no precompute_rotary_emb, which the edition current asks for: {cause}"
    assert ends["1h-1-basic"] == f"submission/attention.py {lacks}"
    # Without a data set, tests of trained files say that they need one.
    missing = [m for m in ends.values() if " is missing; " in m and "the data set" not in m]
    assert all(message.endswith(f" is missing; {cause}") for message in missing)
    assert missing or any("because it needs the data set" in m for m in ends.values())


def test_the_release_is_in_the_headline_and_the_line_of_what_was_graded(grade):
    results = grade(copy(HERE), "3a-0-basic")
    headline = report.Report.of(results, staff=False, is_judged=False).headline
    assert headline.endswith(f"; release {HERE}")
    assert f"edition xcs224n, release {HERE}, judged by " in report.identity(results)
