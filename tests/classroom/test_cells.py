"""CSV: spreadsheets run nothing in it, and what was written is read back exactly."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classroom.cells import Number, guarded, parse, rounded, table, unguarded, write
from grading.errors import UsageError

# Any text in UTF-8, often with characters that are special in CSV or in spreadsheets.
TEXTS = st.text(st.one_of(st.sampled_from("'=+-@\t\r\n\",; \ufeff"), st.characters(codec="utf-8")))
ROWS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=1, max_size=4)


# The properties hold for every text, so none of these tests can fail by chance.
@settings(deadline=None)
@given(ROWS, st.sampled_from(",;\t"), st.booleans())
def test_the_reader_undoes_the_writer(rows, delimiter, bom):
    # The first row determines the separator. Blank rows are left out by the reader.
    rows = [["student", "due", "reason"], *(row for row in rows if any(map(str.strip, row)))]
    found = parse(write(rows, delimiter, bom).encode(), "a.csv")
    assert [list(row.cells) for row in found.rows] == rows
    assert (found.delimiter, found.has_bom) == (delimiter, bom)


@settings(deadline=None)
@given(st.text("'"), st.sampled_from("=+-@\t\r"), TEXTS)
def test_no_text_is_written_as_a_formula(quotes, first, rest):
    text = quotes + first + rest
    assert guarded(text) == "'" + text and unguarded("'" + text) == text
    assert guarded("x" + text) == unguarded("x" + text) == "x" + text


def test_numbers_are_not_guarded_and_a_lone_empty_cell_is_a_row():
    assert write([[Number("-1.50"), "-1.50"], [""]]) == '-1.50,\'-1.50\n""\n'


@pytest.mark.parametrize(
    "value, text",
    [("1/8", "0.13"), ("1737/200", "8.69"), ("-1/8", "-0.13"), ("-1/1000", "0.00"), ("2/3", "0.67"),
     ("199/200", "1.00"), ("31", "31.00")],
)  # fmt: skip
def test_halves_are_rounded_up_once(value, text):
    assert rounded(Fraction(value)) == text


def number(text: str, separator: str) -> Fraction:
    found = parse(f"student{separator}points\n".encode(), "a.csv")
    return found.number(found.rows[0], "points", text)


@pytest.mark.parametrize(
    "text, value, separator",
    [("12", 12, ","), ("12.50", "25/2", ","), (" .5 ", "1/2", ","), ("-0.25", "-1/4", ","),
     ("+2", 2, ","), ("12,5", "25/2", ";")],
)  # fmt: skip
def test_numbers_are_exact(text, value, separator):
    assert number(text, separator) == Fraction(value)


@pytest.mark.parametrize(
    "text",
    ["", "-", "3.", "1e3", "12.5 pts", "1.234,5", "1,234.5", "NaN", "inf", "=1+1", "1" * 10, "١٢",
     "12,5"],
)  # fmt: skip
def test_what_is_no_number_is_refused(text):
    why = (
        "a comma separates columns here; write" if text == "12,5" else "should be a number such as"
    )
    with pytest.raises(UsageError, match=f"^a.csv, line 1: points = .* {why} 12.5$"):
        number(text, ",")


@pytest.mark.parametrize(
    "data, line",
    [
        (b"student,points\nada,\xff\n", "a.csv, line 2: not valid UTF-8; save it as CSV UTF-8"),
        ("student,points\n".encode("utf-16"), "a.csv, line 1: not valid UTF-8"),
        (b'student,points\n"ada,1\n', "a.csv, line 2: not valid CSV: unexpected end of data"),
        (b"", "a.csv is empty; expected a line with the names of columns, and rows"),
        (b"student,point\n", "a.csv, line 1: unknown column 'point'; did you mean 'points'?"),
        (b"student\n", "a.csv, line 1: the column 'points' is missing; expected student, points"),
        (b"student,points,Points\n", "a.csv, line 1: there are two columns 'Points'"),
        (b"student,points\nada,7,5\n", "a.csv, line 2: 3 cells, but only 2 columns; does a cell"),
    ],
)
def test_files_that_are_something_else_are_named(data, line):
    with pytest.raises(UsageError) as caught:
        table(parse(data, "a.csv"), ("student", "points"))
    assert str(caught.value).startswith(line)


def test_columns_may_be_in_any_order_and_case_and_rows_may_be_short_or_blank():
    data = "\ufeffPoints ; STUDENT\n\n;;\n7,5;ada\n1\n".encode()
    found = table(parse(data, "a.csv"), ("student", "points"))
    cells = [
        (row.line, found.cell(row, "student"), found.cell(row, "points")) for row in found.rows[1:]
    ]
    assert cells == [(4, "ada", "7,5"), (5, "", "1")]
