"""The autograder.

    python grader.py                 all tests (in src/; from the root: python src/grader.py)
    python grader.py 1e              one question
    python grader.py 3a-0-basic      one test
    python grader.py --list          every test with its points

Student code runs in a worker process and answers with plain data; what is right is decided here.
The tests are in grading/questions/, one class a topic; their numbers, points and time limits in
assignment.toml.
"""

import sys

from grading.cli import main
from grading.questions import CASES

if __name__ == "__main__":
    sys.exit(main(CASES))
