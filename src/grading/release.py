"""What a course gives its students in a release, and what is wrong with a copy before it runs.

Students write in regions between marker lines, which `src/update.py` moves from their copy to a
later release's files. grader.py and the collector name work on another release; code outside the
markers, which should be as it was given; imports that the autograder lacks; calls that wait for
somebody to type; outputs that are older than the parameters from which they come.
"""

from __future__ import annotations

import ast
import difflib
import functools
import hashlib
import json
import re
import sys
import textwrap
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import grading

from . import upload
from .edition import EDITION, Edition
from .errors import SubmissionError, UsageError, is_utf16
from .staging import MAX_TOTAL_BYTES, Staged, listed

GIVEN = "src/given_files.json"  # digests of the zip's other files, by name
LINES = "submission_lines.json"  # in src/ of a student's copy: see fingerprints()
NAME = re.compile(r"(.+\.\d+)?")  # of a release
# What can't be the name of a file or folder: "" and "..", and what Windows doesn't accept.
REFUSED = re.compile(r'|(con|prn|aux|nul|(com|lpt)\d)(\..*)?|.*([<>:"|?*\\\0-\x1f].*|[. ])', re.I)
REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
CAUGHT = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
UNPARSABLE = (SyntaxError, ValueError, RecursionError, MemoryError)  # also of too deep a nesting
UNPACKING_S = 60  # files from a zip are dated when it was unpacked; trainings take longer


# Regions, where students write -------------------------------------------------------------------
# This reader is tolerant, for files that students have edited; tools/regions.py strips the
# reference, where every slip is an error.

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
    regions, slips = find_regions(own)
    faults = [f"{where}:{number}: {fault}" for number, fault in slips]
    if len(regions) < lines.count(_short_hash(START)):
        faults += changed_outside(where, own, lines)
    old, new = _regions_by_part(own), _regions_by_part(given)
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


def _regions_by_part(text: str) -> dict[Part, tuple[int, int]]:
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
    except UNPARSABLE:
        return {}
    return found


# The zip ------------------------------------------------------------------------------------------


def digest(content: bytes) -> str:
    """Return a short hash of a file, whatever its line ends, which editors and Git may change."""
    return hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def manifest(files: dict[str, bytes]) -> bytes:
    """Return the content of given_files.json for a release's other files, by name."""
    digests = {name: digest(content) for name, content in sorted(files.items())}
    return (json.dumps(digests, indent=1) + "\n").encode()


@dataclass(frozen=True)
class Release:
    """What a copy or a zip says about itself."""

    edition: str
    name: str  # "2027-spring.2"; empty before releases had names
    digests: dict[str, str]  # of the given files, by name; empty in a copy that has none
    lines: dict[str, list[str]]  # short hashes of those outside the markers, by name in src/

    def __str__(self) -> str:
        return f"{self.edition} {self.name}".strip()


def describe(read: Callable[[str], bytes], where: str) -> Release:
    """Return what a release's files say about it; `read` returns a file's content by name.

    Raises:
        UsageError: there is no edition.json that can be read.
    """
    tables = _table(read, EDITION.as_posix())
    try:
        edition = tables["default_edition"]
        name = tables["editions"][edition].get("release", "")
        is_name = NAME.fullmatch(name) is not None
    except (LookupError, TypeError, AttributeError):
        is_name = False
    if not is_name:
        raise UsageError(f"{where} has no {EDITION.as_posix()} that can be read")
    return Release(edition, name, _table(read, GIVEN), _table(read, f"src/{LINES}"))


def _table(read: Callable[[str], bytes], name: str) -> dict:
    with suppress(OSError, ValueError, LookupError, RecursionError):
        table = json.loads(read(name))
        return table if isinstance(table, dict) else {}
    return {}


