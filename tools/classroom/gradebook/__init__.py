"""From results to grades that can be explained.

    python -m tools.classroom gradebook DIR               write grades for Canvas and others
    python -m tools.classroom explain STUDENT --in DIR    show each step of a grade
    python -m tools.classroom policy --try FILE --in DIR  what another policy would do to the class
    python -m tools.classroom rubrics --into FOLDER       sheets for those who grade written answers

The modules, from input to output:

- `cells`      the one writer of CSV files, and its exact inverse
- `people`     who is who in several sources
- `handed`     what somebody handed in; `coding` and `written` read it
- `decisions`  overrides, extensions, excuses, withheld grades
- `policy`     lateness and the cap of extra credit, in fractions
- `book`       the grades, step by step; `sources` reads all that they are made of
- `canvas`     Canvas's gradebook; `exports` the other files
- `bookkeeping` the commands; `rubrics` one of its own
"""
