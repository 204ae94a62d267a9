"""Grade a class again by another release, see what that does to everyone, and then decide.

    python -m tools.classroom regrade DIR                  run what changed; preview the difference
    python -m tools.classroom apply DIR --reason TEXT      let the previewed results count
    python -m tools.classroom discard DIR                  drop them
    python -m tools.classroom history DIR                  what was decided, when, and why
    python -m tools.classroom repeat DIR N                 which verdicts vary with the seed?
    python -m tools.classroom stored EXPORT --into DIR     begin with Gradescope's stored results

The records of a regrade lie beside those that they are compared with, as release `regrade-N`.
Until it is applied, nothing but these commands looks at them.

The modules:

- `other_release`  another release's tests, points and digests
- `plan`       what of a record stands, what is to be run anew, and the record that comes of it
- `regrade_run`  runs what is to be run, with the seeds of the records that are replaced
- `history`    which regrades there were, and what was decided of each
- `difference` what a regrade changes, as numbers; `preview` shows it in a terminal and as a page
- `regrade`    regrade, apply, discard, history; `repeat` and `stored` are commands of their own
"""