def given_files(source: Path) -> dict[str, bytes]:
    """Return the files that the course gives, by name, from its zip or from an unpacked one.

    Raises:
        UsageError: it is not the course's zip, or it is damaged or was changed.
        OSError: it can't be read.
    """
    if source.is_dir():  # Safari unpacks what it downloads
        files = _listed_files(source)
    else:
        with open(source, "rb") as archive, upload.archive_errors(source.name):
            packed = zipfile.ZipFile(archive)
            if sum(each.file_size for each in packed.infolist()) > MAX_TOTAL_BYTES:
                raise SubmissionError("too large: is this the course's zip?")
            files = _listed_files(zipfile.Path(packed))
    if GIVEN not in files:
        raise UsageError(f"{source} has no {GIVEN}: expected the course's zip for students")
    digests = _table(files.__getitem__, GIVEN)
    del files[GIVEN]
    faults = [] if digests else [GIVEN]
    faults += [f"{name} is missing" for name in digests if name not in files]
    faults += [name for name, content in files.items() if digest(content) != digests[name]]
    faults += [name for name in files if any(map(REFUSED.fullmatch, name.split("/")))]
    if len({name.lower() for name in files}) < len(files):
        faults.append("two names differ only in case")
    if faults:
        raise UsageError(f"{source} is not as the course made it ({faults[0]}): download it again")
    return files | {GIVEN: manifest(files)}


def _listed_files(top: Path | zipfile.Path) -> dict[str, bytes]:
    """Return the list of given files and the files on it, from `top` or a folder in it."""
    base = next((each for each in (top, *top.iterdir()) if (each / GIVEN).is_file()), None)
    if base is None:
        return {}
    names = [GIVEN, *_table(lambda name: (base / name).read_bytes(), GIVEN)]
    return {name: (base / name).read_bytes() for name in names if (base / name).is_file()}


# From which release the work is -------------------------------------------------------------------


def of_copy(staged: Staged, edition: Edition) -> str:
    """Return a sentence on work from a copy of another release, edition or term; "" for this one.

    It changes no points: the present tests grade whatever was handed in.
    """
    if elsewhere := foreign(staged, edition):
        advice = "copy your work to this term's zip, train again, and collect it there"
        if staged.edition != edition.name:
            advice = (
                f"hand it in where {staged.edition} is graded, or copy your work to the zip of "
                f"{edition.name} and collect it there"
            )
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
    term, _, number = release.rpartition(".")
    return term, int(number or 0)


# What looks wrong in it ---------------------------------------------------------------------------


def findings(staged: Staged, edition: Edition) -> list[str]:
    """Return a sentence for each thing that looks wrong in a student's own folder."""
    given, lines = given_lines(), list[str]()
    if given is None:
        given = {}
        lines.append(f"src/{LINES} is damaged: lines outside the markers are not checked")
    for name in sorted(given):
        path = grading.SRC / name
        if not is_code(name) and path.is_file():
            text = path.read_text(encoding="utf-8", errors="replace")
            if changed_outside(name, text, given[name]):
                lines.append(f"src/{name} was changed; the grader uses the course's version")
    own = [Path(name).stem for name in filter(is_code, {*given, *staged.taken})]
    for name in sorted(filter(is_code, staged.taken)):
        data = (staged.root / name).read_bytes()
        if data.strip() and not is_utf16(data):
            text = data.decode("utf-8-sig", errors="replace")
            lines += _of_module(f"src/{name}", text, own, given.get(name))
    return lines + _of_ages(staged, edition)


