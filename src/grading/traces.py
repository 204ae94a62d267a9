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

from . import bare_names, importing

MORE_MEMORY_BYTES = 200 << 20
OPEN_FILES = 256  # as many descriptors are looked at
MUTABLE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: Python's own classes can't be changed
# Modules of which every attribute counts. Of others, only functions and classes do.
STRICT = ("builtins", "sys", "random", "numpy", "torch", "torch.nn", "torch.nn.functional")
FIXED = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
CACHED = ("__slotnames__", "__annotations__", "__abstractmethods__")  # in classes, by Python itself

Setting = tuple[str, Callable[[], Any], Callable[[Any], Any] | None]


class Traces:
    """Remembers what a worker was like before its first job."""

    def __init__(self) -> None:
        gc.collect()
        gc.freeze()  # from now on, only what jobs make is looked through
        self._modules: dict[str, Any] = {}
        self._attributes: list[tuple[Any, dict[str, Any]]] = []
        self._functions: list[tuple[Any, Any, Any]] = []
        self._settings = [(*setting, setting[1]()) for setting in _settings()]
        self._memory = resident_bytes()
        self._learn()

    def erase(self, root: Path) -> str:
        """Undo what the last job changed; return what can't be undone, or "".

        Args:
            root: the staged submission, whose modules are forgotten.
        """
        forget(root)
        ours = (importing.Finder, bare_names.Finder)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ours)]
        tempfile.tempdir = None
        gc.collect()
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
                found = [v for v in content.values() if isinstance(v, types.FunctionType)]
                self._functions += [(f, f.__code__, f.__defaults__) for f in found]

    def _changes(self) -> Iterator[str]:
        for name, get, restore, before in self._settings:
            now = get()
            if now != before and restore is not None:
                restore(before)
                now = get()
            if now != before:
                yield name
        if resident_bytes() - self._memory > MORE_MEMORY_BYTES:
            yield "memory"
        for name, module in self._modules.items():
            if sys.modules.get(name) is not module:
                yield f"the module {name}"
        for owner, before in self._attributes:
            if len(vars(owner)) != len(before) or not _is_same(vars(owner), before):
                yield from _changed_attributes(owner, before)
        for function, code, defaults in self._functions:
            if function.__code__ is not code or function.__defaults__ is not defaults:
                yield f"the function {function.__qualname__}"


def _is_same(now: Any, before: dict[str, Any]) -> bool:
    return all(map(operator.is_, now.values(), before.values()))


def _changed_attributes(owner: Any, before: dict[str, Any]) -> Iterator[str]:
    now, is_class = vars(owner), isinstance(owner, type)
    all_count = is_class or owner.__name__ in STRICT
    for name in now.keys() - before.keys():
        value = now[name]
        if isinstance(value, types.ModuleType) or name in CACHED:  # imported later
            continue
        if all_count or isinstance(value, FIXED):
            yield f"{owner.__name__}.{name}"
    for name, value in before.items():
        if now.get(name) is not value and name not in CACHED:
            if all_count or isinstance(value, FIXED):
                yield f"{owner.__name__}.{name}"


def _settings() -> list[Setting]:
    """List what is compared after each job, with what restores it, where anything does."""
    found: list[Setting] = [
        ("the environment", lambda: dict(os.environ), _restore_environment),
        ("the recursion limit", sys.getrecursionlimit, sys.setrecursionlimit),
        ("the umask", _umask, os.umask),
        ("sys.path", lambda: list(sys.path), _restore_path),
        ("warnings", lambda: list(warnings.filters), _restore_warnings),
        ("the switch interval", sys.getswitchinterval, sys.setswitchinterval),
        ("an import hook", lambda: [*map(id, (*sys.meta_path, *sys.path_hooks))], None),
        ("a trace", lambda: (sys.gettrace(), sys.getprofile(), threading.gettrace()), None),
        ("a thread", _thread._count, None),
        ("a child process", _has_children, None),
        ("a signal's handler", _handlers, None),
        ("a function at exit", atexit._ncallbacks, None),
        ("an open file", _open_files, None),
        ("a limit of the process", _process_limits, None),
        (
            "garbage collection",
            lambda: (gc.isenabled(), gc.get_threshold(), len(gc.callbacks)),
            None,
        ),
    ]
    return found + (_settings_of_torch() if "torch" in sys.modules else [])


def _settings_of_torch() -> list[Setting]:
    import torch
    from torch.nn.modules import module as hooks
    from torch.overrides import _get_current_function_mode_stack as modes

    def deterministic(on: bool) -> None:
        torch.use_deterministic_algorithms(on)

    globals_of_hooks = [value for name, value in vars(hooks).items() if name.startswith("_global_")]
    smallest = torch.tensor(5e-324, dtype=torch.float64)
    return [
        ("torch's default dtype", torch.get_default_dtype, torch.set_default_dtype),
        ("torch's gradients", torch.is_grad_enabled, torch.set_grad_enabled),
        ("torch's threads", torch.get_num_threads, torch.set_num_threads),
        ("torch's algorithms", torch.are_deterministic_algorithms_enabled, deterministic),
        ("anomaly detection", torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
        (
            "torch's precision",
            torch.get_float32_matmul_precision,
            torch.set_float32_matmul_precision,
        ),
        (
            "torch's tiny numbers",
            lambda: (smallest * 1).item() > 0,
            lambda on: torch.set_flush_denormal(not on),
        ),
        (
            "torch's modes",
            lambda: (
                len(modes()),
                torch.is_inference_mode_enabled(),
                torch.is_autocast_enabled("cpu"),
            ),
            None,
        ),
        (
            "a hook of all modules",
            lambda: [len(h) for h in globals_of_hooks if isinstance(h, dict)],
            None,
        ),
    ]


def _restore_environment(before: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(before)


def _restore_path(before: list[str]) -> None:
    sys.path[:] = before


def _restore_warnings(before: list[Any]) -> None:
    warnings.resetwarnings()  # which also makes those be shown again that were shown once
    warnings.filters[:] = before  # type: ignore[index]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _has_children() -> bool:
    if not hasattr(os, "WNOHANG"):  # Windows
        return False
    try:
        os.waitpid(-1, os.WNOHANG)
        return True
    except ChildProcessError:
        return False


def _handlers() -> list[Any]:
    timers = [getattr(signal, f"ITIMER_{name}", None) for name in ("REAL", "VIRTUAL", "PROF")]
    running = [signal.getitimer(timer) for timer in timers if timer is not None]
    return [*map(signal.getsignal, sorted(signal.valid_signals())), running]


def _open_files() -> dict[int, tuple[int, int]]:
    found = {}
    for fd in range(OPEN_FILES):
        with contextlib.suppress(OSError):
            status = os.fstat(fd)
            found[fd] = status.st_dev, status.st_ino
    return found


def _process_limits() -> list[Any]:
    try:
        import resource
    except ImportError:  # Windows
        return []
    kinds = [value for name, value in vars(resource).items() if name.startswith("RLIMIT_")]
    return [resource.getrlimit(kind) for kind in kinds]


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
