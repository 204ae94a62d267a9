"""Build the sheet, practice, solutions and outline from the description and the templates.

description.py   what templates may use: an edition's questions, the data set, the recipe
templates.py     jinja2 with delimiters for LaTeX; mistakes have file, line and word
sheet.py         the sheet, the practice, submission.tex and the staff's solutions, as LaTeX
answers.py       answers to practice, which students get
typeset.py       LaTeX to PDF
web.py           a document as one HTML file
__main__.py      `make handout`
"""
