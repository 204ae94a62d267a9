"""Build an edition's sheet: its sources in build/handout/EDITION, its documents in dist/."""

import csv
import io
import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from autograder.description import editions as editions
from pretraining.files import write_atomically

from .. import archive
from ..exchange import rebuilding
from ..telling import telling
from . import characters, typeset, web
from .description import Description, describe
from .sheet import PRACTICE, SHEET, Sheet, Slot
from .templates import HandoutError

# Structure for screen readers, if this LaTeX supports it; a student's may be old.
PRINT = (
    "\\ifdefined\\DocumentMetadata\n"
    "  \\DocumentMetadata{lang=en-US, pdfversion=1.7, testphase=phase-II}\n"
    "\\fi\n\\input{sheet.tex}\n"
)
WITH_SOLUTIONS = "\\def\\withanswers{}\n\\input{sheet.tex}\n"
FOR_STUDENTS = ("handout.pdf", "handout.html", "practice.pdf", "practice.html")
SCRIPT = "solutions/written/quoted_numbers.py"
TRAINED = "build/reference"
SOURCES = (
    "assignment.toml",
    "course.toml",
    "errata.toml",
    "handout/**/*",
    "src/data/dataset.json",
    "src/questions/*/hints.toml",
    "src/submission/*.py",
)


@dataclass(frozen=True)
class Made:
    """The files that were built for an edition."""

    edition: str
    files: dict[str, Path]  # by kind: FOR_STUDENTS (if any is practice), solutions.pdf, outline.csv
    written: Path  # the folder in which students typeset
    slots: list[Slot]

    def lines(self) -> list[str]:
        """Return a summary, and a line for each file."""
        total = sum((slot.points for slot in self.slots), Decimal(0))
        first = (
            f"{self.edition}: {len(self.slots)} places for answers, {total.normalize():f} points"
        )
        return [first, *(f"  dist/{path.name}" for path in self.files.values())]


def build(
    repo: Path,
    edition: str,
    dataset: str | None = None,
    paper: str = "letter",
    dist: Path | None = None,
) -> Made:
    """Build an edition's sheet, practice, solutions and outline.

    Raises:
        HandoutError: a template or a table has a mistake, or a tool is missing.
    """
    described = describe(repo, edition, dataset)
    folder = repo / "build" / "handout" / edition
    with rebuilding(folder, folder.with_name(f"{edition}.new")) as draft:
        slots, contents = _made(repo, described, paper, draft)
    dist = dist or repo / "dist"
    files = {name: dist / f"{edition}-{name}" for name in contents}
    for name, path in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, contents[name])
    return Made(edition, files, folder / "written", slots)


def _made(
    repo: Path, described: Description, paper: str, folder: Path
) -> tuple[list[Slot], dict[str, bytes]]:
    """Build an edition in an empty folder; return its places for answers, and its files."""
    sheet = Sheet(repo, described, paper)
    written = folder / "written"
    _lay(repo, written, {"sheet.tex": sheet.render()})
    (written / "submission.tex").write_text(sheet.submission(), encoding="utf-8", newline="\n")
    (written / "with_solutions.tex").write_text(WITH_SOLUTIONS, encoding="utf-8", newline="\n")
    shutil.copyfile(repo / "handout/student/written.mk", written / "Makefile")
    slots = list(sheet.slots)
    name = described.edition.name
    made = {}
    with telling(f"{name}: typesetting the sheet"):
        made["handout.pdf"] = _pdf(repo, written, folder / "print").read_bytes()
    with telling(f"{name}: making the web page"):
        page = _page(repo, described, sheet, folder / "web")
        made["handout.html"] = page.encode()
    if sheet.has_practice:
        with telling(f"{name}: making the practice"):
            source = folder / "practice"
            _lay(repo, source, {"sheet.tex": sheet.render(document=PRACTICE)})
            made["practice.pdf"] = _pdf(repo, source, folder / "practice_print").read_bytes()
            page = _page(repo, described, sheet, folder / "practice_web", PRACTICE)
            made["practice.html"] = page.encode()
    with telling(f"{name}: typesetting the solutions"):
        made["solutions.pdf"] = _solutions(
            repo, described, paper, folder / "solutions"
        ).read_bytes()
    overleaf = {
        p.relative_to(written).as_posix(): p.read_bytes()
        for p in sorted(written.rglob("*"))
        if p.is_file() and p.name != "Makefile"
    }
    archive.write(folder / "overleaf.zip", overleaf)
    return slots, made | {"outline.csv": outline(slots).encode()}


