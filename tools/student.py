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
import os
import re
import sys
import tomllib
from pathlib import Path

from autograder.description import ASSIGNMENT, REPO, editions, load_assignment
from grading.edition import EDITION, Edition
from grading.findings import LINES
from grading.markers import fingerprints
from grading.release import GIVEN, manifest
from pretraining.files import write_atomically

from . import archive, leaks, notebooks, requirements, staff_model, starter
from .arguments import Failed, OneLineParser, add_editions, add_paper, with_one_line_errors
from .commands import EXPERIMENTS, pipelines_of, predict_unseen
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


def contents(repo: Path, edition: str, made: build.Made, paper: str) -> dict[str, bytes]:
    """Return the content of every file in the zip, by its name there.

    Raises:
        Failed: a file that belongs in it is missing, a template has a mistake, or the staff's model
            can't be trained.
    """
    files: dict[str, bytes] = {}
    for pattern in TAKEN:
        found = [p for p in sorted(repo.glob(pattern)) if p.is_file()]
        if not found:
            raise Failed(f"{pattern} is missing: is there a data set? (make world)")
        files |= {p.relative_to(repo).as_posix(): p.read_bytes() for p in found}
    package = starter.package_of(repo, edition)
    files |= {f"src/submission/{name}": content for name, content in package.items()}
    files |= staff_model.files(repo)
    files[EDITION.as_posix()] = starter.edition_file(repo, edition)
    code = {n.removeprefix("src/"): c for n, c in files.items() if PACKAGES.fullmatch(n)}
    lines = fingerprints({name: content.decode("utf-8") for name, content in code.items()})
    files[f"src/{LINES}"] = (json.dumps(lines, indent=1) + "\n").encode()
    files |= {f"mingpt-demo/{name}": content for name, content in demo(repo).items()}
    for name in build.FOR_STUDENTS:
        if name in made.files:
            files[name] = made.files[name].read_bytes()
    for path in sorted(made.written.rglob("*")):
        if path.is_file():
            files[f"written/{path.relative_to(made.written).as_posix()}"] = path.read_bytes()
    files["overleaf.zip"] = (made.written.parent / "overleaf.zip").read_bytes()
    for name in ("collect_submission.sh", "Makefile"):
        files[name] = (repo / STUDENT / name).read_bytes()
    files["pyproject.toml"] = project(repo).encode()
    topics = set(describe(repo, edition).questions)
    colab = notebooks.for_topics(notebooks.read(repo / STUDENT / "colab.ipynb"), topics)
    files["colab.ipynb"] = notebooks.to_bytes(colab)
    files["README.md"] = readme(repo, edition, paper).encode()
    files["CHANGES.md"] = changes(load_assignment(repo).edition(edition)).encode()
    files["AGENTS.md"] = agents(repo, edition, paper).encode()
    files |= dict.fromkeys(POINTERS, POINTER.encode())
    files[".gitignore"] = (repo / STUDENT / "gitignore").read_bytes()
    files[".python-version"] = f"{load_assignment(repo).gradescope_python}\n".encode()
    files[".vscode/launch.json"] = launch(repo, edition, paper).encode()
    files[".vscode/settings.json"] = (repo / STUDENT / "settings.json").read_bytes()
    return files | {GIVEN: manifest(files)}


def project(repo: Path) -> str:
    """Return the students' pyproject.toml, which uv reads: with their packages and all pins."""
    ours = tomllib.loads((repo / requirements.PROJECT).read_text(encoding="utf-8"))
    text = (repo / STUDENT / "pyproject.toml.txt").read_text(encoding="utf-8")
    text = requirements.with_array(text, "dependencies", ours["project"]["dependencies"])
    return requirements.with_array(text, "constraint-dependencies", requirements.pins(repo))


