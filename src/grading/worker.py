"""A worker: imports one `submission` package, runs one probe, answers with one frame.

Student code runs only here. A worker knows no answers and decides no scores: it sends an envelope
of plain data, and the parent trusts none of it unchecked.

    {"ok": true, "value": ...}    or    {"ok": false, "error": {"type": ..., "where": ..., ...}}
"""

from __future__ import annotations

import _thread
import builtins
import contextvars
import errno
import faulthandler
import gc
import importlib
import io
import operator
import os
import pkgutil
import random
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import BuiltinFunctionType, FrameType, FunctionType, ModuleType
from typing import Any

import grading
import host

from . import wire
from .errors import UTF16, WireError, saved_as_utf16

PACKAGE = "submission"
MEMORY_BYTES = 2 << 30
IMPORT_S = 20.0  # torch, imported on a slow computer, needs three
WALL_FACTOR = 6  # a default Gradescope container has half a CPU, and may be busy
REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS)
READY = b"R"  # our setup is done and the clock starts: failures from here on are the student's
LIKE_NEW, CHANGED = b"=", b"x"  # whether the next job finds this worker as the first one did
FONTS = ".matplotlib"  # in the scratch folder: what matplotlib keeps, such as its list of fonts
MAX_OUTPUT_BYTES = 64 << 10  # of a job's prints
MAX_MESSAGE = 2_000  # characters of an exception's text
MAX_TRACEBACK = 8_000
SINCE = (3, 12)  # the Python that refuses a range with a float
WARNING = "non-integer arguments to randrange"  # of an older one
TICK_S = 0.05
LATER_S = 1.0  # than the watchdog's thread, which can say more
NAME_FROM = re.compile(r"cannot import name '(\w+)' from ")
MORE_MEMORY_BYTES = 200 << 20
OPEN_FILES = 256  # as many descriptors are looked at
MUTABLE = 1 << 9  # Py_TPFLAGS_HEAPTYPE: Python's own classes can't be changed
# Modules of which every attribute counts. Of others, only functions and classes do.
STRICT = ("builtins", "sys", "random", "numpy", "torch", "torch.nn", "torch.nn.functional")
# Torch has a thousand modules; code of students uses the others.
INTERNAL = re.compile(
    r"torch\.(_|(ao|compiler|distributed|distributions|export|fx|jit|onnx|package|utils\.(?!data\b))\b)"
    r"|torchgen\b"
)
FIXED = (FunctionType, BuiltinFunctionType, ModuleType, type)
# Attributes that change by themselves: of classes, and what torch.compile replaces in torch.
CACHED = {"__slotnames__", "__annotations__", "__abstractmethods__", "manual_seed"}
Setting = tuple[Callable[[], Any], Callable[[Any], Any] | None]


@dataclass(frozen=True)
class Limits:
    """What a test may use.

    The limits of CPU and wall time count from when the worker has imported its libraries, and not
    while it imports the submission. Wall time is a backstop for code that sleeps or waits.
    """

    cpu_s: float
    wall_s: float
    import_s: float  # CPU seconds of imports of the submission
    import_wall_s: float
    total_wall_s: float  # with imports; less than the two together if the run is nearly over
    memory_bytes: int  # resident, of all the test's processes together, without libraries
    address_space_bytes: int = 8 << 30  # torch reserves far more than it touches
    file_bytes: int = 256 << 20
    open_files: int = 256
    stack_bytes: int = 64 << 20
    processes: int = 64  # at a time, and orphans that have ended
    threads: int = 256  # of all of them; libraries of correct solutions start one or none
    # Of its scratch folder, which is removed after the test; this takes time, too (some
    # milliseconds per folder on slow file systems). A correct solution writes a few files.
    scratch_files: int = 1_000
    scratch_bytes: int = 512 << 20

    @classmethod
    def for_test(cls, cpu_s: float, left_s: float = float("inf")) -> Limits:
        """Return the limits of a test that may take `cpu_s`, in a run with `left_s` left."""

        def wall_s(cpu_s: float) -> float:
            return max(0.1, min(cpu_s * WALL_FACTOR, left_s))

        return cls(
            cpu_s=cpu_s,
            wall_s=wall_s(cpu_s),
            import_s=IMPORT_S,
            import_wall_s=wall_s(IMPORT_S),
            total_wall_s=wall_s(cpu_s + IMPORT_S),
            memory_bytes=MEMORY_BYTES,
        )


