"""The report on a class: pages and tables for staff, and a page for each student.

    python -m classroom report DIR    write DIR/report/index.html and CSV files

The modules:

- `gathered`      the results that count
- `causes`        groups failures by cause, with an example of each, and lines of its code
- `numbers`       statistics of scores, questions and tests
- `result_pages`  the page of one result, for its student or for staff
- `command`       the command
"""
