"""The net under the redesign: nothing that a student or a course sees changes without being wanted.

    python -m tests.net               compare everything with the baseline
    python -m tests.net --short       every tenth variant, 20 attacks, 12 submissions, a second seed
    python -m tests.net --record      write the baseline; run it on the commit to compare with
    python -m tests.net -k rope       cases with "rope" in their names; combines with the others

Each case is a submission and a command line of the grader. The command runs in a process of its
own, as users run it, so that the net survives any change to the harness's insides. Compared are
exit codes; every test's outcome, points and message; the printed text; on Gradescope, the order,
visibility and points of entries. Times, paths, hashes and measured numbers are masked. The id of a
failure's cause may change, but only one to one.
"""

from __future__ import annotations

import argparse
import difflib
import json
import lzma
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import net_submissions
from .redteam import arena
from .variants import ROOT, Variant, all_variants, lay_out

BASELINE = Path(__file__).with_name("net.json.xz")
STORED = Path(__file__).with_name("net_result.json")  # of --json, at the baseline
RESULTS = ROOT / "build" / "net.json"  # of the last run that compared
EDITIONS = ("xcs224n", "cs224n", "current")
SEED, SECOND_SEED = 2024, 7
WORLD_SEED = 1
CASE_S = 600
# Differences that are intended, by a regular expression for the line that reports them.
WANTED: dict[str, str] = {
    r"\+ +\| \.\.\. and \d+ more lines$": "staff also read that what a test printed was cut",
    r"^replay: .*Replay: (the submission's files differ|tests, solutions or data differ)": (
        "the stored result was of another commit"
    ),
    r"^attack/raises_the_graders_own: text: .*raise (verdicts|errors)\.": (
        "the attack names the grader's modules of today"
    ),
    # These race against limits of memory and time, or against their own parent; which limit they
    # meet first differs from run to run, at the baseline, too.
    r"^attack/(clones_a_sibling|raises_its_limits|lies_about_its_imports|forges_from_a_child)": (
        "one of several ends"
    ),
    r"^causes: .*(timed-out|out-of-memory|exited)": "of these attacks",
    r"^attack/forges_a_(grader_error|pass_as_an_error)": "a report has other fields",
    r"^causes: error\.(Exception|ValueError) ": "of these attacks",
    r"^attack/raises_the_graders_own: text: [-+] +grading\.": "the name of what it raises",
    r"^attack/patches_the_worker: text: .*File": "a frame in a group of exceptions",
    r"^causes: failed.gradient-at-input.with-residuals were joined": "one fault for any layers",
    r"^causes: missing-file": "an import by 'from submission import'",
    r"^gradescope/(a pdf|empty)/.*nothing to grade: ": "staff read 'your upload', not a path",
    r"least cosine NUMBER \(": "the smoke training's least cosine is another parameter's",
    r"^zip/\w+: command: [-+](assignment5/)?(src/(grading|questions)|solutions/hidden)/": (
        "modules were merged"
    ),
    r"^where/\w+: command: -(probe|judge)$": "what a judge calls is no longer listed",
}

