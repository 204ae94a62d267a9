"""Written answers: each that is missing, empty or out of its place is one line with its place."""

import re
import shutil
import subprocess
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from project import ROOT

import check_written
from check_written import END, START
from tools import regions

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


def block(begin: str, end: str, text: str) -> str:
    return f"{begin}\n{START}\n{text}\n{END}\n{end}\n"


def submission(text: str = "Because.", declared: str = "none") -> str:
    """What students type into, with the same in every place."""
    parts = ["% Type between the markers.\n"]
    parts += [block(f"\\{name}{{", "}", declared) for name in ("collaborators", "aitools")]
    parts += [
        f"% {name}: A question, \\begin{{answer}}{{no}}\n"
        + block(f"\\begin{{answer}}{{{name}}}", r"\end{answer}", text)
        for name in IDS
    ]
    return "\n".join(parts)


def line_of(text: str, wanted: str, which: int = 0) -> int:
    return [n for n, line in enumerate(text.split("\n"), start=1) if wanted in line][which]


@dataclass
class Desk:
    """A student's folder, and the command in it."""

    root: Path
    capture: pytest.CaptureFixture

    @property
    def file(self) -> Path:
        return self.root / "written" / "submission.tex"

    def write(self, text: str) -> None:
        self.file.write_text(text, encoding="utf-8", newline="\n")

    def check(self, *arguments: str) -> tuple[int, str, str]:
        code = check_written.main(list(arguments))
        out, err = self.capture.readouterr()
        return code, out, err

    def findings(self, text: str, answered: int) -> list[str]:
        """What is found in a text, of which so many answers count."""
        self.write(text)
        code, out, err = self.check()
        *found, last = out.splitlines()
        assert last == f"{answered} of 4 are answered in written/submission.tex."
        assert (code, err) == (1 if found else 0, "")
        return found

    def finding(self, text: str, answered: int) -> tuple[int, str]:
        """The line and the words of the only finding in submission.tex."""
        (line,) = self.findings(text, answered)
        match = re.fullmatch(r"written/submission\.tex:(\d+): (.*)", line)
        assert match, line
        return int(match[1]), match[2]

    def refused(self, *arguments: str) -> str:
        """The one line of a call with exit code 2."""
        code, out, err = self.check(*arguments)
        assert (code, out) == (2, "")
        assert err.startswith("check_written.py: ") and err.count("\n") == 1
        return err


@pytest.fixture
def desk(tmp_path, monkeypatch, capsys) -> Desk:
    root = tmp_path / "Übung 5 (copy)"
    (root / "written").mkdir(parents=True)
    (root / "written" / "sheet.tex").write_text(SHEET, encoding="utf-8")
    monkeypatch.setattr(check_written, "ROOT", root)
    monkeypatch.setattr(check_written, "WRITTEN", root / "written")
    desk = Desk(root, capsys)
    desk.write(submission())
    return desk


# -- answers --------------------------------------------------------------------------------------


def test_all_answered_is_exit_code_0(desk):
    assert desk.findings(submission(), answered=4) == []


def test_what_students_get_is_all_empty(desk):
    text = submission("", "")
    found = desk.findings(text, answered=0)
    where = "written/submission.tex"
    assert found == [
        f"{where}:{line_of(text, '{collaborators{'[1:])}: \\collaborators is empty; none is an "
        "answer",
        f"{where}:{line_of(text, 'aitools{')}: \\aitools is empty; none is an answer",
        *(
            f"{where}:{line_of(text, f'{{answer}}{{{name}}}')}: answer {name} is empty"
            for name in IDS
        ),
    ]


@pytest.mark.parametrize("text", ["", "  \n\t\n", "% only a comment", "  % a\n\n% \\section{b}"])
def test_white_space_and_comments_are_no_answer(desk, text):
    assert len(desk.findings(submission(text), answered=0)) == 4


@pytest.mark.parametrize("text", [r"\%", r"5\,\% % of it", "a\n% ### note\nb", r"$x^{2}$", "Łódź"])
def test_what_prints_is_an_answer(desk, text):
    assert desk.findings(submission(text), answered=4) == []


def test_a_percent_sign_behind_a_line_break_begins_a_comment(desk):
    assert desk.findings(submission(declared=r"none\\% comment }"), answered=4) == []


def test_a_missing_answer_is_named_with_its_place_in_the_sheet(desk):
    first, _, rest = submission().partition("% 3c-ii:")
    text = first + rest[rest.index("% 3d:") :]
    number = line_of(SHEET, "{3c-ii}")
    assert desk.findings(text, answered=3) == [
        f"written/sheet.tex:{number}: answer 3c-ii is missing: submission.tex has no "
        "\\begin{answer}{3c-ii}"
    ]


