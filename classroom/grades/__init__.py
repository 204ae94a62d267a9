"""Turns results into grades that can be explained.

    python -m classroom decide DIR written.csv overrides.csv   read scores and decisions of staff
    python -m classroom grades DIR --csv FILE                  one line a student
    python -m classroom grades DIR --canvas TEMPLATE           fill in Canvas's own export
    python -m classroom grades DIR --explain STUDENT           show each step of a grade

The modules, from input to output:

- `decisions`             reads what `decide` stores
- `people`                matches the people in several sources
- `policy`                lateness and the cap on extra credit, in exact fractions
- `book`                  what everybody handed in, and their grades, step by step
- `rosters`               Canvas's gradebook and Moodle's worksheet
- `commands`              the commands
"""
