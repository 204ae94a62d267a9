"""The PDF: its spaces and commands; poor layout and mistakes are errors."""

import io
import re
from pathlib import Path

import pypdf
import pytest

import letters
from autograder.description import editions
from tests import pinned
from tests.handout.conftest import SHORT, copied_lines, edited, text_of
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
KEPT = ("xcs224n", "letter")  # `make test` prints this one
# Each edition; on A4 only the longest, to save a minute: it has nearly all of the others' text.
BUILDS = [*((edition, "letter") for edition in EDITIONS), ("current", "a4")]

SPACE = re.compile(r"Answer (\d[a-z](?:-[ivx]+)?)$")


class PrintedSheet:
    """A printed sheet: its PDF, and the lines of its pages, without their numbers."""

    def __init__(self, edition: str, paper: str, folder: Path) -> None:
        self.written = folder / "written"
        self.sheet = sheet.Sheet(ROOT, description.describe(ROOT, edition, "world"), paper)
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


def test_each_answer_has_its_space(printed):
    spaces = [match[1] for match in map(SPACE.match, printed.lines) if match]
    assert spaces == [slot.id for slot in printed.sheet.slots]


def is_tagged(pdf):
    root = pypdf.PdfReader(io.BytesIO(pdf)).trailer["/Root"]
    return root["/MarkInfo"]["/Marked"] and root["/Lang"] == "en-US" and "/StructTreeRoot" in root


def test_what_we_print_is_tagged_and_says_its_language(tmp_path):
    written = folder_of(tmp_path, "Some text.")
    pdf, again = (build._pdf(ROOT, written, tmp_path / name) for name in ("print", "again"))
    assert is_tagged(pdf) and pdf == again


def test_tags_have_their_numbers_after_the_first_run(tmp_path):
    body = "\\hyperref[there]{A link}.\\newpage Two.\n\nThree.\\section{There}\\label{there}"
    folder = folder_of(tmp_path, body)
    (folder / "print.tex").write_text(build.PRINT, encoding="utf-8")
    (folder / "print.aux").write_text(build._expected_labels(body), encoding="utf-8")
    first = typeset.labels(folder, "print.tex")
    settled = build._settled(first)
    if not build.MARKED.search(first):  # another release of LaTeX has other labels
        assert settled == first
        return
    assert settled != first and build.LINK.search(settled)
    (folder / "print.aux").write_text(settled, encoding="utf-8")
    assert typeset.labels(folder, "print.tex") == settled


@pytest.mark.long
def test_the_whole_sheet_is_tagged_and_has_the_same_pages(printed, tmp_path):
    pdf = build._pdf(ROOT, printed.written, tmp_path / "print")
    assert is_tagged(pdf) and len(pypdf.PdfReader(io.BytesIO(pdf)).pages) == len(printed.pages)


def test_commands_copied_from_the_pdf_are_the_commands(printed):
    copied = copied_lines(printed.pdf)
    assert len(printed.commands) >= 6
    others = "### START CODE HERE ###", "conda env create -f environment.yml"
    assert {*printed.commands, *others} <= {*copied}


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


REFUSED = {
    # The beginning of the message: (file, what is replaced, by what).
    r"handout/topics/demo\.tex\.j2:4: .*Undefined control sequence\. \(.*\\emf\)": (
        *("handout/topics/demo.tex.j2", "\\emph{dataset}", "\\emf{dataset}"),
    ),
    r"course\.toml:\d+: contact: .*Overfull": (
        *("course.toml", "the course's discussion forum", f"forum https://a.org/{'x' * 120}"),
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
