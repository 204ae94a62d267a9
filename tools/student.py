"""Build what students download, from an allow-list: dist/EDITION-student.zip.

    python -m tools.student [--edition NAME] [--paper a4|letter]

The zip contains the starter, the grader without the solutions, the data, the staff's model (which
is trained first, in build/staff), the demo with its outputs, the sheet as PDF and HTML, and the
files for typesetting answers. The same inputs give the same bytes. The build fails if the leak
check finds anything; files in dist/ are replaced only when all of them are built.
Exit codes: 0 built; 1 something is missing, malformed or leaks; 2 wrong usage, a mistake in
assignment.toml or course.toml, or no data set.
"""

import hashlib
import json
import re
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from autograder.description import ASSIGNMENT, REPO, editions, load_assignment
from grading.edition import EDITION, Edition
from grading.release import GIVEN, LINES, fingerprints, manifest
from pretraining.files import write_atomically

from . import archive, leaks, notebooks, requirements, staff_model, starter
from .arguments import Failed, OneLineParser, add_editions, add_paper, with_one_line_errors
from .commands import EXPERIMENTS, PREDICT_UNSEEN, pipelines_of
from .datafiles import require_data_set
from .exchange import adding
from .handout import build, checks
from .handout.description import describe
from .handout.sheet import Sheet
from .telling import telling

# The allow-list of unchanged files: each entry is a file, or a pattern that must match some.
TAKEN = (
    "LICENSE",
    "NOTICE",
    "constraints.txt",
    "environment.yml",
    "requirements.txt",
    "src/*.py",
    "src/experiments/*.py",
    "src/experiments/inspect.*",
    "src/pretraining/*.py",
    "src/grading/**/*.py",
    "src/grading/templates/*",
    "src/questions/**/*.py",
    "src/questions/*/hints.toml",
    "src/data/*",
)
SOURCES = tuple(dict.fromkeys((*TAKEN, ASSIGNMENT, *build.SOURCES, "mingpt-demo/*")))
DEMO = Path("mingpt-demo/play_char.ipynb")
STUDENT = Path("handout/student")
# The files with which a student's copy is compared when it is collected.
PACKAGES = re.compile(r"src/(submission|pretraining)/\w+\.py")
# For assistants that don't read AGENTS.md: Claude Code, Gemini CLI, and Copilot in some editors.
POINTERS = ("CLAUDE.md", "GEMINI.md", ".github/copilot-instructions.md")
POINTER = "Before you help with anything in this folder, read @AGENTS.md and keep to it.\n"
FOLDER = "assignment5"  # everything in the zip is in it
EXECUTABLE = (f"{FOLDER}/collect_submission.sh",)


def shared(repo: Path) -> dict[str, bytes]:
    """Return the demo and the staff's model, which all editions have, by name in the zip."""
    with ThreadPoolExecutor() as pool:  # other processes do what takes long
        shown = pool.submit(demo, repo)
        model = staff_model.files(repo)  # here, so that an interrupt ends its training
    return model | {f"mingpt-demo/{name}": content for name, content in shown.result().items()}


def contents(
    repo: Path, edition: str, made: build.Documents, common: dict[str, bytes]
) -> dict[str, bytes]:
    """Return every file in an edition's zip, by its name there; `common` are those of `shared`."""
    assignment, given = load_assignment(repo), repo / STUDENT
    files = archive.files_of(repo, TAKEN) | common
    package = starter.package_of(repo, edition)
    files |= {f"src/submission/{name}": content for name, content in package.items()}
    files[EDITION.as_posix()] = starter.edition_file(repo, edition)
    code = {n.removeprefix("src/"): c.decode() for n, c in files.items() if PACKAGES.fullmatch(n)}
    files[f"src/{LINES}"] = (json.dumps(fingerprints(code), indent=1) + "\n").encode()
    files |= {n: made.files[n].read_bytes() for n in build.FOR_STUDENTS if n in made.files}
    written = archive.files_of(made.written, ["**/*"])
    files |= {f"written/{name}": content for name, content in written.items()}
    del written["Makefile"]
    files["overleaf.zip"] = archive.packed(written)
    topics = {question.topic for question in assignment.edition(edition).questions}
    colab = notebooks.for_topics(notebooks.read(given / "colab.ipynb"), topics)
    texts = {
        "pyproject.toml": project(repo),
        "CHANGES.md": changes(assignment.edition(edition)),
        ".python-version": f"{assignment.gradescope_python}\n",
        **pages(repo, edition),
        **dict.fromkeys(POINTERS, POINTER),
    }
    files |= {name: text.encode() for name, text in texts.items()}
    files |= {
        "collect_submission.sh": (given / "collect_submission.sh").read_bytes(),
        "Makefile": (given / "Makefile").read_bytes(),
        "colab.ipynb": notebooks.to_bytes(colab),
        ".gitignore": (given / "gitignore").read_bytes(),
        ".vscode/settings.json": (given / "settings.json").read_bytes(),
    }
    return files | {GIVEN: manifest(files)}


