"""What a class did: pages and tables for staff, and a page for each student.

    python -m tools.classroom report DIR               DIR/report/index.html and CSV files
    python -m tools.classroom report DIR --anonymous   without names, code and texts of students

The modules:

- `result_pages` one result as a page: a student's, or staff's
- `gathered`   a class's results as they count
- `numbers`    statistics of scores and tests; `failures` groups what failed by its cause
- `quoted`     the lines of a submission that an example shows
- `anonymous`  pseudonyms
- `csv_files`  the CSV files; `class_report` the command
"""
