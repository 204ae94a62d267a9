"""Written answers: each missing, empty or misplaced one gets one line with its place."""

import re
import shutil
import zipfile

import pytest

from check_written import END, START
from tests.project import ROOT
from tests.student.writing import FINE, IDS, SHEET, block, line_of, submission
from tools import regions

UNPRINTED = (
    "this % and the rest of the line are not printed; write \\%, or put a comment on a line of "
    "its own"
)

# -- answers --------------------------------------------------------------------------------------


def test_all_answered_is_exit_code_0(paper):
    assert paper.findings(submission(), answered=4) == []


def test_what_students_get_is_all_empty(paper):
    text = submission("", "")
    found = paper.findings(text, answered=0)
    where = "written/submission.tex"
    assert found == [
        f"{where}:{line_of(text, '{collaborators{'[1:])}: \\collaborators is empty; `none` is a "
        "valid answer",
        f"{where}:{line_of(text, 'aitools{')}: \\aitools is empty; `none` is a valid answer",
        *(
            f"{where}:{line_of(text, f'{{answer}}{{{name}}}')}: answer {name} is empty"
            for name in IDS
        ),
    ]


@pytest.mark.parametrize("text", ["", "  \n\t\n", "% only a comment", "  % a\n\n% \\section{b}"])
def test_white_space_and_comments_are_no_answer(paper, text):
    assert len(paper.findings(submission(text), answered=0)) == 4


@pytest.mark.parametrize(
    "text", [r"\%", "5\\,\\%\n% of it", "a\n% ### note\nb", r"$x^{2}$", "Łódź"]
)
def test_what_prints_is_an_answer(paper, text):
    assert paper.findings(submission(text), answered=4) == []


def test_a_percent_sign_behind_a_line_break_begins_a_comment(paper):
    found = paper.findings(submission(declared=r"none\\% comment }"), answered=4)
    assert [line.split(": ")[1:] for line in found] == [
        [rf"\{name}", UNPRINTED] for name in ("collaborators", "aitools")
    ]


def test_a_missing_answer_is_named_with_its_place_in_the_sheet(paper):
    first, _, rest = submission().partition("% 3c-ii:")
    text = first + rest[rest.index("% 3d:") :]
    number = line_of(SHEET, "{3c-ii}")
    assert paper.findings(text, answered=3) == [
        f"written/sheet.tex:{number}: answer 3c-ii is missing: submission.tex has no "
        "\\begin{answer}{3c-ii}"
    ]


def test_an_unknown_answer_is_named_with_what_may_be_meant(paper):
    text = submission() + block(r"\begin{answer}{3c-iii}", r"\end{answer}", "More.")
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "{3c-iii}")
    assert said == "answer 3c-iii: the sheet has no such question (did you mean 3c-ii?)"


def test_an_answer_that_is_there_twice_is_named(paper):
    text = submission() + block(r"\begin{answer}{1d}", r"\end{answer}", "More.")
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "{answer}{1d}", 1)
    assert said == f"answer 1d appears twice, first in line {line_of(text, '{answer}{1d}')}"


def test_one_empty_answer_is_named_alone(paper):
    text = submission()
    place = text.index(r"\begin{answer}{3c-i}")
    text = text[:place] + text[place:].replace("Because.", "", 1)
    assert paper.finding(text, answered=3) == (
        line_of(text, "{answer}{3c-i}"),
        "answer 3c-i is empty",
    )


def test_windows_files_are_fine(paper):
    paper.file.write_bytes(b"\xef\xbb\xbf" + submission().replace("\n", "\r\n").encode("utf-8"))
    sheet = paper.root / "written" / "sheet.tex"
    sheet.write_bytes(b"\xef\xbb\xbf" + SHEET.replace("\n", "\r\n").encode("utf-8"))
    assert paper.check() == (0, "4 of 4 questions are answered in written/submission.tex.\n", "")


def test_indented_markers_are_fine(paper):
    text = submission().replace(START, f"  {START}").replace(END, f"\t{END} ")
    assert paper.findings(text, answered=4) == []


# -- structure ------------------------------------------------------------------------------------


def test_a_lost_end_is_named_where_the_answer_begins(paper):
    text = submission().replace("\\end{answer}\n", "", 1)
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "{answer}{1d}")
    assert said == r"\begin{answer}{1d} has no \end{answer}; put it back"


def test_the_last_lost_end_is_named(paper):
    first, _, _ = submission().rpartition("\\end{answer}")
    number, said = paper.finding(first, answered=4)
    assert number == line_of(first, "{answer}{3d}")
    assert said == r"\begin{answer}{3d} has no \end{answer}; put it back"


