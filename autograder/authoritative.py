"""A run whose score counts: what it requires of its pool and its seed.

`isolation/authority.py` verifies the confinement.
"""

import contextlib
import hashlib
import hmac
from dataclasses import replace

from grading.cases import derive_seed
from grading.errors import GradingError, UsageError
from grading.pool import LocalPool, Pool
from grading.runner import Observer, Options, Runner
from grading.verdicts import Outcome, Results

from . import isolation, solutions

SECRET = "grading_secret"  # in solutions/data
GUESSABLE = 1 << 40  # all smaller seeds can be tried out while a test runs


def grade(
    runner: Runner,
    options: Options,
    seed: int,
    observer: Observer | None = None,
    counts: bool = True,
) -> Results:
    """Grade one submission so that its score counts, and return the results.

    Args:
        runner: of the course, with its judges.
        seed: see `large_seed`.
        counts: False for a rehearsal, with whatever confinement there is here.

    Raises:
        SubmissionError: there is nothing to grade.
        UsageError: options are wrong, or the description is.
        GradingError: the run can't be authoritative, or the grader failed.
    """
    options, seed = replace(options, counts=True), large_seed(seed)
    with contextlib.closing(open_pool(seed, counts)) as pool:
        return runner.run(options, seed, observer or Observer(), pool)


def nothing_to_grade(results: Results) -> Results:
    """Give every test that counts zero points: there is nothing to grade. Return the results."""
    why = "not run: nothing to grade was found"
    for place, test in enumerate(results.tests):
        if test.outcome is not Outcome.DROPPED:
            results.tests[place] = replace(test, outcome=Outcome.MISSING_FILE, message=why)
    return results


def seed_from_secret(name: str) -> int:
    """Derive a seed from the term's secret, the same each time; GradingError: there is none."""
    try:
        secret = (solutions.ANSWERS / SECRET).read_bytes()
    except OSError as error:
        raise GradingError(f"the release lacks solutions/data/{SECRET}: {error}") from None
    return seed_of(secret, name)


def seed_of(secret: bytes, name: str) -> int:
    """Derive the seed of a submission from a term's secret and its name or id."""
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
    if not (solutions.ANSWERS / SECRET).exists():
        raise UsageError(
            f"--seed {seed}: an authoritative run can use a seed below 2^40, which code could "
            f"find by trying, only with solutions/data/{SECRET}; `make autograder` creates it"
        )
    return seed_from_secret(f"seed {seed}")


def open_pool(seed: int, counts: bool = False) -> Pool:
    """Return the pool for a run next to the solutions.

    Where workers can't be confined (Windows, macOS), each job has a process of its own: nothing
    that student code did may meet the reference.

    Raises:
        GradingError: this is such a computer, and the run's score is to count.
    """
    hash_seed = derive_seed(seed, "hash")
    if not isolation.is_available():
        if counts:
            raise GradingError("this run can't be authoritative: it needs Linux")
        return LocalPool(hash_seed, always_fresh=True)
    return isolation.ConfinedPool(hash_seed, authoritative=counts)
