"""What a job leaves behind in its worker: most of it is undone, anything else ends the worker.

A worker of the `LocalPool` runs job after job, so that torch is imported once. Each job has to find
it as the first one did. Code that deliberately hides what it changes is not what this is for:
nothing that counts is decided in a worker that ran another test (see `runner.Run`).
"""

from __future__ import annotations

import _thread
import atexit
import contextlib
import gc
import operator
import os
import signal
import sys
import tempfile
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from . import importing

MORE_MEMORY_BYTES = 200 << 20
OPEN_FILES = 256  # as many descriptors are looked at
MUTABLE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: Python's own classes can't be changed
# Modules of which every attribute counts. Of others, only functions and classes do.
STRICT = ("builtins", "sys", "random", "numpy", "torch", "torch.nn", "torch.nn.functional")
FIXED = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
CACHED = ("__slotnames__", "__annotations__", "__abstractmethods__")  # in classes, by Python itself


class Traces:
    """Remembers what a worker was like before its first job."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # from now on, only what jobs make is looked through
        self._modules: dict[str, types.ModuleType] = {}
        self._attributes: list[tuple[Any, dict[str, Any]]] = []  # of modules and classes
        self._functions: list[tuple[types.FunctionType, Any, Any]] = []  # with code and defaults
        self._restored = [(*setting, setting[0]()) for setting in _restored()]
        self._state, self._memory = _state(), resident_bytes()
        self._learn()

    def erase(self, root: Path) -> str:
        """Undo what the last job changed; name what can't be undone, or return "".

        Args:
            root: the staged submission, whose modules are forgotten.
        """
        forget(root)
        ours = (importing.Finder, importing.BareNames)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ours)]
        tempfile.tempdir = None
        gc.collect()
        for get, restore, before in self._restored:
            if get() != before:
                restore(before)
        changed = "; ".join(self._changes())
        if not changed:
            self._learn()
        return changed

    def _learn(self) -> None:
        """Watch the modules that were imported since the last time, and their classes."""
        for name, module in list(sys.modules.items()):
            if name in self._modules or not isinstance(module, types.ModuleType):
                continue
            self._modules[name] = module
            classes = [v for v in list(vars(module).values()) if isinstance(v, type)]
            for owner in (module, *(c for c in classes if c.__flags__ & MUTABLE)):
                content = dict(vars(owner))
                self._attributes.append((owner, content))
                functions = [v for v in content.values() if isinstance(v, types.FunctionType)]
                self._functions += [(f, f.__code__, f.__defaults__) for f in functions]

    def _changes(self) -> Iterator[str]:
        now = _state()
        yield from (name for name, before in self._state.items() if now[name] != before)
        if resident_bytes() - self._memory > MORE_MEMORY_BYTES:
            yield "memory"
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                yield f"the module {name}"
        for owner, before in self._attributes:
            after = vars(owner)
            if len(after) != len(before) or not all(
                map(operator.is_, after.values(), before.values())
            ):
                yield from _changed_attributes(owner, before)
        for function, code, defaults in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                yield f"the function {function.__qualname__}"


def _changed_attributes(owner: Any, before: dict[str, Any]) -> Iterator[str]:
    after, all_count = vars(owner), isinstance(owner, type) or owner.__name__ in STRICT
    for name in after.keys() | before.keys():
        value = before.get(name, after.get(name))
        imported = name not in before and isinstance(value, types.ModuleType)
        is_same = name in before and after.get(name) is value
        if is_same or imported or name in CACHED:
            continue
        if all_count or isinstance(value, FIXED):
            yield f"{owner.__name__}.{name}"


def _restored() -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    """List what is restored after each job: how it is read, and how it is set."""
    settings: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
        (lambda: dict(os.environ), _restore_environment),
        (lambda: list(sys.path), lambda before: sys.path.__setitem__(slice(None), before)),
        (lambda: list(warnings.filters), _restore_warnings),
        (sys.getrecursionlimit, sys.setrecursionlimit),
        (_umask, os.umask),
    ]
    if torch := sys.modules.get("torch"):
        tiny = torch.tensor(5e-324, dtype=torch.float64)
        settings += [
            (torch.get_default_dtype, torch.set_default_dtype),
            (torch.is_grad_enabled, torch.set_grad_enabled),
            (torch.get_num_threads, torch.set_num_threads),
            (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
            (lambda: (tiny * 1).item() > 0, lambda kept: torch.set_flush_denormal(not kept)),
        ]
    return settings


def _state() -> dict[str, Any]:
    """Return what can't be restored, and may not differ after a job, by its name."""
    state: dict[str, Any] = {
        "an import hook": [*map(id, (*sys.meta_path, *sys.path_hooks))],
        "a trace": (sys.gettrace(), sys.getprofile(), threading.gettrace()),
        "a stream": [stream.closed for stream in (sys.stdin, sys.stdout, sys.stderr)],
        "garbage collection": (gc.isenabled(), len(gc.callbacks)),
        "a thread": _thread._count(),
        "a child process": _has_children(),
        "a signal's handler": [*map(signal.getsignal, sorted(signal.valid_signals()))],
        "an alarm": hasattr(signal, "setitimer") and signal.getitimer(signal.ITIMER_REAL),
        "a function at exit": atexit._ncallbacks(),
        "an open file": _open_files(),
    }
    if torch := sys.modules.get("torch"):
        names = vars(torch.nn.modules.module).items()
        state |= {
            "a mode of torch": torch.overrides._get_current_function_mode_stack(),
            "inference": (torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")),
            "algorithms": torch.are_deterministic_algorithms_enabled(),
            "hooks": [(name, repr(value)) for name, value in names if name.startswith("_global")],
        }
    return state


def _restore_environment(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)


def _restore_warnings(before: list[Any]) -> None:
    warnings.resetwarnings()  # which also makes those be shown again that were shown once
    warnings.filters[:] = before  # type: ignore[index]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _has_children() -> bool:
    try:
        return bool(os.waitpid(-1, os.WNOHANG))
    except (ChildProcessError, AttributeError):  # the latter on Windows
        return False


def _open_files() -> dict[int, tuple[int, int]]:
    found = {}
    for fd in range(OPEN_FILES):
        with contextlib.suppress(OSError):
            status = os.fstat(fd)
            found[fd] = status.st_dev, status.st_ino
    return found


def resident_bytes() -> int:
    """Return this process's memory; outside Linux, the most that it ever had; on Windows 0."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource
    except ImportError:
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # in bytes on macOS


def forget(root: Path) -> None:
    """Forget a submission's modules, also under other names: the next job imports its own."""
    packages = {path.name for path in root.iterdir() if path.is_dir()}
    inside = f"{root}{os.sep}"
    for name, module in list(sys.modules.items()):
        names = (name, str(getattr(module, "__name__", name)))
        file = str(getattr(module, "__file__", ""))
        if file.startswith(inside) or any(n.partition(".")[0] in packages for n in names):
            sys.modules.pop(name, None)
