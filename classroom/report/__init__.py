"""The report on a class: pages and tables for staff, and a page for each student.

    python -m classroom report DIR    write DIR/report/index.html and CSV files

The modules:

- `causes`        groups failures by cause, with an example of each, and lines of its code
- `numbers`       the results that count, and statistics of them
- `result_pages`  the page of one result, for its student or for staff
- `command`       the command
"""
