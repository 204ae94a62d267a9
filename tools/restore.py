"""Bring a term's release back from its archive, on this or another machine.

    python -m tools.restore ARCHIVE [--force]           (make restore ARCHIVE=FILE [FORCE=1])

Writes the data set, its answers and seed, the grading secret, assignment.toml, course.toml and
errata.toml, all or none, and puts the archive into solutions/data/archive/. The command refuses to
replace what neither git nor the archive has: another data set, another secret, edits that aren't
committed. --force replaces these, too, and moves them to solutions/data/archive/DATE/. At the end
it says whether the code here is the release's.
Exit codes: 0 restored; 2 nothing was changed, with the reason.
"""

import io
import json
import re
import sys
import zipfile
from pathlib import Path

from autograder.description import REPO, UsageError
from pretraining.files import save_atomically

from . import autograder, datafiles, history
from .arguments import Failed, OneLineParser, with_one_line_errors

RESTORED = re.compile(r"src/data/[\w.-]+|" + "|".join((*history.OWNED, *history.SECRETS)))


def restore(repo: Path, path: Path, force: bool) -> list[str]:
    """Restore an archive; return a summary by line. UsageError: nothing was changed, and why."""
    kept, content = history.read(path), path.read_bytes()
    names = list(filter(RESTORED.fullmatch, kept.manifest["files"]))
    texts: dict[str, str | None] = {name: kept.read(name).decode("utf-8") for name in names}
    present = [f.relative_to(repo).as_posix() for f in repo.glob("src/data/*") if f.is_file()]
    texts = dict.fromkeys((*present, *history.SECRETS)) | texts
    lost = [name for name, text in texts.items() if _is_lost(repo, name, text)]
    if lost and not force:
        raise UsageError(
            f"{', '.join(lost)}: not as in {path.name}, and git doesn't have it: make restore "
            f"FORCE=1 (--force) moves it to {datafiles.ARCHIVE}/"
        )
    place = repo / datafiles.ARCHIVE / f"{kept.name}-{kept.manifest['edition']}.zip"
    if place.is_file() and place.read_bytes() != content:
        raise UsageError(f"{place} is another archive of that name: move one of them away")
    moves = datafiles.write_all(repo, texts, lost)
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    save_atomically(lambda file: file.write(content), place, 0o600)
    words = f"restored {kept.name} ({kept.manifest['edition']}): {len(names)} files"
    return [words, *moves, _code(repo, kept)]


def _is_lost(repo: Path, name: str, text: str | None) -> bool:
    """Return whether a file's content would be lost if it was replaced."""
    path = repo / name
    if not path.is_file():
        return False
    content = path.read_bytes()
    if text is not None and content == text.encode("utf-8"):
        return False
    return content != history.git(repo, "show", f"HEAD:./{name}").encode("utf-8")


def _code(repo: Path, kept: history.Archive) -> str:
    """Say whether the code here grades as the release does."""
    with zipfile.ZipFile(io.BytesIO(kept.read("autograder.zip"))) as opened:
        released = json.loads(opened.read("manifest.json"))
    commit = kept.manifest["commit"] or "its code"
    try:
        here = json.loads(autograder.contents(repo, kept.manifest["edition"])["manifest.json"])
    except (UsageError, Failed) as error:
        return f"the code here is not the release's ({error}): check out {commit}"
    if differing := history.differences(released, here):
        named = history.some(differing)
        return f"the code here differs from the release's in {named}: check out {commit}"
    return "the code here is the release's: `src/grader.py --replay` repeats its results"


@with_one_line_errors
def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.restore", __doc__)
    parser.add_argument("archive", type=Path)
    parser.add_argument("--force", action="store_true", help="replace what differs here, too")
    options = parser.parse_args(arguments)
    print("\n".join(restore(REPO, options.archive, options.force)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
