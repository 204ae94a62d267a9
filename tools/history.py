"""The archives of a term's releases, each of which keeps an edition's release whole.

    python -m tools.history                (make check)

The command says whose last release was made from other files than there are now, and which tests
belong to a topic that assignment.toml doesn't have (`src/grader.py --list` finds other mistakes).
solutions/data/archive/NAME-EDITION.zip contains student.zip, autograder.zip, the sheet's documents,
the data set with its answers and seed, the grading secret, the files that a course owns, and
manifest.json: the release's name, the code's commit, hashes of all of this and of what it was made
from, and what it promised to students. Only its owner may read it.
Exit codes: 0 up to date, or nothing is in dist/; 1 something is out of date; 2 wrong usage.
"""

import hashlib
import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from autograder.description import (
    ASSIGNMENT,
    COURSE,
    ERRATA,
    REPO,
    UsageError,
    editions,
    load_assignment,
    load_course,
)
from grading.cases import QuestionSet
from grading.errors import nearest
from grading.verdicts import versions

from . import archive, autograder, student
from .archive import hash_of
from .arguments import OneLineParser, with_one_line_errors
from .datafiles import ARCHIVE, GRADING_SECRET, SEED, TEST_ANSWERS, installed
from .handout.templates import plain

OWNED = (ASSIGNMENT, COURSE, ERRATA)  # the files that a course changes
SECRETS = (TEST_ANSWERS, SEED, GRADING_SECRET)
MANIFEST = "manifest.json"
DESCRIBED = ("title", "expected_loss", "usual", "also_for")  # of a recipe: these change no training


@dataclass(frozen=True)
class Archive:
    """An archive, with its manifest."""

    path: Path
    manifest: dict[str, Any]

    @property
    def name(self) -> str:
        """The release's name."""
        return self.manifest["release"]

    @property
    def number(self) -> int:
        """The number at the name's end."""
        return int(self.name.rpartition(".")[2])

    def read(self, name: str) -> bytes:
        """Return a file's content; raise UsageError if it is missing or damaged."""
        try:
            with zipfile.ZipFile(self.path) as opened:
                return opened.read(name)
        except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
            raise UsageError(f"{self.path}: {name} can't be read: {error}") from None


def read(path: Path) -> Archive:
    """Read an archive's manifest; raise UsageError if the file is no archive of a release."""
    content = Archive(path, {}).read(MANIFEST)
    try:
        manifest = json.loads(content)
        lacks = {"release", "edition", "commit", "files", "sources", "promises"} - manifest.keys()
    except (ValueError, AttributeError):
        lacks = {"release"}
    if lacks:
        raise UsageError(f"{path} is not the archive of a release")
    return Archive(path, manifest)


def of_term(repo: Path, edition: str | None = None) -> list[Archive]:
    """Return the archives of the present term, of one edition or of all, from the oldest."""
    term = load_course(repo).release_name.rpartition(".")[0]
    which = ".+" if edition is None else re.escape(edition)
    named = re.compile(rf"{re.escape(term)}\.[0-9]+-{which}\.zip")
    paths = [path for path in (repo / ARCHIVE).glob("*.zip") if named.fullmatch(path.name)]
    return sorted(map(read, paths), key=lambda each: each.number)


def sources(repo: Path) -> dict[str, str]:
    """Return the hash of each file that a release is made from, but for the number itself."""
    patterns = (*student.SOURCES, *autograder.SOURCES)
    paths = {path for pattern in patterns for path in repo.glob(pattern) if path.is_file()}
    hashes = {path.relative_to(repo).as_posix(): hash_of(path) for path in sorted(paths)}
    text = (repo / COURSE).read_text(encoding="utf-8")
    unnumbered = re.sub("(?m)^release = .*\n", "", text).encode()
    return hashes | {COURSE: hashlib.sha256(unnumbered).hexdigest()}


