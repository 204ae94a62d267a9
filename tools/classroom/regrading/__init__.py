"""Grade a class again with another release, see what changes for everybody, and then decide.

    python -m tools.classroom regrade DIR                run what changed, and preview the changes
    python -m tools.classroom apply DIR --reason TEXT    let the previewed results count
    python -m tools.classroom discard DIR                drop them
    python -m tools.classroom history DIR                show what was decided, when and why
    python -m tools.classroom repeat DIR N               find verdicts that vary with the seed
    python -m tools.classroom stored EXPORT --into DIR   start from Gradescope's stored results

The records of a regrade are beside those that they are compared with, as release `regrade-N`. Until
the regrade is applied, only these commands use them.

The modules:

- `other_release`  reads another release's tests, points and digests
- `plan`           decides which tests of a record to keep and which to run; makes the new record
- `regrade_run`    runs these tests, with the seeds of the records that are replaced
- `history`        keeps track of regrades, and of what was decided about each
- `difference`     what a regrade changes; `preview` shows it in a terminal and as a page
- `regrade`        the commands regrade, apply, discard, history; `repeat` and `stored`: the others
"""
