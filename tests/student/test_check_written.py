"""Written answers: each missing, empty or misplaced one gets one line with its place."""

import shutil

import pytest

from check_written import END, START
from tests.project import ROOT
from tests.student.writing import IDS, SHEET, block, line_of, submission
from tools import regions

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


@pytest.mark.parametrize("text", [r"\%", r"5\,\% % of it", "a\n% ### note\nb", r"$x^{2}$", "Łódź"])
def test_what_prints_is_an_answer(paper, text):
    assert paper.findings(submission(text), answered=4) == []


def test_a_percent_sign_behind_a_line_break_begins_a_comment(paper):
    assert paper.findings(submission(declared=r"none\\% comment }"), answered=4) == []


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


@pytest.mark.parametrize("said", ["Ada \\& Bob", "\\textbf{Ada {\\'E}lan}", "a \\} b", "none % }"])
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
    ours = ("check_written.py", "environment.py", "grading/__init__.py", "grading/markers.py")
    for name in ours:
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
