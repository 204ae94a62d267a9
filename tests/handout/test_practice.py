"""Practice has answers for students, unless an edition gives it points."""

import re
from itertools import product

import pytest

from tests.handout.outlines import OUTLINES, PRACTICE, headings, words
from tests.project import ROOT


def test_practice_has_a_place_to_answer_where_an_edition_gives_it_written_points(rendered, change):
    plain, _ = rendered("cs224n", document="practice")
    assert "\\question{4}{s}" in plain and "\\answerspace" not in plain
    assert "python src/grader.py 4r" in plain
    last = '  { number = "3c", topic = "consider_unseen", written = 2 },\n'
    line = '  { number = "4s", topic = "blocks_in_words", written = 2, extra_credit = true },\n'
    change("assignment.toml", last, last + line)
    text, sheet = rendered("cs224n")
    assert headings(text)[-1] == ("4s", "In words", "2 points (Written, Extra Credit)")
    assert "\\answerspace{4s}" in text and sheet.slots[-1].id == "4s"
    assert "\\question{4}{s}" not in rendered("cs224n", document="practice")[0]


ANSWERS = sorted(p.name.removesuffix(".tex.j2") for p in (ROOT / "handout/answers").iterdir())


@pytest.mark.parametrize("edition", OUTLINES)
def test_each_question_of_practice_links_to_its_answer_at_the_end(rendered, edition):
    text, sheet = rendered(edition, document="practice")
    before, _, answers = text.partition("\\frontsection{Answers}")
    links = re.findall(r"\\answerlink\{(\w+)\}", before)
    practised = [q for q in sheet._described.edition.questions if q.is_practice]
    assert [q.topic for q in sorted(practised, key=lambda q: q.topic)] == ANSWERS
    assert links == [q.number for q in practised]
    assert re.findall(r"\\practiceanswer\{(\w+)\}", answers) == links
    # Each document lists what it cites; works that only answers cite are among the references, too.
    for document in (text, rendered(edition)[0]):
        cited = set(re.findall(r"\\hyperref\[(ref:\w+)\]", document))
        assert cited == set(re.findall(r"\\label\{(ref:\w+)\}", document))


def test_on_the_web_answers_stand_below_their_questions(rendered):
    text, _ = rendered(target="web", document="practice")
    assert "frontsection{Answers}" not in text and "\\answerlink" not in text
    for piece in text.split("\\question{")[1:]:
        is_practice = "{Practice}" in piece.partition("\n")[0]  # not a part of it alone
        assert piece.count("\nANSWERBEGINS 4(") == piece.count("\nANSWERENDS") == is_practice


def test_staff_find_the_answers_to_practice_as_solutions(rendered, numbers):
    text, _ = rendered(target="solutions", numbers=numbers)
    assert "\\answerlink" not in text and "frontsection{Answers}" not in text
    for number, _, _ in PRACTICE:
        shown = f"4({number[1]})"
        assert f"\\renewcommand{{\\solutionof}}{{{shown}}}" in text


@pytest.mark.parametrize("points", ["coding = 5", "written = 2"])
@pytest.mark.parametrize("target", ["print", "web"])
@pytest.mark.sampled(4)
def test_an_answer_that_any_edition_gives_points_for_reaches_nobody(
    rendered, change, points, target
):
    secret = "weights depend on the difference of the scores alone"
    assert secret in words(rendered("xcs224n", target, document="practice")[0]).lower()
    last = '  { number = "3c", topic = "consider_unseen", written = 2 },\n'
    line = f'  {{ number = "4a", topic = "blocks_attention", {points} }},\n'
    change("assignment.toml", last, last + line)
    for edition, document in product(OUTLINES, ("sheet", "practice")):
        text, _ = rendered(edition, target, document=document)
        assert secret not in words(text).lower() and "answerlink{4a}" not in text
        assert "ANSWERBEGINS 4(a)" not in text


def test_answers_leave_out_what_other_questions_are_graded_for(rendered, change):
    """In `current`, 4(e) and 4(s) would give away answers to 5a and 5b."""
    text = words(rendered(document="practice")[0])
    assert "its answer is not given here" in text and "postman bit" not in text
    assert "similar encodings" not in text and "there has to be tried" not in text
    for line in ("positions_permutation", "positions_sinusoids"):
        source = (ROOT / "tests/small/editions.toml").read_text(encoding="utf-8")
        (row,) = re.findall(rf"^.*{line}.*\n", source, re.M)
        change("assignment.toml", row, "")
    text = words(rendered(document="practice")[0])
    assert "its answer is not given here" not in text and "postman bit" in text
    assert "similar encodings" in text and "there has to be tried" in text
