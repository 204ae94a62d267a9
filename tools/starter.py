"""Generate the code that students complete, in src/submission, from the reference solution.

    python -m tools.starter              write it                      (make starter)
    python -m tools.starter --check      fail if it is out of date     (make check)

The source is solutions/submission/*.py. The code between a pair of marker lines is replaced by a
line that keeps the starter importable (see tools/regions.py). The other files of src/submission are
given to students as they are, and are not generated.

Exit codes: 0 done, or up to date; 1 out of date (--check); 2 bad input, and nothing was written.
"""

import sys
from pathlib import Path

from autograder.description import REPO, load_assignment
from grading.edition import to_json
from grading.release import START
from pretraining.files import write_atomically
from questions.provided import PROVIDED

from .arguments import OneLineParser
from .commands import pipelines_of
from .regions import RegionError, leave_out, strip

GIVEN = PROVIDED.given
TRUTH = Path("solutions/submission")
STARTER = Path("src/submission")


def starter_files(root: Path) -> dict[str, bytes]:
    """Return the stripped reference solution, by path in the repository.

    Raises RegionError with a line for each fault in the reference.
    """
    files, faults = {}, []
    paths = sorted((root / TRUTH).glob("*.py"))
    if not paths:
        raise RegionError([f"{TRUTH}: no *.py there, expected the reference solution"])
    for path in paths:
        name = f"{TRUTH.as_posix()}/{path.name}"
        try:
            content = strip(path.read_text(encoding="utf-8"), name).encode("utf-8")
            files[(STARTER / path.name).as_posix()] = content
        except UnicodeDecodeError as error:
            faults.append(f"{name}: not UTF-8 at byte {error.start}")
        except RegionError as error:
            faults.extend(error.faults)
    if faults:
        raise RegionError(faults)
    return files


def package_of(root: Path, edition: str) -> dict[str, bytes]:
    """Return the modules of src/submission that an edition's students get, by file name.

    Given modules are the same in all editions; the generated ones lack what `reference_of` lacks.
    Raises RegionError or UsageError.
    """
    made = {
        name: strip(content.decode("utf-8"), f"submission/{name}").encode("utf-8")
        for name, content in reference_of(root, edition).items()
    }
    return made | {name: (root / STARTER / name).read_bytes() for name in GIVEN}


def reference_of(root: Path, edition: str) -> dict[str, bytes]:
    """Return what a perfect student of an edition writes: modules by file name.

    They lack the functions of variants that the edition doesn't train.
    """
    variants, trained = load_assignment(root).variants, trained_variants(root, edition)
    missing = {variants[name].topic for name in variants.keys() - trained}
    return {
        path.name: leave_out(
            path.read_text(encoding="utf-8"), (TRUTH / path.name).as_posix(), missing
        ).encode()
        for path in sorted((root / TRUTH).glob("*.py"))
    }


def trained_variants(root: Path, edition: str) -> set[str]:
    """Return the variants of the model that an edition's commands train."""
    pipelines = pipelines_of(root, [edition]).values()
    return {command.arguments[2] for todo in pipelines for command in todo}


def edition_file(root: Path, edition: str) -> bytes:
    """Return the edition.json that students of an edition get."""
    return to_json(load_assignment(root).for_students(edition, trained_variants(root, edition)))


def stale(root: Path, files: dict[str, bytes]) -> dict[str, str]:
    """Return a line for each generated file that is out of date, by the file's name."""
    lines = {}
    for name, content in files.items():
        path = root / name
        source = f"{TRUTH.as_posix()}/{path.name}"
        if not path.is_file():
            lines[name] = f"{name} is missing: run: make starter"
        elif path.read_bytes() != content:
            lines[name] = (
                f"{name} differs from what {source} gives: edit {source} "
                "(never the starter), then run: make starter"
            )
    for path in sorted((root / STARTER).glob("*.py")):
        name = (STARTER / path.name).as_posix()
        if name not in files and START.encode() in path.read_bytes():
            lines[name] = f"{name} has no original in {TRUTH.as_posix()}: run: make starter"
    return lines


def write_starter(root: Path, files: dict[str, bytes]) -> list[str]:
    """Bring the generated files up to date; return a line for each file written or removed."""
    (root / STARTER).mkdir(parents=True, exist_ok=True)
    lines = []
    for name in stale(root, files):
        if name in files:
            write_atomically(root / name, files[name])
        else:
            (root / name).unlink()
        lines.append(f"{'wrote' if name in files else 'removed'} {name}")
    return lines


def main(arguments: list[str] | None = None, root: Path = REPO) -> int:
    """Run the command; return the exit code."""
    parser = OneLineParser("python -m tools.starter", __doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if out of date"
    )
    options = parser.parse_args(arguments)
    try:
        files = starter_files(root)
    except RegionError as error:
        print("\n".join(error.faults), file=sys.stderr)
        return 2
    if options.check:
        lines = stale(root, files)
        print("\n".join(lines.values()) or "src/submission is up to date")
        return 1 if lines else 0
    print("\n".join(write_starter(root, files)) or "src/submission was up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
