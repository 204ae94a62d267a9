"""Strip the solution regions from a Python file. Used by tools/starter.py: see `make starter`.

A region is the code between two comment lines of the same indentation:

    ### START CODE HERE ###
    return 100.0 * keys[j]
    ### END CODE HERE ###

The markers are kept. Inside a function, the statements between them are replaced by a `raise
NotImplementedError(...)` that says what to write, and in a class or module by `pass`, so that the
starter can be imported. A comment `# [span corruption]` in the comment lines directly above the
first marker names the topic of the region's question. Editions that don't ask for an optional topic
lack its functions (`leave_out`); no other line depends on the edition.

Since a misspelt marker would ship the answer, every comment line that resembles one is an error: it
begins with two or more `#`, begins with words like a marker's, or is short and contains them.
Longer comments, docstrings and comments after code may quote markers.
"""

import ast
import difflib
import io
import re
import threading
import tokenize
from collections.abc import Collection
from dataclasses import dataclass

from grading.release import END, START

from .arguments import Failed

LOOKALIKES = ("STARTCODEHERE", "BEGINCODEHERE", "ENDCODEHERE", "STOPCODEHERE", "FINISHCODEHERE")
# "START HERE" has a similarity of .82 to the first, "END CODE" of .78 to the third; prose that
# begins with other words stays below .6.
SIMILARITY = 0.75
# A comment of at most so many letters is too short to be a sentence about markers.
SHORT = 30
LINE_LENGTH = 100
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = (*FUNCTIONS, ast.ClassDef)
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
# In Python 3.11, ast.parse fails if another thread is in it ("AST constructor recursion depth
# mismatch"), since all threads share one count of how deep a tree is. `make release` has several.
_PARSING = threading.Lock()


class RegionError(Failed):
    """Faults in the reference solution; `faults` has a line for each, with file and line number."""

    def __init__(self, faults: list[str]):
        super().__init__("\n".join(faults))
        self.faults = faults


@dataclass(frozen=True)
class Region:
    """A region: the line numbers of its markers (from 1), and their indentation in characters."""

    start: int
    end: int
    indent: int


def strip(text: str, name: str) -> str:
    """Return a file in which the statements of each region are replaced.

    Args:
        text: a Python file of the reference solution.
        name: its name in messages, a path with `/`. The student sees the last two parts
            (`submission/dataset.py`).

    Raises:
        RegionError: a marker or a region is malformed, or the file is not valid Python.
    """
    tree = parse(text, name)
    lines = text.split("\n")
    regions = find_regions(text, name)
    stubs, faults = {}, []
    for region in regions:
        try:
            scopes = _scopes_around(tree, region, name)
            stubs[region] = _stub(region, scopes, lines, "/".join(name.split("/")[-2:]))
        except RegionError as error:
            faults.extend(error.faults)
    if faults:
        raise RegionError(faults)
    for region in reversed(regions):
        lines[region.start : region.end - 1] = stubs[region]
    stripped = "\n".join(lines)
    parse(stripped, f"{name}, stripped")
    return stripped


def leave_out(text: str, name: str, topics: Collection[str]) -> str:
    """Return a file without the functions whose regions all belong to some topics.

    Functions in other functions or in classes stay, since given code around them may call them.

    Args and errors are those of `strip`; topics are as in assignment.toml: `span_corruption`.
    """
    regions = find_regions(text, name)
    lines = text.split("\n")
    for node in reversed(parse(text, name).body):
        last = node.end_lineno or node.lineno
        inside = [region for region in regions if node.lineno < region.start <= last]
        named = {_topic(lines[: region.start - 1]) for region in inside}
        if not isinstance(node, FUNCTIONS) or not named or not named <= set(topics):
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
        last = max(last, inside[-1].end)  # a comment, which belongs to no statement
        while last < len(lines) and not lines[last].strip():
            last += 1
        del lines[first - 1 : last]
    return "\n".join(lines).rstrip("\n") + "\n"


