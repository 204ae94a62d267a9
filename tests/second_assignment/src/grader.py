"""The autograder of the second assignment."""

import sys

from grading.cases import QuestionSet
from grading.cli import main

if __name__ == "__main__":
    sys.exit(main(QuestionSet()))
