"""Reads a TOML file into frozen dataclasses, whose annotations define its schema.

    course = read(Path("course.toml"), Course)

A field is a key, a dataclass is a table, and a field with a default is optional. A dataclass whose
fields have to fit together raises a ValueError in its `__post_init__`. `Annotated[int, Rule(...)]`
requires more than a type. In a table of tables, `dict[str, Recipe]`, the field `name` of an entry
is the name of its table. Every mistake is a UsageError of one line: file, table, key, and for an
unknown name the nearest known one.

This is hand-written because msgspec's messages omit the names of tables (`$.recipes[...].pretrain`)
and mention `int` and `str`, and students would need it to pack their work.
"""

from __future__ import annotations

import dataclasses
import datetime
import difflib
import math
import re
import tomllib
import types
from collections.abc import Callable, Collection
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    TypeGuard,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from .errors import UsageError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
# The accepted types for each kind of value, and its name in a message.
KINDS: dict[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    bool: ((bool,), "true or false"),
    int: ((int,), "an integer"),
    float: ((int, float), "a number"),
    Decimal: ((int, float), "a number"),
    datetime.date: ((datetime.date,), "a date"),
    datetime.datetime: ((datetime.datetime,), "a date with a time"),
}
SHOWN = 60  # characters of a wrong value
NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class Rule:
    """A requirement on a value besides its kind.

    Attributes:
        words: the end of the sentence `KEY = VALUE should be ...`.
        holds: whether a value of the right kind meets the requirement.
    """

    words: str
    holds: Callable[[Any], bool]


@dataclass(frozen=True)
class Choice:
    """The allowed texts of a value."""

    texts: tuple[str, ...]


Positive = Annotated[float, Rule("above 0", lambda value: value > 0)]
NotNegative = Annotated[float, Rule("0 or more", lambda value: value >= 0)]
Share = Annotated[float, Rule("between 0 and 1", lambda value: 0 < value < 1)]
Count = Annotated[int, Rule("1 or more", lambda value: value >= 1)]
NaturalNumber = Annotated[int, Rule("0 or more", lambda value: value >= 0)]


@dataclass(frozen=True)
class Where:
    """A table's place in a file, for messages."""

    file: str
    table: str = ""  # "recipes.laptop"
    item: str = ""  # ", question 1e": of an array in the table

    def __str__(self) -> str:
        return f"{self.file}: [{self.table}]{self.item}" if self.table else self.file

    def of(self, key: str) -> Where:
        """Return the place of a table in this one."""
        return dataclasses.replace(self, table=f"{self.table}.{key}".lstrip("."))

    def fault(self, what: str) -> UsageError:
        """Return an exception that names the place."""
        return UsageError(f"{self}: {what}")

    def check(self, key: str, name: str, known: Collection[str], what: str) -> None:
        """Refuse a reference to something that does not exist.

        Args:
            key: the key whose value the name is; "" if the name is itself a key.
            what: the kind of thing that it should name, such as "part" or "topic".

        Raises:
            UsageError: `name` is not among the known ones.
        """
        if name not in known:
            named = f"{key} = {name!r}" if key else repr(name)
            raise self.fault(f"{named}: there is no such {what}{nearest(name, known)}")


def nearest(name: str, known: Collection[str]) -> str:
    """Return the end of a sentence about an unknown name: the nearest known one, or all."""
    close = difflib.get_close_matches(name, known, 1, 0.5)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are: {', '.join(known)}" if known else "; there are none"