MASKS = (
    (re.compile(r"(?:/[\w.+-]+)*/(?:tmp|net-)[\w./+-]*"), "PATH"),
    # A traceback's lines in the grader itself, some of which begin in the middle of a path.
    (re.compile(r"[\w.+/-]*(?:grading|autograder)/[\w/]+\.py\", line \d+"), 'PATH", line NUMBER'),
    (re.compile(r'(File "PATH", line) \d+'), r"\1 NUMBER"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d(:\d\d)? UTC"), "TIME"),
    (re.compile(r"\b(files|release) [0-9a-f]{12}\b"), r"\1 HASH"),
    (re.compile(r"\b[0-9a-f]{16,}\b"), "HASH"),
    (re.compile(r"-?\b\d+\.\d+(e[+-]?\d+)?|-?\b\d+e[+-]\d+\b(?!-(basic|hidden))"), "NUMBER"),
    (re.compile(r"\b\d+(?= (s|seconds|MB|MiB|processes|threads|bytes)\b)"), "NUMBER"),
)


@dataclass(frozen=True)
class Case:
    """How one submission is graded; `build` fills an empty folder and returns the upload."""

    name: str
    build: Callable[[Path], Path]
    arguments: tuple[str, ...]
    gradescope: bool = False
    is_short: bool = False
    repeatable: bool = True  # False: hostile code, whose words may differ from run to run


@dataclass(frozen=True)
class Command:
    """What a command of the project leaves, whatever verdicts say; `observe` runs it."""

    name: str
    observe: Callable[[], Any]
    is_short: bool = False
    repeatable: bool = True


class Net:
    """A copy of this checkout with a small data set, in which the cases are graded."""

    def __init__(self, work: Path) -> None:
        self._work, self._tree = work, work / "tree"
        listed = subprocess.run(
            ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, encoding="utf-8"
        ).stdout
        for name in filter(None, listed.split("\0")):
            if (ROOT / name).is_file():
                (self._tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, self._tree / name)
        command = [sys.executable, "-m", "tools.world", "--dataset", "smoke"]
        command += ["--seed", str(WORLD_SEED)]
        subprocess.run(command, cwd=self._tree, check=True, stdout=subprocess.DEVNULL)
        secret = self._tree / "solutions/data/grading_secret"
        secret.write_bytes(b"net" * 16)
        command = [sys.executable, "-m", "tools.reference", "--recipe", "smoke"]
        command += ["--edition", "current", "--seed", "1"]
        subprocess.run(command, cwd=self._tree, check=True, stdout=subprocess.DEVNULL)
        self.trained = self._tree / "build" / "reference"
        self.questions = {edition: self._topics(edition) for edition in EDITIONS}

    def _topics(self, edition: str) -> dict[str, str]:
        """Return the numbers of an edition's questions that have tests, by topic."""
        ran = self._grade(ROOT / "solutions", ("--edition", edition, "--list"), self._work)
        numbers = re.findall(r"^ +(\w+)-0-(?:basic|hidden)", ran.stdout, re.MULTILINE)
        out = self._work / f"{edition}.json"
        first = ("--edition", edition, "--json", str(out), numbers[0])
        self._grade(ROOT / "solutions", first, self._work)
        tests = json.loads(out.read_text(encoding="utf-8"))["tests"]
        topics = {t["topic"]: t["test_id"].split("-")[0] for t in tests}
        assert set(topics.values()) == set(numbers)
        return topics

    def _grade(self, upload: Path, arguments: tuple, scratch: Path) -> subprocess.CompletedProcess:
        command = [sys.executable, self._tree / "src" / "grader.py", "--submission", upload]
        if "--gradescope" in arguments:
            command = command[:2]
        environment = {"PATH": os.environ["PATH"], "TMPDIR": str(scratch), "COLUMNS": "200"}
        return subprocess.run(
            [*command, *arguments],
            cwd=scratch,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=CASE_S,
        )

    def result(self, case: Case | Command) -> dict[str, Any]:
        """Grade a case; return what is compared."""
        if isinstance(case, Command):
            return {"command": case.observe()}
        folder = Path(tempfile.mkdtemp(prefix="net-", dir=self._work))
        folder.chmod(0o755)
        try:
            try:
                upload = case.build(folder)
            except ValueError as error:  # a variant that no longer fits the reference
                return {"error": str(error)}
            if case.gradescope:
                return self._on_gradescope(case, folder, upload)
            out = folder / "results.json"
            ran = self._grade(upload, (*case.arguments, "--json", str(out)), folder)
            tests = json.loads(out.read_text(encoding="utf-8"))["tests"] if out.exists() else []
            chosen = [t for t in tests if t["outcome"] != "not run" or t["message"] != "not run"]
            return {
                "code": ran.returncode,
                "tests": {t["test_id"]: _of_test(t) for t in chosen},
                "causes": {t["test_id"]: t["cause"] for t in chosen if t["cause"]},
                "text": masked(ran.stdout + ran.stderr),
            }
        finally:
            subprocess.run(["chmod", "-R", "u+rwX", folder], check=False, capture_output=True)
            shutil.rmtree(folder, ignore_errors=True)

    def printed(self, *arguments: str) -> str:
        """Return what the grader prints without a submission."""
        ran = self._grade(self._tree / "src", arguments, self._work)
        return masked(ran.stdout + ran.stderr)

    def places(self, *arguments: str) -> list[str]:
        """Return what --where prints, without names of files and functions: these may change."""
        lines = self.printed(*arguments, "--where").splitlines()
        words = [line.split()[0] if line.startswith(" ") else line for line in lines]
        return [word for word in words if word != "calls"]

    def replayed(self) -> str:
        """Replay the baseline's result of the reference; record it if there is none."""
        stored = self._work / "stored.json"
        upload = net_submissions.reference(Path(tempfile.mkdtemp(dir=self._work)))
        if not STORED.exists():
            options = ("--edition", "current", "--seed", "5", "3a", "1e", "--json", str(STORED))
            self._grade(upload, options, self._work)
        shutil.copy(STORED, stored)
        ran = self._grade(upload, ("--replay", str(stored)), self._work)
        return masked(f"{ran.returncode}\n{ran.stdout}{ran.stderr}")

    def built(self, what: str, *options: str) -> list[str]:
        """Build a zip; return the names of its files, and the lines of its notebooks' cells."""
        command = [sys.executable, "-m", f"tools.{what}", "--edition", "xcs224n", *options]
        subprocess.run(command, cwd=self._tree, check=True, capture_output=True)
        (path,) = (self._tree / "dist").glob(f"*{what}*.zip")
        with zipfile.ZipFile(path) as archive:
            names = sorted(archive.namelist())
            books = [json.loads(archive.read(n)) for n in names if n.endswith(".ipynb")]
        cells = ["".join(cell["source"]) for book in books for cell in book["cells"]]
        return [*names, *masked("\n".join(cells)).splitlines()]

    def _on_gradescope(self, case: Case, folder: Path, upload: Path) -> dict[str, Any]:
        root = folder / "autograder"
        (root / "results").mkdir(parents=True)
        upload.rename(root / "submission")
        metadata = net_submissions.METADATA
        (root / "submission_metadata.json").write_text(json.dumps(metadata), encoding="utf-8")
        ran = self._grade(upload, (*case.arguments, "--gradescope", str(root)), folder)
        path = root / "results" / "results.json"
        document = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        keep = ("name", "score", "max_score", "status", "visibility", "output")
        tests = document.get("tests", [])
        entries = [{k: t[k] for k in keep if k in t} for t in tests]
        for entry in entries:
            entry["output"] = masked(entry.get("output", ""))
        return {
            "code": ran.returncode,
            "entries": entries,
            "score": document.get("score"),
            "output": masked(str(document.get("output", ""))),
            "text": masked(ran.stdout + ran.stderr),
        }


def _of_test(test: dict[str, Any]) -> list[str]:
    return [test["outcome"], f"{test['score']} of {test['max_score']}", masked(test["message"])]


def masked(text: str) -> str:
    """Return a text without what may differ between two runs of the same code."""
    for pattern, word in MASKS:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.splitlines() if not line.startswith("record:"))


