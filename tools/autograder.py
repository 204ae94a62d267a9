"""Build the autograder for Gradescope, and verify it with two submissions.

    python -m tools.autograder [--edition NAME] [--recipe NAME]

dist/autograder-EDITION.zip contains setup.sh, run_autograder, the grader, the solutions, the
answers, the data, and manifest.json with a hash of each file. The same inputs give the same bytes.
The build fails unless the reference submission passes every test through the zip, those without
points, too, and the untouched starter earns 0, or what everybody gets for dropped tests. Both are
saved beside the zip for Gradescope's "Test Autograder", with the expected scores in their names.
Files in dist/ are replaced only when all of them are built and verified.
Exit codes: 0 built and verified; 1 failed, with the reason; 2 wrong usage, a mistake in
assignment.toml or course.toml, or no data set.
"""

import hashlib
import json
import os
import secrets
import sys
from decimal import Decimal
from pathlib import Path

from autograder.description import (
    ASSIGNMENT,
    ERRATA,
    REPO,
    check_recipe,
    editions,
    load_assignment,
)
from grading.edition import EDITION, to_json

from . import archive, container, emulate, leaks, reference, starter
from .arguments import Failed, OneLineParser, add_editions, add_recipe, with_one_line_errors
from .datafiles import GRADING_SECRET, require_data_set
from .exchange import adding
from .starter import GIVEN
from .telling import telling

DIST = REPO / "dist"
DESCRIPTION = Path("autograder/description.py")
SCRIPTS = ("setup.sh", "run_autograder")
SCRIPTS_FROM = Path("tools/gradescope")
# The allow-list of the zip: each entry is a file, or a pattern that must match some.
TAKEN = (
    "requirements.txt",
    "requirements-autograder.txt",
    "constraints.txt",
    "LICENSE",
    "autograder/**/*.py",
    "autograder/**/*.json",
    "autograder/templates/*",
    "src/environment.py",
    "src/grader.py",
    "src/grading/**/*.py",
    "src/grading/templates/*",
    "src/questions/**/*.py",
    "src/questions/*/hints.toml",
    "src/data/*",
    "src/pretraining/*.py",
    *(f"src/submission/{name}" for name in GIVEN),
    "solutions/hidden/*.py",
    "solutions/submission/*.py",
    "solutions/data/birth_test.tsv",
    GRADING_SECRET,
)
SOURCES = (*TAKEN, ASSIGNMENT, ERRATA, *(f"{SCRIPTS_FROM.as_posix()}/{s}" for s in SCRIPTS))


def contents(repo: Path, edition: str) -> dict[str, bytes]:
    """Return the content of every file in the zip, by its name there.

    Raises:
        Failed: a file that belongs in it is missing.
    """
    files: dict[str, bytes] = {}
    for pattern in TAKEN:
        found = [p for p in sorted(repo.glob(pattern)) if p.is_file()]
        if not found:
            raise Failed(f"{pattern} is missing: is there a data set? (make world)")
        files |= {p.relative_to(repo).as_posix(): p.read_bytes() for p in found}
    del files[DESCRIPTION.as_posix()]  # Gradescope has no pydantic; it reads what this resolves:
    files[EDITION.as_posix()] = to_json(load_assignment(repo))
    files |= contents_of_scripts(repo, edition)
    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())}
    files["manifest.json"] = (json.dumps(hashes, indent=1) + "\n").encode()
    return files


def check(repo: Path, names: list[str], recipe: str | None) -> None:
    """Find mistakes that would make the build fail later, before the reference is trained.

    Raises:
        Failed: a file that belongs in the zip is missing.
        UsageError: the recipe or the data set is missing, or assignment.toml has a mistake.
    """
    check_recipe(repo, recipe)
    require_data_set(repo)
    keep_secret(repo)
    for name in names:
        contents(repo, name)


def contents_of_scripts(repo: Path, edition: str) -> dict[str, bytes]:
    """Return an edition's setup.sh and run_autograder, with the Python of assignment.toml."""
    python = load_assignment(repo).gradescope_python
    scripts = {}
    for name in SCRIPTS:
        text = (repo / SCRIPTS_FROM / name).read_text(encoding="utf-8")
        scripts[name] = text.replace("@PYTHON@", python).replace("@EDITION@", edition).encode()
    return scripts


def keep_secret(repo: Path) -> None:
    """Create the secret from which runs' seeds are derived, once per data set.

    Because of it, no student can predict a seed.
    """
    path = repo / GRADING_SECRET
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="ascii") as writer:
            writer.write(secrets.token_hex(32) + "\n")