@dataclass(frozen=True)
class Context:
    """What a probe can use besides its arguments."""

    scratch: Path  # a folder of the test's own, empty but for FONTS: the current directory
    files: Path  # the staged submission, with the parameter files


def preload(with_torch: bool) -> None:
    """Import what every worker needs except its probe, including what libraries import late.

    Not what optimizers import: 800 modules, which take nearly as long as torch itself, and no probe
    trains. No tensor operation may use more than one thread here: a child of a process that has
    used two OpenMP threads hangs.
    """
    import numpy.random  # noqa: F401

    if with_torch:
        import torch

        torch.set_num_threads(1)
        stored = io.BytesIO()
        torch.save({"w": torch.zeros(1)}, stored)
        torch.load(io.BytesIO(stored.getvalue()), weights_only=True)


def prepare(request: dict[str, Any]) -> Callable[[], bytes]:
    """Prepare everything before the submission runs; any failure here is the grader's.

    Args:
        request: of a `pool.Job`.

    Returns:
        a function that runs the probe, and always returns a frame.
    """
    root = Path(request["submission"])
    code = Path(request.get("code", root))  # a checkout's own files, for a debugger
    probe, arguments = pkgutil.resolve_name(request["probe"]), request["args"]
    # Without our own folder: the package `submission` next to the grader is a different one.
    ours = (str(root), str(code), str(grading.SRC))
    sys.path[:] = [*dict.fromkeys((str(code), str(root))), *(p for p in sys.path if p not in ours)]
    sys.meta_path.insert(0, BareNames(code / PACKAGE))
    _seed(request["seed"], with_torch="torch" in sys.modules)
    context = Context(scratch=Path.cwd(), files=root)

    def answer() -> bytes:
        with noticing_float_ranges(code) as places:
            try:
                found = {"ok": True, "value": probe(context, **arguments)}
                return wire.encode(found | {"float_ranges": places[:1]})
            except BaseException as error:  # student code may raise anything at all
                return wire.encode({"ok": False, "error": describe(error, code)})

    return answer


def _seed(seed: int, with_torch: bool) -> None:
    """Seed the three random number generators that a student's code may use."""
    import numpy

    random.seed(seed)
    numpy.random.seed(seed % 2**32)
    if with_torch:
        import torch

        # On a build without accelerators, `torch.manual_seed` does the same, but it also notes the
        # present stack for a GPU's later use, which reads files and takes longer than many probes.
        if torch.accelerator.current_accelerator() is None:
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)


def describe(error: BaseException, root: Path) -> dict[str, str]:
    """Describe an exception as plain data, which `verdicts.of_report` puts into words.

    Returns:
        type: the exception's nearest built-in class.
        where: the innermost line in the student's own files, "submission/dataset.py:57".
        message, traceback: its texts.
        module, name: the module, and the name in it, that was not there.
        file: the path that was opened.
        refused: what confinement refused, "processes" or "files".
        debugger: "none" if a debugger could not stop, "left" if it did, and was left.
    """
    error, debugger = _with_its_file(error, root), ""
    if isinstance(error, NoDebugger) or type(error).__name__ == "BdbQuit":
        debugger = "none" if sys.breakpointhook is refuse_breakpoint else "left"
    lines = _read(error, traceback.format_exception, "(its traceback can't be read)")
    return {
        "type": _builtin_name(error),
        "where": _read(error, lambda error: _where(error, root)),
        "message": _read(error, _text, "(its text can't be read)")[:MAX_MESSAGE],
        "traceback": lines[-MAX_TRACEBACK:],
        "module": _read(error, lambda error: _lacking(error)[0])[:MAX_MESSAGE],
        "name": _read(error, lambda error: _lacking(error)[1])[:MAX_MESSAGE],
        "file": _read(error, _path)[:MAX_MESSAGE],
        "refused": _read(error, _refused),
        "debugger": debugger,
    }


def _read(error: BaseException, read: Callable[[Any], Any], unreadable: str = "") -> str:
    """Return what `read` finds in an exception, whose attributes may be hostile."""
    try:
        text = "".join(read(error))
    except BaseException:
        return unreadable
    # Halves of surrogate pairs can't be written to a file.
    return text.encode("utf-8", errors="backslashreplace").decode("utf-8")


