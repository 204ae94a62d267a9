"""The regions between marker lines, where students write, and the lines outside of them.

This reader is tolerant, for files that students have edited; tools/regions.py strips the reference,
where every slip is an error.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import re
import textwrap

START = "### START CODE HERE ###"
END = "### END CODE HERE ###"
# A comment line that is a marker, possibly mistyped.
MARKER = re.compile(r"#+\s*(START|END)[\s_]+CODE[\s_]+HERE[\s#]*$", re.IGNORECASE)
TOPIC = re.compile(r"# \[([a-z ]+)\]")
SCOPE = re.compile(r"(\s*)(?:async def|def|class) (\w+)")
UNWRITTEN = re.compile(r'^[ \t]*raise NotImplementedError\b(?:\(\s*"([^"\n]*))?', re.MULTILINE)


def find_regions(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    """Return the regions between markers, and faults of markers.

    Returns:
        the numbers of each region's two marker lines, from 1; and (line number, fault) of each
        marker that was changed or lacks its partner.
    """
    regions, faults = [], []
    opened = None
    for number, line in enumerate(text.split("\n"), start=1):
        kind = marker_of(line)
        if kind is None:
            continue
        if line.strip() != kind:
            faults.append((number, f"got the marker `{line.strip()}`, expected `{kind}`"))
        if kind == START:
            if opened:
                faults.append((opened, f"`{START}` has no `{END}`; put it back"))
            opened = number
        elif opened is None:
            faults.append((number, f"`{END}` has no `{START}`; put it back"))
        else:
            regions.append((opened, number))
            opened = None
    if opened:
        faults.append((opened, f"`{START}` has no `{END}`; put it back"))
    return regions, sorted(faults)


def marker_of(line: str) -> str | None:
    """Return START or END for a line that is, or was meant to be, that marker, otherwise None."""
    match = MARKER.match(line.strip())
    return {"START": START, "END": END}[match[1].upper()] if match else None


def unwritten_parts(text: str) -> list[tuple[int, str]]:
    """Return line and message for each part that raises NotImplementedError or is empty."""
    found = []
    for match in UNWRITTEN.finditer(text):
        subject = (match[1] or "").partition(" in submission/")[0]
        found.append((text.count("\n", 0, match.start()) + 1, f"not written yet: {subject}"))
    lines = text.split("\n")
    for start, end in find_regions(text)[0]:
        code = [line.strip() for line in lines[start : end - 1]]
        if all(not line or line.startswith("#") or line == "pass" for line in code):
            found.append((start, "nothing is written between the markers"))
    return sorted(found)


def outside_regions(text: str) -> list[tuple[int, str]]:
    """Return the lines outside the regions, which students should not change, with their numbers.

    Markers are included, without their indentation; blank lines and trailing white space, which
    editors change by themselves, are not.
    """
    regions = find_regions(text)[0]
    inside = {number for start, end in regions for number in range(start + 1, end)}
    lines = enumerate(text.split("\n"), start=1)
    kept = [(number, marker_of(line) or line.rstrip()) for number, line in lines]
    return [(number, line) for number, line in kept if line and number not in inside]


def fingerprints(files: dict[str, str]) -> dict[str, list[str]]:
    """Return src/submission_lines.json: hashes of the lines outside regions, by the file's name."""
    return {
        name: [_short_hash(line) for _, line in outside_regions(text)]
        for name, text in sorted(files.items())
    }


def _short_hash(line: str) -> str:
    return hashlib.sha256(line.encode("utf-8", errors="replace")).hexdigest()[:8]