def find_regions(text: str, name: str) -> list[Region]:
    """Return a file's regions, in order; RegionError names every misplaced or misspelt marker."""
    regions, faults = [], []
    opened = None  # (line number, indentation) of a START without its END so far
    lines = text.split("\n")
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    for token in (token for token in tokens if token.type == tokenize.COMMENT):
        (number, indent), comment = token.start, token.string.rstrip()
        whole = not lines[number - 1][:indent].strip()
        if not whole:
            if comment in (START, END):
                faults.append(f"{name}:{number}: marker after code, expected a line of its own")
        elif comment == START:
            if opened:
                faults.append(
                    f"{name}:{number}: START inside the region that begins in line {opened[0]}"
                )
            opened = opened or (number, indent)
        elif comment == END:
            if not opened:
                faults.append(f"{name}:{number}: END without a START")
            elif opened[1] != indent:
                faults.append(
                    f"{name}:{number}: END is indented by {indent}, "
                    f"its START in line {opened[0]} by {opened[1]}"
                )
            else:
                regions.append(Region(opened[0], number, indent))
            opened = None
        elif resembles_marker(comment):
            faults.append(
                f"{name}:{number}: {comment!r} looks like a marker, expected {START!r} or {END!r} "
                "(any other comment should begin with a single '#' and with other words)"
            )
    if opened:
        faults.append(f"{name}:{opened[0]}: START without an END")
    if faults:
        raise RegionError(faults)
    return regions


def resembles_marker(comment: str) -> bool:
    """Return whether a comment line that is not a marker may have been meant as one.

    >>> resembles_marker("### STRAT CODE HERE ###"), resembles_marker("# end code here")
    (True, True)
    >>> resembles_marker("# Only what stands between START CODE HERE and END CODE HERE goes.")
    False
    """
    if comment.startswith("##"):
        return True
    letters = re.sub("[^A-Z]", "", comment.upper())
    if "CODEHERE" in letters and len(letters) <= SHORT:
        return True
    return any(
        difflib.SequenceMatcher(None, letters[: len(word)], word).ratio() >= SIMILARITY
        for word in LOOKALIKES
    )


def parse(text: str, name: str) -> ast.Module:
    """Return the tree of a Python file, in any thread; raise RegionError if it isn't Python."""
    try:
        compile(text, name, "exec", dont_inherit=True)
        with _PARSING:
            return ast.parse(text)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None) or 1
        raise RegionError([f"{name}:{line}: not valid Python: {error.args[0]}"]) from None


def _scopes_around(tree: ast.Module, region: Region, name: str) -> list[Scope]:
    """Return the classes and functions around a region, outermost first, or raise RegionError."""
    numbers = range(region.start + 1, region.end)
    nodes = list(ast.walk(tree))
    inside = {node for node in nodes if isinstance(node, ast.stmt) and node.lineno in numbers}
    within = {node for statement in inside for node in ast.walk(statement)}
    blocks = [
        [child for child in block if child in inside]
        for node in nodes
        if node not in within
        for _, block in ast.iter_fields(node)
        if isinstance(block, list) and inside.intersection(block)
    ]
    fault = ""
    for statement in (statement for block in blocks for statement in block):
        if statement.col_offset != region.indent:
            fault = f"the region's line {statement.lineno} isn't indented like its markers"
        if (statement.end_lineno or statement.lineno) > region.end:
            fault = f"the region's end cuts the statement of line {statement.lineno}"
    if not blocks:
        fault = "the region contains no statement, expected the solution"
    elif len(blocks) > 1:
        fault = fault or "the region spans several blocks, expected statements of one"
    if fault:
        raise RegionError([f"{name}:{region.start}: {fault}"])
    first = blocks[0][0]
    scopes = (node for node in nodes if isinstance(node, SCOPES) and node not in within)
    return [scope for scope in scopes if first in ast.walk(scope)]


def _stub(region: Region, scopes: list[Scope], lines: list[str], file: str) -> list[str]:
    """Return the lines that a student finds in the region, formatted as `ruff format` would."""
    indent = " " * region.indent
    if not scopes or not isinstance(scopes[-1], FUNCTIONS):
        return [indent + "pass"]
    topic = _topic(lines[: region.start - 1]).replace("_", " ")
    subject = (f"[{topic}] " if topic else "") + ".".join(scope.name for scope in scopes)
    message = f'"{subject} in {file} is yours to write"'
    line = f"{indent}raise NotImplementedError({message})"
    if len(line) <= LINE_LENGTH:
        return [line]
    inner = indent + "    "
    body = [inner + message]
    if len(body[0]) > LINE_LENGTH:
        body = [f'{inner}"{subject}"', f'{inner}" in {file} is yours to write"']
    return [f"{indent}raise NotImplementedError(", *body, f"{indent})"]


def _topic(above: list[str]) -> str:
    """Return "span_corruption" if a comment line directly above says [span corruption], or ""."""
    for line in reversed(above):
        if not line.strip().startswith("#"):
            break
        if match := re.fullmatch(r"# \[([a-z ]+)\]", line.strip()):
            return match[1].replace(" ", "_")
    return ""