def test_a_lost_beginning_is_named_where_the_answer_ends(paper):
    text = submission().replace("\\begin{answer}{3d}\n", "")
    found = paper.findings(text, answered=3)
    number = line_of(text, r"\end{answer}", -1)
    assert f"written/submission.tex:{number}: \\end{{answer}} has no \\begin{{answer}}" in found[3]
    number = line_of(text, "Because.", -1)
    assert f"written/submission.tex:{number}: this text is not inside an answer" in found[1]
    assert f"written/sheet.tex:{line_of(SHEET, '{3d}')}: answer 3d is missing" in found[4]
    assert len(found) == 5  # and both markers, which are in no answer


def test_an_answer_without_an_id_is_named(paper):
    text = submission() + block(r"\begin{answer}", r"\end{answer}", "More.")
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "\\begin{answer}", -1)
    assert said == r"\begin{answer} has no id, expected \begin{answer}{...}"


@pytest.mark.parametrize("marker", [START, END])
def test_a_lost_marker_is_named(paper, marker):
    first, _, last = submission().rpartition(f"{marker}\n")
    text = first + last
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "{answer}{3d}")
    assert said == f"answer 3d lacks `{marker}`; put it back"


def test_both_lost_markers_are_one_finding(paper):
    first, _, last = submission().rpartition(r"\begin{answer}")
    text = first + r"\begin{answer}" + last.replace(f"{START}\n", "").replace(f"{END}\n", "")
    assert (
        paper.finding(text, answered=4)[1]
        == f"answer 3d lacks `{START}` and `{END}`; put them back"
    )


@pytest.mark.parametrize(
    "slip", ["% ### END CODE HERE", "%% end code here", "%### END CODE HERE ###"]
)
def test_an_altered_marker_is_named(paper, slip):
    first, _, last = submission().rpartition(END)
    text = first + slip + last
    assert paper.finding(text, answered=4) == (
        line_of(text, "CODE HERE", -1) if "CODE" in slip else line_of(text, slip),
        f"got the marker `{slip}`, expected `{END}`",
    )


def test_markers_in_the_wrong_order_are_named(paper):
    first, _, last = submission().rpartition(f"{START}\nBecause.\n{END}")
    text = first + f"{END}\nBecause.\n{START}" + last
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, END, -1)
    assert said == "answer 3d has 2 markers, expected START and END"


def test_what_stands_outside_the_markers_is_named(paper):
    first, _, last = submission().rpartition(END)
    text = first + END + "\nAnd more." + last
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "And more.")
    assert said == "answer 3d: this text is outside its markers; move it"


def test_what_stands_in_no_answer_is_named_once(paper):
    text = submission() + "\nLost.\nLost, too.\n"
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "Lost.")
    assert said == "this text is not inside an answer; move it between an answer's markers"


def test_definitions_may_stand_anywhere(paper):
    text = "\\newcommand{\\R}{\\mathbb{R}}\n\\usepackage{bm}\n" + submission()
    assert paper.findings(text, answered=4) == []


# -- what LaTeX stops at, or does not print ------------------------------------------------------

LOST = {
    "0/20 = 0.0%; London: 20%, so it": UNPRINTED,
    "about 94 % of them": UNPRINTED,
    "twenty % of them": UNPRINTED,
    r"94\\% of them": UNPRINTED,
    r"$94$% of them": UNPRINTED,
    "It reaches 94\n% of them": UNPRINTED,
    "It reaches 94%": r"this % is not printed; write \%",
    r"It reaches \textbf{94}%": r"this % is not printed; write \%",
    r"It reaches \(94\)%": r"this % is not printed; write \%",
    "a_b": r"LaTeX stops at _ outside of a formula; write \_, or the formula between $ and $",
    r"\texttt{a_b}": "LaTeX stops at _ outside of a formula;",
    r"$\text{a_b}$": "LaTeX stops at _ outside of a formula;",
    "x^2": "LaTeX stops at ^ outside of a formula; write the formula between $ and $",
    "b & c": r"LaTeX stops at & outside of a table; write \&",
    r"$b & c$": r"LaTeX stops at & outside of a table; write \&",
    "no. #1": r"LaTeX stops at #; write \#",
    "5$ and more": r"the formula that $ begins has no $; write \$ for a dollar sign",
    "$x\n\ny$": r"the formula that $ begins has no $; write \$ for a dollar sign",
    r"\(x": r"the formula that \( begins has no \)",
    "x ≥ 5": r"LaTeX can't print ≥; write $\geq$",
    "$x ≥ 5$": r"LaTeX can't print ≥; write \geq",
    r"\verb|≥|": r"LaTeX can't print ≥; write $\geq$",
    "\\begin{verbatim}\n≥\n\\end{verbatim}": r"LaTeX can't print ≥; write $\geq$",
    "α and $3×4$": r"LaTeX can't print × in a formula; write \times "
    r"LaTeX can't print α; write $\alpha$",
    "$é$": r"LaTeX can't print é in a formula; write \text{é}",
    "王芳": "LaTeX can't print 王芳; write it in Latin letters",
    "e\u0301": "LaTeX can't print an accent by itself (COMBINING ACUTE ACCENT); type it and its "
    "letter as one character",
    "a\u200bb": "LaTeX can't print an invisible character (ZERO WIDTH SPACE); delete it",
    "a\u2009b": "LaTeX can't print a special blank (THIN SPACE); type an ordinary one",
    "x⁴": "LaTeX can't print ⁴; write $^{4}$",
    "𝑥": "LaTeX can't print 𝑥; write $x$",
    "ａ": "LaTeX can't print ａ; write a",
    "🙂": "LaTeX can't print 🙂; write it in words",
}


