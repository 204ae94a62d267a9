"""A container for the emulator: a fresh root file system with limits, built from kernel features.

As root on Linux, it is a mount namespace with the system's folders read-only below a fresh root,
chroot, no network, no more capabilities than Docker's, and a cgroup that limits memory and CPU
time. One file is shared with the host: the list of uids that graders on this machine are using.
Elsewhere, it is a plain folder without limits: usage is measured, and the run time on half a CPU is
estimated from the CPU seconds.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

HOME = "/opt/problem-set"  # where setup.sh installs
SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc")
DEVICES = ("null", "zero", "full", "random", "urandom")
# Docker's default set; CAP_SYS_ADMIN, which `unshare` and `bwrap` need, is not among them.
CAPABILITIES = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw "
    "sys_chroot mknod audit_write setfcap"
)
UID_CLAIMS = Path("/run/grading-uids")  # isolation.users.CLAIMS: graders outside read it, too
PERIOD_US = 20_000  # short, so that commands never pause for long when their quota is used up


@dataclass(frozen=True)
class Limits:
    """The limits of a Gradescope container; by default, those of the smallest."""

    memory_bytes: int = 768_000_000
    cpus: float = 0.5
    timeout_s: float = 600.0


GRADESCOPE = Limits()


@dataclass(frozen=True)
class Ran:
    """How a command in the container ended, and what it used."""

    code: int  # 124 if it timed out
    wall_s: float
    cpu_s: float
    peak_bytes: int  # of all processes, without the page cache
    limited: bool  # whether limits applied; else the time on such a CPU is estimated


def is_possible() -> bool:
    """Return whether a container with its own root can be created here."""
    tools = all(shutil.which(name) for name in ("unshare", "mount", "chroot", "setpriv"))
    if not (sys.platform == "linux" and os.geteuid() == 0 and tools):
        return False
    return (
        subprocess.run(["unshare", "--mount", "--net", "--pid", "--fork", "true"]).returncode == 0
    )


class Container:
    """A fresh root below `root`; `autograder` is its /autograder."""

    def __init__(self, root: Path, venv: Path | None) -> None:
        """
        Args:
            root: an empty folder.
            venv: the virtual environment to use in place of what setup.sh installs; None if
                setup.sh itself is run.
        """
        self.root, self._venv = root, venv
        self.isolated = is_possible()
        self.autograder = root / "autograder"
        self.autograder.mkdir(parents=True)
        if self.isolated:
            self._lay_root()
        else:
            (root / "home").mkdir()
            if venv:
                (root / "home" / "venv").symlink_to(venv.resolve())

    def run(self, command: list[str], log: Path, limits: Limits, network: bool = False) -> Ran:
        """Run a command in /autograder; write both of its output streams to a log."""
        started = time.monotonic()
        with _cgroup(limits if self.isolated else None) as group, open(log, "wb") as output:
            process = subprocess.Popen(
                self._command(command, network, group),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=self._environment(),
                cwd=self.autograder,
                preexec_fn=group.enter,
            )
            code, cpu_s, peak = _wait(process, limits, group)
        return Ran(code, time.monotonic() - started, cpu_s, peak, group.limited)

    def _environment(self) -> dict[str, str]:
        if self.isolated:
            given = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
            pip = {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
            return given | pip | {"HOME": "/root", "LANG": "C.UTF-8"}
        return os.environ | {"PROBLEM_SET_HOME": str(self.root / "home")}

    def _lay_root(self) -> None:
        for name in ("proc", "dev/shm", "tmp", "root", "run", "var/tmp", "sys/fs/cgroup"):
            (self.root / name).mkdir(parents=True)
        for name in ("tmp", "var/tmp", "dev/shm"):
            (self.root / name).chmod(0o1777)
        for name in SYSTEM:
            there = Path("/", name)
            if there.is_symlink():
                (self.root / name).symlink_to(os.readlink(there))
            elif there.is_dir():
                (self.root / name).mkdir()
        for name in DEVICES:
            (self.root / "dev" / name).touch()
        UID_CLAIMS.touch(0o600)
        self.root.joinpath(*UID_CLAIMS.parts[1:]).touch(0o600)
        needed = [*self._interpreter(), Path(HOME), *([Path(HOME, "venv")] if self._venv else [])]
        for path in needed:
            self.root.joinpath(*path.parts[1:]).mkdir(parents=True, exist_ok=True)

    def _interpreter(self) -> list[Path]:
        """Return the folders outside /usr that the virtual environment's interpreter needs."""
        base = Path(sys.base_prefix).resolve()
        return [] if not self._venv or base.is_relative_to("/usr") else [base]

    def _command(self, command: list[str], network: bool, group: "_Group") -> list[str]:
        if not self.isolated:
            return command
        lines = ["set -e", "root=$1; shift", "mount --make-rprivate /"]
        places = [self.root / name for name in SYSTEM]
        system = [Path("/", p.name) for p in places if p.is_dir() and not p.is_symlink()]
        for folder in [*system, *self._interpreter()]:
            lines.append(_bind(folder, f'"$root"{folder}'))
        if self._venv:
            lines.append(_bind(self._venv.resolve(), f'"$root"{HOME}/venv'))
        lines += [f'mount --bind /dev/{name} "$root"/dev/{name}' for name in DEVICES]
        lines.append(f'mount --bind {UID_CLAIMS} "$root"{UID_CLAIMS}')
        if group.folders:
            lines.append(_bind(group.folders[0], f'"$root"{group.seen_at}'))
        lines.append('mount -t proc proc "$root"/proc')
        allowed = ",".join(f"+{name}" for name in CAPABILITIES.split())
        kept = f"--bounding-set=-all,{allowed} --inh-caps=-all"
        lines.append(f'cd "$root"/autograder; exec setpriv {kept} chroot "$root" "$@"')
        inner = ["sh", "-c", 'cd /autograder && exec "$@"', "sh", *command]
        apart = ["--mount", "--pid", "--ipc", "--fork", "--kill-child"]
        apart += [] if network else ["--net"]
        return ["unshare", *apart, "sh", "-c", "\n".join(lines), "sh", str(self.root), *inner]


