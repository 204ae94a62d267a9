"""Build an edition's sheet: its sources in build/handout/EDITION, its documents in dist/.

Those of the solutions are in build/solutions/EDITION.
"""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path

import letters
from pretraining.files import write_atomically

from .. import reference
from ..exchange import rebuilding
from ..telling import telling
from . import origins, typeset, web
from .description import Description, describe, is_unscored
from .sheet import PRACTICE, SHEET, Sheet, Slot
from .templates import HandoutError, plain

# Structure for screen readers, if this LaTeX supports it; a student's may be old. Dates are fixed,
# and the file's id is made from the sheet, so that the same sheet gives the same bytes.
PRINT = r"""
\ifdefined\DocumentMetadata
  \DocumentMetadata{lang=en-US, pdfversion=1.7, testphase=phase-II}
  \AddToDocumentProperties[document]{pdfcreationdate}{D:19800101000000Z}
  \AddToDocumentProperties[document]{pdfmoddate}{D:19800101000000Z}
  \AddToDocumentProperties[hyperref]{pdfmetadate}{D:19800101000000Z}
  \AddToDocumentProperties[hyperref]{pdfdate}{D:19800101000000Z}
  \AddToDocumentProperties[hyperref]{pdfinstanceid}{uuid:OF_SHEET}
\fi
\input{sheet.tex}
"""
# What is linked to by its label, and a question that has a link to its answer, and back from there.
LINKED = re.compile(r"\\(?:hyperref\[|(?:eq)?ref\{)([^]}]+)")
ANSWERED = re.compile(r"\\answerlink\{([^}]+)")
# In the labels of tagpdf: a marked content with its page and its number there, and a link's number.
MARKED = re.compile(r"(\\newlabeldata\{mcid-(\d+)\}\{\{tagabspage\}\{(\d+)\}.*\{tagmcid\})\{\d+\}")
LINK = re.compile(r"(?<=\\newlabeldata\{__tag_objr_page_)\d+")
WITH_SOLUTIONS = "\\def\\withanswers{}\n\\input{sheet.tex}\n"
FOR_STUDENTS = ("handout.pdf", "handout.html", "practice.pdf", "practice.html")
SCRIPT = "solutions/written/quoted_numbers.py"
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
class Documents:
    """The files that were built for an edition."""

    edition: str
    files: dict[str, Path]  # by kind: FOR_STUDENTS (if any is practice), outline.csv, solutions.pdf
    written: Path  # the folder in which students typeset
    slots: list[Slot]

    def lines(self) -> list[str]:
        """Return a summary, and a line for each file."""
        total = plain(sum((slot.points for slot in self.slots), Decimal(0)))
        first = f"{self.edition}: {len(self.slots)} places for answers, {total} points"
        return [first, *(f"  dist/{path.name}" for path in self.files.values())]


def build(repo: Path, edition: str, dataset: str | None, paper: str, dist: Path) -> Documents:
    """Build an edition's sheet, practice, outline and solutions, or raise HandoutError."""
    with ThreadPoolExecutor() as pool:
        solved = pool.submit(solutions, repo, [edition], dataset, paper, dist)
        made = for_students(repo, edition, dataset, paper, dist)
    (path,) = solved.result()
    return replace(made, files=made.files | {"solutions.pdf": path})


@contextmanager
def typesetting(
    repo: Path, editions: Sequence[str], paper: str, dist: Path
) -> Iterator[dict[str, Future[Documents]]]:
    """Build editions' documents for students one after another while the block goes on.

    If one or the block fails, no more are begun.
    """
    jobs: dict[str, Future[Documents]] = {}

    def after(earlier: list[Future[Documents]], edition: str) -> Documents:
        for job in earlier:
            job.result()  # raises what it raised
        return for_students(repo, edition, None, paper, dist)

    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            for edition in editions:
                jobs[edition] = pool.submit(after, [*jobs.values()][-1:], edition)
            yield jobs
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def for_students(
    repo: Path, edition: str, dataset: str | None, paper: str, dist: Path
) -> Documents:
    """Build an edition's sheet, practice and outline, or raise HandoutError."""
    described = describe(repo, edition, dataset)
    folder = repo / "build" / "handout" / edition
    with rebuilding(folder, folder.with_name(f"{edition}.new")) as draft:
        slots, contents = _documents(repo, described, paper, draft)
    files = {name: _save(dist, edition, name, content) for name, content in contents.items()}
    return Documents(edition, files, folder / "written", slots)