def readme(repo: Path, edition: str, paper: str) -> str:
    """Render the students' README.md: each command on one line."""
    described = describe(repo, edition)
    sheet = Sheet(repo, described, paper)
    asked = pipelines_of(repo, [edition])
    pipelines = {name: [str(c) for c in todo] for name, todo in asked.items()}
    return sheet.page(
        "student/README.md.j2",
        title=described.title,
        release=described.edition.release,
        due_plain=described.due_plain,
        python=described.assignment.gradescope_python,
        pipelines=pipelines,
        unseen=str(predict_unseen("vanilla")),
        experiments=[
            str(command)
            for question in described.edition.questions
            for command in EXPERIMENTS.get(question.topic, [])
        ],
    )


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


def agents(repo: Path, edition: str, paper: str) -> str:
    """Render AGENTS.md: what the course's policy allows a coding assistant to do."""
    described = describe(repo, edition)
    sheet = Sheet(repo, described, paper)
    words = {"title": described.title, "contact": described.course.contact}
    return sheet.page("student/AGENTS.md.j2", **words)


def launch(repo: Path, edition: str, paper: str) -> str:
    """Render .vscode/launch.json, which debugs one test."""
    return Sheet(repo, describe(repo, edition), paper).page("student/launch.json.j2")


def demo(repo: Path) -> dict[str, bytes]:
    """Return the demo's files; the notebook, with its outputs, is run only if it has changed."""
    folder = repo / DEMO.parent
    others = [p for p in sorted(folder.iterdir()) if p.is_file() and p.name != DEMO.name]
    files = {p.name: p.read_bytes() for p in others if p.suffix != ".md"}
    code = sorted((repo / "src" / "pretraining").glob("*.py"))
    parts = [*starter.starter_package(repo).values(), *(path.read_bytes() for path in code)]
    recipes = json.dumps(load_assignment(repo).for_training()).encode()
    parts += [recipes, (repo / DEMO).read_bytes(), *files.values()]
    key = hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
    kept = repo / "build" / "demo" / f"{key}.ipynb"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with telling(f"running {DEMO} once, for its outputs"):
            write_atomically(kept, notebooks.execute(repo / DEMO, repo / DEMO.parent))
    return files | {DEMO.name: kept.read_bytes()}


def check(repo: Path, names: list[str]) -> None:
    """Find mistakes that would make the build fail later, before anything is built.

    Raises:
        UsageError: there is no data set, or assignment.toml or course.toml has a mistake.
        Failed: a template or a table has a mistake, or a tool is missing.
    """
    require_data_set(repo)
    for name in names:
        checks.check(repo, name)


def release(repo: Path, edition: str, paper: str, dist: Path | None = None) -> tuple[Path, str]:
    """Build an edition's handout and zip; return the zip's path, and a line about it.

    Raises:
        Failed: see `contents`; or something leaks, and then no zip is made.
    """
    check(repo, [edition])
    dist = dist or repo / "dist"
    target = dist / f"{edition}-student.zip"
    made = build.build(repo, edition, None, paper, dist)
    files = contents(repo, edition, made, paper)
    draft = dist / f".{target.name}"
    archive.write(draft, {f"{FOLDER}/{n}": c for n, c in files.items()}, EXECUTABLE)
    try:
        secrets, facts = leaks.secrets_of(repo), leaks.facts_of(repo, edition)
        with telling(f"{edition}: looking for parts of the solutions in {target.name}"):
            found = leaks.find(target.name, draft.read_bytes(), secrets, facts)
        if found:
            raise Failed("\n".join(["students would get parts of the solutions:", *found]))
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    size, digest = target.stat().st_size, hashlib.sha256(target.read_bytes()).hexdigest()
    words = f"{len(files)} files, {size / 2**20:.1f} MiB, no leak, sha256 {digest[:16]}"
    return target, f"dist/{target.name}: {words}"


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.student", __doc__)
    add_editions(parser)
    add_paper(parser)
    asked = parser.parse_args(arguments)
    names = editions(REPO, asked.edition)
    check(REPO, names)
    with adding(REPO / "dist", REPO / "build" / "student") as draft:
        for edition in names:
            print(release(REPO, edition, asked.paper, draft)[1], flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
