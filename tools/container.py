"""A container for the emulator: a fresh root file system with limits, and without network.

On Linux, Docker or Podman makes it, where this user can use one of them; otherwise root does, by
mount namespaces, chroot, a cgroup, and no more capabilities than Docker's. In it, the system's
folders are read-only. One file is shared with the host: the list of uids that graders on this
machine are using. Elsewhere, it is a plain folder without limits: usage is measured, and the run
time on half a CPU is estimated from the CPU seconds.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from grading.pool import font_lists

HOME = "/opt/problem-set"  # where setup.sh installs
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc")
WRITABLE = ("tmp", "var/tmp", "root", "opt/problem-set", "run")
FONTS = "root/.cache/matplotlib"
DEVICES = ("null", "zero", "full", "random", "urandom")
# Docker's default set; CAP_SYS_ADMIN, which `unshare` and `bwrap` need, is not among them.
CAPABILITIES = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw "
    "sys_chroot mknod audit_write setfcap"
)
IMAGE = "problem-set-emulator:empty"
# Run a command, save the memory that it used, and give its files to the user on the host.
PEAK = ".peak"
MEASURED = f"""
"$@"; code=$?
cat /sys/fs/cgroup/memory.peak /sys/fs/cgroup/memory/memory.max_usage_in_bytes 2> /dev/null > {PEAK}
chown -R --reference=. . && exit $code
"""
UID_CLAIMS = Path("/run/grading-uids")  # isolation.users.CLAIMS: graders outside read it, too
PERIOD_US = 20_000  # short, so that commands never pause for long when their quota is used up


@dataclass(frozen=True)
class Limits:
    """The limits of a Gradescope container; by default, those of the smallest."""

    memory_bytes: int = 768_000_000
    cpus: float = 0.5
    timeout_s: float = 600.0


GRADESCOPE = Limits()
_running: set[int] = set()  # the process groups of commands in containers


def stop() -> None:
    """Kill all commands that are running in containers: another one failed, or was interrupted."""
    for group in tuple(_running):
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)


@dataclass(frozen=True)
class Run:
    """How a command in a container ended, and what it used."""

    code: int  # 124 if it timed out
    wall_s: float
    cpu_s: float
    # Of all processes; Docker and Podman count the page cache, too. In a plain folder, or without
    # cgroups: of the largest process.
    peak_bytes: int
    limits: Limits
    limited: bool  # whether they applied

    def costs(self) -> str:
        """Return the time and memory used, in words."""
        wall_s, how = self.wall_s, f"{self.limits.cpus:g} CPUs"
        if not self.limited:
            wall_s, how = self.cpu_s / self.limits.cpus, f"{how}, estimated from CPU time"
        return f"{wall_s:.0f} s of {how}, {self.peak_bytes / 1e6:.0f} MB at most"


@cache
def engine() -> str | None:
    """Return which container engine this user can use, if any."""
    names = ("docker", "podman") if sys.platform == "linux" else ()
    return next((n for n in names if shutil.which(n) and _quietly([n, "info"]) == 0), None)


@cache
def is_possible() -> bool:
    """Return whether root can create a container here without an engine."""
    tools = all(shutil.which(name) for name in ("unshare", "mount", "chroot", "setpriv"))
    if not (sys.platform == "linux" and os.geteuid() == 0 and tools):
        return False
    return _quietly(["unshare", "--mount", "--net", "--pid", "--fork", "true"]) == 0


class Container:
    """A plain folder; its subclasses are containers. `autograder` is its /autograder."""

    isolated = False

    def __init__(self, root: Path, venv: Path | None) -> None:
        """
        Args:
            root: a folder that doesn't exist.
            venv: the virtual environment to use in place of what setup.sh installs; None if
                setup.sh itself is run.
        """
        self.root, self._venv = root, venv
        self.autograder = root / "autograder"
        self.autograder.mkdir(parents=True)
        self._lay_root()

    def run(self, command: list[str], log: Path, limits: Limits, network: bool = False) -> Run:
        """Run a command in /autograder; write both of its output streams to a log."""
        started = time.monotonic()
        entered = self._entered(command, limits, network)
        with entered as (words, limited, group), open(log, "wb") as output:
            process = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._environment(),
                cwd=self.autograder,
            )
            _running.add(process.pid)
            try:
                code, cpu_s, peak = _wait(process, limits, limited, group)
            finally:
                _running.discard(process.pid)
        return Run(code, time.monotonic() - started, cpu_s, peak, limits, limited)

    def remove(self) -> None:
        """Delete the root."""
        shutil.rmtree(self.root, ignore_errors=True)

    def _lay_root(self) -> None:
        (self.root / "home").mkdir()
        if self._venv:
            (self.root / "home" / "venv").symlink_to(self._venv.resolve())

    @contextmanager
    def _entered(
        self, command: list[str], limits: Limits, network: bool
    ) -> Iterator[tuple[list[str], bool, Path | None]]:
        """Yield the words that run a command in the container, and whether limits apply to it.

        The third is the cgroup that knows how much memory it uses, if there is one.
        """
        yield command, False, None

    def _environment(self) -> dict[str, str]:
        return os.environ | {"PROBLEM_SET_HOME": str(self.root / "home")}


class _Isolated(Container):
    """What both kinds of container share: a root in which this machine's system is read-only."""

    isolated = True

    def _lay_root(self) -> None:
        for name in WRITABLE:
            (self.root / name).mkdir(parents=True)
            if name.endswith("tmp"):
                (self.root / name).chmod(0o1777)
        if self._venv:  # whose lists of fonts are in this user's home
            (self.root / FONTS).mkdir(parents=True)
            for path in font_lists():
                shutil.copy(path, self.root / FONTS)

    def _read_only(self) -> list[tuple[Path, str]]:
        """Return the folders of this machine that the container sees, and where."""
        system = [Path("/", name) for name in SYSTEM if Path("/", name).is_dir()]
        folders = [(folder.resolve(), str(folder)) for folder in system]
        if self._venv:
            base = Path(sys.base_prefix).resolve()
            folders += [] if base.is_relative_to("/usr") else [(base, str(base))]
            folders.append((self._venv.resolve(), f"{HOME}/venv"))
        return folders

    def _inside(self) -> dict[str, str]:
        """Return the environment of a command in the container."""
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        pip = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
        return pip | {"PATH": path, "HOME": "/root", "LANG": "C.UTF-8"}


