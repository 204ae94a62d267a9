"""Say which files of dist/ are out of date, and keep dist/manifest.json true.

    python -m tools.dist                (make check)

dist/manifest.json contains, for each file, its size and hash, the command that makes it, and hashes
of what it was made from: after a change of the deadline in course.toml, the sheet is out of date.
Only files that people edit and the data set are compared; the code of the tools is not.
Exit codes: 0 up to date, or there is nothing in dist/; 1 something is out of date; 2 wrong usage.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.description import REPO
from pretraining.files import write_atomically

from . import exchange
from .arguments import OneLineParser

MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Origin:
    """How some files of dist/ are made.

    Attributes:
        command: makes them.
        sources: what they are made from: paths in the repository, or patterns of these.
    """

    command: str
    sources: tuple[str, ...]


Origins = Mapping[str, Origin]  # by a pattern of the files' names
Manifest = dict[str, dict[str, Any]]  # by the file's name


@contextmanager
def adding(
    repo: Path, draft: str, origins: Origins, outdated: Sequence[str] = ()
) -> Iterator[Path]:
    """Yield an empty folder, whose files move to dist/, with the manifest, if the block succeeds.

    Args:
        draft: the folder's name in build/.
        origins: how the new files are made.
        outdated: patterns of older files in dist/ to remove then.
    """
    dist = repo / "dist"
    with exchange.adding(dist, repo / "build" / draft, outdated) as folder:
        yield folder
        removed = {path.name for pattern in outdated for path in dist.glob(pattern)}
        kept = {name: it for name, it in recorded(dist).items() if name not in removed}
        write_manifest(folder, kept | manifest(repo, folder, origins))


def manifest(repo: Path, folder: Path, origins: Origins) -> Manifest:
    """Return the entries of a folder's files, which were just made."""
    sources = {source for origin in origins.values() for source in origin.sources}
    digests = {source: digest_of(repo, source) for source in sources}
    return {
        path.name: {
            "bytes": path.stat().st_size,
            "sha256": hash_of(path),
            "command": origin.command,
            "made_from": {source: digests[source] for source in origin.sources},
        }
        for pattern, origin in origins.items()
        for path in sorted(folder.glob(pattern))
    }


def write_manifest(folder: Path, listed: Manifest) -> None:
    """Write manifest.json to a folder."""
    write_atomically(folder / MANIFEST, json.dumps(listed, indent=1, sort_keys=True) + "\n")


def recorded(dist: Path) -> Manifest:
    """Return the content of manifest.json; nothing if there is none, or not one of ours."""
    try:
        listed = json.loads((dist / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    is_ours = isinstance(listed, dict) and all("made_from" in known for known in listed.values())
    return listed if is_ours else {}


def hash_of(path: Path) -> str:
    """Return the hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_of(repo: Path, source: str) -> str:
    """Return a hash of the names and contents of the files that a pattern names."""
    digest = hashlib.sha256()
    for path in sorted(repo.glob(source)):
        if path.is_file() and not path.name.startswith("."):
            digest.update(f"{path.relative_to(repo).as_posix()}\0{hash_of(path)}\0".encode())
    return digest.hexdigest()[:16]


def stale(repo: Path) -> list[str]:
    """Return a line for each file of dist/ that is out of date."""
    dist = repo / "dist"
    listed = recorded(dist)
    if not listed and dist.is_dir() and any(dist.iterdir()):
        return [f"dist/{MANIFEST} doesn't say what was made from what: run: make release"]
    sources = {source for known in listed.values() for source in known["made_from"]}
    digests = {source: digest_of(repo, source) for source in sources}
    lines = []
    for name, known in sorted(listed.items()):
        changed = [s for s, digest in known["made_from"].items() if digests[s] != digest]
        if not (dist / name).is_file():
            problem = "is missing"
        elif hash_of(dist / name) != known["sha256"]:
            problem = "is not the file that was made"
        elif changed:
            problem = f"was made before a change of {', '.join(changed)}"
        else:
            continue
        lines.append(f"dist/{name} {problem}: run: {known['command']}")
    return lines


def main(arguments: list[str] | None = None, root: Path = REPO) -> int:
    """Run the command; return the exit code."""
    OneLineParser("python -m tools.dist", __doc__).parse_args(arguments)
    lines = stale(root)
    print("\n".join(lines) or "dist/ is up to date")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