def changed_outside(where: str, text: str, given: list[str]) -> list[str]:
    """Return a sentence on the first place where a file differs from the given one, if any."""
    outside = outside_regions(text)
    got = [_short_hash(line) for _, line in outside]
    if got == given:
        return []
    matcher = difflib.SequenceMatcher(None, given, got, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    first = changes[0][3]
    number = outside[min(first, len(outside) - 1)][0] if outside else 1
    pairs, expected = got.count(_short_hash(START)), given.count(_short_hash(START))
    if pairs < expected:
        return [
            f"{where}:{number}: markers are missing: got {pairs} pairs, expected {expected}; put "
            f"`{START}` and `{END}` back around your code"
        ]
    added = sum(end - start for _, _, _, start, end in changes)
    removed = sum(end - start for _, start, end, _, _ in changes)
    return [
        f"{where}:{number}: changed outside the markers (lines in this file: {added} added, "
        f"{removed} removed); change only what is between the markers"
    ]


# -- from one release to the next -----------------------------------------------------------------

Part = tuple[str, str, int]  # topic; names of class and function, "Model.forward"; which of these


def put_back(
    where: str, own: str, given: str, lines: list[str]
) -> tuple[str, list[str], list[str], str]:
    """Put a student's regions into a newly given file, by topic and function.

    A part whose function is gone goes where its topic has as many parts left.

    Args:
        where: the file's name, for messages.
        own: the student's file, which need not be valid Python.
        given: the new one.
        lines: short hashes of the lines outside the regions as the student's file was given.

    Returns:
        the new file with the student's parts; the functions of parts that have no place in it;
        signature and docstring of each function around a part that the student has otherwise; and
        why the student's parts can't be told for certain, or "".
    """
    faults = [f"{where}:{number}: {fault}" for number, fault in find_regions(own)[1]]
    if len(find_regions(own)[0]) < lines.count(_short_hash(START)):
        faults += changed_outside(where, own, lines)
    old, new = _parts(own), _parts(given)
    pairs = {part: part for part in new if part in old}
    for topic in dict.fromkeys(part[0] for part in new):
        free = [part for part in new if part[0] == topic and part not in pairs]
        rest = [part for part in old if part[0] == topic and part not in pairs.values()]
        if len(free) == len(rest):
            pairs |= dict(zip(free, rest, strict=True))
    new_lines, own_lines = given.split("\n"), own.split("\n")
    for part, (start, end) in reversed(new.items()):
        if part in pairs:
            first, last = old[pairs[part]]
            new_lines[start : end - 1] = own_lines[first : last - 1]
    before, after = _interfaces(own), _interfaces(given)
    scopes = dict.fromkeys((part[1], other[1]) for part, other in pairs.items() if before)
    changed = [after[scope] for scope, was in scopes if after.get(scope) != before.get(was)]
    lost = [part[1] or part[0] for part in old if part not in pairs.values()]
    return "\n".join(new_lines), lost, changed, (faults or [""])[0]


def _parts(text: str) -> dict[Part, tuple[int, int]]:
    """Return the numbers of each region's two marker lines, in order."""
    lines, parts = text.split("\n"), dict[Part, tuple[int, int]]()
    for start, end in find_regions(text)[0]:
        topic, scope, indent = "", "", _indent(lines[start - 1])
        for line in reversed(lines[: start - 1]):
            if not scope and not topic and (match := TOPIC.fullmatch(line.strip())):
                topic = match[1]
            if (match := SCOPE.match(line)) and len(match[1]) < len(indent):
                scope, indent = f"{match[2]}.{scope}".rstrip("."), match[1]
        number = sum(part[:2] == (topic, scope) for part in parts)
        parts[topic, scope, number] = (start, end)
    return parts


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _interfaces(text: str) -> dict[str, str]:
    """Return signature and docstring of each function and class; {} if Python can't read it."""
    lines, found = text.split("\n"), dict[str, str]()
    for start, end in reversed(find_regions(text)[0]):
        lines[start : end - 1] = [_indent(lines[start - 1]) + "pass"]

    def visit(node: ast.AST, names: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                visit(child, names)
                continue
            visit(child, (*names, child.name))
            words = textwrap.indent(ast.get_docstring(child) or "", "    ").lstrip()
            child.body = [ast.Expr(ast.Constant(words))]
            found[".".join((*names, child.name))] = ast.unparse(child)

    try:
        visit(ast.parse("\n".join(lines)), ())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return found