def test_an_unknown_answer_is_named_with_what_may_be_meant(desk):
    text = submission() + block(r"\begin{answer}{3c-iii}", r"\end{answer}", "More.")
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "{3c-iii}")
    assert said == "answer 3c-iii is unknown: no such question in the sheet (is 3c-ii meant?)"


def test_an_answer_that_is_there_twice_is_named(desk):
    text = submission() + block(r"\begin{answer}{1d}", r"\end{answer}", "More.")
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "{answer}{1d}", 1)
    assert said == f"answer 1d is there twice, first in line {line_of(text, '{answer}{1d}')}"


def test_one_empty_answer_is_named_alone(desk):
    text = submission()
    place = text.index(r"\begin{answer}{3c-i}")
    text = text[:place] + text[place:].replace("Because.", "", 1)
    assert desk.finding(text, answered=3) == (
        line_of(text, "{answer}{3c-i}"),
        "answer 3c-i is empty",
    )


def test_windows_files_are_fine(desk):
    desk.file.write_bytes(b"\xef\xbb\xbf" + submission().replace("\n", "\r\n").encode("utf-8"))
    sheet = desk.root / "written" / "sheet.tex"
    sheet.write_bytes(b"\xef\xbb\xbf" + SHEET.replace("\n", "\r\n").encode("utf-8"))
    assert desk.check() == (0, "4 of 4 are answered in written/submission.tex.\n", "")


def test_indented_markers_are_fine(desk):
    text = submission().replace(START, f"  {START}").replace(END, f"\t{END} ")
    assert desk.findings(text, answered=4) == []


# -- structure ------------------------------------------------------------------------------------


def test_a_lost_end_is_named_where_the_answer_begins(desk):
    text = submission().replace("\\end{answer}\n", "", 1)
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "{answer}{1d}")
    assert said == r"\begin{answer}{1d} has lost its \end{answer}; put it back"


def test_the_last_lost_end_is_named(desk):
    first, _, _ = submission().rpartition("\\end{answer}")
    number, said = desk.finding(first, answered=4)
    assert number == line_of(first, "{answer}{3d}")
    assert said == r"\begin{answer}{3d} has lost its \end{answer}; put it back"


def test_a_lost_beginning_is_named_where_the_answer_ends(desk):
    text = submission().replace("\\begin{answer}{3d}\n", "")
    found = desk.findings(text, answered=3)
    number = line_of(text, r"\end{answer}", -1)
    assert f"written/submission.tex:{number}: \\end{{answer}} has no \\begin{{answer}}" in found[3]
    number = line_of(text, "Because.", -1)
    assert f"written/submission.tex:{number}: this stands in no answer" in found[1]
    assert f"written/sheet.tex:{line_of(SHEET, '{3d}')}: answer 3d is missing" in found[4]
    assert len(found) == 5  # and both markers, which stand in no answer


def test_an_answer_without_an_id_is_named(desk):
    text = submission() + block(r"\begin{answer}", r"\end{answer}", "More.")
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "\\begin{answer}", -1)
    assert said == r"\begin{answer} has no id, expected \begin{answer}{...}"


@pytest.mark.parametrize("marker", [START, END])
def test_a_lost_marker_is_named(desk, marker):
    first, _, last = submission().rpartition(f"{marker}\n")
    text = first + last
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "{answer}{3d}")
    assert said == f"answer 3d has lost `{marker}`; put back"


def test_both_lost_markers_are_one_finding(desk):
    first, _, last = submission().rpartition(r"\begin{answer}")
    text = first + r"\begin{answer}" + last.replace(f"{START}\n", "").replace(f"{END}\n", "")
    assert (
        desk.finding(text, answered=4)[1] == f"answer 3d has lost `{START}` and `{END}`; put back"
    )


@pytest.mark.parametrize(
    "slip", ["% ### END CODE HERE", "%% end code here", "%### END CODE HERE ###"]
)
def test_an_altered_marker_is_named(desk, slip):
    first, _, last = submission().rpartition(END)
    text = first + slip + last
    assert desk.finding(text, answered=4) == (
        line_of(text, "CODE HERE", -1) if "CODE" in slip else line_of(text, slip),
        f"got the marker `{slip}`, expected `{END}`",
    )


def test_markers_in_the_wrong_order_are_named(desk):
    first, _, last = submission().rpartition(f"{START}\nBecause.\n{END}")
    text = first + f"{END}\nBecause.\n{START}" + last
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, END, -1)
    assert said == "answer 3d has 2 markers, expected START, END"


def test_what_stands_outside_the_markers_is_named(desk):
    first, _, last = submission().rpartition(END)
    text = first + END + "\nAnd more." + last
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "And more.")
    assert said == "answer 3d: this stands outside its markers; move it"


