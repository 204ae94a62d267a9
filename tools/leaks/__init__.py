"""Look for parts of the solutions in what students get.

    python -m tools.leaks FILE-OR-FOLDER...
    python -m tools.leaks --edition cs224n FILE-OR-FOLDER...

Opens texts, zips in zips, PDFs, web pages, notebooks and pictures, and looks for:

- a line of a solution region or of hidden/ of 25 or more characters, or two shorter ones in a
  row, ignoring white space; a hundred consecutive characters of the scripts beside the written
  answers;
- a sentence of a written answer of 40 or more letters, compared letter by letter; a line of 25 or
  more characters of its formulas;
- a line of the test split's answers; the world's seed; the secret of the runs' seeds;
- a fact that answers a written question, in any words that solutions/written/facts.toml foresees,
  for the questions that the edition grades, or, without --edition, that any edition grades;
- a path under solutions/;
- files that can't be opened, since they might contain anything.

The modules:

- `kept`     what is kept from students: the secrets
- `facts`    what answers graded questions
- `allowed`  exceptions that students may read, by reason
- `latex`    the sentences and formulas of a LaTeX source
- `opened`   the texts in a file; `pdf` those of a PDF
- `forms`    the forms in which texts are compared
- `search`   which secrets a file contains

Exit codes: 0 nothing found, 1 something was, 2 a path doesn't exist or can't be read, or an
input of the check has a mistake.
"""

from .facts import Fact, facts_of
from .forms import flat, letters, squeezed
from .kept import GRADING_SECRET, Secret, secrets_of
from .search import check, find

__all__ = [
    "GRADING_SECRET",
    "Fact",
    "Secret",
    "check",
    "facts_of",
    "find",
    "flat",
    "letters",
    "secrets_of",
    "squeezed",
]
