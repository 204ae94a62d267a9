"""CSV: spreadsheets run nothing in it, and what was written is read back exactly.

Files that are something else are in grades/test_decisions.py.
"""

import csv
import io
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from classroom.cells import Number, parse, rounded, write

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
