"""The PDF: poor layout and missing characters are errors, and commands can be copied."""

import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

import pypdf
import pytest

import letters
from tests.project import ROOT
from tests.student.writing import FINE
from tools.commands import pipelines_of
from tools.handout import build, description, sheet, typeset
from tools.handout.templates import HandoutError

needs_tex = pytest.mark.requires_tool("latexmk")
needs_poppler = pytest.mark.requires_tool("pdftotext")
KEPT = "xcs224n"
EDITIONS = [
    pytest.param(edition, marks=() if edition == KEPT else pytest.mark.long)
    for edition in build.editions(ROOT)
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """made(edition): a student's folder, with the sheet typeset."""

    @cache
    def made(edition: str) -> Path:
        described = description.describe(ROOT, edition, "world")
        one = sheet.Sheet(ROOT, described, "letter")
        folder = tmp_path_factory.mktemp(edition) / "written"
        build._lay(ROOT, folder, one.render())
        for name, text in {
            "submission.tex": one.submission(),
            "with_solutions.tex": build.WITH_SOLUTIONS,
        }.items():
            (folder / name).write_text(text, encoding="utf-8")
        typeset.typeset(folder)
        return folder

    return made


def text_of(pdf, *options):
    done = subprocess.run(["pdftotext", *options, str(pdf), "-"], capture_output=True, check=True)
    return done.stdout.decode("utf-8")


def titles_of(outline):
    for item in outline:
        yield from titles_of(item) if isinstance(item, list) else [item.title]


def answered(made, tmp_path, answers):
    """A student's folder with some answers."""
    folder = tmp_path / "answered"
    shutil.copytree(made(KEPT), folder)
    path = folder / "submission.tex"
    text = path.read_text(encoding="utf-8")
    for start, answer in answers.items():
        text = text.replace(f"{start}\n", f"{start}\n{answer}\n")
    path.write_text(text, encoding="utf-8")
    return folder


def folder_of(tmp_path, body):
    folder = tmp_path / "tex"
    text = "\\documentclass{article}\\usepackage{handout}\\begin{document}\n" + body
    build._lay(ROOT, folder, text + "\n\\end{document}\n")
    return folder


@needs_tex
@needs_poppler
@pytest.mark.parametrize("edition", EDITIONS)
def test_fonts_are_vectors_and_embedded(made, edition):
    sheet = made(edition) / "sheet.pdf"
    done = subprocess.run(["pdffonts", str(sheet)], capture_output=True, check=True)
    rows = done.stdout.decode("utf-8").splitlines()[2:]
    assert len(rows) > 5
    for row in rows:
        assert "Type 3" not in row, f"a bitmap font: {row}"
        emb = row[row.index("Type 1") :].split()
        assert "yes" in emb, f"not embedded: {row}"


@needs_tex
@needs_poppler
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_pdf_has_title_links_and_bookmarks(made, edition):
    folder = made(edition)
    reader = pypdf.PdfReader(folder / "sheet.pdf")
    assert "Self-Attention, Transformers and Pretraining" in reader.metadata.title
    titles = list(titles_of(reader.outline))
    assert any("Attention exploration" in title for title in titles)
    first = description.describe(ROOT, edition).edition.questions[0]
    number = description.shown_number(first.number)
    assert any(number in title for title in titles)
    links = [
        annotation
        for page in reader.pages
        for annotation in page.get("/Annots", [])
        if annotation.get_object().get("/Subtype") == "/Link"
    ]
    assert len(links) > 15


@needs_tex
@needs_poppler
def test_what_we_print_is_tagged_and_says_its_language(made, print_of):
    root = pypdf.PdfReader(print_of(made(KEPT))).trailer["/Root"]
    assert root["/MarkInfo"]["/Marked"] and root["/Lang"] == "en-US"
    assert "/StructTreeRoot" in root


@needs_tex
@needs_poppler
@pytest.mark.parametrize("edition", EDITIONS)
def test_commands_copied_from_the_pdf_are_the_commands(made, edition):
    """They are copied as a person would: the PDF's text, line by line; backslashes join lines."""
    folder = made(edition)
    text = text_of(folder / "sheet.pdf", "-layout").replace("\f", "\n")
    joined = re.sub(r"\\\n\s*", "", text)
    copied = {" ".join(line.split()) for line in joined.splitlines()}
    for todo in pipelines_of(ROOT, [edition]).values():
        for command in todo:
            assert str(command) in copied, command
    assert "### START CODE HERE ###" in copied
    assert "conda env create -f environment.yml" in copied


@needs_tex
def test_answers_stand_in_their_places_and_may_hold_verbatim(made, tmp_path):
    answers = {
        "\\begin{answer}{3c-ii}": "It \\verb|_jumps_| here.",
        "\\begin{answer}{3a}": "Large \\(q\\): alpha-marker.",
        "\\collaborators{": "Ada Byron",
    }
    folder = answered(made, tmp_path, answers)
    pdf = typeset.typeset(folder, "with_solutions.tex")
    words = " ".join(text_of(pdf).split())
    assert "It _jumps_ here." in words and words.count("alpha-marker") == 1
    assert "Collaborators: Ada Byron" in words
    assert words.index("alpha-marker") < words.index("_jumps_")
    assert words.index("Answer 3a") < words.index("alpha-marker") < words.index("Answer 3b")


@needs_tex
@needs_poppler
def test_an_answer_may_quote_mask_and_pad_and_name_people(made, tmp_path):
    names = "Nguyễn Văn An, Trần Thị Hương, Łukasz Żółć, Ólafur Þór, Əliyev"
    answers = {
        "\\begin{answer}{1d}": "It writes ⁇Havana⁇□□. \\verb|⁇Rome⁇□| and \\(x_{⁇} = y\\).",
        "\\collaborators{": names,
    }
    pdf = typeset.typeset(answered(made, tmp_path, answers), "with_solutions.tex")
    words = " ".join(text_of(pdf).split())
    assert "It writes ⁇Havana⁇□□. ⁇Rome⁇□ and" in words
    assert f"Collaborators: {names.removesuffix('Əliyev')}" in words


@needs_tex
@needs_poppler
def test_every_letter_that_is_declared_printed_prints_and_is_copied_as_itself(tmp_path):
    """The list in src/letters.py is what LaTeX does: one letter missing would stop it."""
    characters = [*letters.declared(), *letters.KNOWN]
    fonts = ("{}", "\\textbf{{{}}}", "\\texttt{{{}}}", "\\emph{{{}}}")
    lines = [" ".join(font.format(f"x{c}y") for font in fonts) for c in characters]
    pdf = typeset.typeset(folder_of(tmp_path, "\n\n".join(lines)))
    text = re.sub(r"\s", "", text_of(pdf, "-raw"))
    # Not copied: letters that are printed upside down; a blank;
    # and what has several names in Unicode.
    others = set("ƏəǝƎɔƆ\u00a0²³¹…Đ")
    assert [c for c in characters if c not in others and 4 * f"x{c}y" not in text] == []


@needs_tex
def test_what_check_written_accepts_is_what_latex_accepts(tmp_path):
    typeset.typeset(folder_of(tmp_path, "\n\n".join(FINE)))


@needs_tex
def test_a_mistake_in_an_answer_is_named_by_file_and_line(made, tmp_path):
    start = "\\begin{answer}{3b}"
    folder = answered(made, tmp_path, {start: "\\undefinedcommand"})
    lines = (folder / "submission.tex").read_text(encoding="utf-8").split("\n")
    at = lines.index(start) + 1
    with pytest.raises(HandoutError, match=rf"submission\.tex:{at + 1}: Undefined control"):
        typeset.typeset(folder, "with_solutions.tex")


@needs_tex
@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("\\nosuchcommand", r"sheet\.tex:2: Undefined control sequence"),
        ("See \\ref{nowhere}.", "Reference `nowhere' .* undefined"),
        ("\\texttt{" + "x" * 120 + "}", "Overfull"),
    ],
)
def test_what_looks_poor_is_an_error(tmp_path, body, words):
    with pytest.raises(HandoutError, match=words):
        typeset.typeset(folder_of(tmp_path, body))


