"""Grade a whole class: read what it handed in, and keep what comes out in a private folder.

    python -m tools.classroom list SOURCE              what would be graded, and what is odd
    python -m tools.classroom grade SOURCE --into DIR  grade it, on all cores or on a cluster
    python -m tools.classroom table --in DIR           what became of each, as a CSV
    python -m tools.classroom gradebook DIR            grades, for Canvas and others
    python -m tools.classroom similar SOURCE --into DIR  which share what few others have
    python -m tools.classroom regrade DIR              what would another release change?
    python -m tools.classroom report DIR               what the class did
    python -m tools.classroom forget STUDENT --in DIR  remove a student from a class's folder
    python -m tools.classroom purge --before DATE --in DIR

SOURCE is a Gradescope export, a Canvas or Moodle download, or any folder of zips and folders; a
folder or a zip. DIR is a class's folder. `docs/grading-a-class.md` leads through all of it.

The modules:

- `roster`            `read_class`: what a class handed in, who is whose
- `submissions`       what it returns: students, submissions, the roll
- `gradescope_export` reads a Gradescope export; `symbols` its metadata, one submission at a time
- `downloads`         reads downloads of Canvas and Moodle, and plain folders
- `attempts`          chooses among several attempts of a student
- `places`            files in a folder or in a zip; `uploads` those of one submission
- `folder`            a class's folder DIR: its permissions, its lock, its roll and its records
- `grade`             the command; `class_run` its passes, losses and records
- `records`           what is known of a submission once it was graded; `table` shows it
- `shipping`          the release, the class's seed, and submissions, as they are sent
- `cluster`           dask's cluster, TLS, which workers can grade; `dispatch` keeps them busy
- `slots`             the workers' end: a host (`src/grading/host.py`) for each slot
- `dispatching`       workers for commands that grade; `handed_files` what they grade
- `choosing`          lists of students that commands are given
- `regrading`         `regrade`, `apply`, `discard`, `history`, `repeat`, `stored`
- `reports`           `report`: what a class did, for staff and for each student
- `gradebook/`        from results, written scores and decisions to grades
- `similarity`        `similar`: code, parameters and predictions of pairs, side by side
- `html_pages`        pages in which nothing that a student wrote can act
- `privacy`           `forget` and `purge`; `listing` is `list`

Only messages for people name students. What is logged, and what is written beside the roll, holds
ids of submissions alone.
"""
