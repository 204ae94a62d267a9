"""Page breaks of the sheet, read from the text of its pages: every edition, both paper sizes."""

import re

import pypdf
import pytest

from tests.project import ROOT
from tools.commands import pipelines_of
from tools.handout import build, description, sheet

needs_tex = pytest.mark.requires_tool("latexmk")
EDITIONS = build.editions(ROOT)
PAPERS = {"letter": (612, 792), "a4": (595, 842)}  # in points
# Each edition; on A4 only the longest, to save a minute: it has nearly all of the others' text.
BUILDS = [*((edition, "letter") for edition in EDITIONS), ("current", "a4")]

QUESTION = re.compile(r"\(([a-z])\) .*\[")
PART = re.compile(r"(i|ii|iii|iv)\. \[[\d.]+ points?\]")
SPACE = re.compile(r"Answer (\d[a-z](?:-[ivx]+)?)$")
REFERENCE = re.compile(r"\[\d+\] [A-Z]\. ")
LEAST = 3  # lines of text below a heading, on its page; and more below a section's:
LEAST_OF_SECTION = 8
LINES_OF_SPACE = 8  # that the space for an answer takes, 4 cm


def headings(pages):
    """Return (page, line, kind, text) of every heading of a question or part, and every space."""
    for number, lines in enumerate(pages):
        for place, line in enumerate(lines):
            for kind, pattern in (("question", QUESTION), ("part", PART), ("space", SPACE)):
                if pattern.match(line):
                    yield number, place, kind, line


def apart(pages, numbers):
    """Return the spaces for answers that are not on the page of their question or part.

    Args:
        numbers: ids of spaces for numbers: long questions end with them.
    """
    found, asked = [], None
    for page, _, kind, line in headings(pages):
        if kind != "space":
            asked = page
        elif SPACE.match(line)[1] not in numbers and page != asked:
            found.append(line)
    return found


def height(lines):
    """Return how many lines these take, with the spaces for answers."""
    return len(lines) + LINES_OF_SPACE * sum(bool(SPACE.match(line)) for line in lines)


def begun_badly(pages):
    """Return the pages that begin with what belongs to the previous page."""
    return [
        n for n, lines in enumerate(pages) if re.match("In code|Answer |The web page", lines[0])
    ]


def lonely_references(pages):
    """Return the pages with a single reference."""
    counts = [sum(bool(REFERENCE.match(line)) for line in lines) for lines in pages]
    return [number for number, count in enumerate(counts) if count == 1]


def broken_commands(pages, commands):
    """Return the commands that no page contains whole."""
    joined = [" ".join(" ".join(lines).replace("\\ ", "").split()) for lines in pages]
    return [command for command in commands if not any(command in text for text in joined)]


def stranded(pages, titles):
    """Return the headings at the foot of a page, with too few lines below them.

    Args:
        titles: of sections, as `1 Attention exploration`.
    """
    found = []
    for lines in pages:
        for place, line in enumerate(lines):
            least = LEAST_OF_SECTION if line in titles else LEAST if QUESTION.match(line) else 0
            if least and height(lines[place + 1 :]) < least:
                found.append(line)
    return found


# ---------------------------------------------------------------- the sheets


def lines_of(page):
    """The lines of a page, without its number."""
    lines = [" ".join(line.split()) for line in page.extract_text().splitlines() if line.strip()]
    return lines[:-1] if re.fullmatch(r"\d+", lines[-1]) else lines


KEPT = ("xcs224n", "letter")  # its print is test_typeset.py's, too


@pytest.fixture(
    scope="module",
    params=[pytest.param(b, marks=() if b == KEPT else pytest.mark.long) for b in BUILDS],
    ids="-".join,
)
def printed(request, tmp_path_factory, print_of):
    """(edition, paper, lines of each page, sizes) of a sheet as students print it."""
    edition, paper = request.param
    described = description.describe(ROOT, edition, "world")
    one = sheet.Sheet(ROOT, described, paper)
    folder = tmp_path_factory.mktemp(f"{edition}-{paper}") / "written"
    build._lay(ROOT, folder, one.render())
    reader = pypdf.PdfReader(print_of(folder))
    sizes = {tuple(round(float(n)) for n in page.mediabox[2:]) for page in reader.pages}
    return edition, paper, [lines_of(page) for page in reader.pages], sizes, one


pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pypdf")


