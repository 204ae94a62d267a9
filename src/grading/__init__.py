"""The harness behind grader.py: student code is observed in one process and judged in another.

Student code never runs in a process that knows an answer or decides a score; only plain data
crosses. A test asks a *probe* something about a submission. The probe runs in a *worker* process
with the submission's code and answers with one frame of JSON and arrays. The parent checks the
answer and judges it: basic tests in src/questions/, hidden ones with staff's judges, without which
they only run. docs/architecture.md follows a submission through all of it. Each line here uses only
what is below it:

    cli.py            the command, once and after each save
    pytest_plugin.py  pytest in a student's copy
    report.py         what results mean to their readers, in a terminal and on a page
    runner.py         a submission is staged, its tests are judged
    cases.py          what a test is and observes by its probes; an assignment's tests
    release.py        what a course gives its students, and what is wrong with a copy
    verdicts.py       how a test ended, in words; a run's results, and how they are written
    pool.py           who runs a probe in which process
    worker.py         what happens in it, within which limits
    staging.py        which files are graded
    upload.py         folders and archives, as other people pack them
    edition.py        what is graded: editions, questions, points
    wire.py           what a worker sends: notes, a frame, and what must be in it
    errors.py         exceptions, and texts that are safe to show

What a run promises, whichever pool runs it:
- Frames are never unpickled, and nothing in them is believed unchecked.
- The grader's own faults are not counted against a student: outcome `grader error`, exit code 3. A
  worker reports when it is about to run student code; any failure before that is the grader's.
- Whatever a worker answers, its test gets a verdict. The reference uses a student's parameters only
  if their names, shapes and types equal its own. If a judge or the reference raises, or an
  exception shows no line of the student's, the test runs again with the reference in the
  submission's place: if that fails, too, the fault is the grader's.
- For a hidden test, a student reads a fixed sentence and, for a crash, also the type of the
  built-in exception and the function of the assignment from which it came; never a message, a
  print, a value or a line number.
- The same submission and seed give the same verdicts and messages, whatever other tests do, with
  these exceptions: a module that hangs while it is imported does so in one test, and the others
  report that at once; a basic test that times out names a line, which may differ between runs; and
  on a student's computer, a question's other tests are not run after two time-outs.

The `LocalPool` of a student's computer promises nothing else: its workers do job after job, so a
failure in a used one counts only if a fresh one repeats it, until three of a run were repeated
(`runner.py`); limits are the worker's own; code can do whatever the user can. A run there is for
the student's own information. How runs are protected that count, or that are next to solutions, is
in staff's package `autograder`.
"""

from pathlib import Path

# The tree is the same for a course and for its students.
SRC = Path(__file__).resolve().parents[1]
ROOT = SRC.parent
DATA = SRC / "data"
QUESTIONS = SRC / "questions"
SOLUTIONS = ROOT / "solutions"  # which only staff have
