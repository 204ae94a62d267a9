"""The autograder of the second assignment."""

import sys

from grading.cli import main
from grading.question_set import QuestionSet

if __name__ == "__main__":
    sys.exit(main(QuestionSet()))
