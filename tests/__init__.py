"""Tests of the whole project.

CONTRIBUTING.md says how to run them, and what each folder tests. Modules beside this file that are
not tests are shared by several of them.
"""

import sys
from pathlib import Path

# Where commands of this package, such as `python -m tests.mutants`, find what they import.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
