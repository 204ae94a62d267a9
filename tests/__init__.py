"""Tests of the whole project.

    make test-quick
    make test
    make test-long                  those that `make test` leaves out
    make test ARGS="-k starter"     some of them

Folders are named after what they test: `harness` (src/grading), `gradescope`, `handout`, `student`
(what students download), `leaks`, `reference` (training and measuring it), `training`, `written`
(numbers of the written answers), `golden` (right and wrong code, see its README) and `redteam`
(attacks). Modules beside this file that are not tests are shared by several of them.
"""

import sys
from pathlib import Path

# Where commands of this package, such as `python -m tests.mutants`, find what they import.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