def _lacking(error: BaseException) -> tuple[str, str]:
    """Return the module that was not found, or in which a name was not found, and that name."""
    if isinstance(error, ImportError):
        # Before Python 3.12, only the text has the name.
        match = NAME_FROM.match(_read(error, str))
        return error.name or "", getattr(error, "name_from", None) or (match[1] if match else "")
    if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
        return error.obj.__name__, error.name or ""
    return "", ""


def _refused(error: BaseException) -> str:
    """Return what confinement refused: "processes", also what several of them share, or "files"."""
    shares = any(
        f"{os.sep}multiprocessing{os.sep}" in frame.f_code.co_filename
        for frame, _ in traceback.walk_tb(error.__traceback__)
    )
    if isinstance(error, BlockingIOError) or (shares and isinstance(error, PermissionError)):
        return "processes"
    return "files" if isinstance(error, OSError) and error.errno in REFUSED else ""


def _with_its_file(error: BaseException, root: Path) -> BaseException:
    """Return a better error for a module in UTF-16: Python says neither the file nor the reason."""
    if isinstance(error, ValueError | SyntaxError) and "null bytes" in _read(error, _text):
        for path in saved_as_utf16(root / PACKAGE):
            named = SyntaxError(UTF16, (str(path), 1, None, None))
            return named.with_traceback(error.__traceback__)
    return error


def _text(error: BaseException) -> str:
    if not isinstance(error, SyntaxError):
        return str(error)
    line = (error.text or "").strip()
    return f"{error.msg}: {line}" if line else str(error.msg)


def _path(error: BaseException) -> str:
    return os.fsdecode(error.filename) if isinstance(error, OSError) else ""


def _builtin_name(error: BaseException) -> str:
    for kind in type(error).__mro__:
        if getattr(builtins, kind.__name__, None) is kind:
            return kind.__name__
    return "BaseException"


def _where(error: BaseException, root: Path) -> str:
    if isinstance(error, SyntaxError):
        return _inside(error.filename, error.lineno or 0, root) if error.filename else ""
    return ["", *_lines(traceback.walk_tb(error.__traceback__), root)][-1]


def _lines(frames: Iterable[tuple[FrameType, int]], root: Path) -> list[str]:
    """Return the lines of a stack that are the student's."""
    lines = (_inside(frame.f_code.co_filename, number, root) for frame, number in frames)
    return [*filter(None, lines)]


def _inside(filename: str, line: int, root: Path) -> str:
    """Return a line as "submission/dataset.py:57"; "" if it is not the student's."""
    try:
        relative = os.path.relpath(os.path.realpath(filename), os.path.realpath(root))
    except ValueError:  # another drive on Windows
        return ""
    is_inside = relative.startswith(PACKAGE + os.sep)
    return f"{relative.replace(os.sep, '/')}:{line}" if is_inside else ""


class NoDebugger(RuntimeError):
    """A debugger can't stop in a worker."""


def refuse_breakpoint(*_: Any, **__: Any) -> None:
    """Do this in place of breakpoint()."""
    raise NoDebugger("a debugger can't stop here, because nobody can type")


@contextmanager
def noticing_float_ranges(root: Path) -> Iterator[list[str]]:
    """Record the first line of a submission that draws from a range with a float.

    Up to Python 3.11, `random.randint(4, 112.0)` works, with a warning that nobody sees. From 3.12
    on, it raises a TypeError, so that the submission would fail where it is graded.
    """
    places: list[str] = []
    if sys.version_info >= SINCE:
        yield places
        return
    with warnings.catch_warnings():
        warnings.filterwarnings("default", WARNING, DeprecationWarning)
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if not (issubclass(category, DeprecationWarning) and WARNING in str(message)):
                before(message, category, *more)
            elif not places:
                places.extend(_lines(traceback.walk_stack(sys._getframe(1)), root)[:1])

        warnings.showwarning = show  # type: ignore[assignment]
        yield places


