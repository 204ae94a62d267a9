"""Check your work, and pack it for Gradescope.

    python src/collect_submission.py                    writes assignment5.zip
    python src/collect_submission.py --out other.zip

The zip contains src/submission/*.py and the required parameters and predictions, from the
assignment's root, src/ or src/submission/, the name of this copy's release, and experiments.json,
if you have made experiments. Unfinished work is packed, too: warnings name what is missing or looks
wrong, but the zip is still written.

Exit codes: 0 complete; 1 the zip was written, with warnings; 2 nothing was written; 130
interrupted.
"""

import environment

if __name__ == "__main__":
    environment.check()

import json
import os
import sys
import tempfile
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import grading
from grading import release, staging
from grading.edition import Assignment, Edition, load_assignment
from grading.errors import UTF16, UsageError, is_utf16
from grading.release import is_code
from pretraining.files import write_atomically
from questions.provided import PROVIDED, QUESTION_FILES, CourseData

NAME = "assignment5.zip"
MAX_UPLOAD_BYTES = 100 * 10**6  # Gradescope's limit
DATE = (1980, 1, 1, 0, 0, 0)  # of each file in the zip, so that the same work gives the same bytes
NEEDED = "finetuning"  # the topic of parts without points that every training needs


@dataclass
class Work:
    """What the grader would copy, what of it goes into the zip, and what to print about it."""

    staged: staging.Staged
    files: dict[str, Path]  # by name in the zip
    warnings: list[str] = field(default_factory=list)  # of what is missing or looks wrong
    notes: list[str] = field(default_factory=list)  # about things that are fine


def gather(scratch: Path) -> Work:
    """Find and check the work as the grader would, with copies in the empty folder `scratch`.

    Raises:
        UsageError: there is no code, two files of one name differ, or edition.json is broken.
    """
    assignment = load_assignment(grading.ROOT)
    edition = assignment.edition(None)
    if not any((grading.SRC / "submission").glob("*.py")):
        raise UsageError(
            "src/submission contains no *.py, expected the assignment's code; "
            "unpack the course's zip again"
        )
    staged = staging.stage(grading.SRC, scratch / "staged", PROVIDED, edition.required_files)
    others = (*edition.required_files, staging.EXPERIMENTS)
    packed = [name for name in staged.taken if is_code(name) or name in others]
    work = Work(staged, {name: staged.root / name for name in packed})
    if edition.release:
        content = json.dumps({"release": edition.release, "edition": edition.name}) + "\n"
        work.files[staging.COPY] = scratch / staging.COPY
        work.files[staging.COPY].write_text(content, encoding="utf-8", newline="\n")
    work.warnings += release.findings(staged, edition)
    check_code(work, edition)
    for name in edition.required_files:
        work.warnings += check_output(name, staged, assignment)
    check_omissions(work, edition)
    return work


# -- code -----------------------------------------------------------------------------------------


def check_code(work: Work, edition: Edition) -> None:
    """Add a warning for each module that is missing, can't run or isn't written yet."""
    given = release.given_lines() or {}
    for name in sorted(given.keys() - work.files.keys()):
        if not os.path.lexists(grading.SRC / name):  # check_omissions() reports what was left out
            work.warnings.append(f"src/{name} is missing; take it from the course's zip")
    work.warnings += _strangers(given)
    for name in sorted(filter(is_code, work.files)):
        where, data = f"src/{name}", work.files[name].read_bytes()
        if not data.strip():
            work.warnings.append(f"{where} is empty")
            continue
        if is_utf16(data):
            work.warnings.append(f"{where} is {UTF16}")
            continue
        text = data.decode("utf-8-sig", errors="replace")
        work.warnings += release.check_syntax(where, data)
        free = 0
        for number, said in release.unwritten_parts(text):
            if _counts(text, number, edition):
                work.warnings.append(f"{where}:{number}: {said}".removesuffix(": "))
            else:
                free += 1
        if free:
            parts = "1 ungraded part is" if free == 1 else f"{free} ungraded parts are"
            work.notes.append(f"{where}: {parts} not written")