def solutions(
    repo: Path, editions: Sequence[str], dataset: str | None, paper: str, dist: Path
) -> list[Path]:
    """Build editions' solutions, or raise HandoutError; return their files."""
    paths = []
    with tempfile.TemporaryDirectory() as plots:
        with telling("computing the numbers that the solutions quote"):
            numbers = compute_numbers(repo, Path(plots))
        for edition in editions:
            described = describe(repo, edition, dataset)
            folder = repo / "build" / "solutions" / edition
            with (
                telling(f"{edition}: making solutions.pdf"),
                rebuilding(folder, folder.with_name(f"{edition}.new")) as draft,
            ):
                shutil.copytree(plots, draft / "solutions" / "figures")
                content = _solutions(repo, described, paper, draft / "solutions", numbers)
            paths.append(_save(dist, edition, "solutions.pdf", content))
    return paths


def _save(dist: Path, edition: str, name: str, content: bytes) -> Path:
    dist.mkdir(parents=True, exist_ok=True)
    path = dist / f"{edition}-{name}"
    write_atomically(path, content)
    return path


def _documents(
    repo: Path, described: Description, paper: str, folder: Path
) -> tuple[list[Slot], dict[str, bytes]]:
    """Build an edition in an empty folder; return its places for answers, and its files."""
    sheet = Sheet(repo, described, paper)
    written, name = folder / "written", described.edition.name
    _lay(repo, written, sheet.render())
    _write(written / "submission.tex", sheet.submission())
    _write(written / "with_solutions.tex", WITH_SOLUTIONS)
    shutil.copyfile(repo / "handout/student/written.mk", written / "Makefile")
    slots = list(sheet.slots)
    page = partial(_page, repo, described)
    makers = {
        "handout.pdf": partial(_pdf, repo, written, folder / "print"),
        "handout.html": partial(page, SHEET, sheet.render("web"), folder / "web"),
    }
    if any(map(is_unscored, described.edition.questions)):
        source = folder / "practice"
        _lay(repo, source, sheet.render(document=PRACTICE))
        of_practice = sheet.render("web", PRACTICE)
        makers |= {
            "practice.pdf": partial(_pdf, repo, source, folder / "practice_print"),
            "practice.html": partial(page, PRACTICE, of_practice, folder / "practice_web"),
        }

    def made(kind: str) -> bytes:
        with telling(f"{name}: making {kind}"):
            return makers[kind]()

    with ThreadPoolExecutor() as pool:  # each is made by other processes
        contents = dict(zip(makers, pool.map(made, makers), strict=True))
    return slots, contents | {"outline.csv": outline(slots).encode()}


def _lay(repo: Path, folder: Path, sheet: str) -> None:
    """Fill a folder for typesetting: the style with its letters, the figures, and sheet.tex."""
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for path in sorted((repo / "handout/figures").glob("*.tex")):  # not a Mac's .DS_Store
        shutil.copyfile(path, folder / "figures" / path.name)
    shutil.copyfile(repo / "handout/handout.sty", folder / "handout.sty")
    head = "% Made from src/letters.py: the characters that LaTeX doesn't print by itself.\n"
    declared = letters.declared().items()
    lines = (f"\\DeclareUnicodeCharacter{{{ord(char):04X}}}{{{tex}}}\n" for char, tex in declared)
    _write(folder / "letters.tex", head + "".join(lines))
    _write(folder / "sheet.tex", sheet)


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")


def _pdf(repo: Path, written: Path, folder: Path) -> bytes:
    shutil.copytree(written, folder)
    text = (written / "sheet.tex").read_text(encoding="utf-8")
    own_id = uuid.uuid5(uuid.NAMESPACE_OID, text)
    _write(folder / "print.tex", PRINT.replace("OF_SHEET", str(own_id)))
    _write(folder / "print.aux", _expected_labels(text))
    _write(folder / "print.aux", _settled(typeset.labels(folder, "print.tex")))
    try:
        return _typeset(repo, folder, "print.tex")
    except HandoutError as error:
        if "tagpdf" not in str(error):
            raise
    # LaTeX's tagging is new, and fails on some pages; without it, only their structure is lost.
    print("note: this LaTeX can't tag the PDF, so it is built without structure", file=sys.stderr)
    return _typeset(repo, folder, "sheet.tex")


