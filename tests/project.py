"""A copy of the project for tests that change it, and the commands to use there."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests import pinned
from tests.interpreter import captured

# Variables that a make running the tests would pass to one that a test starts, such as ARGS.
OUTER_MAKE = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS")
ROOT = Path(__file__).resolve().parent.parent


def copy_of_the_project(target: Path) -> Path:
    """Copy what is committed, or would be, with the editions that tests know (see pinned.py)."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in filter(None, captured(words, ROOT, check=True).stdout.split("\0")):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    (target / "assignment.toml").write_text(pinned.text(), encoding="utf-8", newline="\n")
    return target


def copy_of_the_grader(target: Path) -> Path:
    """Copy what grades next to the solutions, without data and without trained files."""
    litter = ("__pycache__", "data", "written", "*.params", "*.predictions")
    for name in ("src", "autograder", "solutions"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns(*litter))
    shutil.copy(ROOT / "assignment.toml", target)
    return target


def contents(folder: Path) -> dict[str, bytes]:
    """Return a folder's files by name, without an environment and what Python and pytest write."""
    ignored = {".venv", "__pycache__", ".pytest_cache"}
    paths = {path.relative_to(folder): path for path in folder.rglob("*") if path.is_file()}
    return {n.as_posix(): p.read_bytes() for n, p in paths.items() if not ignored & {*n.parts}}


def write_files(folder: Path, files: Mapping[str, bytes | str]) -> Path:
    """Write files, given by their names in a folder, which is returned."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return folder


def make(tree: Path, *words: str, **keywords) -> subprocess.CompletedProcess:
    """Run `make WORD...` in the copy, with this environment instead of a new one (`-o`)."""
    if not (tree / ".venv").exists():
        (tree / ".venv").symlink_to(sys.prefix)
    environment = {k: v for k, v in os.environ.items() if k not in OUTER_MAKE}
    return captured(["make", "-o", ".venv/.stamp", *words], tree, env=environment, **keywords)


def git(tree: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess:
    """Run `git WORD...` in a copy, as a made-up user and without this computer's settings."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    environment |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "Ada", f"GIT_{who}_EMAIL": "ada@example.edu"}
    return captured(["git", *words], tree, env=environment, check=check)


def commit_all(tree: Path, message: str) -> None:
    """Commit everything in a copy, which becomes a repository if it is none."""
    if not (tree / ".git").exists():
        git(tree, "init", "--quiet", "--initial-branch", "main")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", message)


def add_recipe(tree: Path, name: str, **numbers: int) -> None:
    """Add a recipe to the copy: `smoke` with other numbers."""
    path = tree / "assignment.toml"
    text = path.read_text(encoding="utf-8")
    smoke = re.search(r"^\[recipes\.smoke\].*?(?=^#)", text, re.MULTILINE | re.DOTALL)[0]
    added = smoke.replace("recipes.smoke", f"recipes.{name}")
    for key, number in numbers.items():
        added = re.sub(f"{key} = [0-9]+", f"{key} = {number}", added)
    path.write_text(text.replace(smoke, smoke + added), encoding="utf-8", newline="\n")


def without_structure(tree: Path) -> None:
    """Let the copy print sheets without structure for screen readers, in a quarter of the time.

    tests/handout/test_pages.py checks that what we print has it.
    """
    _replace(tree / "tools/handout/build.py", r"ifdefined\\DocumentMetadata", "iffalse")


def quick_release(tree: Path) -> None:
    """Let the copy release sooner: sheets without structure, models of one epoch, and two CPUs.

    Gradescope's half a CPU makes verifying the autograder take minutes; what an emulated Gradescope
    limits is tests/gradescope's. The reference isn't graded as a student would: test_release.py of
    tests/handout does this, while other tests use what was released.
    """
    without_structure(tree)
    _replace(tree / "mingpt-demo/play_char.ipynb", r'"MAX_EPOCHS = \d+', '"MAX_EPOCHS = 1')
    _replace(tree / "tools/staff_model.py", r"recipe = .*\.recipe", 'recipe = "quick"')
    _replace(tree / "tools/container.py", r"cpus: float = 0\.5", "cpus: float = 2.0")
    edit(tree / "tools/release.py", '(run, edition, copy, "grader.py")', "(lambda: None)")


def edit(path: Path, old: str, new: str) -> None:
    """Replace the first occurrence of a text in a file, where it must be."""
    text = path.read_text(encoding="utf-8")
    assert old in text, (path, old)
    path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="\n")


def append(path: Path, text: str) -> None:
    """Add a text to the end of a file."""
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def _replace(path: Path, pattern: str, new: str) -> None:
    text, count = re.subn(pattern, new, path.read_text(encoding="utf-8"))
    assert count == 1, (path, pattern)
    path.write_text(text, encoding="utf-8")
