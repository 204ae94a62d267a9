"""Build everything that a term needs, verify it, keep it, and print a summary.

    python -m tools.release [--edition NAME] [--recipe NAME] [--paper a4|letter] [--breaking WHY]

A release has a name, such as 2027-spring.2. If the term's last release of an edition was made from
other files, the number in course.toml is raised, and errata.toml has to say what the new release
corrects. A change of what students rely on needs a reason, which goes there, too.
For each edition, builds the handout, the student release and the autograder. The reference's code
and trained files are put into an unpacked student release, graded there and packed by the students'
command; the release fails unless the autograder then finds that they pass every test, those without
points, too. solutions/data/archive/ gets a file with the whole release
(tools/history.py). Whatever can be checked early is checked before anything is trained or built.
dist/ is replaced as a whole at the end, so a release that fails leaves the last good one.
Exit codes: 0 released; 1 failed, with the reason; 2 wrong usage, a mistake in assignment.toml or
course.toml, or no data set.
"""

import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

from autograder.description import (
    COURSE,
    ERRATA,
    REPO,
    UsageError,
    check_recipe,
    editions,
    load_assignment,
    load_course,
    load_errata,
)
from pretraining.files import write_atomically

from . import autograder, container, history, leaks, reference, starter, student
from .arguments import (
    Failed,
    OneLineParser,
    add_editions,
    add_paper,
    add_recipe,
    printable,
    with_one_line_errors,
)
from .datafiles import ARCHIVE, require_data_set
from .exchange import rebuilding
from .handout import build
from .handout.description import describe
from .handout.templates import plain
from .history import Archive
from .new_term import set_line
from .telling import say, telling


@contextmanager
def as_student(repo: Path, edition: str, trained: Path, folder: Path) -> Iterator[Path]:
    """Do as a perfect student: unpack, write the code, train (here: copy); yield the folder."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / student.FOLDER
        with ZipFile(folder / f"{edition}-student.zip") as opened:
            opened.extractall(place)
        for name, content in starter.reference_of(repo, edition).items():
            (copy / "src/submission" / name).write_bytes(content)
        for name in load_assignment(repo).edition(edition).required_files:
            shutil.copyfile(trained / name, copy / name)
        yield copy


def run(edition: str, copy: Path, script: str) -> None:
    """Run a students' command in such a folder; raise Failed unless it finds everything right."""
    with telling(f"{edition}: running {script} in the student release"):
        ran = subprocess.run(
            [sys.executable, "-X", "utf8", f"src/{script}"],
            cwd=copy,
            capture_output=True,
            encoding="utf-8",
            stdin=subprocess.DEVNULL,
        )
    if ran.returncode:
        raise Failed(
            f"{edition}: {script} failed with exit code {ran.returncode} "
            f"for the reference:\n{ran.stdout}{ran.stderr}".rstrip()
        )


def release(
    repo: Path, editions: list[str], recipe: str | None, paper: str, breaking: str | None = None
) -> None:
    """Build, verify and keep all editions, and print the progress; raise Failed or UsageError.

    `breaking` is the reason for changing what students rely on.
    """
    check_recipe(repo, recipe)
    require_data_set(repo)
    earlier = choose_number(repo, editions, breaking)
    student.check(repo, editions)
    autograder.check(repo, editions, recipe)
    trained = reference.train(repo, recipe=recipe, editions=editions)
    # As a whole, so that no file of another release remains among these.
    with rebuilding(repo / "dist", repo / "build" / "release") as folder:
        _build(repo, editions, trained, paper, folder)
        kept = [_keep(repo, edition, folder, earlier.get(edition)) for edition in editions]
    print("\n".join(kept))
    for edition, archive in earlier.items():
        if archive.number < load_course(repo).release:
            print(announcement(repo, edition, archive))


def choose_number(
    repo: Path, editions: list[str], breaking: str | None = None
) -> dict[str, Archive]:
    """Give the release its number; return the last release of each edition that has one.

    Raises UsageError if a file of the course has a mistake or the term's archives are missing, and
    Failed if a change needs a reason or an erratum.
    """
    course, sources = load_course(repo), history.sources(repo)
    if course.release > 1 and not history.of_term(repo):
        words = f"but {ARCHIVE}/ has no release of this term: `make restore` brings one back"
        raise UsageError(f"{COURSE} has release = {course.release}, {words}")
    archives = {edition: history.of_term(repo, edition) for edition in editions}
    earlier = {edition: known[-1] for edition, known in archives.items() if known}
    changed = {
        edition: history.differences(archive.manifest["sources"], sources)
        for edition, archive in earlier.items()
    }
    numbers = [archive.number + bool(changed[edition]) for edition, archive in earlier.items()]
    chosen = max([course.release, *numbers])
    _give_reason(repo, earlier, chosen, breaking)
    if chosen != course.release:
        text = (repo / COURSE).read_text(encoding="utf-8")
        text = text if re.search("(?m)^release = ", text) else f"release = 1\n{text}"
        write_atomically(repo / COURSE, set_line(text, "release", str(chosen)))
    if chosen > 1 and chosen not in {erratum.release for erratum in load_errata(repo)}:
        files = history.some(sorted({name for names in changed.values() for name in names}))
        raise Failed(
            f"release {chosen} differs in {files}; {ERRATA} should say what it corrects, "
            f"each on a line: [[erratum]], release = {chosen}, date = {date.today()}, question = "
            '"1e", sentence = "..."'
        )
    return earlier