@pytest.mark.parametrize("text", LOST)
def test_what_latex_stops_at_or_leaves_out_is_named_with_its_line_and_what_to_write(paper, text):
    made = submission()
    place = made.index(r"\begin{answer}{3c-i}")
    made = made[:place] + made[place:].replace("Because.", text, 1)
    found = paper.findings(made, answered=4)
    of_text = {n for n, line in enumerate(made.split("\n"), 1) if line in text.split("\n") and line}
    prefix = [re.match(r"written/submission\.tex:(\d+): answer 3c-i: (.*)", line) for line in found]
    assert all(match and int(match[1]) in of_text for match in prefix), found
    assert " ".join(match[2] for match in prefix).startswith(LOST[text])


@pytest.mark.parametrize("text", FINE)
def test_what_latex_prints_is_no_finding(paper, text):
    assert paper.findings(submission(text), answered=4) == []


def test_an_empty_question_without_points_is_not_missing(paper):
    sheet = paper.root / "written" / "sheet.tex"
    sheet.write_text(
        SHEET.replace(r"\answerspace{1d}", r"\answerspace[no points]{1d}"), encoding="utf-8"
    )
    text = submission()
    place = text.index(r"\begin{answer}{1d}")
    paper.write(text[:place] + text[place:].replace("Because.", "", 1))
    where = "written/submission.tex"
    assert paper.check() == (
        0,
        f"Without points, and empty: 1d.\n3 of 3 questions are answered in {where}.\n",
        "",
    )
    paper.write(text)
    assert paper.check() == (0, f"3 of 3 questions are answered in {where}.\n", "")


# -- Overleaf -------------------------------------------------------------------------------------


def test_overleafs_zip_has_the_answers_of_now_and_what_they_need(paper):
    written = paper.root / "written"
    for name in ("with_solutions.tex", "handout.sty", "figures/a.tex", "plot.png", "Makefile"):
        (written / name).parent.mkdir(exist_ok=True)
        (written / name).write_bytes(b"x")
    for name in ("with_solutions.pdf", "with_solutions.fdb_latexmk", "sheet.aux", ".hidden"):
        (written / name).write_bytes(b"made by LaTeX")
    (paper.root / "overleaf.zip").write_bytes(b"the old one")
    for answer in ("Because.", "Therefore, 94% of it."):
        paper.write(submission(answer))
        out = paper.check()[1]
        assert out.endswith("\noverleaf.zip has these answers, for Overleaf.\n")
        with zipfile.ZipFile(paper.root / "overleaf.zip") as packed:
            assert packed.read("submission.tex") == paper.file.read_bytes()
            assert packed.namelist() == [
                *("figures/a.tex", "handout.sty", "plot.png", "sheet.tex", "submission.tex"),
                "with_solutions.tex",
            ]


def test_another_file_is_not_packed(paper):
    (paper.root / "written" / "with_solutions.tex").write_bytes(b"")
    shutil.copy2(paper.file, paper.root / "other.tex")
    assert "overleaf" not in paper.check(str(paper.root / "other.tex"))[1]
    assert not (paper.root / "overleaf.zip").exists()


def test_a_zip_that_cannot_be_written_is_one_line(paper):
    (paper.root / "written" / "with_solutions.tex").write_bytes(b"")
    (paper.root / "overleaf.zip").mkdir()
    code, _, err = paper.check()
    assert code == 2 and err.count("\n") == 1
    assert err.startswith("check_written.py: overleaf.zip: can't be written: ")