def float_range_advice(place: str, graded_with: str) -> str:
    """Return what a student should change; Gradescope runs the Python `graded_with`."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    return (
        f"{place}: randint or randrange gets a float here. Your Python, {here}, accepts it; "
        f"Gradescope runs Python {graded_with}, where it is a TypeError. Use integers: "
        "int(...), or // instead of /."
    )


# How a submission is imported ---------------------------------------------------------------------
# Public code imports the modules of `submission` by their bare names (`from utils import read_text`
# in submission/dataset.py). Such a name is looked for there last: no file of a student's hides the
# standard library, an installed library, or a package next to `submission`. Workers and students'
# commands find the same modules.


class BareNames:
    """Finds bare names that are not found elsewhere, and loads the package's modules for them."""

    def __init__(self, package: Path, ours: Iterable[str] = ()) -> None:
        # A module of the package hides what is next to it, where src/dataset.py is a command, but
        # none of `ours`.
        self._beside = os.path.realpath(package.parent)
        packages = {path.parent.name for path in package.parent.glob("*/__init__.py")}
        names = {path.stem for path in package.glob("*.py")}
        self._names = names - {"__init__", *packages, *ours, *sys.stdlib_module_names}

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self._names:
            return None
        elsewhere = [folder for folder in sys.path if os.path.realpath(folder) != self._beside]
        library = PathFinder.find_spec(name, elsewhere)
        if library is not None and library.loader is not None:  # not just a folder of this name
            return library
        return ModuleSpec(name, self)  # type: ignore[arg-type]  # it has what a loader needs

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make a module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        del sys.modules[name]  # if it is imported again meanwhile, it must not be this empty one
        sys.modules[name] = importlib.import_module(f"{PACKAGE}.{name}")


class Finder:
    """Finds the submission's modules as usual; their loaders write notes, and load no stuck one."""

    def __init__(self, fd: int, stuck: Collection[str], switch: Callable[[bool], Any]) -> None:
        self._fd, self._stuck, self._started = fd, stuck, time.monotonic()
        # Called with True when an import begins that no other one has caused, then with False.
        self._switch = switch
        self._depth, self._room = 0, wire.MAX_IMPORT_NOTES_BYTES

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name.partition(".")[0] != PACKAGE:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:  # no such module, or a folder without __init__.py
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: ModuleType) -> None:
            if name in self._stuck:
                self._note(f"S {name}")
                os._exit(0)  # not an exception, which the student's code could catch
            self._note(f"I {name} {time.monotonic() - self._started:.2f}")
            self._depth += 1
            if self._depth == 1:
                self._switch(True)
            try:
                execute(module)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._switch(False)
                self._note("E")

        # In every other respect the loader is unchanged.
        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec

    def _note(self, text: str) -> None:
        note = text.encode("utf-8", errors="replace") + b"\n"
        self._room -= len(note)
        if self._room >= 0:
            with suppress(OSError):  # the student's code may have closed it
                os.write(self._fd, note)


# Job after job ------------------------------------------------------------------------------------


class Watchdog:
    """Ends a worker of the `LocalPool` when its job's time is over; watches one job after another.

    A test may take two seconds, and `import torch` alone takes one of them, more on a slow
    computer. So imports of the submission's modules, with whatever these import, have a limit of
    their own. A thread compares what the job has used, on every platform. Code in C that never lets
    another thread run is ended by faulthandler, later.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock, self._is_watching = threading.Lock(), False
        threading.Thread(target=self._watch, daemon=True).start()

    def begin(self, allowed: Limits) -> None:
        with self._lock:
            self._left = {  # CPU and wall seconds, in and outside imports
                "import": [allowed.import_s, allowed.import_wall_s],
                "cpu": [allowed.cpu_s, allowed.wall_s],
            }
            self._used = {"import": 0.0, "cpu": 0.0}  # CPU seconds
            self._most_bytes = host.resident_bytes() + allowed.memory_bytes
            self._counted, self._is_watching = (time.process_time(), time.monotonic()), True
            self._go_on("cpu")

    def switch(self, importing: bool) -> None:
        """Go on with the other limit when an import of the submission begins or ends."""
        with self._lock:
            self._count()
            self._go_on("import" if importing else "cpu")

    def end(self) -> tuple[float, float]:
        """Stop watching; return the job's CPU seconds, and those of them in imports."""
        with self._lock:
            self._count()
            self._is_watching = False
            faulthandler.cancel_dump_traceback_later()
            return sum(self._used.values()), self._used["import"]

    def _go_on(self, limit: str) -> None:
        self._limit = limit
        wall_s = max(self._left[limit][1], 0.0) + LATER_S
        faulthandler.dump_traceback_later(wall_s, exit=True, file=self._fd)

    def _count(self) -> None:
        before, self._counted = self._counted, (time.process_time(), time.monotonic())
        cpu_s, wall_s = (now - then for now, then in zip(self._counted, before, strict=True))
        self._used[self._limit] += cpu_s
        left = self._left[self._limit]
        left[:] = left[0] - cpu_s, left[1] - wall_s

    def _watch(self) -> None:
        while True:
            time.sleep(TICK_S)
            with self._lock:
                if self._is_watching:
                    self._count()
                    self._look()

    def _look(self) -> None:
        cpu_s, wall_s = self._left[self._limit]
        if cpu_s < 0:
            self._stop(self._limit)
        elif wall_s < 0:
            self._stop("import-wall" if self._limit == "import" else "wall")
        elif host.resident_bytes() > self._most_bytes:
            self._stop("memory")
        with suppress(OSError):  # closed by the student's code
            if os.fstat(1).st_size > MAX_OUTPUT_BYTES:
                os.ftruncate(1, MAX_OUTPUT_BYTES)

    def _stop(self, reason: str) -> None:
        with suppress(OSError):
            os.write(self._fd, f"T {reason}\n".encode("ascii"))
            faulthandler.dump_traceback(self._fd)
        os._exit(1)


