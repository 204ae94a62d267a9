"""A test whose tool is missing is skipped and named; with CI=true it fails. What shares, shares."""

import os
import re
from pathlib import Path

import pytest

from tests import side_by_side

SUITE = """
import pytest

@pytest.mark.requires_tool("no-such-tool")
def test_that_needs_it():
    pass

@pytest.mark.requires_tool("sh")
def test_that_has_what_it_needs():
    pass
"""


@pytest.fixture
def run_suite(tmp_path, root, run_python):
    (tmp_path / "test_inner.py").write_text(SUITE, encoding="utf-8")

    def run(ci, *more):
        plugins = ("-p", "no:cacheprovider", "-p", "tests.missing_tools")
        command = ("-m", "pytest", *plugins, *more, "--rootdir", tmp_path, tmp_path)
        environment = {**os.environ, "CI": ci, "PYTHONPATH": str(root)}
        return run_python(*command, env=environment, cwd=tmp_path)

    return run


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_missing_tool_skips_and_is_named(run_suite, more):
    result = run_suite("", *more)
    assert result.returncode == 0, result.stdout
    assert "1 passed, 1 skipped" in result.stdout
    assert "missing tool: no-such-tool" in result.stdout


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_missing_tool_fails_in_ci(run_suite, more):
    result = run_suite("true", *more)
    assert result.returncode == 1, result.stdout
    assert "1 passed, 1 error" in result.stdout
    assert "missing tool: no-such-tool" in result.stdout


def test_what_shares_the_trained_project_runs_in_one_process():
    """`make test` is three processes: others than TRAINED would train the project again."""
    tests = Path(side_by_side.__file__).parent
    shared = {(tests / name).resolve() for name in side_by_side.TRAINED}
    assert all(path.exists() for path in shared)
    for path in tests.rglob("test_*.py"):
        if path.parent.name != "redteam" and not shared & {path, *path.parents}:
            text = path.read_text(encoding="utf-8")
            used = re.findall(r"^def \w+\(.*\b(?:demo|released)\b", text, re.MULTILINE)
            assert not used, f"{path.name}: {used[0]}"