# -- declarations ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["collaborators", "aitools"])
def test_an_empty_declaration_is_named(paper, name):
    text = submission()
    place = text.index(f"\\{name}")
    text = text[:place] + text[place:].replace("none", "% none", 1)
    assert paper.finding(text, answered=4) == (
        line_of(text, f"\\{name}"),
        f"\\{name} is empty; `none` is a valid answer",
    )


@pytest.mark.parametrize("said", ["Ada \\& Bob", "\\textbf{Ada {\\'E}lan}", "a \\} b", "none\n% }"])
def test_a_declaration_may_say_anything(paper, said):
    assert paper.findings(submission(declared=said), answered=4) == []


def test_a_declaration_that_is_gone_is_named(paper):
    text = submission().replace(block(r"\aitools{", "}", "none"), "")
    assert paper.finding(text, answered=4) == (
        1,
        r"\aitools{...} is missing; put it back (`none` is a valid answer)",
    )


def test_a_declaration_that_is_not_closed_is_named(paper):
    text = submission().replace("none", "{none", 1)
    number, said = paper.finding(text, answered=4)
    assert number == line_of(text, "\\collaborators")
    assert said == r"\collaborators{ has no closing }, or contains an unmatched brace"


# -- bad input ------------------------------------------------------------------------------------


def test_a_missing_file_is_one_line(paper):
    paper.file.unlink()
    said = paper.refused()
    assert "written/submission.tex: No such file" in said and "the course's zip" in said


def test_a_missing_sheet_is_one_line(paper):
    (paper.root / "written" / "sheet.tex").unlink()
    assert "written/sheet.tex: No such file" in paper.refused()


def test_a_sheet_without_questions_is_one_line(paper):
    (paper.root / "written" / "sheet.tex").write_text("none\n", encoding="utf-8")
    assert "written/sheet.tex: no \\answerspace{...}" in paper.refused()


def test_another_encoding_is_one_line_with_its_place(paper):
    text = submission()
    paper.file.write_bytes(text.replace("Because.", "Größe.").encode("latin-1"))
    number = line_of(text, "Because.")
    assert f"written/submission.tex:{number}: not UTF-8 text" in paper.refused()


@pytest.mark.parametrize("name", ["answers.docx", "answers", "photo.jpg"])
def test_another_kind_of_file_is_one_line(paper, name):
    (paper.root / name).write_bytes(b"\xff\xd8")
    assert f"{name}: expected submission.tex, or a PDF" in paper.refused(str(paper.root / name))


def test_a_folder_is_one_line(paper):
    (paper.root / "a.tex").mkdir()
    assert "a.tex: Is a directory" in paper.refused(str(paper.root / "a.tex"))


def test_usage_errors_exit_with_2(paper):
    with pytest.raises(SystemExit) as caught:
        paper.check("a.tex", "b.tex")
    assert caught.value.code == 2


def test_a_file_elsewhere_is_compared_with_the_sheet_beside_it_or_ours(paper, tmp_path):
    other = tmp_path / "over leaf"
    other.mkdir()
    shutil.copy2(paper.file, other / "mine.tex")
    assert paper.check(str(other / "mine.tex"))[1].startswith("4 of 4 questions are answered in /")
    (other / "sheet.tex").write_text("\\answerspace{1d}\n", encoding="utf-8")
    code, out, _ = paper.check(str(other / "mine.tex"))
    assert (
        code == 1
        and "1 of 1 questions are answered" in out
        and "answer 3d: the sheet has no such question" in out
    )


@pytest.mark.parametrize("where", [".", "src"])
def test_it_runs_from_the_root_and_from_src(paper, run_python, where):
    (paper.root / "src" / "grading").mkdir(parents=True)
    ours = ("check_written.py", "environment.py", "letters.py", "grading/__init__.py")
    for name in (*ours, "grading/markers.py", "grading/writing.py"):
        shutil.copy2(ROOT / "src" / name, paper.root / "src" / name)
    script = "check_written.py" if where == "src" else "src/check_written.py"
    ran = run_python(script, cwd=paper.root / where)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout == "4 of 4 questions are answered in written/submission.tex.\n"
    paper.write(submission("", "none"))
    assert run_python(script, cwd=paper.root / where).returncode == 1
    paper.file.unlink()
    assert run_python(script, cwd=paper.root / where).returncode == 2


def test_markers_are_those_of_the_code_as_comments():
    assert (START, END) == (f"% {regions.START}", f"% {regions.END}")