def promises(repo: Path, edition: str) -> dict[str, str]:
    """Return what students of an edition rely on, in words."""
    assignment = load_assignment(repo)
    described = assignment.edition(edition)
    data = assignment.datasets[installed(repo) or assignment.default_dataset]
    recipes = {
        name: {key: table for key, table in tables.items() if key not in DESCRIBED}
        for name, tables in assignment.recipes.items()
    }
    files = [path for path in sorted((repo / "src/data").iterdir()) if path.is_file()]
    digests = [hash_of(path) for path in (*files, repo / TEST_ANSWERS)]
    secret = repo / GRADING_SECRET
    return {
        **{
            f"question {q.number}": f"{q.topic}, {plain(q.coding)} for code, "
            f"{' + '.join(map(plain, q.written_parts))} written" + ", extra" * q.is_extra_credit
            for q in described.questions
        },
        **{
            f"test {test.topic}.{test.name}": f"{plain(test.max_score)} points"
            for test in described.tests
            if test.max_score
        },
        "required files": ", ".join(described.required_files),
        "data set": f"{data.name} {hashlib.sha256(''.join(digests).encode()).hexdigest()[:16]}",
        "grading secret": hash_of(secret)[:16] if secret.is_file() else "missing (make restore)",
        **_flat("threshold of", data.thresholds),
        **_flat("evidence:", asdict(data)["evidence"]),
        **_flat("recipe", recipes),
    }


def _flat(name: str, value: Any) -> dict[str, str]:
    """Return nested tables as one, whose keys are the paths."""
    if not isinstance(value, dict):
        return {name: str(value)}
    inner = [_flat(f"{name} {key}", each) for key, each in value.items()]
    return {key: each for table in inner for key, each in table.items()}


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the keys whose values differ, or that only one side has."""
    keys = sorted(before.keys() | after.keys())
    return [key for key in keys if before.get(key) != after.get(key)]


def some(names: list[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


def keep(repo: Path, edition: str, folder: Path) -> str:
    """Write the archive of a release that was built in a folder; return a line about it."""
    release, commit = load_course(repo).release_name, commit_of(repo)
    places = {path.name: path for path in folder.glob(f"{edition}-*")}
    places["student.zip"] = places.pop(f"{edition}-student.zip")
    places["autograder.zip"] = folder / f"autograder-{edition}.zip"
    places |= {f"src/data/{path.name}": path for path in (repo / "src/data").iterdir()}
    places |= {name: repo / name for name in (*OWNED, *SECRETS)}
    files = {name: path for name, path in sorted(places.items()) if path.is_file()}
    manifest = {
        **{"release": release, "edition": edition, "commit": commit, "versions": versions()},
        "files": {name: hash_of(path) for name, path in files.items()},
        "sources": sources(repo),
        "promises": promises(repo, edition),
    }
    text = json.dumps(manifest, indent=1, ensure_ascii=False) + "\n"
    path = repo / ARCHIVE / f"{release}-{edition}.zip"
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    contents = {name: place.read_bytes() for name, place in files.items()}
    archive.write(path, contents | {MANIFEST: text.encode()}, mode=0o600)
    return f"{ARCHIVE}/{path.name}: the release, of commit {commit} (docs/instructor.md)"


def commit_of(repo: Path) -> str:
    """Return the commit of the code, and whether git lacks some of it."""
    head = git(repo, "rev-parse", "HEAD").strip()
    others = [f":(exclude){name}" for name in OWNED]
    edited = head and git(repo, "status", "--porcelain", "--", ".", *others)
    return f"{head} with uncommitted changes" if edited else head or "unknown"


def git(repo: Path, *words: str) -> str:
    """Return what git says about a repository; "" if there is none."""
    command = ["git", "-C", str(repo), *words]
    try:
        ran = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return "" if ran.returncode else ran.stdout


def undescribed(root: Path) -> list[str]:
    """Return a line for each class of tests whose topic has no table in assignment.toml."""
    topics = load_assignment(root).tables.topics
    return [
        f"src/{case.__module__.replace('.', '/')}.py: {case.__name__} has the topic "
        f"{case.topic!r}, but assignment.toml has no table [topics.{case.topic}]"
        f"{nearest(case.topic, topics)}"
        for case in QuestionSet().cases()
        if case.topic not in topics
    ]


@with_one_line_errors
def main(arguments: list[str] | None = None, root: Path = REPO) -> int:
    """Run the command; return the exit code."""
    OneLineParser("python -m tools.history", __doc__).parse_args(arguments)
    lines, compared = undescribed(root), 0
    for edition in editions(root):
        archives = of_term(root, edition)
        if archives and (root / "dist" / f"{edition}-student.zip").is_file():
            compared += 1
            name, before = archives[-1].name, archives[-1].manifest["sources"]
            if changed := differences(before, sources(root)):
                made = f"{name} of {edition} was made before a change of {', '.join(changed)}"
                lines.append(f"{made}: run: make release")
    none = "no release was made yet: only generated files were checked"
    print("\n".join(lines) or ("the last release is up to date" if compared else none))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