def _give_reason(
    repo: Path, earlier: dict[str, Archive], number: int, breaking: str | None
) -> None:
    """Raise Failed for a change that is unfair, unless errata.toml has or gets the reason for it.

    A reason without such a change is a UsageError.
    """
    unfair = []
    for edition, archive in earlier.items():
        before, now = archive.manifest["promises"], history.promises(repo, edition)
        for key in history.differences(before, now):
            words = f"{now.get(key, 'nothing')}, in {archive.name} {before.get(key, 'nothing')}"
            unfair.append(f"  {edition}: {key}: {words}")
    reasons = {each.breaking for each in load_errata(repo) if each.release == number}
    if breaking and not unfair:
        raise UsageError("BREAKING gives a reason, but nothing changes that students rely on")
    if unfair and not breaking and not any(reasons):
        words = 'this is unfair to those who have begun; BREAKING="why" tells them the reason'
        raise Failed("\n".join([f"{words}:", *unfair]))
    if breaking and breaking not in reasons:
        path = repo / ERRATA
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        reason = json.dumps(breaking, ensure_ascii=False)
        lines = (f"release = {number}", f"date = {date.today()}", f"breaking = {reason}")
        write_atomically(path, "\n".join([text, "[[erratum]]", *lines, ""]))


def _keep(repo: Path, edition: str, folder: Path, earlier: Archive | None) -> str:
    """Archive an edition's release, unless that was done before; return a line about it.

    Raises Failed if its archive has other zips than those that were built now.
    """
    if earlier is None or earlier.number < load_course(repo).release:
        return history.keep(repo, edition, folder)
    built = {"student": f"{edition}-student.zip", "autograder": f"autograder-{edition}.zip"}
    for kind, name in built.items():
        both = (io.BytesIO(earlier.read(f"{kind}.zip")), folder / name)
        then, now = ({i.filename: i.CRC for i in ZipFile(it).infolist()} for it in both)
        if differing := history.some(history.differences(then, now)):
            raise Failed(
                f"{name} differs from that of {earlier.name} in {differing}, although both were "
                "made from the same files (by other tools?); the archived one counts, or else "
                f"{ERRATA} should say what release {earlier.number + 1} corrects"
            )
    return f"{earlier.name} of {edition} was archived before, and was only built again"


def announcement(repo: Path, edition: str, earlier: Archive) -> str:
    """Return a text for the course's students: what has changed since an earlier release."""
    described = describe(repo, edition)
    lines = [f"{described.title}: release {described.edition.release}", ""]
    for erratum in described.edition.errata:
        if erratum.release > earlier.number:
            question = f"question {erratum.question}" if erratum.question else ""
            about = ", ".join(filter(None, [question, *erratum.tests]))
            lines.append(f"- {about}: {erratum.sentence}" if about else f"- {erratum.sentence}")
    theirs = {p.relative_to(repo).as_posix() for s in student.SOURCES for p in repo.glob(s)}
    changed = history.differences(earlier.manifest["sources"], history.sources(repo))
    if theirs & set(changed) - {ERRATA}:
        name = f"{edition}-student.zip"
        lines += ["", f"Download the new {name}, and run this in your copy:", ""]
        lines += [f"    python src/update.py {name}", "", "It keeps your code and your files."]
    else:
        lines += ["", "Only the grading has changed: you need not download anything."]
    return "\n".join([f"--- announcement for {edition} ---", *lines, "---"])


def _build(repo: Path, editions: list[str], trained: Path, paper: str, folder: Path) -> None:
    """Build and verify all editions in a folder: one is graded while the next ones are typeset.

    Nothing awaits the solutions, so they come last, while the last edition is graded.
    """

    def verify(edition: str) -> None:
        with as_student(repo, edition, trained, folder) as copy, ThreadPoolExecutor() as own:
            run(edition, copy, "collect_submission.py")
            graded = own.submit(run, edition, copy, "grader.py")
            upload = (copy / "assignment5.zip").read_bytes()
            for line in autograder.build(repo, edition, trained, folder, upload=upload):
                say(f"  {line}")
            graded.result()

    with (
        build.typesetting(repo, editions, paper, folder) as documents,
        ThreadPoolExecutor() as pool,  # a proof takes two halves of a CPU
    ):
        proofs: list[Future[None]] = []
        try:
            common = student.shared(repo)
            search = leaks.Search(leaks.secrets_of(repo), leaks.facts_of(repo))
            for edition in editions:
                line = student.release(repo, edition, documents[edition].result(), common, folder)
                say(f"{_summary(repo, edition)}\n  {line}")
                proofs.append(pool.submit(student.look_for_leaks, repo, edition, folder, search))
                proofs.append(pool.submit(verify, edition))
                for proof in proofs:
                    if proof.done():
                        proof.result()  # raises what it raised
            build.solutions(repo, editions, None, paper, folder)
            for proof in proofs:
                proof.result()
        finally:
            # If something failed, or at Ctrl-C, what is still graded is of no use.
            pool.shutdown(wait=False, cancel_futures=True)
            while not all(proof.done() for proof in proofs):
                container.stop()
                time.sleep(0.1)


def _summary(repo: Path, edition: str) -> str:
    described = load_assignment(repo).edition(edition)
    written = sum((question.written for question in described.questions), Decimal(0))
    return (
        f"{edition}: {len(described.questions)} questions, {plain(described.coding)} coding "
        f"points, {plain(written)} written points"
    )


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.release", __doc__)
    add_editions(parser)
    add_recipe(parser)
    add_paper(parser)
    reason = printable("a reason for students")
    parser.add_argument("--breaking", type=reason, metavar="WHY", help="why rules change mid-term")
    options = parser.parse_args(arguments)
    names = editions(REPO, options.edition)
    release(REPO, names, options.recipe, options.paper, options.breaking)
    return 0


if __name__ == "__main__":
    sys.exit(main())
