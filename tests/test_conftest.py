"""The plugins of the suite: what is said of missing tools, and which tests share a process."""

import os
import re

import pytest

from tests import scheduling

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


def test_what_shares_the_trained_project_runs_in_one_process(root):
    """Files other than those of SHARED would train the project again."""
    shared = scheduling.SHARED["trained"]
    assert all((root / "tests" / name).exists() for name in shared)
    for path in (root / "tests").rglob("test_*.py"):
        name = path.relative_to(root / "tests").as_posix()
        if not name.startswith((*shared, "redteam/")):
            text = path.read_text(encoding="utf-8")
            used = re.findall(r"^def \w+\(.*\b(?:demo|released)\b", text, re.MULTILINE)
            assert not used, f"{path.name}: {used[0]}"


def test_every_name_of_the_schedule_exists(root):
    names = [name for name in scheduling.LONG if name not in scheduling.SHARED]
    assert all((root / name).is_file() for name in names)
    prefixes = [prefix for group in scheduling.SHARED.values() for prefix in group]
    assert all((root / "tests" / prefix).exists() for prefix in prefixes)


WHO = """
import os
import time

import pytest

@pytest.mark.parametrize("number", range(6))
def test_of_many(number):
    time.sleep(.05)  # long enough for another process to take the next test
    print("WORKER", os.environ["PYTEST_XDIST_WORKER"], __file__)
"""


def test_files_that_share_run_in_one_process(tmp_path, root, run_python):
    """Three files of two groups on three processes: each group is in one of them."""
    names = ["redteam/test_a.py", "redteam/test_b.py", "test_c.py"]
    for name in names:
        (tmp_path / "tests" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tests" / name).write_text(WHO, encoding="utf-8")
    plugins = ("-p", "no:cacheprovider", "-p", "tests.scheduling", "-n", "3", "-rP")
    environment = {**os.environ, "PYTHONPATH": str(root)}
    result = run_python("-m", "pytest", *plugins, "tests", env=environment, cwd=tmp_path)
    assert "18 passed" in result.stdout, result.stdout
    ran = re.findall(r"^WORKER (\w+) .*/(test_\w)\.py$", result.stdout, re.MULTILINE)
    assert len(ran) == 18
    workers = {name: {worker for worker, file in ran if file in name} for name in names}
    assert workers[names[0]] == workers[names[1]] and len(workers[names[0]]) == 1
    assert len(workers[names[2]]) == 1 and workers[names[2]] != workers[names[0]]
