"""The PDF: its page breaks, fonts, links and commands; poor layout and mistakes are errors."""

import io
import re
import subprocess
from pathlib import Path

import pypdf
import pytest

import letters
from autograder.description import editions
from tests import pinned
from tests.handout.conftest import SHORT, copied_lines, edited
from tests.project import ROOT
from tests.student.test_check_written import FINE
from tools.commands import EXPERIMENTS, pipelines_of
from tools.handout import build, description, sheet, typeset
from tools.handout.templates import HandoutError

pytestmark = [
    pytest.mark.requires_tool("latexmk"),
    pytest.mark.requires_tool("pdftotext"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pypdf"),
]
EDITIONS = editions(ROOT)
PAPERS = {"letter": (612, 792), "a4": (595, 842)}  # in points
KEPT = ("xcs224n", "letter")  # `make test` prints this one
# Each edition; on A4 only the longest, to save a minute: it has nearly all of the others' text.
BUILDS = [*((edition, "letter") for edition in EDITIONS), ("current", "a4")]

QUESTION = re.compile(r"\(([a-z])\) .*\[")
PART = re.compile(r"(i|ii|iii|iv)\. \[[\d.]+ points?\]")
SPACE = re.compile(r"Answer (\d[a-z](?:-[ivx]+)?)$")
REFERENCE = re.compile(r"\[\d+\] [A-Z]\. ")
LEAST = 3  # lines of text below a heading, on its page; and more below a section's:
LEAST_OF_SECTION = 8
LINES_OF_SPACE = 8  # that the space for an answer takes, 4 cm


class PrintedSheet:
    """A printed sheet: its PDF, and the lines of its pages, without their numbers."""

    def __init__(self, edition: str, paper: str, folder: Path) -> None:
        self.edition, self.paper, self.written = edition, paper, folder / "written"
        self.described = description.describe(ROOT, edition, "world")
        self.sheet = sheet.Sheet(ROOT, self.described, paper)
        source = self.sheet.render()
        build._lay(ROOT, self.written, source)
        known = *pipelines_of(ROOT, [edition]).values(), *EXPERIMENTS.values()
        commands = [command for todo in known for command in todo]
        self.commands = [str(c) for c in commands if "\n".join(c.lines) in source]
        (self.written / "submission.tex").write_text(self.sheet.submission(), encoding="utf-8")
        self.pdf = typeset.typeset(self.written)  # without structure, in a quarter of the time
        self.reader = pypdf.PdfReader(self.pdf)
        self.pages = []
        for page in self.reader.pages:
            lines = [" ".join(line.split()) for line in page.extract_text().splitlines()]
            lines = [line for line in lines if line]
            self.pages.append(lines[:-1] if lines[-1].isdigit() else lines)

    @property
    def lines(self) -> list[str]:
        return [line for page in self.pages for line in page]


@pytest.fixture(
    scope="module",
    params=[pytest.param(b, marks=() if b == KEPT else pytest.mark.long) for b in BUILDS],
    ids="-".join,
)
def printed(request, tmp_path_factory) -> PrintedSheet:
    return PrintedSheet(*request.param, tmp_path_factory.mktemp("-".join(request.param)))


def text_of(pdf, *options):
    done = subprocess.run(["pdftotext", *options, str(pdf), "-"], capture_output=True, check=True)
    return done.stdout.decode("utf-8")


# ---------------------------------------------------------------- page breaks


def headings(pages):
    """Return (page, kind, text) of every heading of a question or part, and every space."""
    for number, lines in enumerate(pages):
        for line in lines:
            for kind, pattern in (("question", QUESTION), ("part", PART), ("space", SPACE)):
                if pattern.match(line):
                    yield number, kind, line


def height(lines):
    """Return how many lines these take, with the spaces for answers."""
    return len(lines) + LINES_OF_SPACE * sum(bool(SPACE.match(line)) for line in lines)


def faults(pages, titles, numbers, commands):
    """Return what is wrong with the breaks between pages, each as its kind and a line.

    Args:
        titles: of sections, as `1 Attention exploration`.
        numbers: ids of spaces for numbers, which need not be on their question's page.
        commands: that should each be whole on a page.
    """
    heading = None
    for page, kind, line in headings(pages):
        if kind != "space":
            heading = page
        elif SPACE.match(line)[1] not in numbers and page != heading:
            yield "a space apart from its question", line
    for lines in pages:
        if re.match("In code|Answer |The web page", lines[0]):
            yield "a page that begins with the end of a question", lines[0]
        if len(cited := [line for line in lines if REFERENCE.match(line)]) == 1:
            yield "a lonely reference", cited[0]
        for place, line in enumerate(lines):
            least = LEAST_OF_SECTION if line in titles else LEAST if QUESTION.match(line) else 0
            if least and height(lines[place + 1 :]) < least:
                yield "a heading at the foot of a page", line
    joined = [" ".join(" ".join(lines).replace("\\ ", "").split()) for lines in pages]
    for command in commands:
        if not any(command in text for text in joined):
            yield "a broken command", command
    for lines in pages[:-1]:
        if height(lines) < 12:
            yield "a page that is nearly empty", lines[0]


def test_pages_end_where_they_may(printed):
    parts = printed.sheet._parts(printed.sheet._is_here)
    titles = {f"{part.number} {part.title}" for part in parts}
    assert titles <= set(printed.lines)
    scored = [q for q in printed.described.edition.questions if not description.is_unscored(q)]
    assert sum(bool(QUESTION.match(line)) for line in printed.lines) == len(scored)
    spaces = [line for _, kind, line in headings(printed.pages) if kind == "space"]
    assert [SPACE.match(line)[1] for line in spaces] == [slot.id for slot in printed.sheet.slots]
    numbers = {slot.id for slot in printed.sheet.slots if slot.part == sheet.NUMBERS}
    assert list(faults(printed.pages, titles, numbers, printed.commands)) == []
    holding = [lines for lines in printed.pages if any(map(REFERENCE.match, lines))]
    assert len(printed.sheet.cited()) >= 5 and len(holding) == 1
    sizes = {tuple(round(float(n)) for n in page.mediabox[2:]) for page in printed.reader.pages}
    assert sizes == {PAPERS[printed.paper]}


def test_the_first_page_holds_the_summary(printed):
    first = " ".join(printed.pages[0])
    for words in (
        *("What you submit, and what it takes", "assignment5.zip", "PDF with written answers"),
        *("hours required", "estimate", "Setting up", "forum", "If you have two hours"),
    ):
        assert words in first
    shown = [q for q in printed.described.edition.questions if q.coding or q.written]
    assert len(shown) > 10
    assert all(description.shown_number(question.number) in first for question in shown)


# ---------------------------------------------------------------- the file


def titles_of(outline):
    for item in outline:
        yield from titles_of(item) if isinstance(item, list) else [item.title]


def test_the_pdf_has_vector_fonts_title_links_and_bookmarks(printed):
    done = subprocess.run(["pdffonts", str(printed.pdf)], capture_output=True, check=True)
    rows = done.stdout.decode("utf-8").splitlines()[2:]
    assert len(rows) > 5
    for row in rows:
        assert "Type 3" not in row, f"a bitmap font: {row}"
        assert "yes" in row[row.index("Type 1") :].split(), f"not embedded: {row}"
    assert "Self-Attention, Transformers and Pretraining" in printed.reader.metadata.title
    titles = list(titles_of(printed.reader.outline))
    number = description.shown_number(printed.described.edition.questions[0].number)
    for words in ("Attention exploration", number):
        assert any(words in title for title in titles)
    notes = [note.get_object() for page in printed.reader.pages for note in page.get("/Annots", [])]
    assert sum(note.get("/Subtype") == "/Link" for note in notes) > 15


def is_tagged(pdf):
    root = pypdf.PdfReader(io.BytesIO(pdf)).trailer["/Root"]
    return root["/MarkInfo"]["/Marked"] and root["/Lang"] == "en-US" and "/StructTreeRoot" in root


def test_what_we_print_is_tagged_and_says_its_language(tmp_path):
    written = folder_of(tmp_path, "Some text.")
    pdf, again = (build._pdf(ROOT, written, tmp_path / name) for name in ("print", "again"))
    assert is_tagged(pdf) and pdf == again


@pytest.mark.long
def test_the_whole_sheet_is_tagged_and_has_the_same_pages(printed, tmp_path):
    pdf = build._pdf(ROOT, printed.written, tmp_path / "print")
    assert is_tagged(pdf) and len(pypdf.PdfReader(io.BytesIO(pdf)).pages) == len(printed.pages)


def test_commands_copied_from_the_pdf_are_the_commands(printed):
    copied = copied_lines(printed.pdf)
    assert len(printed.commands) >= 6
    others = "### START CODE HERE ###", "conda env create -f environment.yml"
    assert {*printed.commands, *others} <= {*copied}


# ---------------------------------------------------------------- answers


def test_answers_stand_in_their_places_and_may_quote_code_masks_and_names(repo, tmp_path):
    (repo / "assignment.toml").write_text(pinned.text() + SHORT, encoding="utf-8")
    asked = sheet.Sheet(repo, description.describe(repo, "short", "world"))
    folder = tmp_path / "written"
    build._lay(repo, folder, asked.render())
    names = "Nguyễn Văn An, Trần Thị Hương, Łukasz Żółć, Ólafur Þór, Əliyev"
    answers = {
        "\\begin{answer}{1c}": (
            "Large q: alpha-marker. It writes ⁇Havana⁇□□. \\verb|⁇Rome⁇□|, \\(x_{⁇} = y\\)."
        ),
        "\\begin{answer}{1d}": "It \\verb|_jumps_| here.",
        "\\collaborators{": names,
    }
    text = asked.submission()
    for start, answer in answers.items():
        assert f"{start}\n" in text
        text = text.replace(f"{start}\n", f"{start}\n{answer}\n")
    (folder / "submission.tex").write_text(text, encoding="utf-8")
    (folder / "with_solutions.tex").write_text(build.WITH_SOLUTIONS, encoding="utf-8")
    words = " ".join(text_of(typeset.typeset(folder, "with_solutions.tex")).split())
    assert words.count("alpha-marker") == words.count("It _jumps_ here.") == 1
    assert "It writes ⁇Havana⁇□□. ⁇Rome⁇□," in words
    assert f"Collaborators: {names.removesuffix('Əliyev')}" in words
    places = ["Answer 1c", "alpha-marker", "Answer 1d", "_jumps_"]
    assert sorted(places, key=words.index) == places


# ---------------------------------------------------------------- TeX


def folder_of(tmp_path, body):
    text = f"\\documentclass{{article}}\\usepackage{{handout}}\\begin{{document}}\n{body}"
    build._lay(ROOT, tmp_path / "tex", f"{text}\n\\end{{document}}\n")
    return tmp_path / "tex"


def test_every_letter_that_is_declared_printed_prints_and_is_copied_as_itself(tmp_path):
    """The list in src/letters.py is what LaTeX does: one letter missing would stop it.

    So would any of the answers that check_written accepts.
    """
    characters = [*letters.declared(), *letters.KNOWN]
    fonts = ("{}", "\\textbf{{{}}}", "\\texttt{{{}}}", "\\emph{{{}}}")
    lines = [" ".join(font.format(f"x{c}y") for font in fonts) for c in characters]
    pdf = typeset.typeset(folder_of(tmp_path, "\n\n".join([*lines, *FINE])))
    text = re.sub(r"\s", "", text_of(pdf, "-raw"))
    # Not copied: letters that are printed upside down; a blank;
    # and what has several names in Unicode.
    others = set("ƏəǝƎɔƆ\u00a0²³¹…Đ")
    assert [c for c in characters if c not in others and 4 * f"x{c}y" not in text] == []


def test_what_looks_poor_is_an_error(tmp_path):
    folder = folder_of(tmp_path, "See \\ref{nowhere}. \\texttt{" + "x" * 120 + "}")
    with pytest.raises(HandoutError, match="Reference `nowhere' .* undefined"):
        typeset.typeset(folder)
    log = (folder / "sheet.log").read_text(encoding="utf-8", errors="replace")
    kinds = [line.split()[0] for line in typeset.problems(log)]
    assert kinds == ["Reference", "Overfull"]


REFUSED = {
    # The beginning of the message: (file, what is replaced, by what).
    r"handout/topics/demo\.tex\.j2:4: .*Undefined control sequence\. \(.*\\emf\)": (
        *("handout/topics/demo.tex.j2", "\\emph{dataset}", "\\emf{dataset}"),
    ),
    r"course\.toml:\d+: contact: .*Overfull": (
        *("course.toml", "the course's discussion forum", f"forum https://a.org/{'x' * 120}"),
    ),
    r"assignment\.toml:\d+: title: .*Overfull": (
        *("assignment.toml", "Check out the demo", f"Demo https://a.org/{'x' * 120}"),
    ),
}


def test_what_tex_refuses_is_named_where_it_was_written(repo, monkeypatch):
    (repo / "assignment.toml").write_text(pinned.text() + SHORT, encoding="utf-8")
    monkeypatch.setattr(build, "PRINT", "\\input{sheet.tex}\n")  # see without_structure
    for others in ("_page", "_solutions"):
        monkeypatch.setattr(build, others, lambda *_: b"")
    for message, (file, *edit) in REFUSED.items():
        with edited(repo / file, *edit), pytest.raises(HandoutError, match=f"^{message}"):
            build.build(repo, "short", "world", "letter", repo / "dist")
