"""Reads Gradescope's submission_metadata.yml one submission at a time.

The file is written by a Ruby program: its keys are symbols, such as `:submitters`. Because it
contains all results of all attempts, it may have hundreds of megabytes, and the objects that PyYAML
would make from it take twenty times as much memory. We read the parser's events instead, each of
which contains at most one text. Tags are ignored: all values are texts.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from datetime import datetime
from typing import IO, TypeAlias
from zipfile import BadZipFile

import yaml

from grading.errors import UsageError

Node: TypeAlias = "str | None | list[Node] | dict[str, Node]"
SKIPPED = (":results",)  # the autograder's output, which is nearly all of the file
MAX_DEPTH = 6  # in a submission; the texts in :history are at depth 3
MAX_TEXT = 1_000  # how many characters of a text are kept
MAX_RESULT = 4 << 20  # the same in results: the end of the staff output is needed
MAX_ANCHORS = 200_000
NULL = ("", "~", "null", "Null", "NULL")
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version is twenty times as fast


def entries(stream: IO[bytes], name: str, results: bool = False) -> Iterator[tuple[str, Node, int]]:
    """Yield each entry of the file: its key, its value without `SKIPPED`, and its line.

    Texts are as in the file, including leading zeros; nulls are None.

    Args:
        name: the file's name in messages.
        results: whether to include the results of each active attempt.

    Raises:
        UsageError: if the file isn't YAML, or isn't a table.
    """
    events = yaml.parse(stream, Loader=LOADER)
    try:
        yield from _Reader(events, results).entries()
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or error
        raise UsageError(
            f"{name}{line}: not valid YAML: {problem!s:.200}; was the download complete?"
        ) from None
    except _Malformed as error:
        raise UsageError(f"{name}{error}") from None
    except (OSError, EOFError, BadZipFile, zlib.error) as error:
        raise UsageError(
            f"{name} can't be read: {error!s:.200}; download the export again"
        ) from None


def moment(text: str) -> datetime:
    """Read a time as Ruby writes it: `2026-11-02 14:22:32.365935000 -08:00`, `... Z`, `... UTC`.

    Raises:
        ValueError: if it isn't a time.
    """
    text = re.sub(r"\s*(?:UTC|Z)$", "+00:00", text.strip())
    return datetime.fromisoformat(re.sub(r"\s+(?=[+-]\d\d:?\d\d$)", "", text))


class _Malformed(Exception):
    """The file is YAML, but not what Gradescope writes; `str()` follows the file's name."""


class _Reader:
    """Builds values from events, only as deep and as long as needed."""

    def __init__(self, events: Iterator[yaml.Event], results: bool) -> None:
        self._events, self._results = events, results
        self._most = MAX_TEXT
        # If an object occurs twice, Ruby writes it once, and then refers to it.
        self._anchors: dict[str, Node] = {}

    def entries(self) -> Iterator[tuple[str, Node, int]]:
        for event in self._events:
            if isinstance(event, yaml.MappingStartEvent):
                break
            if isinstance(event, (yaml.ScalarEvent, yaml.SequenceStartEvent)):
                raise _Malformed(f":{_line(event)}: expected `submission_1234:`")
        else:
            raise _Malformed(": it is empty; was the download complete?")
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                return
            key = self._value(event, 1)
            if not isinstance(key, str):
                raise _Malformed(f":{_line(event)}: expected `submission_1234:`")
            yield key, self._value(next(self._events), 1), _line(event)

    def _value(self, event: yaml.Event, depth: int) -> Node:
        """Build the value that begins with this event; skip it if deeper than `MAX_DEPTH`."""
        found: Node = None
        if isinstance(event, yaml.AliasEvent):
            return self._anchors.get(event.anchor or "")
        if isinstance(event, yaml.ScalarEvent):
            is_null = event.implicit[0] and event.value in NULL
            found = None if is_null else event.value[: self._most]
        elif depth > MAX_DEPTH:
            self._skip(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            found = self._list(depth)
        elif isinstance(event, yaml.MappingStartEvent):
            found = self._table(depth)
        if isinstance(event, yaml.NodeEvent):
            self._remember(event, found)
        return found

    def _list(self, depth: int) -> Node:
        found: list[Node] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            found.append(self._value(event, depth + 1))
        return found

    def _table(self, depth: int) -> Node:
        found: dict[str, Node] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._value(event, depth + 1)
            if key in SKIPPED and self._results and depth == 1:
                self._most = MAX_RESULT
                found[key] = self._value(next(self._events), depth + 1)
                self._most = MAX_TEXT
            elif key in SKIPPED:
                self._skip(next(self._events))
            elif isinstance(key, str):
                found[key] = self._value(next(self._events), depth + 1)
            else:
                self._value(next(self._events), depth + 1)
        return found

    def _skip(self, event: yaml.Event) -> None:
        """Skip the value that begins with this event; keep short texts with anchors."""
        depth = 0
        while True:
            if isinstance(event, yaml.CollectionStartEvent):
                depth += 1
            elif isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.ScalarEvent):
                self._remember(event, event.value[:MAX_TEXT])
            if depth == 0:
                return
            event = next(self._events)

    def _remember(self, event: yaml.NodeEvent, found: Node) -> None:
        if event.anchor is None:
            return
        if len(self._anchors) >= MAX_ANCHORS:
            raise _Malformed(f":{_line(event)}: more than {MAX_ANCHORS} anchors")
        self._anchors[event.anchor] = found


def _line(event: yaml.Event) -> int:
    """Return the line on which an event begins, which the parser always marks."""
    return event.start_mark.line + 1 if event.start_mark else 0