class Namespaces(_Isolated):
    """A container that root creates with the kernel's own means."""

    @contextmanager
    def _entered(
        self, command: list[str], limits: Limits, network: bool
    ) -> Iterator[tuple[list[str], bool, Path | None]]:
        with _cgroups(self.root.parent.name, limits) as groups:
            group = groups[0] if groups else None
            yield self._words(command, network, groups), bool(groups), group

    def _words(self, command: list[str], network: bool, groups: list[Path]) -> list[str]:
        lines = ["set -e", "root=$1; shift", "mount --make-rprivate /"]
        lines += [_bind(folder, target) for folder, target in self._read_only()]
        if groups:  # as in Docker, it sees its own; the first limits memory
            lines.append(_bind(groups[0], str(groups[0].parent)))
        UID_CLAIMS.touch(0o600)
        for file in [Path("/dev", name) for name in DEVICES] + [UID_CLAIMS]:
            lines.append(f'mkdir -p "$root{file.parent}"; touch "$root{file}"')
            lines.append(f'mount --bind {file} "$root{file}"')
        lines.append('mkdir -p -m 1777 "$root/dev/shm"')  # anyone may write there, as in Docker
        lines.append('mkdir -p "$root/proc"; mount -t proc proc "$root/proc"')
        allowed = ",".join(f"+{name}" for name in CAPABILITIES.split())
        kept = f"--bounding-set=-all,{allowed} --inh-caps=-all"
        lines.append(f'cd "$root"/autograder; exec setpriv {kept} chroot "$root" "$@"')
        inner = ["sh", "-c", 'cd /autograder && exec "$@"', "sh", *command]
        apart = ["--mount", "--pid", "--ipc", "--fork", "--kill-child"]
        apart += [] if network else ["--net"]
        enter = "".join(f"echo $$ > '{group}/cgroup.procs' && " for group in groups)
        start = ["sh", "-c", f'{enter}exec "$@"', "sh", "unshare", *apart]
        return [*start, "sh", "-c", "\n".join(lines), "sh", str(self.root), *inner]

    def _environment(self) -> dict[str, str]:
        return self._inside()