def _strangers(given: Collection[str]) -> list[str]:
    """Return a warning for each added module in a package that the grader brings itself."""
    folders = [grading.SRC / package for package in PROVIDED.packages] if given else []
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    names = [path.relative_to(grading.SRC).as_posix() for path in paths]
    advice = "is not packed, and the grader lacks it; move what you import to src/submission/"
    return [f"src/{name} {advice}" for name in names if name not in given]


def _counts(text: str, number: int, edition: Edition) -> bool:
    """Return whether the part at this line has coding points, or is needed for some.

    A comment above its first marker names its topic: `# [span corruption]`.
    """
    lines = text.split("\n")[:number]
    topics = [match[1] for match in map(release.TOPIC.fullmatch, map(str.strip, lines)) if match]
    topic = topics[-1].replace(" ", "_") if topics else NEEDED
    return topic == NEEDED or any(q.coding for q in edition.questions if q.topic == topic)


# -- parameters and predictions -------------------------------------------------------------------


def check_output(name: str, staged: staging.Staged, assignment: Assignment) -> list[str]:
    """Return a warning if a required file is missing, empty or of the wrong kind."""
    path, how = staged.path(name), _how_to_make(name, assignment.edition(None))
    if path is None:
        if any(Path(omission.name).name == name for omission in staged.omissions):
            return []  # check_omissions() says why it was left out
        hint = staged.hint(name)
        return [f"{name} is missing{f': {hint}' if hint else how}"]
    if path.stat().st_size == 0:
        return [f"{name} is empty{how}"]
    if path.suffix == ".params":
        return check_parameters(name, path)
    split = next((split for split in QUESTION_FILES if f".{split}." in name), None)
    return check_predictions(name, split, staged, assignment) if split else []


def _how_to_make(name: str, edition: Edition) -> str:
    """Return the end of a sentence: which question's command writes a file."""
    option = {".params": "writing_params_path", ".predictions": "outputs_path"}
    if Path(name).suffix not in option:
        return ""
    number = next(q.number for q in edition.questions if name in q.required_files)
    written_by = f"--{option[Path(name).suffix]} {name}"
    return f": it is written by the command of question {number} with `{written_by}`"


def check_parameters(name: str, path: Path) -> list[str]:
    """Return a warning if the grader can't read this file of parameters."""
    try:  # work can be packed without these
        import numpy  # noqa: F401  (torch warns if it is missing)

        from pretraining import InputError, parameter_files
    except ImportError as error:
        return [f"{name} can't be checked: {error} (activate the environment)"]
    try:
        parameter_files.read(path, name)
    except (InputError, OSError) as error:
        return [str(error)]
    return []


def check_predictions(
    name: str, split: str, staged: staging.Staged, assignment: Assignment
) -> list[str]:
    """Return a warning unless a file has one prediction for each question of the split."""
    try:  # these import numpy; work can be packed without it
        from grading.verdicts import TestEnd
        from questions.shared import trained_files
    except ImportError as error:
        return [f"{name}: its lines can't be counted: {error} (activate the environment)"]
    data = CourseData(assignment, grading.DATA, None)
    try:
        trained_files.read_predictions(staged, name, len(data.questions(split)))
    except TestEnd as end:
        return [f"{end.verdict.message} (src/data/{QUESTION_FILES[split]})"]
    except (UsageError, UnicodeDecodeError, OSError) as error:
        return [f"{name}: its lines can't be counted: {error}"]
    return []


# -- what stays behind ----------------------------------------------------------------------------


def check_omissions(work: Work, edition: Edition) -> None:
    """Report what isn't packed, with a warning if the grader needs it."""
    for omission in work.staged.omissions:
        path = grading.ROOT / omission.name
        folder = path.is_dir() and any(path.rglob("*.py"))
        needed = path.name in (*edition.required_files, staging.EXPERIMENTS)
        if needed or path.suffix.lower() == ".py" or folder:
            work.warnings.append(f"{omission.name} is not packed ({omission.reason})")
        else:
            work.notes.append(f"Not packed: {omission}")
    others = sorted(work.staged.taken.keys() - work.files.keys())
    if others:
        work.notes.append(f"Not packed, because it is not required: {', '.join(others)}")
    if any((grading.ROOT / "submission").glob("*.py")):
        work.notes.append(
            "there is a folder submission next to src (an unpacked zip?): it isn't packed, but "
            "grader.py would grade it instead of src/submission; delete it"
        )


