"""Staff's side of the harness: confined workers, judges of hidden tests, Gradescope, replays.

Students don't have this package. It runs the tests of `grading` with a pool that confines workers
(`isolation`) and with the judges in solutions/hidden/ (`judging`). To what `grading` promises, it
adds:
- Answers and scores are never in a student's process.
- One test never touches another's result. Each runs in a process, session and scratch folder of its
  own, with limits on CPU and wall time, memory, files, processes and output; a guardian, which runs
  none of the student's code, watches, and kills what is left at the end.
- Student code can't read the solutions, answers or results, write outside its scratch folder, use
  a network, or reach another process: Landlock, a seccomp filter and no_new_privs hold for any
  Linux user; for root, each test also has a uid of its own, which alone protects files and
  processes if the kernel lacks Landlock, provided that others can't read the folders. Without such
  a uid, code can start threads but no processes (`isolation/sandbox.py`). `--doctor` says which of
  these work here; `--authoritative` refuses to run if a required one doesn't, and a canary worker
  tries first. If solutions, answers or results are among the libraries that code may read, nothing
  is graded (`isolation/authority.py`): exit code 2, or 3 if the run was to be authoritative.
- If this package can't be imported, nothing is graded.
- No student can cause a grader error. tests/redteam/test_fuzz.py checks this.

What is not guaranteed:
- Hidden tests' inputs are visible to the code that gets them, and a test's outcome reveals
  something about them. Code written for this purpose can choose among a dozen outcomes, 70 types
  of exceptions, the functions of a file and some seconds of time: ten to fifteen bits per hidden
  test and run. A limit on hidden feedback (`hidden_feedback_a_day`) bounds how often. On
  Gradescope and in a class, inputs are drawn again for each submission, so what one reveals is of
  no use to the next, unless a class is graded with `--same-inputs`.
- Two submissions that are graded on one machine at the same time can tell each other something, if
  they were written for it: in a class with several slots and `--same-inputs`, one could pass on
  answers. The filter of system calls refuses or ignores whatever one process can set
  and another one ask for, such as locks, leases and notices (`isolation/system_calls.py`). But how
  much of the machine is used can't be hidden: the next process id, and the numbers of processes, of
  free pages of memory, of free blocks and files of a disk, and of a process's CPU seconds; whether
  a library was read since yesterday (its time of access); and, by how long it takes, which parts of
  it are in memory. Processes of one user can also see each other's folders in /proc. This suffices
  for some hundred bits a second. On Gradescope, nobody else's submission is in the container; in a
  class, a run with one slot on each machine leaves only what lasts longer than a test.
- Code in a worker can answer for the probe. It then has to know the right answer: points depend on
  values that only correct code computes, on random inputs. The tests of setups (helper.py) are an
  exception: their answers are in the docstrings, and forging them is more work than the task.
- Predictions must agree with the submitted parameters, except for 2 lines or 2 % of them, whichever
  is more: decoding takes the likeliest character, and if two are equally likely, rounding may
  choose the other on another computer. If an edition also requires the pretrained parameters,
  these have to show that they were pretrained on the corpus (see solutions/hidden/). They do not
  show whose work they are: another student's parameters pass, even with a little noise. So does a
  genuine pretraining that is finetuned on more questions than the given ones, found by searching
  the corpus. If an edition does not require them (cs224n), a model that was finetuned only on such
  questions passes, as in the public course.
- Free disk space while a test runs: files that it has removed but still holds open take up space
  that can't be measured until it ends. If the temporary folder is in memory (a tmpfs), this is
  memory, up to the size of that file system; `TMPDIR=/var/tmp` avoids it. If this fills the disk
  while another submission is copied, that is the grader's fault and costs no points: the run of a
  class grades it again, alone on its machine. Without Landlock, memory that is mapped from
  /dev/zero and dropped from the mapping can't be measured, either.
- Kernel bugs and timing side channels. On Windows and macOS: everything except a process, a time
  limit and an environment of its own.
"""
