"""Update this copy of the assignment to a corrected release, with the course's new zip.

    python src/update.py ~/Downloads/xcs224n-student.zip
    python src/update.py NEW.zip --show                     only shows what would change
    python src/update.py NEW.zip --folder ../assignment5    updates another copy

Every file that the course gives is taken from the zip, and what you wrote between the markers is
put back. Parameters, predictions, answers, environments and all other files stay as they are. What
is replaced goes into before-RELEASE.zip. A given file that you changed outside the markers is kept
beside the new one, as NAME.mine. A file into which your code can't be put back stays as it is, and
the new one is NAME.new.

It is all or nothing. All that is new is first written to the folder .update, and last of all the
list of it. If this is killed before that, nothing has changed. Then each file is renamed to its
place, which takes no space on the disk. If this is killed in between, the next command in the
folder, whichever it is, renames the rest before it does anything (environment.finish_update).

Exit codes: 0 updated, or up to date; 1 updated, and something is left for you to do; 2 nothing was
changed, or the same command changes the rest; 130 interrupted, likewise.
"""

import environment

if __name__ == "__main__":
    environment.check()

import hashlib
import io
import json
import os
import shutil
import sys
import textwrap
import zipfile
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import grading
from grading import release, upload
from grading.errors import GradingError, UsageError
from grading.release import GIVEN, Release, check_syntax, describe, digest, given_files

ANSWERS = "written/submission.tex"
OWN = (ANSWERS, "overleaf.zip")  # given, and then the student's


@dataclass
class Plan:
    """What an update writes to a folder and what that replaces, by name; what to say of it.

    Attributes:
        shown: a line for each given file that changes.
        todo: what is left to the student.
    """

    root: Path
    files: dict[str, bytes] = field(default_factory=dict)
    replaced: dict[str, bytes] = field(default_factory=dict)
    shown: list[str] = field(default_factory=list)
    todo: list[str] = field(default_factory=list)

    def beside(self, name: str, suffix: str, content: bytes) -> str:
        """Write a file under a name that is free, unless it is there already; return the name."""
        for path in map(Path, environment.candidates(str(self.root / name), suffix)):
            free = path.relative_to(self.root).as_posix()
            if not os.path.lexists(path):
                self.files[free] = content
                return free
            if path.is_file() and path.read_bytes() == content:
                return free
        raise AssertionError


def refuse_others(old: Release, new: Release) -> None:
    """Raise a UsageError for a zip of another edition or term, or one older than the copy."""
    (term, _, number), (new_term, _, new_number) = (e.name.rpartition(".") for e in (old, new))
    if old.edition != new.edition or term not in ("", new_term):
        raise UsageError(f"the zip is {new}, but this copy {old}: expected its edition and term")
    if number and int(number) > int(new_number):
        raise UsageError(f"the zip is {new}, older than this copy, which is {old}")


def plan_update(root: Path, files: dict[str, bytes], old: Release, new: Release) -> Plan:
    """Return what an update of the copy in a folder does."""
    plan = Plan(root)
    for name, given in sorted(files.items()):
        own = (root / name).read_bytes() if (root / name).is_file() else None
        before, module = old.digests.get(name), name.removeprefix("src/")
        lines = [each.lines[module] for each in (old, new) if module in each.lines]
        is_edited = own is not None and digest(own) not in (before, digest(given)) and name != GIVEN
        content, why = given, "you changed it" if is_edited and old.digests else ""
        if is_edited and name in OWN:
            _keep_answers(plan, name, given, before or digest(given))
            continue
        if own is not None and is_edited and lines:
            content, why = _with_code(plan, name, own, given, lines)
        if content == own:
            continue
        plan.files[name] = content
        how = "" if content == given else ", with your code"
        plan.shown.append(f"{'new' if own is None else 'replaced':<10}{name}{how}")
        if own is None:
            continue
        plan.replaced[name] = own
        if why:
            plan.todo.append(f"{name}: {why}; your file is {plan.beside(name, '.mine', own)}")
    if {"requirements.txt", "constraints.txt"} & plan.replaced.keys():
        plan.todo.append("the packages have changed: install them again (README.md, section 1)")
    return plan


def _keep_answers(plan: Plan, name: str, given: bytes, digest_before: str) -> None:
    """Say what to do if the file that is kept, with the student's answers, has changed."""
    if digest_before != digest(given):
        how = "python src/check_written.py packs it again, with the new sheet"
        if name == ANSWERS:
            how = f"the new one, without answers, is {plan.beside(name, '.new', given)}"
        plan.todo.append(f"{name} stays as it is, with your answers; {how}")


