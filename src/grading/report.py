"""Writes a result as one self-contained HTML file, for phones, print and screen readers.

No meaning is in colours alone: outcomes are words and signs, and lost points are hatched.
"""

from __future__ import annotations

from decimal import Decimal
from html import escape

from . import printable
from .assignment import Question
from .console import identity, passed_of, points
from .outcomes import Outcome
from .results import Results, TestResult

SIGNS = {Outcome.PASSED: "✓", Outcome.RAN_NOT_GRADED: "○", Outcome.NOT_RUN: "–"}
BAR_WIDTH, BAR_HEIGHT = 240, 16

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


def page(results: Results, staff: bool) -> str:
    """Return the whole file.

    Args:
        staff: whether to include what only staff may read: got, expected, tracebacks, and prints
            in hidden tests.
    """
    edition = results.edition
    whose = "Staff's report: not for students" if staff else "Report"
    scored = f"{points(results.score)} of {points(results.max_score)} points{results.only}"
    title = escape(f"{edition.title}: {scored}")
    asked, folded = results.asked, results.folded
    counted = [t for t in asked if t.spec.number not in folded]
    sections = [_section(question, counted, staff) for question in edition.questions]
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
<p>{escape(_told(asked, counted))}</p>
{_overview(results, counted)}
{"".join(sections)}
{_without_points(results, staff)}
<h2>How this was graded</h2>
{_facts(results)}
</main>
</body>
</html>
"""


def _told(asked: list[TestResult], counted: list[TestResult]) -> str:
    """Summarize the report in a few sentences; `counted` are the tests that are not folded."""
    passed = sum(t.outcome is Outcome.PASSED for t in counted)
    told = f"{passed} of {len(counted)} tests passed."
    if any(t.outcome is Outcome.GRADER_ERROR for t in asked):
        told += " The grader itself failed: the scores of this run don't count."
    if any(t.outcome is Outcome.RAN_NOT_GRADED for t in asked):
        told += " Hidden tests ran and are graded when you submit."
    return told


def _points(tests: list[TestResult]) -> tuple[Decimal, Decimal]:
    score = sum((t.score for t in tests), Decimal(0))
    return score, sum((t.spec.max_score for t in tests), Decimal(0))


def _overview(results: Results, asked: list[TestResult]) -> str:
    rows = []
    for question in results.edition.questions:
        tests = [t for t in asked if t.spec.number == question.number]
        if tests:
            score, worth = _points(tests)
            words = f"{points(score)} of {points(worth)}"
            rows.append(
                f'<tr><th scope="row"><a href="#q{escape(question.number)}">'
                f"{escape(question.number)}</a></th><td>{escape(question.title)}</td>"
                f'<td class="number">{words}</td><td>{_bar(score, worth, words)}</td></tr>'
            )
    head = '<th scope="col">Question</th><th scope="col">Title</th><th scope="col">Points</th>'
    head += '<th scope="col">Share</th>'
    legend = "<caption>Share: the filled part is earned, the hatched part is not.</caption>"
    return f"<table>{legend}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _bar(score: Decimal, worth: Decimal, words: str) -> str:
    """Draw earned points as a full bar, lost ones hatched."""
    if not worth:
        return "no points"
    earned = float(score / worth) * BAR_WIDTH
    lost = BAR_WIDTH - earned
    lines = [
        f'<path d="M{x} {BAR_HEIGHT} l{BAR_HEIGHT} -{BAR_HEIGHT}" stroke="currentColor"/>'
        for x in range(int(earned), BAR_WIDTH, 8)
    ]
    return (
        f'<svg viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" role="img" aria-label="{words} points">'
        f'<svg x="{earned:.1f}" width="{lost:.1f}" height="{BAR_HEIGHT}" '
        f'viewBox="{earned:.1f} 0 {max(lost, 0.1):.1f} {BAR_HEIGHT}">{"".join(lines)}</svg>'
        f'<rect width="{earned:.1f}" height="{BAR_HEIGHT}" fill="currentColor"/>'
        f'<rect x=".5" y=".5" width="{BAR_WIDTH - 1}" height="{BAR_HEIGHT - 1}" fill="none" '
        'stroke="currentColor"/></svg>'
    )


def _section(question: Question, asked: list[TestResult], staff: bool) -> str:
    tests = [t for t in asked if t.spec.number == question.number]
    if not tests:
        return ""
    score, worth = _points(tests)
    head = f"{question.number} {question.title}: {points(score)} of {points(worth)} points"
    shown = "".join(_test(test, staff) for test in tests)
    return f'<h2 id="q{escape(question.number)}">{escape(head)}</h2>{shown}'


def _without_points(results: Results, staff: bool) -> str:
    """Return the questions without points, in a collapsed section."""
    tests = [t for t in results.asked if t.spec.number in results.folded]
    if not tests:
        return ""
    sections = [_section(question, tests, staff) for question in results.edition.questions]
    head = f"Questions without points: {passed_of(tests)}"
    return f"<details><summary>{head}</summary>{''.join(sections)}</details>"


def _test(test: TestResult, staff: bool) -> str:
    sign = SIGNS.get(test.outcome, "✗")
    worth = f"{points(test.score)} of {points(test.spec.max_score)}"
    opened = "" if test.outcome is Outcome.PASSED else " open"
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
        ("Left out", "; ".join(facts.get("left", [])) or "nothing"),
    ]
    cells = "".join(
        f'<tr><th scope="row">{name}</th><td><code>{escape(value)}</code></td></tr>'
        for name, value in ((name, printable.line(value, 20_000)) for name, value in rows)
    )
    return f"<table><tbody>{cells}</tbody></table>"
