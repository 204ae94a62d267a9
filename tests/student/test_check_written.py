"""Written answers: each missing, empty or misplaced one gets one line with its place."""

import shutil
import zipfile
from pathlib import Path

import pytest

import check_written
from check_written import END, START
from tests.project import write_files
from tests.snapshots import check, printed, with_lines
from tests.student.folder import Folder

SHEET = r"""\documentclass{article}
\newcommand{\answerspace}[1]{\begin{samepage}#1\end{samepage}}
% \answerspace{9z} is no question
\begin{document}
Report it. \answerspace{1d}
\answerspace{3c-i}
\answerspace{3c-ii}  \answerspace{3d}
\end{document}
"""
IDS = ["1d", "3c-i", "3c-ii", "3d"]
# Answers that LaTeX prints (tests/handout/test_pages.py), so that nothing is wrong with them.
FINE = [
    r"\(x_1 \leq x^2\), $y_1$, $$z_{1}^2$$, \[a_b\] and $a_1$$b_2$",
    "\\begin{equation*}\na_1 = b^2\n\\end{equation*}",
    "\\begin{align}\na_1 &= b^2 \\\\\nc &= d\n\\end{align}",
    "\\begin{tabular}{ll}%\na & b \\\\\nc & d\n\\end{tabular}",
    r"$\begin{pmatrix} a_1 & b \\ c & d \end{pmatrix}$",
    r"\verb|94% a_b & #|, \url{https://example.org/a_b?c=%20&d#e} and \label{a_b}\ref{a_b}",
    "\\begin{verbatim}\n94% a_b & c # $\n\\end{verbatim}",
    r"It prints ⁇Havana⁇□□, $x_{⁇}$ and $\mathrm{a}_b$",
    r"94\,\%, a\_b, b \& c, \#1, \$5 and \^{}",
    r"\newcommand{\half}[1]{\frac{#1}{2}}",
    r"Nguyễn Văn An, Trần Thị Hương, Łukasz, “so” – 2×3 … ½ €",
    r"$\text{if $x_1$ and } y_2$ and \ensuremath{x_1}",
    "{\\small%\n  small}",
]


def block(begin: str, end: str, text: str) -> str:
    return f"{begin}\n{START}\n{text}\n{END}\n{end}\n"


def submission(text: str = "Because.", declared: str = "none") -> str:
    """Return submission.tex with the same text in every place for an answer."""
    parts = ["% Type between the markers.\n"]
    parts += [block(f"\\{name}{{", "}", declared) for name in ("collaborators", "aitools")]
    parts += [
        f"% {name}: A question, \\begin{{answer}}{{no}}\n"
        + block(f"\\begin{{answer}}{{{name}}}", r"\end{answer}", text)
        for name in IDS
    ]
    return "\n".join(parts)


class Paper(Folder):
    """A folder of written answers."""

    @property
    def file(self) -> Path:
        return self.root / "written" / "submission.tex"

    def renew(self) -> None:
        """Create the folder again, with a sheet and an answer to each of its questions."""
        shutil.rmtree(self.root, ignore_errors=True)
        write_files(self.root / "written", {"sheet.tex": SHEET, "submission.tex": submission()})

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8", newline="\n")

    def check(self, *arguments: str) -> tuple[int, str, str]:
        return self.run(check_written.main, *arguments)

    def findings(self, text: str, answered: int) -> list[str]:
        """Return the findings on a text with so many answers that carry points."""
        self.write(text)
        code, out, err = self.check()
        *found, last = out.splitlines()
        assert last.startswith(f"{answered} of 4 questions are answered")
        assert (code, err) == (1 if found else 0, "")
        return found


@pytest.fixture
def paper(tmp_path, monkeypatch, capsys) -> Paper:
    root = tmp_path / "Übung 5 (copy)"
    monkeypatch.setattr(check_written, "ROOT", root)
    monkeypatch.setattr(check_written, "WRITTEN", root / "written")
    paper = Paper(root, capsys)
    paper.renew()
    return paper


# -- answers --------------------------------------------------------------------------------------

PRINTED = (*FINE, r"\%", "5\\,\\%\n% of it", "a\n% ### note\nb", "Łódź")
DECLARED = ("Ada \\& Bob", "\\textbf{Ada {\\'E}lan}", "a \\} b", "none\n% }")


def test_what_latex_prints_is_an_answer_and_no_finding(paper):
    for text in PRINTED:
        assert paper.findings(submission(text), answered=4) == [], text
    for text in DECLARED:
        assert paper.findings(submission(declared=text), answered=4) == [], text
    # Windows' editors
    for name, text in (("submission.tex", submission()), ("sheet.tex", SHEET)):
        content = b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode("utf-8")
        (paper.root / "written" / name).write_bytes(content)
    assert paper.check()[0] == 0


# -- findings -------------------------------------------------------------------------------------


def changed(old: str, new: str, behind: str = "") -> str:
    """Return submission.tex with other words at the first place behind some others."""
    made = submission()
    place = made.index(behind)
    assert old in made[place:]
    return made[:place] + made[place:].replace(old, new, 1)