class Engine(_Isolated):
    """A container of Docker or Podman. Its image is empty: all that it needs is mounted into it."""

    def run(self, command: list[str], log: Path, limits: Limits, network: bool = False) -> Run:
        (self.autograder / PEAK).unlink(missing_ok=True)
        ran = super().run(["sh", "-c", MEASURED, "sh", *command], log, limits, network)
        # A container that has timed out still runs; otherwise, it is gone, and this does nothing.
        _quietly([str(engine()), "rm", "--force", self.root.parent.name])
        peak_bytes = 0
        with suppress(OSError, ValueError, IndexError):
            peak_bytes = int((self.autograder / PEAK).read_text(encoding="ascii").split()[0])
        return replace(ran, peak_bytes=peak_bytes)

    def remove(self) -> None:
        """Delete the root, in a container first, since files in it may belong to other users."""
        _quietly([*self._start([(self.root, "/old")]), IMAGE, "sh", "-c", "rm -rf /old/*"])
        super().remove()

    @contextmanager
    def _entered(
        self, command: list[str], limits: Limits, network: bool
    ) -> Iterator[tuple[list[str], bool, Path | None]]:
        nothing = subprocess.run(["tar", "-c", "-T", "/dev/null"], capture_output=True, check=True)
        _quietly([str(engine()), "import", "-", IMAGE], nothing.stdout)
        volumes = [(self.root / name, f"/{name}") for name in ("autograder", *WRITABLE)]
        if os.geteuid() == 0:  # others don't grade with uids of their own outside
            UID_CLAIMS.touch(0o600)
            volumes.append((UID_CLAIMS, str(UID_CLAIMS)))
        options = [f"--name={self.root.parent.name}", "--workdir=/autograder"]
        options += [f"--memory={limits.memory_bytes}", f"--memory-swap={limits.memory_bytes}"]
        options += [f"--cpus={limits.cpus:g}", f"--network={'host' if network else 'none'}"]
        options += [f"--env={name}={value}" for name, value in self._inside().items()]
        yield [*self._start(volumes), *options, IMAGE, *command], True, None

    def _start(self, volumes: list[tuple[Path, str]]) -> list[str]:
        """Return the first words of a command that starts a container with these volumes."""
        shown = [f"--volume={source}:{target}:ro" for source, target in self._read_only()]
        shown += [f"--volume={source}:{target}" for source, target in volumes]
        return [str(engine()), "run", "--rm", *shown]


def _quietly(command: list[str], stdin: bytes = b"") -> int:
    return subprocess.run(command, input=stdin, capture_output=True).returncode


def _bind(source: Path, target: str) -> str:
    """Return a line of sh that mounts a folder below $root, read-only."""
    place = f'"$root{target}"'
    mount = f"mkdir -p {place}; mount --rbind '{source}' {place}"
    return f"{mount}; mount -o remount,bind,ro {place}"


def _wait(
    process: subprocess.Popen, limits: Limits, limited: bool, group: Path | None
) -> tuple[int, float, int]:
    """Wait for the end, or kill on timeout; return (exit code, CPU seconds, peak bytes)."""
    deadline = time.monotonic() + limits.timeout_s
    peak, timed_out = 0, False
    while not (ended := os.wait4(process.pid, os.WNOHANG))[0]:
        time.sleep(0.05)
        peak = max(peak, _in_use(group)) if group else 0
        if time.monotonic() > deadline:
            timed_out = True
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    _, status, used = ended
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu_s = used.ru_utime + used.ru_stime  # with those that it has waited for
    # Without a quota, the time that it would have taken is estimated from CPU seconds.
    timed_out = timed_out or (not limited and cpu_s / limits.cpus > limits.timeout_s)
    # Counted in KiB, but on a Mac in bytes.
    largest = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return 124 if timed_out else process.returncode, cpu_s, peak if group else largest


def _in_use(group: Path) -> int:
    """Return the bytes that a cgroup's processes use, without the page cache."""
    lines = (group / "memory.stat").read_text(encoding="ascii").splitlines()
    values = {name: int(number) for name, number in map(str.split, lines)}
    # Version 1 calls `rss` what is `anon` in version 2.
    return values.get("anon", values.get("rss", 0)) + values.get("shmem", 0)


@contextmanager
def _cgroups(name: str, limits: Limits) -> Iterator[list[Path]]:
    """Yield new cgroups with these limits, the first one for memory; none where they can't be."""
    base = Path("/sys/fs/cgroup")
    quota, memory = str(int(limits.cpus * PERIOD_US)), str(limits.memory_bytes)
    values = {base / name: {"memory.max": memory, "cpu.max": f"{quota} {PERIOD_US}"}}
    if (base / "memory").is_dir():  # version 1
        values = {
            base / "memory" / name: {"memory.limit_in_bytes": memory},
            base / "cpu" / name: {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": quota},
        }
    try:
        for folder, files in values.items():
            folder.mkdir()
            for file, value in files.items():
                (folder / file).write_text(value, encoding="ascii")
    except OSError as error:
        print(f"emulator: no cgroups here ({error}), so memory and CPU time are not limited")
        _remove(values)
        values = {}
    try:
        yield list(values)
    finally:
        _remove(values)


def _remove(folders: Iterable[Path]) -> None:
    for folder in filter(Path.is_dir, folders):
        for _ in range(100):  # its last processes may still be ending
            with suppress(OSError):
                folder.rmdir()
                break
            time.sleep(0.05)


@contextmanager
def fresh(venv: Path | None) -> Iterator[Container]:
    """Create a container in a temporary folder, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="emulator-"))
    folder.chmod(0o755)
    kind = Engine if engine() else Namespaces if is_possible() else Container
    place = kind(folder / "root", venv)
    try:
        yield place
    finally:
        place.remove()
        shutil.rmtree(folder, ignore_errors=True)