def _with_code(
    plan: Plan, name: str, own: bytes, given: bytes, lines: list[list[str]]
) -> tuple[bytes, str]:
    """Put the student's parts back into a given file.

    Returns:
        the new content, which is the student's own if they can't be put back; and what of the
        student's is not in it.
    """
    mine = own.decode("utf-8-sig", errors="replace").replace("\r\n", "\n")
    text, lost, changed, fault = release.put_back(name, mine, given.decode("utf-8"), lines[0])
    merged = text.encode("utf-8")
    if check_syntax(name, merged) and not check_syntax(name, own):
        fault = fault or f"{name}: your code does not fit into the new file"
    if "\ufffd" in text:
        fault = fault or f"{name}: not saved as UTF-8"
    if fault:
        beside = plan.beside(name, ".new", given)
        stays = f"your file stays as it is, and the new one is {beside}"
        plan.todo.append(f"{fault}; {stays}: mend yours and update again, or move your code")
        return own, ""
    for interface in changed:
        said = textwrap.indent(interface, "    ")
        plan.todo.append(f"{name}: what is around your code has changed, and is now\n{said}")
    whys = [f"your part of {scope} has no place in the new one" for scope in lost]
    if all(release.changed_outside(name, mine, one) for one in lines):
        whys.append("you changed it" + " outside the markers" * (release.START in mine))
    return merged, " and ".join(whys)


def check_places(root: Path, names: Collection[str]) -> None:
    """Refuse to begin where a file could not be replaced.

    Raises:
        UsageError: a link or something else is in the way, a folder is read-only, or on another
            drive.
        OSError: a program on Windows has the file open.
    """
    for name in names:
        parts = name.split("/")
        with suppress(FileNotFoundError):
            for depth in range(1, len(parts) + 1):
                kind = upload.on_disk(root, *parts[:depth]).kind
                expected = "file" if depth == len(parts) else "folder"
                if kind != expected:
                    raise UsageError(f"{'/'.join(parts[:depth])} is a {kind}, not a {expected}")
        folder = next(each for each in (root / name).parents if each.is_dir())
        for place in (folder, root / name):
            if place.exists() and not os.access(place, os.W_OK):
                raise UsageError(f"{place} is read-only")
        if folder.stat().st_dev != root.stat().st_dev:
            raise UsageError(f"{folder} is on another drive than {root}")
        with suppress(FileNotFoundError):
            os.rename(root / name, root / name)  # fails on Windows if a program has it open


def apply(plan: Plan, release: Release) -> str:
    """Write the plan's files, all or none; return the name of the zip with what they replace.

    Raises:
        UsageError, OSError: see `check_places`; or the disk is full, or a file can't be replaced.
    """
    root, folder = plan.root, plan.root / environment.UPDATE
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in plan.replaced.items():
            archive.writestr(name, content)
    before = plan.beside(f"before-{release.name}", ".zip", packed.getvalue())
    check_places(root, plan.files)
    shutil.rmtree(folder, ignore_errors=True)  # of an update that was killed before its list
    folder.mkdir()
    try:
        journal = []
        for number, (name, content) in enumerate(plan.files.items()):
            _write(folder / str(number), content)
            if name in plan.replaced:
                shutil.copymode(root / name, folder / str(number))
            both = (plan.replaced.get(name, b""), content)
            journal.append([name, *(hashlib.sha256(each).hexdigest() for each in both)])
        _write(folder / "draft", json.dumps(journal).encode())
        os.replace(folder / "draft", folder / environment.JOURNAL)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    environment.finish_update(str(root))
    return before


def _write(path: Path, content: bytes) -> None:
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return the exit code."""
    environment.use_utf8()
    parser = environment.parser(__doc__)
    parser.add_argument("zip", type=Path, help="the new zip, or the folder from it")
    parser.add_argument("--show", action="store_true", help="only show what would change")
    parser.add_argument(
        "--folder", type=Path, default=grading.ROOT, help="the copy (default: this)"
    )
    options = parser.parse_args(arguments)
    root = options.folder.resolve()
    try:
        environment.finish_update(str(root))
        old = describe(lambda name: (root / name).read_bytes(), str(root))
        files = given_files(options.zip)
        new = describe(files.__getitem__, str(options.zip))
        refuse_others(old, new)
        plan = plan_update(root, files, old, new)
        print("\n".join(plan.shown) or f"Nothing to update: this copy is {new}.")
        if plan.files and not options.show:
            before = apply(plan, new)
            print(f"Updated to {new}, see CHANGES.md; {before} has what was replaced.")
    except (GradingError, OSError, KeyboardInterrupt) as error:
        begun = (root / environment.UPDATE / environment.JOURNAL).exists()
        rest = "the same command does the rest" if begun else "nothing was changed"
        print(f"update.py: {environment.reason(error)}; {rest}", file=sys.stderr)
        return 130 if isinstance(error, KeyboardInterrupt) else 2
    print("".join(f"To do: {line}\n" for line in plan.todo), end="")
    return 1 if plan.todo else 0


if __name__ == "__main__":
    sys.exit(main())
