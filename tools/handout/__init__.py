"""From the description and the templates to what is read: the sheet, its answers, its outline.

description.py   what templates may use: an edition's questions, the data set, the recipe
templates.py     jinja2 with delimiters for LaTeX; every mistake is a line with file and word
sheet.py         the sheet, submission.tex and the staff's solutions of an edition, as LaTeX
answers.py       answers to practice, which students get
typeset.py       LaTeX to PDF
web.py           the sheet as one HTML file
outline.py       the written questions as a table for Gradescope
__main__.py      `make handout`
"""
