"""A pytest-xdist plugin: which tests share a process, which start first, which are long; limits.

The tests of one file share a process, and with it their module's fixtures; some files share one
with each other. The longest start first, so that no process is left alone at the end.

No test measures wall time, but a test that hangs fails: each has a limit, which is longer on a
machine that others use when the tests are collected. Load that comes later has room in it, since
the usual limit is eight times as long as the longest test takes on an idle machine.
"""

import zlib

import pytest
from xdist.scheduler import LoadScopeScheduling

from tests.redteam.arena import slowness

SHARED = {
    # Two variants are trained once a process, for half a minute.
    "experiments": ("experiments/",),
    # So is each variant, with a tiny recipe.
    "running": ("running/",),
    # Attacks that run as one ordinary user kill that user's other tests.
    "redteam": ("redteam/",),
    # The reference's answers, with which variants are compared, are computed once a process.
    "golden": ("test_golden.py", "test_mutants.py"),
    # The written answers' numbers are computed once a process, also with a model.
    "written": ("written/",),
    # These grade with the same tiny course, packed once a process.
    "clusters": tuple(
        f"classroom/test_{name}.py" for name in ("kills", "cluster", "grade", "guide")
    ),
}
FIRST = (
    "tests/gradescope/test_autograder.py",  # trains and builds what later tests use (conftest.py)
    "redteam",
    "golden",
    "tests/handout/test_pages.py",
    "tests/handout/test_web.py",
    "tests/test_types.py",
    "clusters",
    "tests/test_notebooks.py",
    "experiments",
    "tests/harness/test_importing.py",
    "tests/harness/test_outcomes.py",
    # These need what is built by the first, which is there by now.
    "tests/test_end_to_end.py",
    "tests/handout/test_release.py",
)


def share(nodeid: str) -> str:
    """Return the name of what a test shares a process with: a key of SHARED, or its file."""
    path = nodeid.partition("::")[0]
    for name, prefixes in SHARED.items():
        if path.startswith(tuple(f"tests/{prefix}" for prefix in prefixes)):
            return name
    return path


def mark_the_unsampled(items: list[pytest.Item]) -> None:
    """Mark as long what `@pytest.mark.sampled(n)` leaves out: all but one in n parameter sets.

    With `group_of`, a function of the parameters, this is done in each group. One of a group at
    least is kept, and the choice depends neither on the order nor much on the other sets.
    """
    groups: dict[object, list[pytest.Item]] = {}
    for item in items:
        if mark := item.get_closest_marker("sampled"):
            group_of = mark.kwargs.get("group_of", lambda *_: None)
            key = item.nodeid.partition("[")[0], group_of(*item.callspec.params.values())
            groups.setdefault(key, []).append(item)
    for group in groups.values():
        (n,) = group[0].get_closest_marker("sampled").args
        group.sort(key=lambda item: zlib.crc32(item.nodeid.encode()))
        for item in group[-(-len(group) // n) :]:
            item.add_marker(pytest.mark.long)


def scale_limits(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let each test take as many times its limit as this machine is slower than if idle."""
    slower, usual_s = slowness(), float(config.getini("timeout"))
    for item in items:
        mark = item.get_closest_marker("timeout")
        limit = pytest.mark.timeout((mark.args[0] if mark else usual_s) * slower)
        item.add_marker(limit, append=False)


class ByShare(LoadScopeScheduling):
    """Give a process all tests that share one, in the order in which they were collected.

    xdist 3.8's own groups (`--dist loadgroup`) are lost: it renames tests, which pytest 9.2 no
    longer allows.
    """

    def _split_scope(self, nodeid: str) -> str:
        return share(nodeid)


@pytest.hookimpl(optionalhook=True)  # of xdist, which may be turned off
def pytest_xdist_make_scheduler(config: pytest.Config, log) -> ByShare:
    config.option.loadscopereorder = False
    return ByShare(config, log)


@pytest.hookimpl(tryfirst=True)  # before `-m "not long"` is applied
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    mark_the_unsampled(items)
    scale_limits(config, items)

    def rank(item: pytest.Item) -> tuple[int, ...]:
        if config.option.order is not None:
            words = item.nodeid.partition("::")[0], item.nodeid
            return tuple(zlib.crc32(f"{config.option.order} {word}".encode()) for word in words)
        name = share(item.nodeid)
        return (FIRST.index(name) if name in FIRST else len(FIRST),)

    items.sort(key=rank)


def pytest_addoption(parser: pytest.Parser) -> None:
    help = "run the files, and the tests of each, in an order drawn with this seed"
    parser.addoption("--order", metavar="SEED", help=help)