@needs_tex
def test_the_first_page_holds_the_summary(printed):
    edition, _, pages, _, _ = printed
    first = " ".join(pages[0])
    assert "What you submit, and what it takes" in first
    assert "assignment5.zip" in first and "PDF with written answers" in first
    assert "hours required" in first and "estimate" in first and "Setting up" in first
    assert "forum" in first and "If you have two hours" in first
    questions = description.describe(ROOT, edition).edition.questions
    shown = [q for q in questions if q.coding or q.written]
    assert len(shown) > 10
    for question in shown:
        assert description.shown_number(question.number) in first


@needs_tex
def test_every_space_for_an_answer_is_on_the_page_of_its_question(printed):
    _, paper, pages, sizes, one = printed
    assert sizes == {PAPERS[paper]}
    numbers = {slot.id for slot in one.slots if slot.part == sheet.NUMBERS}
    spaces = [line for _, _, kind, line in headings(pages) if kind == "space"]
    assert [SPACE.match(line)[1] for line in spaces] == [slot.id for slot in one.slots]
    assert apart(pages, numbers) == []
    assert begun_badly(pages) == []


@needs_tex
def test_no_command_is_broken_by_a_page(printed):
    edition, _, pages, _, _ = printed
    commands = [str(c) for todo in pipelines_of(ROOT, [edition]).values() for c in todo]
    if edition == "current":  # it has a table of commands
        commands = commands[:1]
    assert commands and broken_commands(pages, commands) == []
    lines = [line for page in pages for line in page]
    tested = [q.number for q in description.describe(ROOT, edition).edition.questions if q.tests]
    practice = [number for number in tested if any(f"grader.py {number}." in n for n in lines)]
    assert len(practice) > 4  # those that say how they are tested, in running text
    for number in practice:
        assert any(f"python src/grader.py {number}." in line for line in lines), number
    assert not any(line.endswith(" python") for line in lines)


@needs_tex
def test_references_stay_together(printed):
    _, _, pages, _, one = printed
    holding = [n for n, lines in enumerate(pages) if any(map(REFERENCE.match, lines))]
    assert len(one.cited()) >= 5 and len(holding) == 1
    assert lonely_references(pages) == []


@needs_tex
def test_no_heading_is_stranded_at_the_foot_of_a_page(printed):
    edition, _, pages, _, one = printed
    described = description.describe(ROOT, edition)
    titles = {f"{part.number} {part.title}" for part in one._parts()}
    lines = [line for page in pages for line in page]
    assert titles <= set(lines)
    asked = sum(bool(QUESTION.match(line)) for line in lines)
    assert asked == sum(not description.is_unscored(q) for q in described.edition.questions)
    assert stranded(pages, titles) == []


@needs_tex
def test_no_page_but_the_last_is_nearly_empty(printed):
    _, _, pages, _, _ = printed
    assert [n for n, lines in enumerate(pages[:-1]) if height(lines) < 12] == []


# ---------------------------------------------------------------- the checks find what is wrong

TEXT = ["Some text."] * 12


def test_a_space_on_another_page_is_found():
    asked = ["(a) Copying [1 point (Written)]", "What?"]
    assert apart([[*TEXT, *asked], ["Answer 3a"]], set()) == ["Answer 3a"]
    assert apart([[*TEXT, *asked, "Answer 3a"]], set()) == []
    assert apart([[*asked], ["Answer 3a"]], {"3a"}) == []
    parts = ["i. [1 point] One.", "Answer 3c-i", "ii. [1 point] Two."]
    assert apart([parts, ["Answer 3c-ii"]], set()) == ["Answer 3c-ii"]


def test_a_page_that_begins_badly_is_found():
    assert begun_badly([TEXT, ["In code. Write it.", *TEXT], ["Answer 3a"]]) == [1, 2]


def test_a_lonely_reference_is_found():
    two = ["[1] A. Radford. Text.", "[2] C. Raffel. Text."]
    assert lonely_references([[*TEXT, *two], ["[3] Y. Tay. Text."]]) == [1]


def test_a_broken_command_is_found():
    command = "python src/run.py pretrain vanilla wiki.txt --writing_params_path v.params"
    first, second = (
        "python src/run.py pretrain vanilla wiki.txt \\",
        "--writing_params_path v.params",
    )
    assert broken_commands([[first], [second]], [command]) == [command]
    assert broken_commands([[first, second]], [command]) == []


def test_a_stranded_heading_is_found():
    question = "(b) An average of two [2 points (Written)]"
    assert stranded([[*TEXT, question, "One line."], TEXT], set()) == [question]
    assert stranded([[*TEXT, "2 Title", *["Line."] * 5], TEXT], {"2 Title"}) == ["2 Title"]
    assert stranded([[*TEXT, question, *TEXT]], {"2 Title"}) == []
    assert stranded([[*TEXT, question, "Answer 2b"]], {"2 Title"}) == []