@pytest.mark.long
@needs_tex
@pytest.mark.parametrize(
    ("file", "before", "place"),
    [
        ("course.toml", "the course's discussion forum", "course.toml:4: contact: "),
        ("assignment.toml", "Check out the demo", r"assignment.toml:\d+: title: "),
    ],
)
def test_a_value_that_is_too_wide_is_named(repo, change, file, before, place):
    change(file, f'"{before}"', f'"{before.split()[0]} https://example.org/{"x" * 120}"')
    with pytest.raises(HandoutError, match=rf"^{place}.*Overfull"):
        build.build(repo, "xcs224n", "world", dist=repo / "dist")


@needs_tex
def test_a_mistake_in_a_template_is_named_there_with_the_word(repo, change):
    change("handout/topics/demo.tex.j2", "\\emph{dataset}", "\\emf{dataset}")
    place = r"^handout/topics/demo\.tex\.j2:4: .*Undefined control sequence\. \(.*\\emf\)"
    with pytest.raises(HandoutError, match=place):
        build.build(repo, "xcs224n", "world", dist=repo / "dist")


@needs_tex
def test_the_same_sources_give_the_same_pdf(tmp_path):
    first = typeset.typeset(folder_of(tmp_path / "a", "Some text."))
    second = typeset.typeset(folder_of(tmp_path / "b", "Some text."))
    assert first.read_bytes() == second.read_bytes()


def test_a_missing_program_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(HandoutError, match="latexmk is missing: apt.txt"):
        typeset.typeset(tmp_path)