def read(path: Path, kind: type[T]) -> T:
    """Read a file.

    Raises:
        UsageError: it is missing, is not TOML, or something in it does not fit `kind`.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"{path} is missing") from None
    except OSError as error:
        raise UsageError(f"{path} can't be read: {error.strerror}") from None
    except (
        ValueError,
        RecursionError,
    ) as error:  # such as a number of 5,000 digits, or deeply nested brackets
        raise UsageError(f"{path.name} is not valid TOML: {error}") from None
    return table(kind, raw, Where(path.name))


def table(kind: type[T], raw: dict[str, Any], where: Where, name: str | None = None) -> T:
    """Read a table as the dataclass `kind`.

    Args:
        name: the name of an entry in a table of tables, for its field `name`.

    Raises:
        UsageError: a key is unknown or missing, or a value is wrong.
    """
    hints = _hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind) if not (name and f.name == "name")}
    for key in raw:
        if key not in fields:
            raise where.fault(f"unknown key {key!r}{nearest(key, fields)}")
    values = {} if name is None or "name" not in hints else {"name": name}
    for key, field in fields.items():
        if key in raw:
            values[key] = _value(hints[key], raw[key], where, key)
        elif field.default is field.default_factory is dataclasses.MISSING:
            raise where.fault(f"{key!r} is missing")
    try:
        return kind(**values)
    except ValueError as error:  # from __post_init__: the fields don't fit together
        raise where.fault(str(error)) from None


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _value(kind: Any, raw: Any, where: Where, key: str) -> Any:
    """Read a value of a table according to its annotation."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return raw
    if origin is Annotated:
        return _ruled(arguments[0], arguments[1], raw, where, key)
    if origin in (Union, types.UnionType):
        # X | None: TOML has no null, so an omitted key is None. X | tuple[X, ...]: one, or a list.
        several = [a for a in arguments if get_origin(a) is tuple and type(raw) is list]
        return _value((several or arguments)[0], raw, where, key)
    if origin is tuple:
        return _tuple(arguments, raw, where, key)
    if origin is dict or _is_table(kind):
        if type(raw) is not dict:
            raise _wrong(where, key, raw, "a table")
        within = where.of(key)
        if origin is not dict:
            return table(kind, raw, within)
        return {name: _entry(arguments[1], entry, within, name) for name, entry in raw.items()}
    accepted, words = KINDS[kind]
    if type(raw) not in accepted or (type(raw) is float and not math.isfinite(raw)):
        raise _wrong(where, key, raw, words)
    if kind is str and not (raw.strip() and raw.isprintable()):
        raise _wrong(where, key, raw, "a text in one line, not blank")
    return Decimal(str(raw)) if kind is Decimal else kind(raw) if kind is float else raw


def _ruled(kind: Any, rule: Rule | Choice, raw: Any, where: Where, key: str) -> Any:
    value = _value(kind, raw, where, key)
    if isinstance(rule, Choice):
        if value not in rule.texts:
            words = f"one of {', '.join(rule.texts)}"
            close = difflib.get_close_matches(value, rule.texts, 1, 0.5)
            hint = f"; did you mean {close[0]!r}?" if close else ""
            raise where.fault(f"{key} = {_shown(raw)} should be {words}{hint}")
    elif not rule.holds(value):
        raise _wrong(where, key, raw, rule.words)
    return value


def _entry(kind: Any, raw: Any, where: Where, name: str) -> Any:
    """Read an entry of a table of tables, or of values; its name becomes part of files' names."""
    if not NAME.fullmatch(name):
        raise where.fault(f"the name {_shown(name)} should consist of letters, digits, _ and -")
    if _is_table(kind) and type(raw) is dict:
        return table(kind, raw, where.of(name), name)
    return _value(kind, raw, where, name)


def _tuple(kinds: tuple[Any, ...], raw: Any, where: Where, key: str) -> tuple[Any, ...]:
    if type(raw) is not list:
        raise _wrong(where, key, raw, "a list")
    if kinds[1:] != (...,):  # a fixed number of entries
        if len(raw) != len(kinds):
            raise _wrong(where, key, raw, f"a list of {len(kinds)}")
        return tuple(_value(k, entry, where, key) for k, entry in zip(kinds, raw, strict=True))
    kind = kinds[0]
    if not _is_table(kind):
        values = tuple(_value(kind, entry, where, key) for entry in raw)
        texts = [value for value in values if isinstance(value, str)]
        for text in texts:
            if texts.count(text) > 1:
                raise where.fault(f"{key} has {text!r} twice")
        return values
    found = []
    for index, entry in enumerate(raw, start=1):
        if type(entry) is not dict:
            raise _wrong(where, key, entry, "a table")
        label = entry.get("number", index)
        item = f", {key.removesuffix('s')} {label}"
        found.append(table(kind, entry, dataclasses.replace(where, item=item)))
    return tuple(found)


def _is_table(kind: Any) -> TypeGuard[type[DataclassInstance]]:
    """Return whether an annotation is a dataclass, whose values are tables."""
    return isinstance(kind, type) and dataclasses.is_dataclass(kind)


def _wrong(where: Where, key: str, raw: Any, words: str) -> UsageError:
    return where.fault(f"{key} = {_shown(raw)} should be {words}")


def _shown(raw: Any) -> str:
    """Format a value roughly as in TOML."""
    if isinstance(raw, dict):
        return "{...}"
    if isinstance(raw, bool):
        return str(raw).lower()
    if isinstance(raw, list):
        return f"[{', '.join(map(_shown, raw))}]"
    text = raw.isoformat() if isinstance(raw, datetime.date | datetime.time) else repr(raw)
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