def _expected_labels(sheet: str) -> str:
    """Return what stands in for the labels that LaTeX's first run would write.

    Without labels, the first run makes no links, and numbers what is tagged otherwise than the
    second one, so that a fourth run is needed instead of a third one.
    """
    labels = {*LINKED.findall(sheet)}
    labels |= {f"{kind}:{number}" for number in ANSWERED.findall(sheet) for kind in ("q", "answer")}
    lines = (f"\\newlabel{{{one}}}{{{{1}}{{1}}{{}}{{Doc-Start}}{{}}}}\n" for one in sorted(labels))
    return "\\relax\n" + "".join(lines)


def _settled(aux: str) -> str:
    """Return what LaTeX's second run writes about tags, given the first one's labels.

    tagpdf numbers what it marks on each page, and links after the pages; the first run knows none,
    and takes 100. Where this is right, the second run is the last one; else, another follows.
    """
    on_page: Counter[str] = Counter()
    numbers = {}
    for _, marked, page in sorted(MARKED.findall(aux), key=lambda found: int(found[1])):
        numbers[marked] = on_page[page]
        on_page[page] += 1
    aux = MARKED.sub(lambda found: f"{found[1]}{{{numbers[found[2]]}}}", aux)
    surplus = max(0, 100 - max(map(int, on_page), default=100))
    return LINK.sub(lambda found: str(int(found[0]) - surplus), aux)


def _page(repo: Path, described: Description, document: str, source: str, folder: Path) -> bytes:
    _lay(repo, folder, source)
    title = described.title if document == SHEET else f"Practice for {described.title}"
    course = ", ".join(filter(None, [described.edition.course, described.course.term]))
    intro = f"{course}. Due {described.due_plain}. Release {described.edition.release}."
    text = web.page(source, title, intro, described.figures, folder, repo / "handout/web")
    return text.encode()


def _solutions(
    repo: Path, described: Description, paper: str, folder: Path, numbers: dict
) -> bytes:
    """Typeset the solutions, with the list of the public sheets' slips at the end."""
    sheet = Sheet(repo, described, paper, numbers)
    text = sheet.render("solutions")
    text = text.replace("\\end{document}", sheet.page("slips.tex.j2") + "\\end{document}")
    origins.check_characters(repo, text)
    _lay(repo, folder, text)
    return _typeset(repo, folder, "sheet.tex")


def _typeset(repo: Path, folder: Path, name: str) -> bytes:
    """Return a file's PDF; an error names the line of the template that it comes from, if any."""
    try:
        return typeset.typeset(folder, name).read_bytes()
    except HandoutError as error:
        raise HandoutError(f"{origins.origin(repo, folder, str(error))}{error}") from None


def outline(slots: list[Slot]) -> str:
    """Return CSV, for Gradescope, with a line for each place for an answer."""
    text = io.StringIO()
    rows = [(slot.shown, slot.what, plain(slot.points)) for slot in slots]
    csv.writer(text, lineterminator="\n").writerows([("number", "title", "points"), *rows])
    return text.getvalue()


def compute_numbers(repo: Path, folder: Path) -> dict:
    """Return the numbers that the solutions quote; those on a model need a trained reference."""
    trained = repo / reference.TARGET
    command = [sys.executable, "-X", "utf8", str(repo / SCRIPT), str(folder)]
    with tempfile.TemporaryDirectory() as present:
        if (trained / "vanilla.finetune.params").is_file():
            # It may have been trained by earlier code.
            reference.lay_out(repo, Path(present))
            for path in (path for path in trained.iterdir() if path.is_file()):
                shutil.copyfile(path, Path(present, path.name))
            recipe, own = reference.trained_with(trained), reference.own_recipe(Path(present))
            if recipe == own:
                command += ["--trained", present]
            else:
                print(
                    "note: the solutions quote no numbers of a trained model, because "
                    f"{reference.TARGET.as_posix()} was trained with "
                    f"{recipe or 'an unknown recipe'}; `make reference` takes {own}",
                    file=sys.stderr,
                )
        done = subprocess.run(command, cwd=repo, capture_output=True, encoding="utf-8")
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise HandoutError(f"{SCRIPT} failed with exit code {done.returncode}: {last}")
    return json.loads((folder / "numbers.json").read_text(encoding="utf-8"))
