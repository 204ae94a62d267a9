"""Emulate Gradescope on this computer: grade a submission with the autograder's zip.

    python -m tools.emulate SUBMISSION [--edition NAME] [--metadata KIND] [--setup]

Unpacks dist/autograder-EDITION.zip into a fresh root, creates the documented folders and metadata,
runs run_autograder with Gradescope's limits (768 MB, half a CPU, ten minutes), and prints what
staff and the student would see. results.json, the standard output and two HTML reports, for the
student and for staff, are saved in build/emulated/SUBMISSION/.
--setup runs setup.sh first. Exit codes: 0 graded, 1 the autograder or the emulator failed, 2 wrong
usage.
"""

import html
import json
import os
import re
import shutil
import sys
import zipfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from autograder.description import REPO, Edition, UsageError, load_assignment
from grading import staging, upload
from grading.verdicts import Outcome

from . import container
from .arguments import Failed, OneLineParser, one_of, with_one_line_errors
from .exchange import rebuilding
from .telling import say, telling

VENV = Path(sys.prefix)
CREATED = datetime.fromisoformat("2027-01-30T18:00:00.000000-08:00")
KEPT = REPO / "build" / "emulated"
PAGES = {"--html": "report.html", "--staff-html": "staff.html"}
KINDS = ("first", "tenth", "late", "extension", "group", "malformed", "missing")
LAST_LINES = 60
RESULTS = "results.json"
DETAILS = "details.json"  # of all tests, for staff
TIMED_OUT = {"score": 0, "output": "The autograder failed to execute correctly: it timed out."}


@dataclass(frozen=True)
class Result:
    """The result of a run.

    Attributes:
        results: what Gradescope would read; None if it would show an autograder failure.
        details: the tests with staff's details; empty if the run itself failed.
        isolated: whether it ran in a container; otherwise, in a plain folder.
    """

    results: dict[str, Any] | None
    details: list[dict[str, Any]]
    stdout: str
    run: container.Run
    isolated: bool

    @property
    def score(self) -> Decimal | None:
        """The total score; None if the autograder failed."""
        return None if self.results is None else score_of(self.results)

    def unpassed(self, edition: Edition) -> list[str]:
        """Return "4r-0-basic: error" for each test that was not dropped and did not pass."""
        entries = (self.results or {}).get("tests", [])
        outcomes = {k: v for e in entries for k, v in e["extra_data"]["outcomes"].items()}
        tests = [test.test_id for test in edition.tests if not test.dropped]
        ended = {test_id: outcomes.get(test_id, "no result") for test_id in tests}
        return [f"{test_id}: {end}" for test_id, end in ended.items() if end != "passed"]

    def reasons(self) -> str:
        """Return what explains a score: of a run that failed, the whole output.

        Otherwise, it is the output's end, after the first grader error in full: later ones may only
        follow from it.
        """
        lines = self.stdout.splitlines()
        if not self.details or len(lines) <= LAST_LINES:
            return "\n".join(lines)
        errors = [test for test in self.details if test["outcome"] == Outcome.GRADER_ERROR.value]
        first: list[str] = []
        if errors:
            test = errors[0]
            first = [f"{test['test_id']}: {test['message']}", test["detail"].rstrip(), "[...]"]
        return "\n".join([*first, *lines[-LAST_LINES:]])


