"""Run attacks on the grader, one after another, and report what each achieved.

    python tests/redteam/arena.py TREE MODE REPORT ATTACK...

TREE is a copy of the repository that may be damaged (made by `conftest.py`), MODE one of MODES.
REPORT gets one line of JSON per attack: {"attack": ..., "faults": [...]}; no fault means that it
earned nothing, learnt nothing and broke nothing. The arena runs in a process of its own, as the
user who grades, so that a crash of the grader shows as a missing line.
"""

import contextlib
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import textwrap
import time
import zlib
from pathlib import Path

import psutil

HERE = Path(__file__).resolve().parent
ATTACKS = {path.stem: path for path in sorted((HERE / "attacks").glob("*.py"))}
PLANTED = "PLANTED-SECRET"  # plus random characters: in the solutions, the answers, the environment
BREACH = "BREACH" + ":"  # attacks print it if they got through without earning or reading
MARK = "PWNED"  # attacks write it wherever they can
ATTACKED = ("3a-0-basic", "3a-1-hidden")
UNTOUCHED = ("3b-1-hidden",)  # its worker is like a basic test's, and the reference has one, too
MODES = {
    # name: (as root, with Landlock and seccomp)
    "root": (True, True),
    "root-bare": (True, False),
    "user": (False, True),
    "user-bare": (False, False),
}
MOST_CPU_S = 10.0  # that the grader itself may use for an attack; the most was one second
READS = "a test runs as the user whose files these are, and nothing tells it from them"
WRITES = "a test runs as the owner of these files, who may change them"
SIGNALS = "processes of one user may signal, stop, limit and slow each other"
KERNEL = (
    "only the filter of system calls refuses these; of them, an authoritative run demands that "
    "sockets be refused, and fails without"
)
UNCOUNTED = "its memory is freed with it, but not counted while it lives"
FILTERED = """opens_sockets uses_rare_system_calls passes_bits_by_locks passes_bits_by_file_events
    passes_bits_by_cached_pages passes_bits_by_attributes passes_bits_by_processes""".split()
HOARDS = """hoards_in_sockets hoards_in_dropped_mappings hoards_in_pipes
    hoards_in_rulesets""".split()
# What a mode without Landlock and seccomp can't stop, by name, with the reason. These are not run:
# as an ordinary user they would hit the arena itself, or whoever runs it.
NOT_STOPPED: dict[str, dict[str, str]] = {
    "root-bare": dict.fromkeys(FILTERED, KERNEL)
    | dict.fromkeys(("hoards_in_memory_files", *HOARDS), UNCOUNTED),
    "user-bare": dict.fromkeys(
        """reads_solutions reads_by_another_program reads_through_links reads_through_proc
        reads_results reads_the_reference reads_other_peoples_files imports_the_judge
        unshares""".split(),
        READS,
    )
    | dict.fromkeys(
        """rewrites_its_submission locks_its_submission plants_bytecode plants_start_files
        plants_in_shared_folders overwrites_results overwrites_the_grader deletes_its_folder
        hoards_in_memory_files hoards_in_shared_memory returns_what_cannot_cross""".split(),
        WRITES,
    )
    | dict.fromkeys(
        """kills_its_guardian kills_everything kills_by_owned_pipe stops_its_guardian
        limits_its_guardian slows_its_guardian""".split(),
        SIGNALS,
    )
    | dict.fromkeys(("leases_the_graders_files", *FILTERED), KERNEL)
    | dict.fromkeys(HOARDS, UNCOUNTED)
    | {"uses_setuid_programs": READS},  # among them unshare, which runs as any user
}


def slowness() -> float:
    """Return how many times as long as on an idle machine a known piece of work takes here."""
    started, used_s = time.monotonic(), time.process_time()
    while time.process_time() < used_s + 0.2:
        pass
    return max(1.0, (time.monotonic() - started) / 0.2)


def header(path: Path, key: str) -> str:
    """Return the rest of the comment line `# key: ...` at the top of an attack."""
    found = re.search(rf"^# {key}: (.*)", path.read_text(encoding="utf-8"), re.MULTILINE)
    return found[1] if found else ""


def module_of(attack: Path | None, home_secret: str) -> str:
    """Return attention_exploration.py with this attack in it, if any."""
    prelude = (HERE / "prelude.py").read_text(encoding="utf-8")
    epilogue = (HERE / "epilogue.py").read_text(encoding="utf-8")
    body = attack.read_text(encoding="utf-8") if attack else ""
    if attack and not header(attack, "runs"):
        body = "def attack(keys, j):\n" + textwrap.indent(body, "    ")
    return prelude.replace("HOME_SECRET_PATH", home_secret) + body + epilogue


