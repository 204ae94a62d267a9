"""Files that name a copy's release, or hold experiments: recorded, and no points depend on them."""

import json
from dataclasses import replace

import pytest

from autograder import pages
from autograder.judging import course_runner
from grading import report
from grading.edition import Erratum
from grading.staging import Staged, stage
from questions.course import Course
from tests import pinned
from tests.project import edit

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
def grade(run, submission):
    """Grade the reference's files with this release.json."""

    def grade(content: dict, *words: str, edition: str = "xcs224n"):
        (submission / "release.json").write_text(json.dumps(content), encoding="utf-8")
        return run(submission, *words, edition=edition)

    return grade


@pytest.fixture
def staged(submission, tmp_path):
    """Stage the reference with a file of this content, at this place."""

    def make(content: bytes, place: str = "experiments.json") -> Staged:
        (submission / place).write_bytes(content)
        return stage(submission, tmp_path / "staged", Course().provided)

    return make


# release.json -------------------------------------------------------------------------------------


def copy(release: str, edition: str = "xcs224n") -> dict[str, str]:
    return {"release": release, "edition": edition}


GRADED_AS = f"and it is graded as xcs224n of {HERE}"
# The copy, and how the warning begins.
COPIES = [
    (copy(HERE), ""),
    (copy("2027-spring.1"), "your copy is release 1; release 3, which grades it, corrects 1e-3-"),
    (copy("2027-spring.4"), "your copy is release 4, and this grader is still release 3: tell"),
    (copy("2026-fall.1"), f"this is work on xcs224n of 2026-fall.1, {GRADED_AS}: copy your work"),
    (copy(HERE, "cs224n"), f"this is work on cs224n of {HERE}, {GRADED_AS}: hand it in where cs"),
]


@pytest.mark.parametrize(("content", "words"), COPIES)
def test_another_copy_is_named_in_one_line_and_costs_nothing(grade, content, words):
    results = grade(content, "3a-0-basic")
    warnings = results.facts.get("warnings", [])
    assert [line.startswith(words) for line in warnings] == [True] * bool(words)
    assert {test.outcome.value for test in results.selected_tests} == {"passed"}
    assert results.facts["release"] == HERE and results.facts["copy"] == content
    assert "release.json" not in results.facts["files"] and not results.facts["left"]


BROKEN = [b"\xff\xfe{", b"[" * 900, b"[]", b"{}", {"release": 3, "edition": "xcs224n"}]
BROKEN += [copy("2027 spring.1\nseed 7"), copy("2027-spring.1", "<b>")]


@pytest.mark.parametrize("content", BROKEN, ids=lambda content: str(content)[:60])
def test_a_broken_file_says_nothing_and_costs_nothing(staged, content):
    data = content if isinstance(content, bytes) else json.dumps(content).encode()
    taken = staged(data, "release.json")
    assert "submission/dataset.py" in taken.taken
    assert (taken.release, taken.edition) == ("", "")


def test_what_another_edition_lacks_is_put_down_to_the_edition(grade, submission):
    path = submission / "submission" / "attention.py"
    # as in the copies of editions that don't train this variant, which still use the name
    edit(path, "\ndef precompute_rotary_emb(", "\ndef another(")
    results = grade(copy("2027-spring.3", "cs224n"), "1h-1-basic", edition="current")
    (message,) = (each.message for each in results.tests if each.spec.test_id == "1h-1-basic")
    lacks = "submission/attention.py has no precompute_rotary_emb, which the edition current asks "
    assert message == f"{lacks}for: this is work on cs224n of 2027-spring.3"


# experiments.json ---------------------------------------------------------------------------------

TRACE = {
    "prediction": "the MASK\nknows it <b>late</b>",
    "earlier_predictions": ["the MASK knows it early"],
    "parameters": "0" * 64,
    "seed": 3,
    "results": ["a table\nof two lines", "a sentence \ud800"],
}


def test_what_a_student_noted_is_taken(staged):
    content = json.dumps({"trace": TRACE, "induction": TRACE}).encode()
    taken = staged(content, "submission/experiments.json")
    noted = taken.experiments["trace"]
    assert noted["prediction"] == TRACE["prediction"] and noted["seed"] == 3
    assert noted["results"] == "a table\nof two lines\na sentence \\ud800"
    assert "experiments.json" in taken.taken and not taken.omissions


def test_it_is_recorded_and_shown_to_staff_alone(submission, run, tmp_path):
    for content in (json.dumps({"trace": TRACE}), "[]"):
        (submission / "experiments.json").write_text(content, encoding="utf-8")
        results = run(submission, "3a")
        assert {test.outcome.value for test in results.selected_tests} == {"passed"}
        results.write(tmp_path / "results.json", staff=True)
        is_noted = content != "[]"
        assert ("experiments" in results.facts) is is_noted
        page = pages.page(results)
        for text in ("knows it &lt;b&gt;late&lt;/b&gt;", "knows it early", "a table\nof two lines"):
            assert (text in page) is is_noted
        students = report.page(results, report.Report.of(results, staff=False))
        assert "knows it" not in students


NO_EXPERIMENTS = [b"\xff\xfe\xff", b"[" * 90_000, b"[]", b'{"trace": "late"}']
NO_EXPERIMENTS += [
    json.dumps({"trace": TRACE | change}).encode()
    for change in ({"prediction": "a " * 60_000}, {"seed": float("nan")}, {"results": [[1]]})
]


@pytest.mark.parametrize("content", NO_EXPERIMENTS, ids=lambda content: content[:60])
def test_a_broken_file_counts_as_none_with_one_line(staged, content):
    taken = staged(content)
    assert not taken.experiments and "experiments.json" not in taken.taken
    (line,) = map(str, taken.omissions)
    assert line.startswith("experiments.json (not as run.py writes it: ") and len(line) < 300