# -- cases --------------------------------------------------------------------------------------


def cases(net: Net) -> Iterator[Case | Command]:
    """Return all cases."""
    yield from _commands(net)
    yield from _golden(net)
    yield from _attacks()
    yield from _submissions(net)


def _golden(net: Net) -> Iterator[Case]:
    for place, variant in enumerate(all_variants()):
        edition, numbers = _questions(net, variant)
        build = _lay_out(variant)
        options = ("--edition", edition, *numbers)
        short = place % 10 == 0
        for seed in (SEED, SECOND_SEED) if short else (SEED,):
            name = f"golden/{variant.name}/{seed}"
            yield Case(name, build, (*options, "--seed", str(seed)), is_short=short)


def _questions(net: Net, variant: Variant) -> tuple[str, list[str]]:
    """Return the first edition that has all topics of a variant, and their questions' numbers."""
    for edition, numbers in net.questions.items():
        if all(topic in numbers for topic in variant.topics):
            if variant.topic == "building_blocks":
                topic = variant.field("region").split(", ")[2].replace(" ", "_")
                return edition, [numbers[topic]]
            return edition, [numbers[topic] for topic in variant.topics]
    raise ValueError(f"{variant.name}: no edition has its topics")


def _lay_out(variant: Variant) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        upload = lay_out(variant, folder / "upload")
        shutil.rmtree(upload / "pretraining", ignore_errors=True)
        return upload

    return build