def _bind(source: Path, target: str) -> str:
    """Return a line of sh that mounts a folder, read-only."""
    mount = f"mkdir -p {target}; mount --rbind '{source}' {target}"
    return f"{mount}; mount -o remount,bind,ro {target}"


def _wait(process: subprocess.Popen, limits: Limits, group: "_Group") -> tuple:
    """Wait for the end, or kill on timeout; return (exit code, CPU seconds, peak bytes)."""
    deadline = time.monotonic() + limits.timeout_s
    before = os.times()
    peak, timed_out = 0, False
    while process.poll() is None:
        time.sleep(0.05)
        peak = max(peak, _resident(process.pid))
        if time.monotonic() > deadline:
            timed_out = True
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    after = os.times()
    cpu_s = sum(after[2:4]) - sum(before[2:4])
    # Without a quota, the time that it would have taken is estimated from CPU seconds.
    timed_out = timed_out or (not group.limited and cpu_s / limits.cpus > limits.timeout_s)
    return 124 if timed_out else process.returncode, cpu_s, peak


def _resident(pid: int) -> int:
    """Return the bytes of a process and its descendants, shared pages in proportion (Linux)."""
    total = 0
    for each in [pid, *_children(pid)]:
        with suppress(OSError, ValueError, IndexError):
            text = Path(f"/proc/{each}/smaps_rollup").read_text(encoding="ascii")
            total += int(text.split("Pss:")[1].split()[0]) * 1024
    return total


def _children(pid: int) -> Iterator[int]:
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text(encoding="ascii").split():
                yield int(child)
                yield from _children(int(child))


@dataclass(frozen=True)
class _Group:
    """A cgroup's folders, or none; the container sees the first, which limits memory."""

    folders: list[Path]
    seen_at: str

    @property
    def limited(self) -> bool:
        return bool(self.folders)

    def enter(self) -> None:
        for folder in self.folders:
            (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


@contextmanager
def _cgroup(limits: Limits | None) -> Iterator[_Group]:
    """Create a cgroup with these limits, and remove it afterwards; without cgroups, do nothing."""
    base = Path("/sys/fs/cgroup")
    is_v1 = (base / "memory").is_dir()
    folders = _make_folders(base, is_v1, limits) if limits else []
    try:
        yield _Group(folders, "/sys/fs/cgroup/memory" if is_v1 else "/sys/fs/cgroup")
    finally:
        for folder in folders:
            for _ in range(100):  # its last processes may still be ending
                with suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.05)


def _make_folders(base: Path, is_v1: bool, limits: Limits) -> list[Path]:
    name = f"emulator-{os.getpid()}-{time.monotonic_ns()}"
    quota, memory = str(int(limits.cpus * PERIOD_US)), str(limits.memory_bytes)
    v1 = {
        base / "memory" / name: {"memory.limit_in_bytes": memory},
        base / "cpu" / name: {"cpu.cfs_period_us": str(PERIOD_US), "cpu.cfs_quota_us": quota},
    }
    v2 = {base / name: {"memory.max": memory, "cpu.max": f"{quota} {PERIOD_US}"}}
    made = []
    try:
        for folder, values in (v1 if is_v1 else v2).items():
            folder.mkdir()
            made.append(folder)
            for file, value in values.items():
                (folder / file).write_text(value, encoding="ascii")
    except OSError as error:
        for folder in made:
            folder.rmdir()
        print(f"emulator: no cgroups here ({error}), so memory and CPU time are not limited")
        return []
    return made


@contextmanager
def fresh(venv: Path | None) -> Iterator[Container]:
    """Create a container in a temporary folder, which is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="emulator-"))
    folder.chmod(0o755)
    try:
        yield Container(folder / "root", venv)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
