"""Build the sheet, practice, solutions and outline from the description and the templates.

description.py   what templates may use: an edition's questions, the data set, the recipe
templates.py     jinja2 with delimiters for LaTeX; mistakes have file, line and word
first_page.py    the first page's table: points, hours, times
sheet.py         the sheet, the practice, submission.tex and the staff's solutions, as LaTeX
checks.py        mistakes that TeX can't see; origins.py says where text comes from
typeset.py       LaTeX to PDF
web.py           a document as one HTML file
build.py         all of an edition's documents
__main__.py      `make handout`
"""
