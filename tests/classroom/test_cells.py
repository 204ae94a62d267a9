"""CSV: spreadsheets run nothing in it, and what was written is read back exactly."""

import csv
import io
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from classroom.cells import Number, parse, rounded, table, write
from grading.errors import UsageError

# Any text in UTF-8, often with characters that are special in CSV or in spreadsheets.
TEXTS = st.text(st.one_of(st.sampled_from("'=+-@\t\r\n\",; \ufeff"), st.characters(codec="utf-8")))
ROWS = st.lists(st.lists(TEXTS, min_size=1, max_size=4), min_size=1, max_size=4)


# The property holds for every text, so this test can't fail by chance.
@settings(deadline=None)
@given(ROWS, st.sampled_from(",;\t"), st.booleans())
def test_the_reader_undoes_the_writer_and_no_text_is_written_as_a_formula(rows, delimiter, bom):
    # The first row determines the separator. Blank rows are left out by the reader.
    rows = [["student", "due", "reason"], *(row for row in rows if any(map(str.strip, row)))]
    text = write(rows, delimiter, bom)
    found = parse(text.encode(), "a.csv")
    assert [list(row.cells) for row in found.rows] == rows
    assert (found.delimiter, found.has_bom) == (delimiter, bom)
    written = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    assert not any(cell[:1] in (*"=+-@\t\r",) for row in written for cell in row)


def test_numbers_are_not_guarded_and_halves_are_rounded_up_once():
    assert write([[Number("-1.50"), "-1.50"], [""]]) == '-1.50,\'-1.50\n""\n'
    values = {"1/8": "0.13", "1737/200": "8.69", "-1/8": "-0.13", "-1/1000": "0.00", "31": "31.00"}
    assert {value: rounded(Fraction(value)) for value in values} == values


def test_numbers_are_exact_and_nothing_else_is_one():
    def number(text: str, separator: str = ",") -> Fraction:
        data = write([["student", "points"], ["ada", Number(text)]], separator)
        found = table(parse(data.encode(), "a.csv"), ("student", "points"))
        return found.rows[1].number("points")

    for text, value in (("12.50", "25/2"), (" .5 ", "1/2"), ("-0.25", "-1/4"), ("+2", "2")):
        assert number(text) == Fraction(value)
    assert number("12,5", ";") == Fraction("25/2")
    for text in ("", "-", "3.", "1e3", "1.234,5", "NaN", "=1+1", "1" * 10, "١٢"):
        with pytest.raises(UsageError, match=r"^a.csv, line 2: points = .* a number such as 12.5$"):
            number(text)
    with pytest.raises(UsageError, match="a comma separates columns here; write 12.5$"):
        number("12,5")


def test_files_that_are_something_else_are_named():
    for data, line in (
        (b"student,points\nada,\xff\n", "a.csv, line 2: not valid UTF-8; save it as CSV UTF-8"),
        (b'student,points\n"ada,1\n', "a.csv, line 2: not valid CSV: unexpected end of data"),
        (b"student,point\n", "a.csv, line 1: unknown column 'point'; did you mean 'points'?"),
        (b"student,points,Points\n", "a.csv, line 1: there are two columns 'Points'"),
        (b"sep=;\nstudent;points\nada;7;5\n", "a.csv, line 3: 3 cells, but only 2 columns"),
    ):
        with pytest.raises(UsageError) as caught:
            table(parse(data, "a.csv"), ("student", "points"))
        assert str(caught.value).startswith(line)