def _attacks() -> Iterator[Case]:
    names = [n for n, path in arena.ATTACKS.items() if not arena.header(path, arena.HANDS_IN)]
    for place, name in enumerate(names):
        arguments = ("3a-0-basic", "3a-1-hidden", "3b", "--seed", str(SEED))
        short = place % (len(names) // 20) == 0
        build = net_submissions.attack(arena.ATTACKS[name].read_text(encoding="utf-8"))
        yield Case(f"attack/{name}", build, arguments, is_short=short, repeatable=False)


def _submissions(net: Net) -> Iterator[Case]:
    made = net_submissions.SUBMISSIONS
    for place, (name, build) in enumerate(made.items()):
        edition = EDITIONS[place % 3]
        options = ("--edition", edition, "--seed", str(SEED))
        short = place % 4 == 0
        yield Case(f"submission/{name}/{edition}", build, options, is_short=short)
        if place % 3 == 0 or short:
            name = f"gradescope/{name}/{edition}"
            yield Case(name, build, ("--edition", edition), gradescope=True, is_short=short)
    trained = net_submissions.trained(net.trained)
    for edition in EDITIONS:
        options = ("--edition", edition)
        yield Case(f"submission/trained/{edition}", trained, (*options, "--seed", str(SEED)))
        yield Case(f"gradescope/trained/{edition}", trained, options, gradescope=True)


def _commands(net: Net) -> Iterator[Command]:
    for edition in EDITIONS:
        options = ("--edition", edition)
        yield Command(f"list/{edition}", lambda o=options: net.printed(*o, "--list"), True)
        yield Command(f"where/{edition}", lambda o=options: net.places(*o), True)
    yield Command("replay", net.replayed, True)
    yield Command("zip/student", lambda: net.built("student"))
    yield Command("zip/autograder", lambda: net.built("autograder", "--recipe", "smoke"))


# -- comparing ----------------------------------------------------------------------------------


def differences(name: str, old: Any, new: Any, key: str = "") -> Iterator[str]:
    """Return a line for each value that differs; None in the baseline stands for any value."""
    if old is None or key == "causes" or old == new:
        return
    if isinstance(old, dict) and isinstance(new, dict):
        for part in [*old, *(k for k in new if k not in old)]:
            yield from differences(name, old.get(part, "-"), new.get(part, "-"), part)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for before, after in zip(old, new, strict=True):
            yield from differences(name, before, after, key)
    elif key == "command" and isinstance(old, list) and isinstance(new, list):
        yield from differences(name, "\n".join(old), "\n".join(new), key)
    elif isinstance(old, str) and isinstance(new, str) and ("\n" in old or "\n" in new):
        for line in difflib.unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=0):
            if not line.startswith(("---", "+++", "@@")):
                yield f"{name}: {key}: {line}"
    else:
        yield f"{name}: {key}: {old!r} -> {new!r}"


FRAME = re.compile(r"^ +File .*, line \d+, in .*\n(?: {12}.*\n)*", re.MULTILINE)
# Frames of the reference's own code, and its lines, of which there are more now.
LINE = re.compile(r"(submission/(?:attention|model)\.py):\d+")


