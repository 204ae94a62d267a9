"""Follows a document of docs/ in a copy of the project: its commands, and the edits it asks for.

A command is a line of a block marked `sh`, where `#` starts a comment; one that begins with "fails"
announces that. An edit is in a block marked `diff`, below a line `@@ FILE @@`: lines with `-` are
removed, lines with `+` are added.
"""

import re
import shlex
import subprocess
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from tests.interpreter import captured, python
from tests.project import git, make

BLOCK = re.compile(r"^ *```(sh|diff)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def commands_of(text: str) -> list[str]:
    """Return the commands of a Markdown text, without their comments."""
    return [bare(command) for command in steps(text) if isinstance(command, str)]


def bare(command: str) -> str:
    """Return a command without its comment."""
    return re.sub(r"(^|\s)#.*", "", command).strip()


def steps(text: str) -> Iterator[str | tuple[str, str, str]]:
    """Return the commands and the edits (file, before, after) of a Markdown text, in order."""
    for kind, block in BLOCK.findall(text):
        if kind == "sh":
            yield from (line.strip() for line in block.splitlines() if bare(line))
        else:
            _, *parts = re.split(r"^@@ (\S+) @@\n", block, flags=re.MULTILINE)
            for file, body in zip(parts[::2], parts[1::2], strict=True):
                yield file, _side(body, "+"), _side(body, "-")


def _side(body: str, without: str) -> str:
    lines = body.splitlines(keepends=True)
    return "".join(line[1:] for line in lines if not line.startswith(without))


def edit(tree: Path, file: str, before: str, after: str) -> None:
    """Make an edit; the removed lines must occur exactly once. Without any, the file is new."""
    if not before:
        assert not (tree / file).exists(), file
        (tree / file).write_text(after, encoding="utf-8", newline="\n")
        return
    text = (tree / file).read_text(encoding="utf-8")
    assert text.count(before) == 1, f"{file} holds {text.count(before)} times:\n{before}"
    (tree / file).write_text(text.replace(before, after), encoding="utf-8", newline="\n")


def run(tree: Path, command: str) -> subprocess.CompletedProcess:
    """Run a command of a document in the copy, with this environment's Python."""
    program, *words = shlex.split(command)
    if program == "git":
        return git(tree, *words, check=False)
    if program == "perl":
        return captured([program, *words], tree)
    return {"make": make, "python": python}[program](tree, *words)


def follow(
    tree: Path,
    document: str,
    but: Collection[str] = (),
    run: Callable[[Path, str], subprocess.CompletedProcess] = run,
) -> list[tuple[str, str]]:
    """Follow a document in the copy, `but` for some commands; return what each one printed.

    Each has to end as the document says. Commands are run by `run`.
    """
    printed = []
    for step in steps(document):
        if not isinstance(step, str):
            edit(tree, *step)
        elif (command := bare(step)) not in but:
            answer = run(tree, command)
            said = answer.stdout + answer.stderr
            assert (answer.returncode != 0) == bool(re.search(r"\s# fails", step)), (command, said)
            assert "Traceback" not in said, (command, said)
            printed.append((command, said))
    return printed
