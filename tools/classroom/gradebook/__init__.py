"""Turns results into grades that can be explained.

    python -m tools.classroom gradebook DIR               write grades for Canvas and others
    python -m tools.classroom explain STUDENT --in DIR    show each step of a grade
    python -m tools.classroom policy --try FILE --in DIR  show what another policy would change
    python -m tools.classroom rubrics --into FOLDER       write sheets for grading written answers

The modules, from input to output:

- `cells`        writes CSV files, and reads them back exactly
- `people`       matches the people in several sources
- `handed`       what somebody handed in; `coding` and `written` read it
- `decisions`    overrides, extensions, excuses, withheld grades
- `policy`       lateness and the cap on extra credit, in exact fractions
- `book`         calculates grades step by step; `sources` reads what they are made from
- `canvas`       Canvas's gradebook; `exports` writes the other files
- `bookkeeping`  the commands, except for `rubrics`
"""