class Traces:
    """What jobs leave in a worker of the `LocalPool`: most is undone, the rest ends the worker.

    Each job has to find the worker as the first one did. Modules that are imported later, and the
    inner ones of torch, are not watched: that would take longer than most tests. Code that
    deliberately hides what it changes is not what this is for: nothing that counts is decided in a
    worker that ran another test (see `runner.judge`).
    """

    def __init__(self) -> None:
        self._settings = [(read, restore, read()) for read, restore in _settings()]
        self._modules = {n: m for n, m in sys.modules.items() if isinstance(m, ModuleType)}
        self._attributes: dict[int, tuple[Any, dict[str, Any]]] = {}  # of modules and classes
        self._functions: dict[FunctionType, tuple[Any, Any]] = {}  # with code and defaults
        for name, module in self._modules.items():
            if not INTERNAL.match(name):
                classes = [v for v in list(vars(module).values()) if isinstance(v, type)]
                for owner in (module, *(c for c in classes if c.__flags__ & MUTABLE)):
                    self._attributes[id(owner)] = owner, dict(vars(owner))
        for _, content in self._attributes.values():
            functions = [v for v in content.values() if isinstance(v, FunctionType)]
            self._functions |= {f: (f.__code__, f.__defaults__) for f in functions}
        self._freeze()
        self._memory = host.resident_bytes()

    def _freeze(self) -> None:
        """Look for garbage only among what jobs make from now on."""
        gc.collect()
        gc.freeze()
        self._count = len(sys.modules)

    def erase(self, root: Path) -> bool:
        """Undo what the last job changed, and forget its modules; return whether that was all."""
        forget(root)
        ours = (Finder, BareNames)
        sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, ours)]
        tempfile.tempdir = None
        gc.collect()
        for read, restore, before in self._settings:
            if restore and read() != before:
                restore(before)
        if self._is_changed():
            return False
        if len(sys.modules) > self._count:  # libraries import more when they are used
            self._freeze()
        return True

    def _is_changed(self) -> bool:
        return (
            any(read() != before for read, _, before in self._settings)
            or host.resident_bytes() - self._memory > MORE_MEMORY_BYTES
            or any(sys.modules.get(name) is not each for name, each in self._modules.items())
            or any(_has_other_attributes(*each) for each in self._attributes.values())
            or any(
                function.__code__ is not code or function.__defaults__ is not defaults
                for function, (code, defaults) in self._functions.items()
            )
        )


def _has_other_attributes(owner: Any, before: dict[str, Any]) -> bool:
    after = vars(owner)
    if len(after) == len(before) and all(map(operator.is_, after.values(), before.values())):
        return False  # as of nearly all owners
    all_count = isinstance(owner, type) or owner.__name__ in STRICT
    for name in (after.keys() | before.keys()) - CACHED:
        value = before.get(name, after.get(name))
        is_imported = name not in before and isinstance(value, ModuleType)
        is_same = name in before and after.get(name) is value
        if not is_same and not is_imported and (all_count or isinstance(value, FIXED)):
            return True
    return False