def _lay(repo: Path, folder: Path, texts: dict[str, str]) -> None:
    """Fill a folder for typesetting: the style with its letters, the figures, and texts."""
    (folder / "figures").mkdir(parents=True)
    shutil.copyfile(repo / "handout/handout.sty", folder / "handout.sty")
    texts = texts | {characters.DECLARATIONS: characters.declarations()}
    for path in sorted((repo / "handout/figures").glob("*.tex")):
        shutil.copyfile(path, folder / "figures" / path.name)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


def _pdf(repo: Path, written: Path, folder: Path) -> Path:
    shutil.copytree(written, folder)
    (folder / "print.tex").write_text(PRINT, encoding="utf-8", newline="\n")
    try:
        return _typeset(repo, folder, "print.tex")
    except HandoutError as error:
        if "tagpdf" not in str(error):
            raise
    # LaTeX's tagging is new, and fails on some pages; without it, only their structure is lost.
    print("note: this LaTeX can't tag the PDF, so it is built without structure", file=sys.stderr)
    return _typeset(repo, folder, "sheet.tex")


def _page(
    repo: Path, described: Description, sheet: Sheet, folder: Path, document: str = SHEET
) -> str:
    _lay(repo, folder, {})
    source = sheet.render("web", document)
    title = described.title if document == SHEET else f"Practice for {described.title}"
    course = ", ".join(filter(None, [described.edition.course, described.course.term]))
    intro = f"{course}. Due {described.due_plain}. Release {described.edition.release}."
    given = repo / "handout/web"
    return web.page(source, title, intro, described.figures, folder, given)


def _solutions(repo: Path, described: Description, paper: str, folder: Path) -> Path:
    _lay(repo, folder, {})
    numbers = compute_numbers(repo, folder / "figures")
    sheet = Sheet(repo, described, paper, numbers)
    text = sheet.render("solutions")
    text = text.replace("\\end{document}", sheet.page("slips.tex.j2") + "\\end{document}")
    characters.check(repo, text)
    (folder / "sheet.tex").write_text(text, encoding="utf-8", newline="\n")
    return _typeset(repo, folder, "sheet.tex")


def _typeset(repo: Path, folder: Path, name: str) -> Path:
    """Typeset a file; an error names the line of the template that it comes from, if any."""
    try:
        return typeset.typeset(folder, name)
    except HandoutError as error:
        raise HandoutError(f"{typeset.origin(repo, folder, str(error))}{error}") from None


def outline(slots: list[Slot]) -> str:
    """Return CSV, for Gradescope, with a line for each place for an answer."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", "title", "points"])
    for slot in slots:
        writer.writerow([slot.shown, slot.what, f"{slot.points.normalize():f}"])
    return text.getvalue()


def compute_numbers(repo: Path, folder: Path) -> dict:
    """Return the numbers that the solutions quote; those on a model need a trained reference."""
    trained = repo / TRAINED
    command = [sys.executable, "-X", "utf8", str(repo / SCRIPT), str(folder)]
    if (trained / "vanilla.finetune.params").is_file():
        command += ["--trained", str(trained)]
    done = subprocess.run(command, cwd=repo, capture_output=True, encoding="utf-8")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise HandoutError(f"{SCRIPT} failed with exit code {done.returncode}: {last}")
    return json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