def main(tree: str, mode: str, report: str, *attacks: str) -> None:
    arena = Arena(Path(tree), mode)
    try:
        with open(report, "a", encoding="utf-8") as lines:
            for name in attacks:
                lines.write(json.dumps({"attack": name, "faults": arena.run(name)}) + "\n")
                lines.flush()
    finally:
        arena.close()


class Arena:
    """A runner of the tree's own grader, and the state that must not change."""

    def __init__(self, tree: Path, mode: str) -> None:
        sys.path[:0] = [str(tree / "src"), str(tree)]
        import grader
        import grading
        from autograder import isolation, judging
        from autograder.isolation import sandbox
        from grading import edition, worker

        assert grading.ROOT == tree
        sandbox.hide_memory()  # as the command does
        worker.WALL_FACTOR = 2.5 * slowness()  # so that attacks that wait end soon
        worker.IMPORT_S = 2.0
        worker.MEMORY_BYTES = 300 << 20
        as_root, with_kernel = MODES[mode]
        found = sandbox.detect()
        assert found.root is as_root
        self._layers = found if with_kernel else sandbox.Layers(as_root, 0, False)
        self._tree = tree
        self._secret = os.environ["GRADER_SECRET"]
        self._runner = judging.course_runner(edition.load_assignment(grading.ROOT), grader.Course())
        # In the environment of every process of this arena, and of no others.
        self._hash_seed = zlib.crc32(os.urandom(8))
        self._pool = isolation.ConfinedPool(self._hash_seed, self._layers)
        self._results = tree / "out" / "results.json"
        self._pool.warm(False)  # whatever is new after an attack was left by it
        faults = self.run("no attack")
        assert not faults, faults

    def close(self) -> None:
        self._pool.close()

    def run(self, name: str) -> list[str]:
        """Grade the submission with this attack in it; return what it achieved, in words."""
        attack = ATTACKS.get(name)
        upload = self._upload(attack)
        files, processes = self._files(), self._processes()
        before_s = time.process_time()
        try:
            results, printed = self._grade(upload)
        finally:
            shutil.rmtree(upload)
        used_s = time.process_time() - before_s
        faults = self._earned(results, header(attack, "breaks") if attack else "")
        faults += self._learnt(results, printed)
        faults += self._broke(results, printed)
        faults += self._left(files, processes)
        return faults + ([f"cost the grader {used_s:.0f} s"] if used_s > MOST_CPU_S else [])

    def _upload(self, attack: Path | None) -> Path:
        upload = Path(tempfile.mkdtemp(prefix="upload-", dir=self._tree.parent))
        package = upload / "submission"
        package.mkdir()
        (package / "__init__.py").touch()
        text = module_of(attack, os.environ["HOME_SECRET"])
        (package / "attention_exploration.py").write_text(text, encoding="utf-8")
        return upload

    def _grade(self, upload: Path) -> tuple:
        from autograder import command
        from grading import runner

        report = command.Console(self._results)
        options = runner.Options(upload, selection=ATTACKED + UNTOUCHED)
        screen = io.StringIO()
        with contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            results = self._runner.run(options, 7, report, self._pool)
        return results, screen.getvalue()

    def _earned(self, results, breaks: str) -> list[str]:
        ends = {t.spec.test_id: t for t in results.tests}
        # Outcomes count, since these tests are worth no points in this edition.
        found = [f"{i} passed" for i in ATTACKED if ends[i].outcome.value == "passed"]
        found += [f"{i} {ends[i].outcome.value}" for i in ATTACKED if not ends[i].is_selected]
        # It tried nothing: a name that it uses is neither its own nor the prelude's.
        found += [f"{i} {ends[i].detail}" for i in ATTACKED if ends[i].cause == "error.NameError"]
        for test_id in () if breaks else UNTOUCHED:
            if ends[test_id].outcome.value != "passed":
                found.append(f"{test_id} should have passed: {ends[test_id]}")
        scores = sum(t.score for t in results.tests if t.spec.test_id not in UNTOUCHED)
        return found + ([f"other tests earned {scores}"] if scores else [])

    def _learnt(self, results, printed: str) -> list[str]:
        everything = json.dumps(results.as_dict(staff=True), ensure_ascii=False) + printed
        found = ["read a secret"] if self._secret in everything else []
        found += ["says that it got through"] if BREACH in everything else []
        for test in results.as_dict(staff=False)["tests"]:
            if test["kind"] == "hidden":
                if MARK in json.dumps(test) or "output" in test or "detail" in test:
                    found.append(f"{test['test_id']} shows the student's text: {test}")
                if test["outcome"] != "not run" and not allowed(test["message"]):
                    found.append(f"{test['test_id']} says {test['message']!r}")
        return found

    def _broke(self, results, printed: str) -> list[str]:
        found = [f"grader error: {t.detail}" for t in results.tests if "grader" in t.outcome.value]
        text = self._results.read_text(encoding="utf-8")
        if len(text) > 1 << 20:
            found.append(f"results.json has {len(text)} characters")
        if json.loads(text) != json.loads(json.dumps(results.as_dict(staff=True))):
            found.append("results.json is not the last state of the run")
        odd = {c for c in printed + _texts(json.loads(text)) if not c.isprintable()} - set("\n\t")
        return found + ([f"unprintable characters: {sorted(odd)!r:.80}"] if odd else [])

    def _left(self, files: dict, processes: set[psutil.Process]) -> list[str]:
        # Three seconds, but of CPU: if the machine is busy, what is killed takes longer to end.
        until_s = time.process_time() + 3
        while (new := self._processes() - processes) and time.process_time() < until_s:
            pass
        found = [f"left {process}" for process in new]
        for process in new:  # it must not affect the next attack
            with contextlib.suppress(psutil.Error):
                process.kill()
        after = self._files()
        changed = [p for p in files.keys() | after.keys() if files.get(p) != after.get(p)]
        for path in sorted(changed):
            with contextlib.suppress(OSError):
                if path not in files and not os.path.isdir(path):
                    os.unlink(path)
        return found + [f"changed {p}: {files.get(p)} {after.get(p)}" for p in sorted(changed)[:8]]

    def _files(self) -> dict[str, tuple]:
        """Return what must not change: the tree, the home folder, and marks in shared folders."""
        found = {}
        home = os.path.dirname(os.environ["HOME_SECRET"])
        for root in (self._tree, home):
            for folder, names, files in os.walk(root):
                for path in [folder, *(os.path.join(folder, n) for n in names + files)]:
                    if not path.startswith(str(self._tree / "out")):
                        found[path] = _state(path)
        for folder in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", tempfile.gettempdir()):
            with contextlib.suppress(OSError):
                for entry in os.scandir(folder):
                    litter = entry.name.startswith("grading-") and folder == tempfile.gettempdir()
                    if litter or MARK in entry.name:
                        found[entry.path] = _state(entry.path)
        with open("/proc/sysvipc/shm", encoding="utf-8") as listing:
            found["shared memory"] = sum(1 for _ in listing)
        return found

    def _processes(self) -> set[psutil.Process]:
        """Return this arena's processes, by their environment or, if unreadable, by their user.

        Those that serve one test after another are left out: zygotes, and guardians below them.
        """
        found = set()
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if process.status() in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD):
                    continue
                if os.geteuid() == 0:
                    ours = process.environ().get("PYTHONHASHSEED") == str(self._hash_seed)
                else:
                    ours = os.getuid() in process.uids()
                if ours:
                    found.add(process)
        for zygote in self._pool._zygotes.values():
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(zygote._process.pid)
                found -= {process, *process.children()}
        return found - {psutil.Process()}


