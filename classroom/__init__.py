"""Grade a whole class: read what it handed in, and keep everything in one private SQLite file.

    python -m classroom list SOURCE                show what would be graded
    python -m classroom COMMAND --help             how to use a command

SOURCE is a Gradescope export, a Canvas or Moodle download, or any folder of zips and folders. It
may be a folder or a zip. DIR is the class's folder, whose file class.db has everything that counts
(`store.py`). `docs/grading-a-class.md` explains each step.

Only messages for people contain names of students. Logs contain only the ids of submissions.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))  # shared with students
