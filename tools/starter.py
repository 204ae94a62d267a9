"""Generate the students' starter, src/submission, from the hand-written truth.

    python -m tools.starter              write src/submission          (make starter)
    python -m tools.starter --check      fail when it is stale         (make check)
    python -m tools.starter --recipes    only recipes.json beside the truth

The truth is solutions/submission/*.py. What stands there between a pair of marker lines is
replaced by a line that keeps the starter importable (see tools/regions.py). recipes.json is made
from assignment.toml's recipes, variants and data sets, for the starter and for the truth.

Exit codes: 0 done, or up to date; 1 stale (--check); 2 bad input, and nothing was written.
"""

import argparse
import json
import os
import sys
from pathlib import Path

from tools.described import UsageError, load_assignment
from tools.regions import RegionError, strip

ROOT = Path(__file__).resolve().parent.parent
TRUTH = Path("solutions/submission")
STARTER = Path("src/submission")
RECIPES = "recipes.json"


def starter_files(root: Path) -> dict[str, bytes]:
    """What src/submission should hold.

    Args:
        root: the repository.

    Returns:
        content by file name.

    Raises:
        RegionError: with a line for each fault in the truth or in assignment.toml.
    """
    files, faults = {}, []
    paths = sorted((root / TRUTH).glob("*.py"))
    if not paths:
        raise RegionError([f"{TRUTH}: no *.py there, expected the reference solution"])
    for path in paths:
        name = f"{TRUTH.as_posix()}/{path.name}"
        try:
            files[path.name] = strip(path.read_text(encoding="utf-8"), name).encode("utf-8")
        except UnicodeDecodeError as error:
            faults.append(f"{name}: not UTF-8 at byte {error.start}")
        except RegionError as error:
            faults.extend(error.faults)
    try:
        files[RECIPES] = recipes_file(root)
    except RegionError as error:
        faults.extend(error.faults)
    if faults:
        raise RegionError(faults)
    return files


def recipes_file(root: Path) -> bytes:
    """The content of recipes.json: recipes, variants, and the name of each data set's own recipe.

    Raises:
        RegionError: assignment.toml has a mistake.
    """
    try:
        content = load_assignment(root).shipped_recipes()
    except UsageError as error:
        raise RegionError([str(error)]) from None
    text = json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return (text + "\n").encode("utf-8")


def leftovers(root: Path, files: dict[str, bytes]) -> list[Path]:
    """Files of src/submission that the truth no longer has (not what training leaves there)."""
    return sorted(
        path
        for path in (root / STARTER).glob("*")
        if path.suffix in (".py", ".json") and path.name not in files
    )


def write_starter(root: Path, files: dict[str, bytes]) -> list[str]:
    """Bring src/submission up to date.

    Returns:
        a line for each file written or removed.
    """
    lines = []
    for name, content in files.items():
        if write_if_changed(root / STARTER / name, content):
            lines.append(f"wrote {STARTER.as_posix()}/{name}")
    for path in leftovers(root, files):
        path.unlink()
        lines.append(f"removed {STARTER.as_posix()}/{path.name}")
    write_if_changed(root / TRUTH / RECIPES, files[RECIPES])
    return lines


def stale(root: Path, files: dict[str, bytes]) -> list[str]:
    """A line for each file of src/submission that is not what the truth gives."""
    lines = []
    for name, content in files.items():
        path = root / STARTER / name
        source = "assignment.toml" if name == RECIPES else f"{TRUTH.as_posix()}/{name}"
        if not path.is_file():
            lines.append(f"{STARTER.as_posix()}/{name} is missing: run: make starter")
        elif path.read_bytes() != content:
            lines.append(
                f"{STARTER.as_posix()}/{name} differs from what {source} gives: edit {source} "
                "(never the starter), then run: make starter"
            )
    for path in leftovers(root, files):
        lines.append(
            f"{STARTER.as_posix()}/{path.name} has no original in {TRUTH.as_posix()}: "
            "run: make starter"
        )
    return lines


def write_if_changed(path: Path, content: bytes) -> bool:
    """Replace a file in one step, unless it holds that already."""
    if path.is_file() and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.new")
    temporary.write_bytes(content)
    os.replace(temporary, path)
    return True


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.starter", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--check", action="store_true", help="write nothing; 1 when stale")
    which.add_argument("--recipes", action="store_true", help="only the truth's recipes.json")
    options = parser.parse_args(arguments)
    try:
        if options.recipes:
            path = root / TRUTH / RECIPES
            write_if_changed(path, recipes_file(root))
            path.touch()  # so that make sees it newer than assignment.toml
            return 0
        files = starter_files(root)
    except RegionError as error:
        print("\n".join(error.faults), file=sys.stderr)
        return 2
    if options.check:
        lines = stale(root, files)
        print("\n".join(lines) or "src/submission is up to date")
        return 1 if lines else 0
    print("\n".join(write_starter(root, files)) or "src/submission was up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