BEGIN, CLOSE = r"\begin{answer}", r"\end{answer}"
LAST = BEGIN + "{3d}"
WRITTEN = {
    "all empty": submission("", ""),
    "an answer with another id": changed(BEGIN + "{3c-ii}", BEGIN + "{3c-iii}"),
    "an answer twice": submission() + block(BEGIN + "{1d}", CLOSE, "More."),
    "an answer without an id": submission() + block(BEGIN, CLOSE, "More."),
    "the first end lost": changed(CLOSE + "\n", ""),
    "the last end lost": submission().rpartition(CLOSE)[0],
    "a beginning lost": changed(LAST + "\n", ""),
    "an END lost": changed(f"{END}\n", "", LAST),
    "both markers lost": changed(f"{START}\nBecause.\n{END}\n", "Because.\n", LAST),
    "an END in small letters": changed(END, "%% end code here", LAST),
    "markers exchanged": changed(f"{START}\nBecause.\n{END}", f"{END}\nBecause.\n{START}", LAST),
    "text behind a marker": changed(END, END + "\nAnd more.", LAST),
    "text in no answer, told once": submission() + "\nLost.\nLost, too.\n",
    "a declaration that is gone": submission().replace(block(r"\aitools{", "}", "none"), ""),
    "a declaration that is not closed": changed("none", "{none"),
    "a comment in declarations": submission(declared=r"none\\% comment }"),
}


def test_each_fault_of_structure_is_one_line_with_its_place(paper):
    found = {}
    for name, text in WRITTEN.items():
        paper.write(text)
        found[name] = with_lines(printed(*paper.check()), paper.root)
    check("check_written_structure", found)


# What LaTeX stops at, or does not print.
LOST = [
    "0/20 = 0.0%; London: 20%, so it",
    "twenty % of them",
    r"94\\% of them",
    r"$94$% of them",
    "It reaches 94\n% of them",
    "It reaches 94%",
    r"It reaches \textbf{94}%",
    r"It reaches \(94\)%",
    "a_b",
    r"$\text{a_b}$",
    "x^2",
    "b & c",
    r"$b & c$",
    "no. #1",
    "5$ and more",
    "$x\n\ny$",
    r"\(x",
    "x ≥ 5",
    "$x ≥ 5$",
    r"\verb|≥|",
    "\\begin{verbatim}\n≥\n\\end{verbatim}",
    "α and $3×4$",
    "$é$",
    "王芳",
    "e\u0301",
    "a\u200bb",
    "a\u2009b",
    "x⁴",
    "𝑥",
    "ａ",
    "🙂",
]


def test_what_latex_stops_at_or_leaves_out_is_named_with_its_line_and_what_to_write(paper):
    said = []
    for text in LOST:
        found = paper.findings(changed("Because.", text, BEGIN + "{3c-i}"), answered=4)
        for line in with_lines("\n".join(found), paper.root).splitlines():
            where, said_of_it = line.split(": answer 3c-i: ")
            said.append(f"{where.partition(' ')[2]}: {said_of_it}\n")
    check("check_written_latex", {"answers, and what is said": "".join(said)})


# -- Overleaf -------------------------------------------------------------------------------------


def test_overleafs_zip_has_the_answers_of_now_and_what_they_need(paper):
    written = paper.root / "written"
    own = ("with_solutions.tex", "handout.sty", "figures/a.tex", "plot.png", "Makefile")
    made_by_latex = ("with_solutions.pdf", "with_solutions.fdb_latexmk", "sheet.aux", ".hidden")
    write_files(written, dict.fromkeys((*own, *made_by_latex), "x"))
    (paper.root / "overleaf.zip").write_bytes(b"the old one")
    for answer in ("Because.", "Therefore, 94% of it."):
        paper.write(submission(answer))
        out = paper.check()[1]
        assert "overleaf.zip" in out
        with zipfile.ZipFile(paper.root / "overleaf.zip") as packed:
            assert packed.read("submission.tex") == paper.file.read_bytes()
            assert packed.namelist() == [
                *("figures/a.tex", "handout.sty", "plot.png", "sheet.tex", "submission.tex"),
                "with_solutions.tex",
            ]


# -- other files ----------------------------------------------------------------------------------

SHEET_OF_ONE = b"\\answerspace{1d}\n"
UNASKED = SHEET.replace(r"\answerspace{1d}", r"\answerspace[no points]{1d}").encode()
# The files that are written first (None: deleted), and the arguments.
CALLS = {
    "no submission": ({"written/submission.tex": None}, []),
    "a sheet without questions": ({"written/sheet.tex": b"none\n"}, []),
    "a question without points": ({"written/sheet.tex": UNASKED}, []),
    "a question without points, empty": (
        {
            "written/sheet.tex": UNASKED,
            "written/submission.tex": changed("Because.", "", BEGIN + "{1d}").encode(),
        },
        [],
    ),
    "Latin-1": ({"written/submission.tex": changed("Because", "Größe").encode("latin-1")}, []),
    "a file elsewhere": ({"mine.tex": submission().encode()}, ["mine.tex"]),
    "a file with a sheet beside it": (
        {"mine.tex": submission().encode(), "sheet.tex": SHEET_OF_ONE},
        ["mine.tex"],
    ),
    "Overleaf": ({"written/with_solutions.tex": b""}, []),
    "Overleaf's zip is a folder": ({"written/with_solutions.tex": b"", "overleaf.zip/a": b""}, []),
    "a PDF": ({"answers.pdf": b"%PDF-1.5"}, ["answers.pdf"]),
}


def test_what_is_said_of_each_kind_of_file(paper, monkeypatch):
    monkeypatch.setattr("sys.argv", ["check_written.py"])
    found = {}
    for name, (files, arguments) in CALLS.items():
        paper.renew()
        for each, content in files.items():
            path = paper.root / each
            path.parent.mkdir(exist_ok=True)
            path.unlink() if content is None else path.write_bytes(content)
        said = paper.check(*(str(paper.root / argument) for argument in arguments))
        found[name] = printed(*said)
    check("check_written_files", found, {str(paper.root): "A5"})
