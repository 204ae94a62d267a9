"""The autograder.

    python grader.py                 all tests (in src/; from the root: python src/grader.py)
    python grader.py 1e              one question
    python grader.py 3a-0-basic      one test
    python grader.py --list          every test with its points

Student code runs in a worker process and returns plain data, which is judged here. The tests are in
questions/, one folder per topic; their numbers, points and time limits are in assignment.toml.
`--where 3a-0-basic` prints which lines decide a test.
"""

import environment

if __name__ == "__main__":
    environment.check("numpy", "rich", wanted="torch")

import sys

from grading.cli import main
from questions.course import Course

if __name__ == "__main__":
    sys.exit(main(Course()))
