"""What the tests share: the repository's folder, a way to run commands, and missing tools.

    make test

`@pytest.mark.requires_tool("pdftotext")` skips a test where that program is missing, and the
summary names it. With CI=true the test fails instead: there, everything must run.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
# The suite's own flags, for the interpreters that it starts.
STRICT = ("-X", "warn_default_encoding", "-W", "error::EncodingWarning")
MISSING = pytest.StashKey[dict[str, list[str]]]()


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def run_python() -> Callable[..., subprocess.CompletedProcess]:
    """A function that runs `python ARGUMENT...` as strictly as the suite itself.

    Its keyword arguments are those of subprocess.run; by default it runs in the repository and
    captures both streams as UTF-8 text.
    """

    def run(*arguments: str | Path, **keywords) -> subprocess.CompletedProcess:
        keywords = {
            "cwd": ROOT,
            "capture_output": True,
            "encoding": "utf-8",
            "stdin": subprocess.DEVNULL,
            "timeout": 300,
            **keywords,
        }
        return subprocess.run([sys.executable, *STRICT, *map(str, arguments)], **keywords)

    return run


def pytest_configure(config: pytest.Config) -> None:
    config.stash[MISSING] = {}
    config.addinivalue_line("markers", "requires_tool(name): needs this program on PATH")


@pytest.hookimpl(tryfirst=True)  # before the test's fixtures, which may use the tool
def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("requires_tool"):
        (name,) = mark.args
        if shutil.which(name):
            continue
        item.config.stash[MISSING].setdefault(name, []).append(item.nodeid)
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is missing; with CI=true nothing is skipped", pytrace=False)
        pytest.skip(f"{name} is missing")


def pytest_terminal_summary(terminalreporter, config: pytest.Config) -> None:
    for name, tests in sorted(config.stash[MISSING].items()):
        terminalreporter.write_line(
            f"missing tool: {name}, needed by {len(tests)} test(s) such as {tests[0]}; "
            "apt.txt names Debian's packages"
        )


@pytest.fixture(scope="session")
def tree(tmp_path_factory) -> Path:
    """A copy of the project with a smoke world in it."""
    from project import copy_of_the_project, make  # not where this file stands alone

    tree = copy_of_the_project(tmp_path_factory.mktemp("project"))
    made = make(tree, "world", "DATASET=smoke", "SEED=1")
    assert made.returncode == 0, made.stderr
    return tree


@pytest.fixture(scope="session")
def demo(tree) -> subprocess.CompletedProcess:
    """The demo, run once."""
    from project import make

    return make(tree, "demo", "RECIPE=smoke", timeout=900)


@pytest.fixture(scope="session")
def released(tree, demo) -> str:
    """What `make release` printed for the default edition, run once, after the demo."""
    from project import make, quick_demo_notebook

    quick_demo_notebook(tree)
    words = ("release", "EDITION=xcs224n", "RECIPE=smoke")
    made = make(tree, *words, timeout=900)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout
