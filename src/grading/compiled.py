"""Compiles the modules that the grader adds to each submission, once for all of its workers.

A submission's own modules are compiled in the worker that imports them: source can be written so
that compiling it takes gigabytes or crashes the interpreter.
"""

from __future__ import annotations

import functools
import importlib.util
import marshal
from pathlib import Path

BY_HASH = (0b11).to_bytes(4, "little")  # Python uses it only for source with the same hash


def put_beside(copy: Path, original: Path) -> None:
    """Put bytecode where Python looks for it when it imports `copy`.

    It contains the original's name, which Python replaces by that of the copy.

    Args:
        original: a module of ours with the same content.
    """
    status = original.stat()
    try:
        bytecode = _bytecode(original, status.st_mtime_ns, status.st_size)
    except SyntaxError:
        return  # each worker finds it again, and each test reports it
    target = Path(importlib.util.cache_from_source(str(copy)))
    target.parent.mkdir(exist_ok=True)
    target.parent.chmod(0o755)  # for every uid, whatever the umask
    target.write_bytes(bytecode)
    target.chmod(0o644)


@functools.lru_cache(maxsize=100)  # hosts add the same modules to each submission
def _bytecode(original: Path, _modified: int, _size: int) -> bytes:
    source = original.read_bytes()
    code = compile(source, str(original), "exec", dont_inherit=True)
    header = importlib.util.MAGIC_NUMBER + BY_HASH + importlib.util.source_hash(source)
    return header + marshal.dumps(code)
