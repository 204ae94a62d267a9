"""The report on a class: pages and tables for staff, and a page for each student.

    python -m tools.classroom report DIR               write DIR/report/index.html and CSV files
    python -m tools.classroom report DIR --anonymous   without names, code and students' texts

The modules:

- `result_pages`  the page of one result, for its student or for staff
- `gathered`      a class's results, as far as they count
- `numbers`       statistics of scores and tests; `failures` groups failures by cause
- `quoted`        the lines of a submission that an example shows
- `anonymous`     pseudonyms
- `csv_files`     the CSV files; `class_report` is the command
"""