def grade(
    autograder: Path,
    submission: Path,
    metadata: Any = "first",
    setup: bool = False,
    limits: container.Limits = container.GRADESCOPE,
    say: Callable[[str], None] = lambda line: None,
    keep: Path | None = None,
) -> Result:
    """Grade a submission through an autograder's zip.

    Args:
        submission: a folder or zip, as a student uploads it.
        metadata: one of KINDS, or the content of submission_metadata.json itself.
        setup: whether to run setup.sh, or to use this project's environment in its place.
        keep: a folder in which to save results.json, the standard output and HTML reports.

    Raises:
        Failed: a file is missing or not a zip, or setup.sh failed.
    """
    with container.fresh(None if setup else VENV) as place:
        _lay_out(place, autograder, submission, metadata)
        saved = place.autograder / "results"
        log = saved / "stdout"
        if setup:
            unlimited = container.Limits(memory_bytes=8 << 30, cpus=os.cpu_count() or 1)
            with telling("running setup.sh", say):
                done = place.run(["/bin/bash", "./setup.sh"], log, unlimited, network=True)
            text = log.read_text(encoding="utf-8", errors="replace")
            say(text.rstrip())
            if done.code != 0:
                raise Failed(f"setup.sh ended with exit code {done.code}, see above")
        options = ["--json", f"results/{DETAILS}"]
        options += [] if place.isolated else ["--preview"]
        if keep is not None:
            options += [word for flag, name in PAGES.items() for word in (flag, f"results/{name}")]
        with telling("running run_autograder", say):
            run = place.run(["./run_autograder", *options], log, limits)
        if run.code == 124:  # Gradescope replaces whatever was written by this
            (saved / RESULTS).write_text(json.dumps(TIMED_OUT), encoding="utf-8")
        if keep is not None:
            with rebuilding(keep, keep.with_name(f"{keep.name}.new")) as draft:
                for name in (RESULTS, "stdout", *PAGES.values()):
                    if (saved / name).is_file():
                        shutil.copyfile(saved / name, draft / name)
        details = _read(saved / DETAILS) or {"tests": []}
        text = log.read_text(encoding="utf-8", errors="replace")
        return Result(_read(saved / RESULTS), details["tests"], text, run, place.isolated)


def _read(path: Path) -> dict[str, Any] | None:
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _lay_out(place: container.Container, autograder: Path, submission: Path, metadata: Any) -> None:
    """Create the folders, the two scripts and the metadata that Gradescope documents."""
    root = place.autograder
    try:
        with zipfile.ZipFile(autograder) as archive:
            archive.extractall(root / "source")
    except (OSError, zipfile.BadZipFile) as error:
        raise Failed(f"{autograder} can't be unpacked: {error}") from None
    for name in ("setup.sh", "run_autograder"):
        shutil.copy(root / "source" / name, root / name)
        (root / name).chmod(0o755)
    (root / "results").mkdir()
    _unpack(submission, root / "submission")
    content = about(metadata) if isinstance(metadata, str) and metadata in KINDS else metadata
    if content is not None:
        text = content if isinstance(content, str) else json.dumps(content, indent=1)
        (root / "submission_metadata.json").write_text(text, encoding="utf-8")


def _unpack(submission: Path, target: Path) -> None:
    """Copy from a folder or an archive what the grader may look at, within its limits."""
    target.mkdir()
    remaining = staging.MAX_TOTAL_BYTES
    try:
        with ExitStack() as stack:
            if submission.is_dir():
                top = upload.Folder(upload.on_disk(submission), submission, str(submission))
            elif submission.is_file():  # a pipe would be waited for
                file = stack.enter_context(open(submission, "rb"))
                opened = upload.open_archive(file, submission, str(submission))
                top = stack.enter_context(opened)
            else:
                raise UsageError("it is neither a folder nor a zip")
            for folder, names in top.walk():
                target.joinpath(*folder.parts).mkdir(exist_ok=True)
                for name in names:
                    place = target.joinpath(*folder.parts, name)
                    limit = min(remaining, staging.MAX_OUTPUT_BYTES)
                    remaining -= (size := staging.copy(folder, name, place, limit))
                    if size > limit:
                        raise UsageError(f"{name} is too large")
    except (OSError, ValueError, UsageError) as error:
        raise Failed(f"{submission} can't be read: {error}") from None


def about(kind: str) -> Any:
    """Return metadata in Gradescope's format for a kind of submission; None means no file."""
    if kind == "missing":
        return None
    if kind == "malformed":
        return '{"id": 123456, "created_at": "yesterday", "users": [{"assign'
    due_h = -26 if kind in ("late", "extension") else 30
    users = [_user(1, 72 if kind == "extension" else due_h)]
    return {
        "id": 123456,
        "created_at": _at(0),
        "assignment": _dates(due_h)
        | {
            "group_size": 2,
            "group_submission": kind == "group",
            "id": 25828,
            "course_id": 1234,
            "title": "Problem Set 5",
            "total_points": "53.0",
        },
        "submission_method": "upload",
        "users": [*users, _user(2, -2)] if kind == "group" else users,
        "previous_submissions": [_earlier(number) for number in range(9 if kind == "tenth" else 0)],
    }


def _at(hours: float) -> str:
    """Return a time so many hours after the submission."""
    return (CREATED + timedelta(hours=hours)).isoformat(timespec="microseconds")


def _dates(due_h: float) -> dict[str, Any]:
    return {"due_date": _at(due_h), "late_due_date": None, "release_date": _at(-14 * 24)}


