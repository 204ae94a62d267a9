"""The regions between marker lines, where students write, and the lines outside of them.

This reader is tolerant, for files that students have edited; tools/regions.py strips the reference,
where every slip is an error.
"""

from __future__ import annotations

import difflib
import hashlib
import re

START = "### START CODE HERE ###"
END = "### END CODE HERE ###"
# A comment line that is a marker, possibly mistyped.
MARKER = re.compile(r"#+\s*(START|END)[\s_]+CODE[\s_]+HERE[\s#]*$", re.IGNORECASE)
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
    """Return the content of src/submission_lines.json, which shows changes outside the regions.

    Args:
        files: texts of the starter, by name in the zip ("submission/dataset.py").

    Returns:
        for each, short hashes of the lines that outside_regions() returns.
    """
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