def _settings() -> list[Setting]:
    """Return what a job may change besides modules: how it is read, and put back if it can be."""
    settings: list[Setting] = [
        (lambda: dict(os.environ), _restore_environment),
        (lambda: [*sys.path], lambda before: sys.path.__setitem__(slice(None), before)),
        (lambda: [*warnings.filters], _restore_warnings),
        (sys.getrecursionlimit, sys.setrecursionlimit),
        (_umask, os.umask),
        (lambda: [*map(id, (*sys.meta_path, *sys.path_hooks))], None),
        (lambda: (sys.gettrace(), sys.getprofile(), threading.gettrace()), None),
        (lambda: [s.closed for s in (sys.stdin, sys.stdout, sys.stderr)], None),
        (lambda: (gc.isenabled(), len(gc.callbacks)), None),
        (_thread._count, None),
        (host.under_way, None),
        (lambda: [*map(signal.getsignal, signal.valid_signals())], None),
        (_open_files, None),
    ]
    if torch := sys.modules.get("torch"):
        denormal = torch.tensor(5e-324, dtype=torch.float64)
        hooks = vars(torch.nn.modules.module)
        settings += [
            (torch.get_default_dtype, torch.set_default_dtype),
            (torch.is_grad_enabled, torch.set_grad_enabled),
            (torch.get_num_threads, torch.set_num_threads),
            (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
            (lambda: not (denormal * 1).item(), torch.set_flush_denormal),
            (torch.overrides._get_current_function_mode_stack, None),
            (torch.is_inference_mode_enabled, None),
            (lambda: torch.is_autocast_enabled("cpu"), None),
            (torch.are_deterministic_algorithms_enabled, None),
            (lambda: [repr(hooks[name]) for name in hooks if name.startswith("_global")], None),
        ]
    return settings


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


def _open_files() -> dict[int, tuple[int, int]]:
    found = {}
    for fd in range(OPEN_FILES):
        with suppress(OSError):
            status = os.fstat(fd)
            found[fd] = status.st_dev, status.st_ino
    return found


def forget(root: Path) -> None:
    """Forget a submission's modules, also under other names: the next job imports its own."""
    packages, inside = {path.name for path in root.iterdir() if path.is_dir()}, f"{root}{os.sep}"
    for name, module in list(sys.modules.items()):
        names = (name, str(getattr(module, "__name__", name)))
        file = str(getattr(module, "__file__", ""))
        if file.startswith(inside) or any(n.partition(".")[0] in packages for n in names):
            sys.modules.pop(name, None)


def serve(with_torch: bool) -> None:
    """Do one job after another, until standard input ends or a job leaves more than can be undone.

    Requests come on standard input, and answers leave on what was standard output: READY, notes, a
    frame, LIKE_NEW or CHANGED. Each job prints to a file of its own.
    """
    requests, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)
    preload(with_torch)
    sys.breakpointhook = refuse_breakpoint
    _redirect(null)
    watchdog, traces = Watchdog(answers), Traces()
    home, pid, is_like_new = os.getcwd(), os.getpid(), True
    while is_like_new:
        try:
            request = wire.read_request(requests)
        except WireError:  # there are no more
            break
        with open(request["output"], "ab", buffering=0) as output:
            _redirect(output.fileno())
        os.chdir(request["scratch"])
        os.environ |= at_home(request["scratch"])
        answer = prepare(request)
        write_all(answers, READY)
        watchdog.begin(Limits(**request["limits"]))
        sys.meta_path.insert(0, Finder(answers, request.get("stuck", ()), watchdog.switch))
        frame = contextvars.copy_context().run(answer)
        if os.getpid() != pid:  # a process that the student's code forked
            os._exit(0)
        cpu_s, import_s = watchdog.end()
        with suppress(Exception):  # by now these are whatever the student's code left
            sys.stdout.flush()
            sys.stderr.flush()
        _redirect(null)
        os.chdir(home)
        write_all(answers, b"U %f %f\n" % (cpu_s, import_s) + frame)
        try:
            is_like_new = traces.erase(Path(request["submission"]))
        except BaseException:  # in finalizers, or in what the student's code left
            is_like_new = False
        write_all(answers, LIKE_NEW if is_like_new else CHANGED)
    os._exit(0)  # shutting down torch properly takes longer than many tests


def at_home(scratch: str) -> dict[str, str]:
    """Return the environment variables that say where a job may write."""
    variables = dict.fromkeys(("HOME", "TMPDIR", "TEMP"), scratch)
    return variables | {"MPLCONFIGDIR": os.path.join(scratch, FONTS)}


def _redirect(fd: int) -> None:
    os.dup2(fd, 1)
    os.dup2(fd, 2)


def write_all(fd: int, data: bytes) -> None:
    """Write all data to a descriptor."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(fd, remaining) :]