def test_what_stands_in_no_answer_is_named_once(desk):
    text = submission() + "\nLost.\nLost, too.\n"
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "Lost.")
    assert said == "this stands in no answer; move it between an answer's markers"


def test_definitions_may_stand_anywhere(desk):
    text = "\\newcommand{\\R}{\\mathbb{R}}\n\\usepackage{bm}\n" + submission()
    assert desk.findings(text, answered=4) == []


# -- declarations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["collaborators", "aitools"])
def test_an_empty_declaration_is_named(desk, name):
    text = submission()
    place = text.index(f"\\{name}")
    text = text[:place] + text[place:].replace("none", "% none", 1)
    assert desk.finding(text, answered=4) == (
        line_of(text, f"\\{name}"),
        f"\\{name} is empty; none is an answer",
    )


@pytest.mark.parametrize("said", ["Ada \\& Bob", "\\textbf{Ada {\\'E}lan}", "a \\} b", "none % }"])
def test_a_declaration_may_say_anything(desk, said):
    assert desk.findings(submission(declared=said), answered=4) == []


def test_a_declaration_that_is_gone_is_named(desk):
    text = submission().replace(block(r"\aitools{", "}", "none"), "")
    assert desk.finding(text, answered=4) == (
        1,
        r"\aitools{...} is gone; put it back (none is an answer)",
    )


def test_a_declaration_that_is_not_closed_is_named(desk):
    text = submission().replace("none", "{none", 1)
    number, said = desk.finding(text, answered=4)
    assert number == line_of(text, "\\collaborators")
    assert said == r"\collaborators{ has lost its }, or holds a brace without a partner"


# -- bad input ------------------------------------------------------------------------------------


def test_a_missing_file_is_one_line(desk):
    desk.file.unlink()
    said = desk.refused()
    assert "written/submission.tex: No such file" in said and "the course's zip has it" in said


def test_a_missing_sheet_is_one_line(desk):
    (desk.root / "written" / "sheet.tex").unlink()
    assert "written/sheet.tex: No such file" in desk.refused()


def test_a_sheet_without_questions_is_one_line(desk):
    (desk.root / "written" / "sheet.tex").write_text("none\n", encoding="utf-8")
    assert "written/sheet.tex: no \\answerspace{...}" in desk.refused()


def test_another_encoding_is_one_line_with_its_place(desk):
    text = submission()
    desk.file.write_bytes(text.replace("Because.", "Größe.").encode("latin-1"))
    number = line_of(text, "Because.")
    assert f"written/submission.tex:{number}: no UTF-8 text" in desk.refused()


@pytest.mark.parametrize("name", ["answers.docx", "answers", "photo.jpg"])
def test_another_kind_of_file_is_one_line(desk, name):
    (desk.root / name).write_bytes(b"\xff\xd8")
    assert f"{name}: expected submission.tex, or a PDF" in desk.refused(str(desk.root / name))


def test_a_folder_is_one_line(desk):
    (desk.root / "a.tex").mkdir()
    assert "a.tex: Is a directory" in desk.refused(str(desk.root / "a.tex"))


def test_usage_errors_exit_with_2(desk):
    with pytest.raises(SystemExit) as caught:
        desk.check("a.tex", "b.tex")
    assert caught.value.code == 2


def test_a_file_elsewhere_is_compared_with_the_sheet_beside_it_or_ours(desk, tmp_path):
    other = tmp_path / "over leaf"
    other.mkdir()
    shutil.copy2(desk.file, other / "mine.tex")
    assert desk.check(str(other / "mine.tex"))[1].startswith("4 of 4 are answered in /")
    (other / "sheet.tex").write_text("\\answerspace{1d}\n", encoding="utf-8")
    code, out, _ = desk.check(str(other / "mine.tex"))
    assert code == 1 and "1 of 1 are answered" in out and "answer 3d is unknown" in out


@pytest.mark.parametrize("where", [".", "src"])
def test_it_runs_from_the_root_and_from_src(desk, run_python, where):
    (desk.root / "src").mkdir()
    shutil.copy2(ROOT / "src" / "check_written.py", desk.root / "src")
    script = "check_written.py" if where == "src" else "src/check_written.py"
    ran = run_python(script, cwd=desk.root / where)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "4 of 4 are answered in written/submission.tex.\n"
    desk.write(submission("", "none"))
    assert run_python(script, cwd=desk.root / where).returncode == 1
    desk.file.unlink()
    assert run_python(script, cwd=desk.root / where).returncode == 2


def test_markers_are_those_of_the_code_as_comments():
    assert (START, END) == (f"% {regions.START}", f"% {regions.END}")


# -- PDF ------------------------------------------------------------------------------------------

TEXT = b"BT /F1 12 Tf 72 700 Td [(Be)-3(cause.)] TJ ET"
PICTURE = b"q 595 0 0 842 0 0 cm /Im1 Do Q"


