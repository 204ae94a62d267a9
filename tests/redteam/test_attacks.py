"""No attack earns, learns or breaks anything, whoever grades and on whatever system: make redteam.

An attack is a file in `attacks/`: the body of `attack(keys, j)`, unless its header says that it
runs at import. Its first line says what it tries. It is put between prelude.py and epilogue.py into
attention_exploration.py, whose other function is right and must still earn its points. `arena.py`
runs all attacks in one process per mode, and reports what they achieved.
Nothing is random but uids: a false failure needs a machine so busy that 20 ms take 0.4 s of CPU.
"""

import os
import re

import pytest

from autograder.isolation import sandbox

from . import arena

# `make test` tries, as an ordinary user, one in five of those that only Landlock and seccomp stop.
QUICK = {"root": list(arena.ATTACKS), "user": list(arena.NOT_STOPPED["user-bare"])[::5]}
CASES = [
    pytest.param(mode, name, marks=[] if name in QUICK.get(mode, ()) else [pytest.mark.long])
    for mode in arena.MODES
    for name in arena.ATTACKS
    if name not in arena.NOT_STOPPED.get(mode, {})
]


@pytest.mark.parametrize(("mode", "attack"), CASES)
def test_an_attack_achieves_nothing(mode, attack, reports):
    as_root, with_kernel = arena.MODES[mode]
    found = sandbox.detect()
    if as_root and os.getuid() != 0:
        pytest.skip("needs root")
    if os.getuid() == 0 and not found.root:
        pytest.skip(found.obstacle)  # neither a uid of a test's own nor an ordinary user runs here
    if with_kernel and not (found.landlock_abi and found.seccomp):
        pytest.skip("this kernel has no Landlock or no seccomp")
    report, ended = reports(mode).get(attack), reports(mode)["the arena"]
    assert report is not None, f"the arena died before: {ended}"
    assert not report["faults"] and not ended["faults"]


def test_each_attack_says_what_it_tries_and_finds_the_modules_that_it_is_made_for():
    """Otherwise, it would end with an ImportError, and achieve nothing for that reason."""
    ours = r"^ *((?:from|import) (?:autograder|grading|questions)\b.*)"
    for path in arena.ATTACKS.values():
        assert arena.header(path, "tries"), path
        for line in re.findall(ours, path.read_text(encoding="utf-8"), re.MULTILINE):
            exec(line, {})
