"""Tests of everything.  make test-quick, make test; one of them: make test ARGS="-k starter".

The folders follow what they test: `harness` (src/grading), `gradescope`, `handout`, `student`
(what students download), `leaks`, `reference` (training and measuring it), `training`, `written`
(numbers of the written answers), `golden` (right and wrong code, see its README) and `redteam`
(attacks). Modules beside this file that are no tests are what several of them share.
"""