def given_lines() -> dict[str, list[str]] | None:
    """Return the starter's fingerprints(), which staff's checkout lacks; None: damaged."""
    try:
        lines = json.loads((grading.SRC / LINES).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return lines if isinstance(lines, dict) else None


def check_syntax(where: str, data: bytes) -> list[str]:
    """Return a warning if this is not valid Python, otherwise an empty list."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, where, "exec", dont_inherit=True)
    except UNPARSABLE as error:
        number = getattr(error, "lineno", None) or 1
        why = getattr(error, "msg", None) or error
        return [f"{where}:{number}: not valid Python, so nothing in it can run: {why}"]
    return []


def is_code(name: str) -> bool:
    """Return whether a file's name in src/, or in an upload, is that of a student's module."""
    return name.startswith("submission/")


def _of_module(where: str, text: str, own: list[str], given: list[str] | None) -> list[str]:
    lines: list[str] = []
    with warnings.catch_warnings(), suppress(*UNPARSABLE):
        warnings.simplefilter("ignore")  # Python's own, of what it parses
        tree = ast.parse(text)
        lines += _of_imports(where, tree, own)
        lines += [
            f"{where}:{number}: calls {name}(), but nobody can type on Gradescope; remove it"
            for number, name in _waits(tree)
        ]
    faults = find_regions(text)[1]
    lines += [f"{where}:{number}: {fault}" for number, fault in faults]
    if not faults and given is not None:
        lines += changed_outside(where, text, given)
    return lines


def _of_imports(where: str, tree: ast.AST, own: list[str]) -> list[str]:
    """Return a sentence for each module that a file imports and the autograder doesn't have."""
    requirements = grading.ROOT / "requirements.txt"
    if not requirements.is_file():
        return []
    lines: dict[str, int] = {}
    for line, module in _imports(tree):
        lines.setdefault(module.partition(".")[0], line)
    text = requirements.read_text(encoding="utf-8")
    known = {*own, *sys.stdlib_module_names, "submission", "pretraining"}
    lacking = lines.keys() - known - {*re.findall(r"^[\w.-]+", text, re.MULTILINE)}
    if lacking:  # only then: it takes longer to find out which other modules there are
        lacking -= _installed(requirements)
    return [
        f"{where}:{line}: imports {name}, which the autograder doesn't have; it has the standard "
        f"library and the packages in {requirements.name}"
        for name, line in lines.items()
        if name in lacking
    ]


@functools.cache
def _installed(requirements: Path) -> frozenset[str]:
    """Return the modules of a list of requirements, and of the packages that these require.

    Requirements are known for packages that are installed for this Python. For others, the
    package's name is taken as the name of its module.
    """
    from importlib import metadata  # only here: it takes a while

    def named(lines: Iterable[str]) -> list[str]:
        names = (match[0] for line in lines if (match := REQUIREMENT.match(line)))
        return [re.sub(r"[-_.]+", "-", name).lower() for name in names]

    waiting, packages = named(requirements.read_text(encoding="utf-8").splitlines()), set[str]()
    while waiting:
        name = waiting.pop()
        if name not in packages:
            packages.add(name)
            with suppress(metadata.PackageNotFoundError):
                required = metadata.requires(name) or []
                waiting += named(line for line in required if "extra ==" not in line)
    of_modules = metadata.packages_distributions().items()
    modules = {module for module, names in of_modules if packages & {*named(names)}}
    return frozenset(modules | {name.replace("-", "_") for name in packages})


def _imports(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and module of the imports below a node whose failure is not caught."""
    if isinstance(node, ast.Import):
        yield from ((node.lineno, alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.lineno, node.module
    for child in ast.iter_child_nodes(node):
        if not _is_guarded(node, child):
            yield from _imports(child)


def _is_guarded(node: ast.AST, child: ast.AST) -> bool:
    """Return whether a failing import in `child` does no harm, or is for type checkers."""
    if isinstance(node, ast.If) and child in node.body:
        return ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
    if not isinstance(node, ast.Try) or child not in node.body:
        return False
    kinds = [handler.type for handler in node.handlers]
    names = [k for kind in kinds for k in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
    return any(name is None or ast.unparse(name) in CAUGHT for name in names)


def _waits(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield line and name of each call that waits for somebody to type."""
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

    def step(name: str) -> int:
        """Return a file's place in the order in which a question's commands write their files."""
        return 2 if not name.endswith(".params") else 0 if ".pretrain." in name else 1

    lines = []
    for question in edition.questions:
        files = {n: Path(staged.taken[n]) for n in question.required_files if n in staged.taken}
        ages = {name: file.stat().st_mtime for name, file in files.items() if file.exists()}
        for name, written in ages.items():
            newer = [n for n in ages if step(n) < step(name) and ages[n] > written + UNPACKING_S]
            if newer:
                lines.append(
                    f"{name} is older than {newer[0]}: did you train again? run the command of "
                    f"question {question.number} that writes it once more"
                )
    return lines
