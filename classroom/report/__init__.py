"""The report on a class: pages and tables for staff, and a page for each student.

python -m classroom report DIR    write DIR/report/index.html and CSV files
"""
