"""Writes a result as one self-contained HTML file, for phones, print and screen readers.

No meaning is in colours alone: outcomes are words and signs, lost points are hatched, and points of
tests that are graded elsewhere are dotted. On a student's computer, where hidden tests are not
judged, the report counts tests, as the terminal does, and not points.
"""

from __future__ import annotations

from decimal import Decimal
from html import escape

from . import printable, student_console
from .assignment import Question
from .console import identity, passed_of, points
from .results import Results, TestResult
from .verdicts import Outcome

SIGNS = {Outcome.PASSED: "✓", Outcome.RAN_NOT_GRADED: "○", Outcome.NOT_RUN: "–"}
BAR_WIDTH, BAR_HEIGHT = 240, 16
EARNED, LOST, LATER = "currentColor", "url(#lost)", "url(#later)"
# The patterns of bars, which refer to them.
PATTERNS = """<svg width="0" height="0" aria-hidden="true" style="position: absolute"><defs>
<pattern id="lost" width="8" height="8" patternUnits="userSpaceOnUse">
<path d="M-2 2 l4 -4 M0 8 l8 -8 M6 10 l4 -4" stroke="currentColor"/></pattern>
<pattern id="later" width="8" height="8" patternUnits="userSpaceOnUse">
<path d="M3 4 h2" stroke="currentColor" stroke-width="2"/></pattern>
</defs></svg>"""

STYLE = """
:root { color-scheme: light dark; --line: #767676; --soft: #f2f2f2; --ink: #1a1a1a; --paper: #fff }
@media (prefers-color-scheme: dark) {
  :root { --line: #9a9a9a; --soft: #2a2a2a; --ink: #f0f0f0; --paper: #161616 } }
* { box-sizing: border-box }
body { font: 1rem/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 56rem; margin: 0 auto; padding: 1rem }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin: 2rem 0 .5rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid var(--line) }
caption { caption-side: bottom; text-align: left; font-size: .85rem }
td.number { text-align: right; white-space: nowrap }
svg { width: 100%; max-width: 15rem; height: auto; display: block }
details { border: 1px solid var(--line); border-radius: .3rem; margin: .4rem 0;
  padding: .4rem .6rem }
summary { cursor: pointer }
pre { background: var(--soft); padding: .6rem; white-space: pre-wrap; font-size: .85rem;
  line-height: 1.4; overflow-wrap: anywhere }
code { overflow-wrap: anywhere }
.staff { border-left: .3rem solid var(--line); padding-left: .6rem }
@media print { details { break-inside: avoid } }
"""


def page(results: Results, staff: bool, is_judged: bool = True) -> str:
    """Return the whole file.

    Args:
        staff: whether to include what only staff may read: got, expected, tracebacks, and prints
            in hidden tests.
        is_judged: whether hidden tests were judged, which they are not on a student's computer.
    """
    edition = results.edition
    whose = "Staff's report: not for students" if staff else "Report"
    scored = f"{points(results.score)} of {points(results.max_score)} points"
    went = scored if is_judged else student_console.how_it_went(results)
    title = escape(f"{edition.title}: {went}{results.only}")
    asked, folded = results.asked, results.folded
    counted = [t for t in asked if t.spec.number not in folded]
    sections = [_section(question, counted, staff, is_judged) for question in edition.questions]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<p>{whose}. {escape(identity(results))}.</p>
<p>{escape(_told(asked, counted, is_judged))}</p>
{PATTERNS}
{_overview(results, counted, is_judged)}
{"".join(sections)}
{_without_points(results, staff, is_judged)}
<h2>How this was graded</h2>
{_facts(results)}
</main>
</body>
</html>
"""


def _told(asked: list[TestResult], counted: list[TestResult], is_judged: bool) -> str:
    """Summarize the report in a few sentences; `counted` are the tests that are not folded."""
    passed = sum(t.outcome is Outcome.PASSED for t in counted)
    told = [f"{passed} of {len(counted)} tests passed."] if is_judged else []
    if any(t.outcome is Outcome.GRADER_ERROR for t in asked):
        told.append("The grader itself failed: the scores of this run don't count.")
    if not is_judged:
        told.append("Points are counted when you submit: hidden tests are not graded here.")
    elif any(t.outcome is Outcome.RAN_NOT_GRADED for t in asked):
        told.append("Hidden tests ran and are graded when you submit.")
    return " ".join(told)


def _went(tests: list[TestResult], is_judged: bool) -> str:
    """Say how a question's tests went: their points, or how many passed if not all are judged."""
    if not is_judged:
        return "; ".join(student_console.parts(tests, "basic"))
    score = sum((t.score for t in tests), Decimal(0))
    worth = sum((t.spec.max_score for t in tests), Decimal(0))
    return f"{points(score)} of {points(worth)} points"


def _counted(tests: list[TestResult], is_judged: bool) -> str:
    """Return `_went` in the few words of a cell: `7 of 10`."""
    if is_judged:
        return _went(tests, is_judged).removesuffix(" points")
    now = [test for test in tests if not student_console.is_later(test)]
    passed = sum(test.outcome is Outcome.PASSED for test in now)
    return f"{passed} of {len(now)}" if now else "none"


