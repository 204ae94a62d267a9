"""An authoritative run: one whose score counts, and its requirements.

Required are a separate process and uid for each test (and therefore Linux and root), limits,
no_new_privs, secrets that the tests' uids can't read, and no network. Landlock and seccomp are used
if the kernel has them, and reported as missing otherwise. All of this is verified: a canary in a
worker tries each forbidden action, and any success is a grader error. So is a submitted link to the
solutions that was followed.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from . import paths, sandbox, schema, trees, wire
from .errors import GradingError, SubmissionError, UsageError, WireError
from .judges import refuse_closed
from .limits import Limits
from .processes import Job, Pool
from .staging import stage

SECRET = "grading_secret"  # in solutions/data
GUESSABLE = 1 << 40  # all smaller seeds can be tried out while a test runs
CANARY = {"read": [str], "written": [str], "signalled": [int], "sockets": [str], "scratch": bool}
CANARY_CPU_S = 10.0
# Where an upload may contain a link, and the part of the solutions' folder to which it leads.
LINKS = {
    "submission": "submission",
    "src": ".",
    "src/submission": "submission",
    "wrapping": ".",
    "wrapping/submission": "submission",
    "submission/dataset.py": "submission/dataset.py",
    "deep/er/Submission (1)": "submission",
    "deep/er": ".",
}


def seed_from_secret(name: str) -> int:
    """Derive a seed from the term's secret, which students can't predict, and the same each time.

    Raises:
        GradingError: there is no secret.
    """
    try:
        secret = (paths.ANSWERS / SECRET).read_bytes()
    except OSError as error:
        raise GradingError(f"the release lacks solutions/data/{SECRET}: {error}") from None
    digest = hmac.new(secret, name.encode("utf-8", errors="surrogatepass"), hashlib.sha256).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def large_seed(seed: int) -> int:
    """Return a seed that code can't find out: a small one is replaced by one from the secret.

    Code could try each small seed, and compare what is drawn with its inputs or with the state of
    its own generators. With the right one, it could draw whatever its test will draw.

    Raises:
        UsageError: there is no secret.
    """
    if seed >= GUESSABLE:
        return seed
    if not (paths.ANSWERS / SECRET).exists():
        raise UsageError(
            f"--seed {seed}: an authoritative run can use a seed below 2^40, which code could "
            f"find by trying, only with solutions/data/{SECRET}; `make autograder` creates it"
        )
    return seed_from_secret(f"seed {seed}")


def secrets(private: Sequence[Path] = ()) -> list[str]:
    """List what student code must not read: solutions, answers, results being written, ...

    Raises:
        UsageError: this user can't read the solutions.
    """
    refuse_closed(paths.SOLUTIONS)
    found = [paths.SOLUTIONS, paths.ANSWERS, *sorted(paths.ANSWERS.glob("*"))]
    for code in (paths.HIDDEN, paths.SOLUTIONS / "submission"):
        found += [code, *sorted(code.glob("*.py"))]
    return [str(path) for path in [*found, *private] if path.exists()]


def send_canary(
    pool: Pool, layers: sandbox.Layers, work: Path, staged: Path, private: Sequence[Path] = ()
) -> dict[str, Any]:
    """Run the canary like a test, and submit links; return what it could do.

    Raises:
        GradingError: it didn't return.
    """
    scratch = work / "canary"
    scratch.mkdir()
    uids = sandbox.UidPool()
    confinement = sandbox.for_worker(layers, uids, staged, scratch)
    if confinement.uid is not None:
        os.chown(scratch, confinement.uid, confinement.uid)
    parents = [path.parent for path in private]
    args = {
        "secrets": secrets(private),
        "folders": [str(p) for p in {work, staged, paths.SRC, paths.ROOT, paths.DATA, *parents}],
        "pids": [os.getpid(), os.getppid()],
    }
    request = {
        "probe": "grading.canary:try_everything",
        "args": args,
        "seed": 0,
        "submission": str(staged),
    }
    limits = Limits.for_test(CANARY_CPU_S)
    finished = pool.run(Job(False, request, limits, scratch, confinement, uids.claims_fd))
    uids.release(confinement.uid)
    try:
        envelope = wire.decode(finished.frame or b"")
        schema.check(envelope.get("value"), CANARY)
    except (WireError, AttributeError) as error:
        raise GradingError(f"the canary did not return: {error}; {finished.output}") from None
    return envelope["value"] | {"linked": hand_in_links(work)}


def hand_in_links(work: Path) -> list[str]:
    """Try to submit the reference as a link; return the places of links that were followed."""
    followed = []
    for number, (name, target) in enumerate(LINKS.items()):
        upload, staged = work / f"canary-upload-{number}", work / f"canary-staged-{number}"
        (upload / name).parent.mkdir(parents=True)
        (upload / name).symlink_to(paths.SOLUTIONS / target)
        try:
            stage(upload, staged)
            followed.append(name)
        except SubmissionError:
            continue
        finally:
            trees.remove_tree(upload)
            trees.remove_tree(staged)
    return followed


def faults(layers: sandbox.Layers, canary: dict[str, Any]) -> list[str]:
    """List the reasons why a run can't be authoritative here; none if it can."""
    found = [] if layers.root else [f"tests have no uid of their own ({layers.obstacle})"]
    found += [f"student code can read {path}" for path in canary["read"]]
    found += [f"student code can write to {path}" for path in canary["written"]]
    found += [f"student code can signal process {pid}" for pid in canary["signalled"]]
    found += [f"student code can open {kind} sockets" for kind in canary["sockets"]]
    found += [f"{name} can be submitted as a link to the solutions" for name in canary["linked"]]
    return found + ([] if canary["scratch"] else ["student code can't write to its scratch folder"])
