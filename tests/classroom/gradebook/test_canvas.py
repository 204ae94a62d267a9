"""Canvas's gradebook as template: what is refused, what is kept, what an import would change."""

import csv
import io
import re

import pytest

from grading.errors import UsageError
from tests.classroom.gradebook.building import ADA, BO, at, command, put, record
from tools.classroom.gradebook.canvas import DROPPED, read_template

HEAD = "Student,ID,SIS User ID,SIS Login ID,Section,Problem Set 5 (12)"
POINTS = "    Points Possible,,,,,26.00"
ROWS = ('"Byron, Ada",1,007,ada,S1,', '"Chen, Bo",2,008,bo,S1,1.00', '"Roe, Jo",3,009,jo,S1,2.5')


@pytest.fixture
def folder(export, tmp_path, policy):
    export.add(1, [ADA], at(-60), record(10, 6, 0.125))
    export.add(2, [BO], at(-60), record(1, 0, 0))
    return export.into(tmp_path / "class")


def exported(folder, *lines: str, words=(), bom="") -> str:
    put(folder, canvas=bom + "\n".join(lines) + "\n")
    assert command("gradebook", folder, *words) == 0
    return (folder / "grades" / "canvas.csv").read_text(encoding="utf-8")


def cells(text: str, separator: str = ",") -> list[str]:
    return [row[-1] for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator)]


def imported(text: str, known: dict[int, str]) -> dict[int, str]:
    """Return what Canvas changes when it imports a file, by its importer's rules.

    Students are found by ID, and the assignment by the number at the end of a title. No score and
    "-" are the same, and so are scores with the same two decimals.
    """
    separator = ";" if text.split("\n")[0].count(";") else ","
    head, *rows = csv.reader(
        io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=separator
    )
    assert head[0] == "Student" and "ID" in head[1] and head[4] == "Section"
    (title,) = head[5:]
    assert re.fullmatch(r".*\s\(12\)", title) and not any(words in title for words in DROPPED)
    changed = {}
    for row in rows:
        if "Points Possible" in row[0] or not any(row):
            continue
        new, old = row[5].strip(), known[int(row[1])]
        if re.fullmatch(r"-?[0-9.,]+%?", new):
            *front, last = re.split("[,.]", new)
            new = f"{float(''.join(front) + '.' + last if front else last):.2f}"
        old = f"{float(old):.2f}" if re.fullmatch(r"[0-9.]+", old) else old
        if old != "N/A" and {new, old} - {"", "-"} and new != old:
            changed[int(row[1])] = new
    return changed


def test_the_only_assignment_is_taken_and_cells_without_a_grade_stay(folder):
    text = exported(folder, HEAD, POINTS, *ROWS)
    assert text == (
        f"{HEAD}\n{POINTS}\n"
        '"Byron, Ada",1,007,ada,S1,16.13\n"Chen, Bo",2,008,bo,S1,1.00\n"Roe, Jo",3,009,jo,S1,2.5\n'
    )
    assert imported(text, {1: "", 2: "1.0", 3: "2.50"}) == {1: "16.13"}


def test_importing_what_was_exported_changes_nothing(folder):
    text = exported(folder, HEAD, POINTS, *ROWS)
    again = exported(folder, *text.splitlines())
    assert again == text
    known = {1: "16.13", 2: "1.00", 3: "2.50"}
    assert imported(again, known) == {}


def test_semicolons_decimal_commas_and_the_byte_order_mark_stay(folder):
    lines = [line.replace('"', "").replace(", ", "_").replace(",", ";").replace("_", ", ")
             for line in (HEAD, POINTS.replace("26.00", "26_00"), *ROWS)]  # fmt: skip
    lines[1] = lines[1].replace(", ", ",")
    text = exported(folder, *lines, bom="\ufeff")
    assert text.startswith("\ufeffStudent;ID;")
    assert cells(text, ";") == ["Problem Set 5 (12)", "26,00", "16,13", "1,00", "2.5"]
    assert imported(text, {1: "", 2: "1.0", 3: "2.50"}) == {1: "16.13"}


def test_withheld_is_blank_and_excused_is_ex(folder):
    put(folder, withheld=[("008",)], excuses=[("007",)])
    text = exported(folder, HEAD, POINTS, *ROWS)
    assert cells(text)[2:] == ["EX", "", "2.5"]


def test_what_canvas_excused_or_never_assigned_stays_and_is_noted(folder, capsys):
    rows = [ROWS[0] + "EX", ROWS[1].replace("1.00", "N/A"), ROWS[2].replace("2.5", "-")]
    assert cells(exported(folder, HEAD, POINTS, *rows))[2:] == ["EX", "N/A", ""]
    said = capsys.readouterr().out
    assert (
        "canvas.csv, line 3: Ada Byron <ada@x.edu> (007) has EX in Canvas, but 16.13 in the "
        "gradebook: EX is kept"
    ) in said
    assert "canvas.csv, line 4: not assigned to Bo Chen" in said


def test_other_points_possible_are_noted(folder, capsys):
    exported(folder, HEAD, POINTS.replace("26.00", "30"), *ROWS)
    assert (
        "the assignment is worth 30 points in Canvas, but 26 in the gradebook"
        in capsys.readouterr().out
    )