def _user(number: int, due_h: float) -> dict[str, Any]:
    who = {"email": f"student{number}@example.com", "id": number, "name": f"Student {number}"}
    return who | {"assignment": _dates(due_h)}


def _earlier(number: int) -> dict[str, Any]:
    """Return one of nine earlier submissions, with its score and results."""
    score = float(number)
    test = {"name": "1e-0-basic", "score": score, "max_score": 9.0, "visibility": "visible"}
    return {
        "submission_time": _at(5 * (number - 9)),
        "score": score,
        "autograder_error": False,
        "results": {"score": score, "tests": [test]},
    }


def score_of(results: dict[str, Any]) -> Decimal:
    """Return the total; where there is none, Gradescope adds up the tests' scores, as floats."""
    if "score" in results:
        return Decimal(str(results["score"]))
    total = 0.0  # `sum` would add more exactly, since Python 3.12
    for test in results["tests"]:
        total += test.get("score", 0.0)
    return Decimal(str(total))


def show(result: Result) -> None:
    """Print what staff and the student see."""
    print("\n======== what staff see: the standard output ========\n")
    print(result.stdout.rstrip())
    print("\n======== what the student sees ========\n")
    if result.results is None:
        print("The autograder failed to execute correctly. Contact your course staff for help.")
    else:
        print("\n".join(student_lines(result.results)))
    print("\n======== the run ========\n")
    print(f"exit code {result.run.code}; {result.run.costs()}")
    if result.results is not None:
        extra = result.results.get("extra_data", {})
        print(f"extra_data, for staff: {json.dumps(extra)}")
    if not result.isolated:
        print(
            "This was a plain folder, without limits or authority: "
            "a container needs Docker, Podman or root on Linux."
        )


def student_lines(results: dict[str, Any]) -> list[str]:
    """Return the student's page before grades are published: visible tests, Markdown as text."""
    tests = results.get("tests", [])
    waiting = [t for t in tests if t["visibility"].startswith("after_")]
    lines = [] if waiting else [f"Autograder score: {score_of(results).normalize():f}"]
    lines += ["", *readable(results.get("output", "")).splitlines()]
    for test in tests:
        if test["visibility"] == "visible":
            points = f"{test['score']}/{test['max_score']}" if "score" in test else test["status"]
            lines += ["", f"{test['number']}) {test['name']} ({points})"]
            lines += ["    " + line for line in readable(test["output"]).splitlines()]
    return lines


def readable(markdown: str) -> str:
    """Return Markdown as plain text, its bold words, entities and blocks as a page shows them."""
    shown = []
    for part in re.split(r"^(`{3,}text\n.*?\n`{3,})$", markdown, flags=re.MULTILINE | re.DOTALL):
        if part.startswith("```"):
            shown.append("\n".join("  " + line for line in part.split("\n")[1:-1]))
        else:
            shown.append(html.unescape(part.replace("**", "")).strip("\n"))
    return "\n".join(s for s in shown if s)


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if it graded, 1 if the autograder failed, 2 for bad input."""
    parser = OneLineParser("python -m tools.emulate", __doc__)
    parser.add_argument("submission", type=Path, help="a folder or zip")
    parser.add_argument("--edition", help="whose autograder to use (default: the default edition)")
    parser.add_argument(
        "--metadata",
        type=one_of(KINDS),
        default="first",
        metavar="KIND",
        help=f"the kind of submission: {', '.join(KINDS)} (default: first)",
    )
    parser.add_argument("--setup", action="store_true", help="run setup.sh first (takes minutes)")
    options = parser.parse_args(arguments)
    edition = load_assignment(REPO).edition(options.edition).name
    if not options.submission.exists():
        raise UsageError(f"{options.submission}: there is no such file or folder")
    zipped = REPO / "dist" / f"autograder-{edition}.zip"
    if not zipped.exists():
        command = f"make autograder EDITION={edition}"
        raise UsageError(f"dist/{zipped.name} is missing; `{command}` builds it")
    keep = KEPT / options.submission.resolve().stem
    result = grade(zipped, options.submission, options.metadata, options.setup, say=say, keep=keep)
    show(result)
    names = ", ".join(sorted(path.name for path in keep.iterdir()))
    print(f"Saved in {keep.relative_to(REPO)}/: {names}")
    return 0 if result.results is not None else 1


if __name__ == "__main__":
    sys.exit(main())