def allowed(message: str) -> bool:
    """Return whether a hidden test of questions 3a and 3b may say this to a student."""
    import builtins

    from grading import verdicts

    place = r"(submission/attention_exploration\.py(, in (copying|average)_query)?: )?"
    fixed = [sentence for _, sentence in verdicts.BY_REASON.values()] + [*verdicts.SIGNALS.values()]
    fixed = [re.sub(r"\\{.*?\\}", r"[\\d.e+]+", re.escape(sentence)) for sentence in fixed]
    fixed += [r"ended the process \(exit, quit or os\._exit\?\)", r"was ended by signal \d\d?"]
    patterns = [
        "",
        place + r"(?P<type>[A-Z][A-Za-z]+); its text is not shown for hidden tests",
        *(
            place + f"(?P<type>{kind})" + re.escape(verdicts.HIDE + hint)
            for kind, hint in verdicts.HINTS.items()
        ),
        place + "this part is not written yet",
        "your code (" + "|".join(fixed) + ")( while it was imported)?",
        "not run: importing your code took too long in an earlier test",
        "the submission's process answered something malformed",
        r"(copying|average)_query (doesn't|should) return [a-z ]+\(d,\)[a-z, ]*",
        r"the attention weights that result from (copying|average)_query are wrong for some inputs",
        "answers are missing",
    ]
    for pattern in patterns:
        match = re.fullmatch(pattern, message)
        if match:
            kind = match.groupdict().get("type")
            return kind is None or isinstance(getattr(builtins, kind, None), type)
    return False


def _texts(value: object) -> str:
    """Return all strings in plain data, joined."""
    if isinstance(value, dict):
        return "".join(key + _texts(item) for key, item in value.items())
    if isinstance(value, list):
        return "".join(map(_texts, value))
    return value if isinstance(value, str) else ""


def _state(path: str) -> tuple:
    status = os.lstat(path)
    if stat.S_ISDIR(status.st_mode):
        return status.st_mode, status.st_uid, status.st_gid
    return status.st_mode, status.st_uid, status.st_size, status.st_mtime_ns, status.st_ino


if __name__ == "__main__":
    main(*sys.argv[1:])