def comparable(value: Any) -> Any:
    """Return a result without what a change of any code moves: frames, lines, --where's files."""
    if isinstance(value, str):
        return LINE.sub(r"\1:LINE", FRAME.sub("", value))
    if isinstance(value, dict):
        return {key: comparable(part) for key, part in value.items()}
    if isinstance(value, list):
        parts = [comparable(part) for part in value]
        kinds = ("test", "probe", "judge")
        return [p for i, p in enumerate(parts) if not (p in kinds and parts[i - 1] == p)]
    return value


def stable(first: Any, second: Any) -> Any:
    """Return a result in which what differed between two runs is None."""
    if first == second:
        return first
    if isinstance(first, dict) and isinstance(second, dict) and first.keys() == second.keys():
        return {key: stable(first[key], second[key]) for key in first}
    if isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        return [stable(a, b) for a, b in zip(first, second, strict=True)]
    return None


def renamed_causes(old: dict[str, dict], new: dict[str, dict]) -> Iterator[str]:
    """Return a line for each id of a cause that was split or joined."""
    pairs = set()
    for name in old.keys() & new.keys():
        before, after = old[name].get("causes") or {}, new[name].get("causes") or {}
        both = {(before[test], after[test]) for test in before.keys() & after.keys()}
        pairs |= {pair for pair in both if None not in pair}  # None: it differs from run to run
    for side, word in ((0, "became"), (1, "were joined in")):
        for cause in sorted({pair[side] for pair in pairs}):
            others = sorted(pair[1 - side] for pair in pairs if pair[side] == cause)
            if len(others) > 1:
                yield f"causes: {cause} {word} {', '.join(others)}"


def read_baseline() -> dict[str, Any]:
    """Return the baseline: its commit, and the result of each case."""
    if not BASELINE.exists():
        sys.exit(f"{BASELINE.name} is missing: run `python -m tests.net --record` on the baseline")
    return json.loads(lzma.decompress(BASELINE.read_bytes()))


def run(net: Net, chosen: list[Case | Command], twice: bool) -> dict[str, dict[str, Any]]:
    """Grade the cases, two at a time; `twice` finds what isn't repeatable."""

    def one(case: Case | Command) -> dict[str, Any]:
        result = net.result(case)
        return stable(result, net.result(case)) if twice and not case.repeatable else result

    results = {}
    with ThreadPoolExecutor(os.cpu_count()) as executor:
        for case, result in zip(chosen, executor.map(one, chosen), strict=True):
            results[case.name] = result
            if len(results) % 25 == 0:
                print(f"{len(results)} of {len(chosen)} cases", file=sys.stderr, flush=True)
    return results


def main(arguments: list[str] | None = None) -> int:
    """Compare or record; return 1 if something differs that isn't wanted."""
    parser = argparse.ArgumentParser(prog="python -m tests.net")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--record", action="store_true", help="write the baseline")
    parser.add_argument("-k", metavar="WORD", default="", help="part of the cases' names")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="net-") as work:
        os.chmod(work, 0o755)
        net = Net(Path(work))
        chosen = [
            c for c in cases(net) if options.k in c.name and (c.is_short or not options.short)
        ]
        results = run(net, chosen, options.record)
    if options.record:
        head = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True
        )
        earlier = read_baseline()["cases"] if options.k and BASELINE.exists() else {}
        data = {"commit": head.stdout.strip(), "cases": earlier | results}
        BASELINE.write_bytes(lzma.compress(json.dumps(data, sort_keys=True).encode(), preset=9))
        return 0
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True), encoding="utf-8")
    return compared(results)


def compared(results: dict[str, dict[str, Any]]) -> int:
    """Print what differs from the baseline and isn't wanted; return 1 if anything does."""
    baseline = read_baseline()["cases"]
    lines = [f"{name}: not in the baseline" for name in results.keys() - baseline.keys()]
    for name in results.keys() & baseline.keys():
        lines += differences(name, comparable(baseline[name]), comparable(results[name]))
    lines += renamed_causes(baseline, results)
    lines = [line for line in sorted(lines) if not any(re.search(p, line) for p in WANTED)]
    print("\n".join([*lines, f"{len(results)} cases, {len(lines)} differences"]))
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