def hand_in(repo: Path, edition: str, trained: Path) -> dict[str, bytes]:
    """Return the files that a perfect student of an edition hands in.

    Args:
        trained: a folder like build/reference.
    """
    code = starter.package_of(repo, edition) | starter.reference_of(repo, edition)
    files = {f"submission/{name}": content for name, content in code.items()}
    outputs = [trained / name for name in load_assignment(repo).edition(edition).required_files]
    return files | {path.name: path.read_bytes() for path in outputs if path.is_file()}


def build(
    repo: Path,
    edition: str,
    trained: Path,
    dist: Path = DIST,
    limits: container.Limits = container.GRADESCOPE,
    upload: bytes | None = None,
) -> list[str]:
    """Build one edition's zip and the two test submissions; return a summary, line by line.

    Args:
        trained: a folder like build/reference.
        limits: of the container in which the zip is verified.
        upload: the reference submission as the students' command packs it; None: as `hand_in`.

    Raises:
        Failed: the reference fails a test, or the starter earns a point; then no zip is
            written.
    """
    files = contents(repo, edition)
    target = dist / f"autograder-{edition}.zip"
    draft = dist / f".{target.name}"
    archive.write(draft, files, SCRIPTS)
    try:
        untouched = starter.package_of(repo, edition).items()
        zips = {
            "reference": upload or archive.packed(hand_in(repo, edition, trained)),
            "starter": archive.packed({f"submission/{name}": it for name, it in untouched}),
        }
        lines = [_prove(draft, repo, edition, kind, zips[kind], dist, limits) for kind in EXPECTED]
        os.replace(draft, target)
    finally:
        draft.unlink(missing_ok=True)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    size = target.stat().st_size
    first = f"dist/{target.name}: {len(files)} files, {size / 2**20:.1f} MiB, sha256 {digest[:16]}"
    return [first, *lines]


EXPECTED = ("reference", "starter")


def _prove(
    draft: Path,
    repo: Path,
    edition: str,
    kind: str,
    submission: bytes,
    dist: Path,
    limits: container.Limits,
) -> str:
    """Grade the reference submission or the starter through the zip, and save it beside the zip."""
    described = load_assignment(repo).edition(edition)
    dropped = sum((test.max_score for test in described.tests if test.dropped), Decimal(0))
    expected = described.coding if kind == "reference" else dropped
    points = f"{expected.normalize():f}"
    path = dist / f".test-{edition}-{kind}.zip"
    path.write_bytes(submission)
    try:
        with telling(f"{edition}: grading the {kind} through the zip"):
            seen = emulate.grade(draft, path, limits=limits)
        score = seen.score
        if score != expected:
            raise Failed(
                f"{edition}: the {kind} earns {score} through the zip, expected {points}\n"
                + seen.reasons()
            )
        if kind == "reference" and (unpassed := seen.unpassed(described)):
            raise Failed(
                f"{edition}: the reference does not pass every test through the zip: "
                f"{', '.join(unpassed)}\n{seen.reasons()}"
            )
        shown = json.dumps(seen.results, ensure_ascii=False).encode()
        secrets, facts = leaks.secrets_of(repo), leaks.facts_of(repo, edition)
        if leaked := leaks.find("results.json", shown, secrets, facts):
            raise Failed(f"{edition}: the {kind}'s result, which students see, leaks: {leaked[0]}")
        named = dist / f"test-{edition}-{kind}-expect-{points}.zip"
        os.replace(path, named)
    finally:
        path.unlink(missing_ok=True)
    return f"dist/{named.name}: earned {points}; {seen.costs()}"


def outdated(edition: str) -> list[str]:
    """Return patterns of an edition's files that a new zip makes out of date."""
    return [f"test-{edition}-{kind}-expect-*.zip" for kind in EXPECTED]


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if all was built, 1 if something failed, 2 for bad input."""
    parser = OneLineParser("python -m tools.autograder", __doc__)
    add_editions(parser)
    add_recipe(parser)
    asked = parser.parse_args(arguments)
    names = editions(REPO, asked.edition)
    check(REPO, names, asked.recipe)
    trained = reference.train(recipe=asked.recipe, editions=names)
    older = [pattern for name in names for pattern in outdated(name)]
    with adding(DIST, REPO / "build" / "autograder", older) as draft:
        for edition in names:
            for line in build(REPO, edition, trained, draft):
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
