"""What is wrong with a student's files before anything runs, for grader.py and the collector.

Work on another release of the assignment; code outside the markers, which should be as it was
given; imports that the autograder lacks; calls that wait for somebody to type; outputs that are
older than the parameters from which they come.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from . import importing, markers, paths
from .edition import Edition
from .staging import Staged, listed

LINES = "submission_lines.json"  # in src/ of a student's copy: see markers.fingerprints()
UNPACKING_S = 60  # files from a zip are dated when it was unpacked; trainings take longer
WAITS = re.compile(r"\b(breakpoint|input|set_trace)\s*\(")


def of_files(staged: Staged, edition: Edition) -> list[str]:
    """Return a sentence for each thing that looks wrong in a student's own folder."""
    given = given_lines()
    lines = (
        []
        if given is not None
        else [f"src/{LINES} is damaged: lines outside the markers are not checked"]
    )
    given = given or {}
    for name in sorted(given):
        path = paths.SRC / name
        if not _is_code(name) and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if markers.changed_outside(name, text, given[name]):
                lines.append(f"src/{name} was changed; the grader uses the course's version")
    own = [Path(name).stem for name in filter(_is_code, {*given, *staged.taken})]
    for name in sorted(filter(_is_code, staged.taken)):
        data = (staged.root / name).read_bytes()
        if data.strip() and not importing.is_utf16(data):
            text = data.decode("utf-8-sig", errors="replace")
            lines += _of_module(f"src/{name}", text, own, given.get(name))
    return lines + _of_ages(staged, edition)


def of_copy(staged: Staged, edition: Edition) -> str:
    """Return a sentence on work from a copy of another release, edition or term; "" for this one.

    It changes no points: the present tests grade whatever was handed in.
    """
    if elsewhere := foreign(staged, edition):
        advice = "copy your work to this term's zip, train again, and collect it there"
        if staged.edition != edition.name:
            advice = (
                f"hand it in where {staged.edition} is graded, or copy your work to the zip of "
            )
            advice += f"{edition.name} and collect it there"
        here = " of ".join(filter(None, (edition.name, edition.release)))
        return f"{elsewhere}, and it is graded as {here}: {advice}"
    number, ours = _parts(staged.release)[1], _parts(edition.release)[1]
    if not (number and ours) or number == ours:
        return ""
    if number > ours:
        return f"your copy is release {number}, and this grader is still release {ours}: tell staff"
    corrections = [each for each in edition.errata if each.release > number]
    ids = [name for each in corrections for name in each.tests or [each.question] if name]
    words = f"corrects {listed(list(dict.fromkeys(ids)))}" if ids else "is the present one"
    return (
        f"your copy is release {number}; release {ours}, which grades it, {words} "
        "(python src/update.py NEW.zip updates your copy)"
    )


def foreign(staged: Staged, edition: Edition) -> str:
    """Return of which other edition or term a submission is; "" if it is of this one."""
    terms = {_parts(staged.release)[0], _parts(edition.release or staged.release)[0]}
    if not staged.release or (staged.edition == edition.name and len(terms) == 1):
        return ""
    return f"this is work on {staged.edition} of {staged.release}"


def _parts(release: str) -> tuple[str, int]:
    """Return the term and the number of a release; of none, "" and 0."""
    term, _, number = release.rpartition(".")
    return term, int(number or 0)


def given_lines() -> dict[str, list[str]] | None:
    """Return the starter's markers.fingerprints(), which staff's checkout lacks; None: damaged."""
    try:
        lines = json.loads((paths.SRC / LINES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return lines if isinstance(lines, dict) else None


def _is_code(name: str) -> bool:
    return name.startswith("submission/")


def _of_module(where: str, text: str, own: list[str], given: list[str] | None) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, of what it parses
        lines = importing.complaints(where, text, paths.ROOT / "requirements.txt", own)
        lines += [
            f"{where}:{number}: calls {name}(), but nobody can type on Gradescope; remove it"
            for number, name in _waits(text)
        ]
    faults = markers.find_regions(text)[1]
    lines += [f"{where}:{number}: {fault}" for number, fault in faults]
    if not faults and given is not None:
        lines += markers.changed_outside(where, text, given)
    return lines


def check_syntax(where: str, data: bytes) -> list[str]:
    """Return a warning if this is not valid Python, otherwise an empty list."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, where, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        number = getattr(error, "lineno", None) or 1
        said = getattr(error, "msg", None) or error
        return [f"{where}:{number}: not valid Python, so nothing in it can run: {said}"]
    return []


def _waits(text: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each call that waits for somebody to type."""
    if not WAITS.search(text):
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    # What a module does only as a command does no harm.
    parts = [p for p in tree.body if not (isinstance(p, ast.If) and "__main__" in ast.dump(p.test))]
    nodes = [node for part in parts for node in ast.walk(part)]
    own = {node.arg for node in nodes if isinstance(node, ast.arg)}
    own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Name(id="breakpoint" | "input" as name)) if name not in own:
                yield node.lineno, name
            case ast.Call(func=ast.Attribute(value=ast.Name(id="pdb"), attr="set_trace")):
                yield node.lineno, "pdb.set_trace"


def _of_ages(staged: Staged, edition: Edition) -> list[str]:
    """Return a sentence for each output that is older than the parameters it should come from."""
    lines = []
    for question in edition.questions:
        files = {n: Path(staged.taken[n]) for n in question.required_files if n in staged.taken}
        ages = {name: file.stat().st_mtime for name, file in files.items() if file.exists()}
        for name, written in ages.items():
            newer = [n for n in ages if _step(n) < _step(name) and ages[n] > written + UNPACKING_S]
            if newer:
                lines.append(
                    f"{name} is older than {newer[0]}: did you train again? run the command of "
                    f"question {question.number} that writes it once more"
                )
    return lines


def _step(name: str) -> int:
    """Return a file's place in the order in which a question's commands write their files."""
    if name.endswith(".params"):
        return 0 if ".pretrain." in name else 1
    return 2
