"""The harness behind grader.py: observe there, judge here.

Student code never runs in a process that knows an answer or decides a score; only plain data
crosses. A test of grader.py asks a *probe* (`probes/`) something about a submission; the probe
runs in a *worker* process with the submission's code and answers with one frame (`wire.py`) of
JSON and arrays; the parent checks it (`schema.py`) and judges: basic tests in grader.py, hidden
ones in staff's solutions/hidden.py.

    cli.py       the command                     runner.py    a run of an edition's tests
    assignment.py  points, tests, thresholds     cases.py     what a test case is
    staging.py   which files are graded          asking/      what grader.py's classes share
    processes.py, zygote.py, guardian.py, worker.py, limits.py: how workers start, live and end
    outcomes.py, reading.py, results.py, console.py: how a test ended, and who reads what of it

What is promised now: each test runs in a process of its own with limits on CPU time, wall time,
memory, files and processes; nothing of it outlives the test; one test never touches another's
result; answers and scores are never in a student's process; frames are never unpickled.
What is not: a worker has the rights of whoever runs the grader. It can read what that user can
read, solutions included where they lie on the same disk, and can use the network. Grade
submissions that you don't trust on a machine that holds nothing they may not see.
"""