# -- the zip --------------------------------------------------------------------------------------


def write_zip(out: Path, files: dict[str, Path], scratch: Path) -> int:
    """Write a zip that the grader accepts completely, or nothing; return its size in bytes.

    Raises:
        UsageError: it is too large for Gradescope or the grader.
        OSError: it can't be written there.
    """
    draft = scratch / NAME
    with zipfile.ZipFile(draft, "w") as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, DATE)
            info.create_system = 3  # Unix, whatever system this is
            info.external_attr = 0o100644 << 16
            archive.writestr(info, files[name].read_bytes(), zipfile.ZIP_DEFLATED)
    size = draft.stat().st_size
    if size > MAX_UPLOAD_BYTES:
        sizes = {name: path.stat().st_size for name, path in files.items()}
        largest = sorted(sizes, key=lambda name: sizes[name], reverse=True)[:3]
        shown = ", ".join(f"{name} ({show_size(sizes[name])})" for name in largest)
        raise UsageError(
            f"the zip would have {show_size(size)}, Gradescope accepts "
            f"{show_size(MAX_UPLOAD_BYTES)}; the largest files: {shown}"
        )
    staged = staging.stage(draft, scratch / "again", PROVIDED)
    if staged.omissions or {*staged.taken, staging.COPY} != {*files, staging.COPY}:
        reasons = "; ".join(map(str, staged.omissions))
        raise UsageError(f"the grader would not accept all of it: {reasons}")
    write_atomically(out, draft.read_bytes())
    return size


def show_size(size: int) -> str:
    """Return a number of bytes for people: 5.4 kB."""
    for unit, factor in (("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


# -- the command ----------------------------------------------------------------------------------


def collect(out: Path) -> tuple[Work, list[str]]:
    """Check and pack the work; return it, with a line on each file that was packed.

    Raises:
        UsageError, OSError: nothing was written; the message says why.
    """
    if out.suffix.lower() != ".zip":  # a typing mistake must not overwrite work
        raise UsageError(f"--out {out}: expected a name that ends in .zip")
    if out.is_dir() or not out.resolve().parent.is_dir():
        raise UsageError(f"--out {out}: expected a file in an existing folder")
    with tempfile.TemporaryDirectory() as folder:
        work = gather(Path(folder))
        try:
            size = write_zip(out, work.files, Path(folder))
        except OSError as error:
            raise UsageError(f"{out} can't be written: {error.strerror or error}") from None
        lines = []
        for name, path in sorted(work.files.items()):
            usual = grading.SRC / "submission" if is_code(name) else grading.ROOT
            place = Path(work.staged.taken.get(name, usual / name)).parent
            found = "" if place == usual else f"  (in {place.relative_to(grading.ROOT).as_posix()})"
            lines.append(f"  {name:<44}{show_size(path.stat().st_size):>12}{found}")
    return work, [*lines, f"{len(work.files)} files in {out}, {show_size(size)}."]


def tell(work: Work, lines: list[str], out: Path) -> None:
    """Print what was packed, what was not, and what looks wrong."""
    for line in (*lines, *work.notes):
        print(line)
    for warning in work.warnings:
        print(f"Warning: {warning}")
    if work.warnings:
        count = len(work.warnings)
        print(
            f"The zip was written, with {count} warning{'s' * (count > 1)}: you can submit it as "
            "it is, or fix the problems and run this command again."
        )
    print(f"Upload {out.name} to the coding assignment on Gradescope.")


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    environment.use_utf8()
    parser = environment.parser(__doc__)
    parser.add_argument(
        "--out", type=Path, help=f"where to write the zip (default: {NAME} next to src)"
    )
    out = parser.parse_args(arguments).out or grading.ROOT / NAME
    try:
        work, lines = collect(out)
    except (UsageError, OSError) as error:
        print(f"collect_submission.py: {error}; nothing was written", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ncollect_submission.py: interrupted, nothing was written", file=sys.stderr)
        return 130
    tell(work, lines, out)
    return 1 if work.warnings else 0


if __name__ == "__main__":
    sys.exit(main())
