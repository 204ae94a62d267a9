"""Turns results into grades that can be explained.

    python -m classroom decide DIR written.csv overrides.csv   read scores and decisions of staff
    python -m classroom grades DIR --csv FILE                  one line a student
    python -m classroom grades DIR --canvas TEMPLATE           fill in Canvas's own export
    python -m classroom grades DIR --explain STUDENT           show each step of a grade

`decisions` reads what `decide` stores, `people` matches the people in several sources, `book`
calculates grades by `policy`, and `rosters` fills in Canvas's gradebook and Moodle's worksheet.
"""
