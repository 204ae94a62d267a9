"""The harness behind grader.py: observe there, judge here.

Student code never runs in a process that knows an answer or decides a score; only plain data
crosses. A test asks a *probe* something about a submission. The probe runs in a *worker* process
with the submission's code and answers with one frame (`wire.py`) of JSON and arrays. The parent
checks the answer (`schema.py`) and judges it: basic tests assert in src/questions/, hidden ones in
staff's solutions/hidden/. The harness knows no topic: what is asked is in `questions/`, and a
`QuestionSet` tells the harness where. docs/architecture.md follows a submission through all of it.

    cli.py, doctor.py     the command
    assignment.py, editions.py, recipes.py, toml_tables.py: the description, read into typed objects
    question_set.py       what an assignment is besides its description
    cases.py, functions.py, judges.py, where.py: tests, their judges, the lines that decide a test
    runner.py, options.py, bench.py, observer.py: a run, a test's place to work, who hears of it
    staging.py, upload.py, trees.py: which files are graded, what is added, what is removed
    imports.py            what a submission imports that is not there where it is graded
    processes.py, jobs.py, zygotes.py, zygote.py, guardian.py, killer.py, huge_pages.py, worker.py,
    frames.py, importing.py, inprocess.py: how workers start, live and end
    sandbox.py, landlock.py, seccomp.py, limits.py, leftovers.py, exposure.py: what confines them
    authoritative.py, canary.py, requirements.py: what a run that counts demands
    outcomes.py, endings.py, causes.py, printable.py, float_ranges.py: how a test ended, in words
    results.py, console.py, report.py, replay.py, provenance.py: who reads what of it
    deciding.py           what decides each test, as a digest
    student_console.py, terminal.py: what students read in a terminal
    host.py, remembered.py, source_digest.py: one process for many submissions, for staff who grade
                          a class, and what is kept from one to the next
    writing.py            files that are written whole or not at all
    gradescope/           results.json and metadata, as Gradescope documents them

What is promised, and by what:
- Answers and scores are never in a student's process: a probe returns observations, the parent
  judges. Frames are never unpickled, and nothing in them is believed unchecked.
- One test never touches another's result. Each runs in a process and session of its own, in a
  scratch folder of its own, with limits on CPU and wall time, memory, files, processes and output;
  a guardian that runs none of the student's code watches, and kills what is left at the end.
- Student code can't read the solutions, answers or results, write outside its scratch folder, use
  a network, or reach another process: Landlock, a seccomp filter and no_new_privs hold for any
  Linux user; for root each test has a uid of its own besides, which alone suffices for files and
  processes where the kernel lacks Landlock, given folders that others can't read. Without such a
  uid, code starts threads but no processes, which would count as the user's. `--doctor` says
  which of these work here; `--authoritative` refuses to run where the required ones don't, and a
  canary worker tries first. Where solutions, answers or results lie among the libraries that code
  may read (below /usr, say), no run judges hidden tests (`exposure.py`): exit code 2, or 3 if the
  run was to be authoritative.
- A fault of ours is no student's: outcome `grader error`, exit code 3. A worker says when it is
  about to run student code, so that what fails before is ours.
- No student can cause one: whatever a worker answers, its test has a verdict. Specs say all that
  judges rely on (`schema.py`); the reference works on a student's parameters once their names,
  shapes and types are its own. Where a judge or the reference raises all the same, or an exception
  shows no line of the student's, the test runs again with the reference in the submission's place:
  if that fails, too, it is ours. tests/redteam/test_fuzz.py holds it.
- Hidden tests tell a student a fixed sentence of ours, for a crash also the built-in exception's
  type and which of the assignment's functions it came from; never a message, a print, a value or
  a line number.
- The same submission and seed give the same verdicts and messages, whatever else runs; but a
  module that hangs while it is imported does so in one test, and others say so at once; a basic
  test that runs out of time names a line, which need not be the same twice; and on a student's
  computer a question's other tests are not run after two such.

What is not promised:
- Inputs of hidden tests are seen by the code that gets them, and a test's end tells something of
  them. Code made for that chooses among a dozen outcomes, 70 types of exceptions, the functions of
  a file and some seconds of time: that carries ten to fifteen bits out of each hidden test and run.
  A limit on hidden feedback (`hidden_feedback_a_day`) bounds how often; inputs are drawn afresh for
  each submission, so that what is carried out of one is worth nothing in the next.
- Code in a worker can answer for the probe. It then has to know the right answer: what decides
  points are values that only right code computes, on inputs drawn afresh. Of the tests of set-ups
  (helper.py) this is not so: what they ask stands in the docstrings, and forging it is more work.
- Predictions have to agree with the parameters handed in, all but 2 lines or 2 % of them, whichever
  is more: decoding takes the likeliest character, and where two are as likely, rounding on another
  computer takes the other. Where an edition requires the pretrained parameters, too, these have to
  show that they were pretrained on the corpus (staff's solutions/hidden/ says how). Whose work
  they are nobody can tell from them. Another's parameters pass, with a little noise added as well.
  So does a genuine pretraining that is finetuned on more questions than the given ones, found by
  searching the corpus. Where an edition does not require them (cs224n), a model that was finetuned
  on such questions alone passes, as in the public course.
- That a test leaves room on the disk while it runs: files that it has removed and still holds open
  take space that nobody can add up, until it ends. That a disk is full where another submission is
  copied is a fault of ours and costs no point: a class's run grades it again, alone on its machine.
- Kernel bugs, and what timing tells. On Windows and macOS: everything but a process, a time limit
  and an environment of its own; a run there is for the student's own information.
"""