def stream(content: bytes, entries: bytes = b"", packed: bool = True) -> bytes:
    if packed:
        content, entries = zlib.compress(content), entries + b"/Filter /FlateDecode "
    head = b"7 0 obj\n<< " + entries + b"/Length %d >>\n" % len(content)
    return head + b"stream\n" + content + b"\nendstream\nendobj\n"


def pdf(*objects: bytes, tree: bytes = b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>") -> bytes:
    pages = b"2 0 obj\n" + tree + b"\nendobj\n"
    return b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n" + pages + b"".join(objects) + b"%%EOF\n"


def heard(desk, content: bytes, name: str = "answers.pdf") -> str:
    path = desk.root / name
    path.write_bytes(content)
    code, out, err = desk.check(str(path))
    assert (code, err) == (1, "")
    assert out.startswith(f"{name}: ") and "Nothing was checked." in out
    return out


@pytest.mark.parametrize("packed", [True, False])
def test_of_a_typeset_pdf_the_source_is_asked_for(desk, packed):
    out = heard(desk, pdf(stream(TEXT, packed=packed)))
    assert out.startswith("answers.pdf: 2 pages, 0.0 MB.\n")
    assert "check the source: python src/check_written.py" in out
    assert "scanned" not in out


@pytest.mark.parametrize(
    "content",
    [
        pdf(stream(PICTURE), stream(TEXT, b"/Subtype /Image ")),
        pdf(stream(PICTURE), stream(TEXT, b"/Subtype/Image ", packed=False)),
        pdf(stream(PICTURE, packed=False), stream(TEXT, b"/Subtype/Image ", packed=False)),
        pdf(stream(b"BT ET" + PICTURE)),
        pdf(stream(b"(no text) TJ")),
        pdf(),
        pdf(stream(TEXT)[:60]),  # cut off
        pdf(stream(TEXT).replace(b"x\x9c", b"\x00\x01")),  # encrypted, say
    ],
)
def test_a_scanned_pdf_can_not_be_read(desk, content):
    assert "No text in it: probably scanned, which can't be read by machine.\n" in heard(
        desk, content
    )


def test_pages_are_counted_in_packed_objects_and_trees(desk):
    tree = b"<< /Count 12 /Kids [1 0 R 2 0 R] /Type /Pages >> << /Type /Pages /Count 7 >>"
    assert "answers.pdf: 12 pages" in heard(desk, pdf(stream(tree), tree=b"<< >>"))
    assert "answers.pdf: 1 page," in heard(desk, pdf(tree=b"<</Type/Pages/Count 1/Kids[3 0 R]>>"))
    assert "pages could not be counted" in heard(desk, pdf(tree=b"<< /Count 5 >>"))


def test_too_large_a_pdf_is_named(desk, monkeypatch):
    monkeypatch.setattr(check_written, "MAX_UPLOAD_BYTES", 10**6)
    assert "Too large" not in heard(desk, pdf())
    out = heard(desk, pdf(b" " * 10**6), name="GROSS.PDF")
    assert "Too large: Gradescope takes 1 MB" in out


def test_a_stream_that_unpacks_to_no_end_is_not_unpacked(desk, monkeypatch):
    monkeypatch.setattr(check_written, "MAX_STREAM_BYTES", 1000)
    assert "probably scanned" in heard(desk, pdf(stream(b" " * 10**6 + TEXT)))


@pytest.mark.parametrize("content", [b"", b"\xff\xd8\xff\xe0 a photo"])
def test_what_is_no_pdf_is_one_line(desk, content):
    (desk.root / "a.pdf").write_bytes(content)
    assert "a.pdf: no PDF, though its name says so" in desk.refused(str(desk.root / "a.pdf"))


def test_a_missing_pdf_is_one_line(desk):
    assert "a.pdf: No such file" in desk.refused(str(desk.root / "a.pdf"))


@pytest.mark.requires_tool("pdflatex")
def test_what_latex_sets_is_text_and_what_holds_pictures_is_none(desk, tmp_path):
    body = {
        "typed": "Because.\\newpage Therefore.",
        "drawn": "\\pagestyle{empty}\\noindent\\rule{9cm}{9cm}",
    }
    for name, text in body.items():
        source = f"\\documentclass{{article}}\\begin{{document}}{text}\\end{{document}}"
        (tmp_path / f"{name}.tex").write_text(source, encoding="utf-8")
        command = ["pdflatex", "-interaction=batchmode", f"{name}.tex"]
        subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL, timeout=120)
    typed = heard(desk, (tmp_path / "typed.pdf").read_bytes())
    assert "2 pages" in typed and "check the source" in typed
    drawn = heard(desk, (tmp_path / "drawn.pdf").read_bytes())
    assert "1 page," in drawn and "probably scanned" in drawn