def _overview(results: Results, asked: list[TestResult], is_judged: bool) -> str:
    rows = []
    for question in results.edition.questions:
        tests = [t for t in asked if t.spec.number == question.number]
        if tests:
            words = _went(tests, is_judged)
            rows.append(
                f'<tr><th scope="row"><a href="#q{escape(question.number)}">'
                f"{escape(question.number)}</a></th><td>{escape(question.title)}</td>"
                f'<td class="number">{_counted(tests, is_judged)}</td>'
                f"<td>{_bar(tests, is_judged, words)}</td></tr>"
            )
    counted = "Points" if is_judged else "Basic tests"
    head = '<th scope="col">Question</th><th scope="col">Title</th>'
    head += f'<th scope="col">{counted}</th><th scope="col">Share</th>'
    legend = "Share: the filled part is earned, the hatched part is not."
    if not is_judged:
        legend = (
            "Share of the points: filled for tests that pass, hatched for those that don't, dotted "
            "for those that are graded when you submit."
        )
    caption = f"<caption>{legend}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _bar(tests: list[TestResult], is_judged: bool, words: str) -> str:
    """Draw the tests' points: those that are earned, lost, and graded elsewhere."""
    worth = sum((t.spec.max_score for t in tests), Decimal(0))
    if not worth:
        return "no points"
    waiting = [] if is_judged else [t for t in tests if _is_waiting(t)]
    later = sum((t.spec.max_score for t in waiting), Decimal(0))
    earned = sum((t.score for t in tests), Decimal(0))
    drawn, place = "", 0.0
    for share, fill in ((earned, EARNED), (worth - earned - later, LOST), (later, LATER)):
        width = float(share / worth) * BAR_WIDTH
        if share:
            drawn += (
                f'<rect x="{place:.1f}" width="{width:.1f}" height="{BAR_HEIGHT}" fill="{fill}"/>'
            )
        place += width
    return (
        f'<svg viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" role="img" aria-label="{words}">{drawn}'
        f'<rect x=".5" y=".5" width="{BAR_WIDTH - 1}" height="{BAR_HEIGHT - 1}" fill="none" '
        'stroke="currentColor"/></svg>'
    )


def _is_waiting(test: TestResult) -> bool:
    """Return whether a test is graded elsewhere, and does not fail already."""
    fails = test.outcome not in (*student_console.FINE, Outcome.NOT_RUN)
    return student_console.is_later(test) and not fails


def _section(question: Question, asked: list[TestResult], staff: bool, is_judged: bool) -> str:
    tests = [t for t in asked if t.spec.number == question.number]
    if not tests:
        return ""
    head = f"{question.number} {question.title}: {_went(tests, is_judged)}"
    shown = "".join(_test(test, staff, is_judged) for test in tests)
    return f'<h2 id="q{escape(question.number)}">{escape(head)}</h2>{shown}'


def _without_points(results: Results, staff: bool, is_judged: bool) -> str:
    """Return the questions without points, in a collapsed section."""
    tests = [t for t in results.asked if t.spec.number in results.folded]
    if not tests:
        return ""
    questions = results.edition.questions
    sections = [_section(question, tests, staff, is_judged) for question in questions]
    head = f"Questions without points: {passed_of(tests)}"
    return f"<details><summary>{head}</summary>{''.join(sections)}</details>"


def _test(test: TestResult, staff: bool, is_judged: bool) -> str:
    sign = SIGNS.get(test.outcome, "✗")
    worth = f"{points(test.score)} of {points(test.spec.max_score)}"
    if not is_judged and _is_waiting(test):
        worth = f"worth {points(test.spec.max_score)}"
    opened = "" if test.outcome in student_console.FINE else " open"
    body = []
    if test.outcome is not Outcome.PASSED:
        sentence, _, rest = test.message.partition("\n")
        body += [f"<p>{escape(sentence)}</p>", _block(rest)]
    if staff or not test.spec.is_hidden:
        body.append(_block(test.output, "The code printed:"))
    if staff:
        body.append(f'<div class="staff">{_block(test.detail, "For staff:")}</div>')
    return (
        f"<details{opened}><summary>{sign} <code>{escape(test.spec.test_id)}</code> "
        f"<strong>{escape(test.outcome.value)}</strong>, {worth}: {escape(test.description)}"
        f"</summary>{''.join(body)}</details>"
    )


def _block(text: str, title: str = "") -> str:
    if not text.strip():
        return ""
    return f"{f'<p>{title}</p>' if title else ''}<pre>{escape(text.strip(chr(10)))}</pre>"


def _facts(results: Results) -> str:
    """Return what is needed to repeat the run."""
    facts = results.facts
    rows = [
        ("Submission", facts.get("submission", "")),
        ("Files", facts.get("digest", "")),
        ("Graded", facts.get("graded", "")),
        ("Asked", ", ".join(results.wanted) or "everything"),
        ("Edition", results.edition.name),
        ("Seed", str(results.seed)),
        ("Authoritative", "yes" if facts.get("authoritative") else "no: for information only"),
        ("Protected by", ", ".join(facts.get("layers", [])) or "nothing"),
        ("Versions", ", ".join(f"{k} {v}" for k, v in facts.get("versions", {}).items())),
        ("Release", facts.get("judged_by", "")),
        ("Warnings", " ".join(facts.get("warnings", [])) or "none"),
        ("Code found in", facts.get("place") or "the usual folder"),
        ("Left out", "; ".join(facts.get("left", [])) or "nothing"),
    ]
    cells = "".join(
        f'<tr><th scope="row">{name}</th><td><code>{escape(value)}</code></td></tr>'
        for name, value in ((name, printable.line(value, 20_000)) for name, value in rows)
    )
    return f"<table><tbody>{cells}</tbody></table>"