@pytest.mark.parametrize(
    "points, score, worth",
    [
        ('"1,000.00"', '"1,234.56"', "1000"),
        ('"1,000"', '"1,234.5"', "1000"),
        ('"1,000"', '"2,000"', "1000"),  # in English, since columns are separated by commas
        ('"1,234,567"', "", "1234567"),
        ('"0,125"', '"12,5"', "0.125"),  # which Canvas reads as 12.5
        ('"1.000,00"', '"1.234,5"', "1000"),
        ('"1\u202f000,00"', '"1\xa0234,5"', "1000"),
    ],
)
def test_thousands_separators_are_read_and_kept(folder, capsys, points, score, worth):
    row = f'"Roe, Jo",3,009,jo,S1,{score}'
    text = exported(folder, HEAD, f"Points Possible,,,,,{points}", *ROWS[:1], row)
    assert f"the assignment is worth {worth} points in Canvas" in capsys.readouterr().out
    assert text.splitlines()[-1] == row  # we have no grade for Jo
    assert cells(text)[2] == "16.13"


@pytest.mark.parametrize("number", ["1.000.00", "1,2,3", "1,234.56.7", "1,00,000", "x"])
def test_what_is_no_number_is_quoted_as_it_is(folder, capsys, number):
    put(folder, canvas=f'{HEAD}\n{POINTS}\n"Roe, Jo",3,009,jo,S1,"{number}"\n')
    assert command("gradebook", folder) == 2
    said = capsys.readouterr().err
    assert f"canvas.csv, line 3: Problem Set 5 (12) = '{number}' should be a number" in said


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;;;;;;"])
def test_a_first_line_for_excel_is_no_row(folder, capsys, first):
    lines = [line.replace('"', "").replace(", ", "_").replace(",", ";").replace("_", ", ")
             for line in (HEAD, POINTS, *ROWS)]  # fmt: skip
    text = exported(folder, first, *lines)
    assert text.startswith("Student;ID;")
    put(folder, extensions="sep=;\nstudent;due;reason;author;date\nnobody;x;y;z;2027-01-20\n")
    assert command("gradebook", folder) == 2
    assert "extensions.csv, line 3: 'x' should be a time" in capsys.readouterr().err


def test_last_and_first_names_and_rows_on_posting(folder):
    head = "LastName,FirstName,ID,SIS Login ID,Section,Notes,Set (12),Current Score"
    rows = [
        ",,,,,,Manual Posting",
        "    Points Possible,,,,,,26,(read only)",
        "=Roe,Jo,3,jo,S1,+x,,",
        "Byron,Ada,1,ada@x.edu,S1,=y,,50",
        "C,B,2,bo@x.edu,S1,,,",
    ]
    text = exported(folder, head, *rows)
    assert text.splitlines() == [
        "LastName,FirstName,ID,SIS Login ID,Section,Set (12)", ",,,,,Manual Posting",
        "    Points Possible,,,,,26", "'=Roe,Jo,3,jo,S1,", "Byron,Ada,1,ada@x.edu,S1,16.13",
        "C,B,2,bo@x.edu,S1,1.00",
    ]  # fmt: skip


@pytest.mark.parametrize("words", DROPPED)
def test_titles_that_canvas_drops_are_refused(tmp_path, words):
    path = tmp_path / "canvas.csv"
    path.write_text(f"{HEAD},My {words}s (13)\n", encoding="utf-8")
    template = read_template(path)
    assert template.head[template.column(None)] == "Problem Set 5 (12)"
    with pytest.raises(UsageError, match=f"contains '{words}': Canvas drops such columns"):
        template.column("13")


@pytest.mark.parametrize(
    "head, points, wanted, message",
    [
        ("New one", "9", "New one", "'New one' has no number in parentheses at its end: Canvas "
         "would create a new assignment"),
        ("A (13)", "(read only)", "A", "'A (13)' is read only: Canvas drops such columns"),
        ("A (13),B (14)", "1,1", None, "--assignment: expected one of the assignments 'Problem Set "
         "5 (12)', 'A (13)', 'B (14)'"),
        ("A (13)", "1", "15", "--assignment '15': expected one of the assignments 'Problem Set 5 "
         "(12)', 'A (13)'"),
        ("A (13),A (14)", "1,1", "A", "--assignment 'A': expected one of"),
        ("A (13),A (13)", "1,1", "A (13)", "--assignment 'A (13)': expected one of"),
        ("A (13),A (13)", "1,1", "Problem Set 5", ""),
    ],
)  # fmt: skip
def test_the_column_has_to_be_one_that_canvas_takes(tmp_path, head, points, wanted, message):
    path = tmp_path / "canvas.csv"
    path.write_text(f"{HEAD},{head}\n{POINTS},{points}\n", encoding="utf-8")
    template = read_template(path)
    if not message:
        assert template.column(wanted) == 5
        return
    with pytest.raises(UsageError) as caught:
        template.column(wanted)
    assert str(caught.value).startswith(f"canvas.csv, line 1: {message}")


@pytest.mark.parametrize(
    "lines, message",
    [
        (["Name,Score"], "canvas.csv, line 1: not an export of Canvas's gradebook; expected"),
        ([HEAD, ROWS[0] + "1,2"], "canvas.csv, line 2: 7 cells, but only 6 columns"),
        (
            [HEAD, POINTS, POINTS.replace(",,", ",7,", 1)],
            "canvas.csv, line 3: a student is called Points",
        ),
        (
            [HEAD, POINTS, ROWS[0] + "A-"],
            "canvas.csv, line 3: Problem Set 5 (12) = 'A-' should be a number",
        ),
        (
            [HEAD, POINTS, ROWS[0] + "=1+1"],
            "canvas.csv, line 3: Problem Set 5 (12) = '=1+1' should be a number",
        ),
        ([HEAD, POINTS, ROWS[0], ROWS[0]], "two records for one person: canvas.csv, line 3"),
    ],
)
def test_what_is_no_export_is_one_line(folder, capsys, lines, message):
    put(folder, canvas="\n".join(lines) + "\n")
    assert command("gradebook", folder) == 2
    assert capsys.readouterr().err.startswith(f"classroom: {message}")
    assert not (folder / "grades").exists()
