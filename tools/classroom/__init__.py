"""Grade a whole class: read what it handed in, and keep the results in a private folder.

    python -m tools.classroom list SOURCE                show what would be graded
    python -m tools.classroom grade SOURCE --into DIR    grade it, on all cores or on a cluster
    python -m tools.classroom table --in DIR             print the results as CSV
    python -m tools.classroom regrade DIR                show what another release would change
    python -m tools.classroom report DIR                 write a report on the class
    python -m tools.classroom forget STUDENT --in DIR    remove a student from a class's folder
    python -m tools.classroom purge --before DATE --in DIR    remove old submissions

SOURCE is a Gradescope export, a Canvas or Moodle download, or any folder of zips and folders. It
may be a folder or a zip. DIR is the class's folder. `docs/grading-a-class.md` explains each step.

The modules:

- `roster`            `read_class` reads what a class handed in, and whose each submission is
- `submissions`       what it returns: students, submissions, the roll
- `gradescope_export` reads a Gradescope export; `symbols` reads its metadata entry by entry
- `downloads`         reads downloads from Canvas and Moodle, and plain folders
- `attempts`          chooses among several attempts by a student
- `places`            reads files in a folder or in a zip; `uploads` those of one submission
- `folder`            a class's folder DIR: its permissions, its lock, its roll and its records
- `commands`          what the commands share: arguments and exit codes
- `grade`             the command; `class_run` has its passes and writes the records
- `records`           what a record contains; `table` shows them
- `shipping`          packs what is sent to workers: the release, the class's seed, submissions
- `cluster`           dask's cluster, TLS, workers that can grade; `dispatch` keeps them busy
- `slots`             the workers' side: a host (`tools/classroom/host.py`) for each slot
- `dispatching`       workers for commands that grade; `handed_files` finds what they grade
- `listing`           `list`

Only messages for people contain names of students. Logs, and all files beside the roll and the
pages, contain only the ids of submissions.
"""