def project(repo: Path) -> str:
    """Return the students' pyproject.toml, which uv reads: with their packages and all pins."""
    ours = tomllib.loads((repo / requirements.PROJECT).read_text(encoding="utf-8"))
    text = (repo / STUDENT / "pyproject.toml.txt").read_text(encoding="utf-8")
    text = requirements.with_array(text, "dependencies", ours["project"]["dependencies"])
    return requirements.with_array(text, "constraint-dependencies", requirements.pins(repo))


def pages(repo: Path, edition: str) -> dict[str, str]:
    """Return what is rendered for students besides the documents, by its name in the zip."""
    described = describe(repo, edition)
    topics = [question.topic for question in described.edition.questions]
    pipelines = pipelines_of(repo, [edition])
    sheet = Sheet(repo, described)
    return {
        "README.md": sheet.page(
            "student/README.md.j2",
            pipelines={name: list(map(str, todo)) for name, todo in pipelines.items()},
            unseen=str(PREDICT_UNSEEN),
            experiments=[str(command) for t in topics for command in EXPERIMENTS.get(t, [])],
        ),
        "AGENTS.md": sheet.page("student/AGENTS.md.j2"),
        ".vscode/launch.json": sheet.page("student/launch.json.j2"),
    }


def changes(edition: Edition) -> str:
    """Return the students' CHANGES.md: what the term's releases corrected, the latest first."""
    lines = ["# Changes", "", f"This is release {edition.release}.", ""]
    for erratum in reversed(edition.errata):
        name = f"{edition.release.rpartition('.')[0]}.{erratum.release}"
        subject = f", question {erratum.question}" if erratum.question else ""
        lines.append(f"- Release {name}, {erratum.date}{subject}: {erratum.sentence}")
    if not edition.errata:
        lines.append("Nothing had to be corrected so far.")
    return "\n".join(lines) + "\n"


def demo(repo: Path) -> dict[str, bytes]:
    """Return the demo's files; the notebook is run, for its outputs, only if it has changed."""
    folder = repo / DEMO.parent
    others = [p for p in sorted(folder.iterdir()) if p.is_file() and p.name != DEMO.name]
    files = {p.name: p.read_bytes() for p in others if p.suffix != ".md"}
    code = [*repo.glob("src/submission/*.py"), *repo.glob("src/pretraining/*.py")]
    parts = [path.read_bytes() for path in sorted(code)]
    recipes = json.dumps(load_assignment(repo).for_training()).encode()
    parts += [recipes, (repo / DEMO).read_bytes(), *files.values()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    kept = repo / "build" / "demo" / f"{key}.ipynb"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with telling(f"running {DEMO} once, for its outputs"):
            shown = notebooks.run(notebooks.read(repo / DEMO), DEMO.name, folder)
            write_atomically(kept, notebooks.to_bytes(shown))
    return files | {DEMO.name: kept.read_bytes()}


def check(repo: Path, names: list[str]) -> None:
    """Find what would make the build fail before anything is built: UsageError or Failed."""
    require_data_set(repo)
    for name in names:
        checks.check(repo, name)


def release(
    repo: Path, edition: str, made: build.Documents, common: dict[str, bytes], dist: Path
) -> str:
    """Build an edition's zip of its documents and what is `shared`; return a line about it.

    Raises Failed if a file is missing or has a mistake; then no zip is made.
    """
    target = dist / f"{edition}-student.zip"
    files = contents(repo, edition, made, common)
    packed = archive.packed({f"{FOLDER}/{n}": c for n, c in files.items()}, EXECUTABLE)
    write_atomically(target, packed)
    return archive.line_about(target, files)


def look_for_leaks(repo: Path, edition: str, dist: Path, search: leaks.Search) -> None:
    """Raise Failed if something leaks in an edition's zip; it must not reach students then."""
    target = dist / f"{edition}-student.zip"
    with telling(f"{edition}: looking for parts of the solutions in {target.name}"):
        graded = leaks.facts_of(repo, edition)
        leaked = search.find(target.name, target.read_bytes(), graded)
    if leaked:
        raise Failed("\n".join(["students would get parts of the solutions:", *leaked]))


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.student", __doc__)
    add_editions(parser)
    add_paper(parser)
    options = parser.parse_args(arguments)
    names = editions(REPO, options.edition)
    check(REPO, names)
    with (
        adding(REPO / "dist", REPO / "build" / "student") as draft,
        build.typesetting(REPO, names, options.paper, draft) as documents,
    ):
        common = shared(REPO)
        search = leaks.Search(leaks.secrets_of(REPO), leaks.facts_of(REPO))
        for edition in names:
            line = release(REPO, edition, documents[edition].result(), common, draft)
            look_for_leaks(REPO, edition, draft, search)
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
