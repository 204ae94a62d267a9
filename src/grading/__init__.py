"""The harness behind grader.py: student code is observed in one process and judged in another.

Student code never runs in a process that knows an answer or decides a score; only plain data
crosses. A test asks a *probe* something about a submission. The probe runs in a *worker* process
with the submission's code and answers with one frame (`wire.py`) of JSON and arrays. The parent
checks the answer (`schema.py`) and judges it: basic tests assert in src/questions/, hidden ones in
staff's solutions/hidden/. The harness knows no topic: the tests are in `questions/`, and a
`QuestionSet` tells the harness where. docs/architecture.md follows a submission through all of it.

    cli.py                the command
    edition.py, editions.py, recipes.py, toml_tables.py: the description, read into typed objects
    question_set.py       what an assignment's description does not contain: questions, data, judges
    cases.py, where.py    tests, and the lines that decide them
    runner.py             a run, its options, observers and requirements; what a test can ask
    staging.py, layouts.py, upload.py: which files are graded, what is added
    imports.py            modules that a submission imports and the autograder lacks
    pool.py, local_pool.py: what a run gives to workers; the workers of a student's computer
    worker.py, importing.py, watchdog.py, traces.py: what happens in them, how long it may take, and
                          what is undone after each job
    sandbox.py, kernel.py, system_calls.py, limits.py, leftovers.py: what confines them, and what is
                          removed after them
    authoritative.py, canary.py: what a run whose score counts requires
    verdicts.py           how a test ended, as a value and in words
    errors.py             the harness's exceptions
    printable.py, float_ranges.py: texts that are safe to show; a warning
    results.py, report.py, terminal.py: results, what they mean to their readers, and how web pages
                          and terminals show it
    deciding.py           a digest of everything that decides a test
    host.py, remembered.py, import_graph.py: one process for many submissions, for staff who grade
                          a class, and what is kept from one to the next
    gradescope/           results.json and metadata, as Gradescope documents them

What is guaranteed, and how:
- Answers and scores are never in a student's process: a probe returns observations, the parent
  judges. Frames are never unpickled, and nothing in them is believed unchecked.
- One test never touches another's result. Each runs in a process and session of its own, in a
  scratch folder of its own, with limits on CPU and wall time, memory, files, processes and output;
  a guardian, which runs none of the student's code, watches, and kills what is left at the end.
- Student code can't read the solutions, answers or results, write outside its scratch folder, use
  a network, or reach another process: Landlock, a seccomp filter and no_new_privs hold for any
  Linux user; for root, each test also has a uid of its own, which alone protects files and
  processes if the kernel lacks Landlock, provided that others can't read the folders. Without such
  a uid, code can start threads but no processes, which would count as the user's. `--doctor` says
  which of these work here; `--authoritative` refuses to run if a required one doesn't, and a
  canary worker tries first. If solutions, answers or results are among the libraries that code may
  read (below /usr, for instance), no run judges hidden tests (`authoritative.py`): exit code 2, or
  3 if the run was to be authoritative.
- The grader's own faults are not counted against a student: outcome `grader error`, exit code 3. A
  worker reports when it is about to run student code; any failure before that is the grader's.
- No student can cause one: whatever a worker answers, its test gets a verdict. Specs state
  everything on which judges rely (`schema.py`); the reference uses a student's parameters only if
  their names, shapes and types equal its own. If a judge or the reference still raises, or an
  exception shows no line of the student's, the test runs again with the reference in the
  submission's place: if that fails, too, the fault is the grader's. tests/redteam/test_fuzz.py
  checks this.
- For a hidden test, a student reads a fixed sentence and, for a crash, also the type of the
  built-in exception and the function of the assignment from which it came; never a message, a
  print, a value or a line number.
- The same submission and seed give the same verdicts and messages, whatever else runs, with these
  exceptions: a module that hangs while it is imported does so in one test, and the others report
  that at once; a basic test that times out names a line, which may differ between runs; and on a
  student's computer, a question's other tests are not run after two time-outs.

What is not guaranteed:
- Hidden tests' inputs are visible to the code that gets them, and a test's outcome reveals
  something about them. Code written for this purpose can choose among a dozen outcomes, 70 types
  of exceptions, the functions of a file and some seconds of time: ten to fifteen bits per hidden
  test and run. A limit on hidden feedback (`hidden_feedback_a_day`) bounds how often. On
  Gradescope, inputs are drawn again for each submission, so what one submission reveals is of no
  use to the next. All submissions of a class that one release grades get the same inputs.
- Two submissions that are graded on one machine at the same time can tell each other something, if
  they were written for it: in a class with several slots, where both have the same inputs, one
  could pass on answers. The filter of system calls refuses or ignores whatever one process can set
  and another one ask for, such as locks, leases and notices (`system_calls.py`). But how much of
  the machine is used can't be hidden: the next process id, and the numbers of processes, of free
  pages of memory, of free blocks and files of a disk, and of a process's CPU seconds; whether a
  library was read since yesterday (its time of access); and, by how long it takes, which parts of
  it are in memory. Processes of one user can also see each other's folders in /proc. This suffices
  for some hundred bits a second. On Gradescope, nobody else's submission is in the container; in a
  class, a run with one slot on each machine leaves only what lasts longer than a test.
- Code in a worker can answer for the probe. It then has to know the right answer: points depend on
  values that only correct code computes, on random inputs. The tests of setups (helper.py) are an
  exception: their answers are in the docstrings, and forging them is more work than the task.
- Predictions must agree with the submitted parameters, except for 2 lines or 2 % of them, whichever
  is more: decoding takes the likeliest character, and if two are equally likely, rounding may
  choose the other on another computer. If an edition also requires the pretrained parameters,
  these have to show that they were pretrained on the corpus (see staff's solutions/hidden/). They
  do not show whose work they are: another student's parameters pass, even with a little noise. So
  does a genuine pretraining that is finetuned on more questions than the given ones, found by
  searching the corpus. If an edition does not require them (cs224n), a model that was finetuned
  only on such questions passes, as in the public course.
- Free disk space while a test runs: files that it has removed but still holds open take up space
  that can't be measured until it ends. If the temporary folder is in memory (a tmpfs), this is
  memory, up to the size of that file system; `TMPDIR=/var/tmp` avoids it. If this fills the disk
  while another submission is copied, that is the grader's fault and costs no points: the run of a
  class grades it again, alone on its machine. Without Landlock, memory that is mapped from
  /dev/zero and dropped from the mapping can't be measured, either.
- Kernel bugs and timing side channels. On Windows and macOS: everything except a process, a time
  limit and an environment of its own; a run there is for the student's own information.
"""
