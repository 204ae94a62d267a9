"""The suite's plugins: how missing tools are reported, and which tests share a process."""

import os
import re

import pytest

from tests import scheduling

SUITE = """
import pytest

pytestmark = pytest.mark.long

@pytest.mark.requires_tool("no-such-tool")
def test_that_needs_it():
    pass

@pytest.mark.requires_tool("sh")
def test_that_has_what_it_needs():
    pass
"""


LONG = ("-m", "long")


@pytest.fixture
def run_suite(tmp_path, root, run_python):
    (tmp_path / "test_inner.py").write_text(SUITE, encoding="utf-8")

    def run(ci, *more):
        plugins = ("-p", "no:cacheprovider", "-p", "tests.missing_tools", "-o", "markers=long")
        command = ("-m", "pytest", *plugins, *more, "--rootdir", tmp_path, tmp_path)
        environment = {**os.environ, "CI": ci, "PYTHONPATH": str(root)}
        return run_python(*command, env=environment, cwd=tmp_path)

    return run


def test_missing_tool_skips_and_is_named(run_suite):
    result = run_suite("", "-n", "1")
    assert result.returncode == 0, result.stdout
    assert "1 passed, 1 skipped" in result.stdout
    assert "missing tool: no-such-tool" in result.stdout


@pytest.mark.parametrize("more", [("-n", "1"), LONG], ids=["xdist", "long"])
def test_missing_tool_fails_in_ci(run_suite, more):
    result = run_suite("true", *more)
    assert result.returncode == 1, result.stdout
    assert "1 passed, 1 error" in result.stdout
    assert "missing tool: no-such-tool" in result.stdout


def test_what_is_made_once_is_made_by_one_of_all_processes(tmp_path, root, run_python):
    """The first attempt fails, and the next process that asks repeats it."""
    for name in "abcd":
        (tmp_path / f"test_{name}.py").write_text(ONCE, encoding="utf-8")
    log = tmp_path / "log"
    environment = {**os.environ, "PYTHONPATH": str(root), "LOG": str(log)}
    words = ("-m", "pytest", "-p", "no:cacheprovider", "-n", "3", str(tmp_path))
    result = run_python(*words, env=environment, cwd=tmp_path)
    assert "1 failed, 3 passed" in result.stdout, result.stdout
    assert log.read_text(encoding="utf-8") == "begun\nbegun\nmade\n"


ONCE = """
import os

from tests.once import once

def make(folder):
    with open(os.environ["LOG"], "a+", encoding="utf-8") as log:
        log.seek(0)
        first = not log.read()
        log.write("begun\\n")
        log.flush()
        assert not first, "fails the first time"
        (folder / "made.txt").write_text("made", encoding="utf-8")
        log.write("made\\n")

def test_it_is_there(tmp_path_factory):
    made = once(tmp_path_factory, "thing", make) / "made.txt"
    assert made.read_text(encoding="utf-8") == "made"
"""


def kept(names: list[str], group_of) -> set[str]:
    """Return those that are not long."""
    return {p.values[0] for p in scheduling.sampled(names, group_of) if not p.marks}


def test_a_sample_has_a_tenth_of_each_group_and_changes_little_when_it_grows():
    names = [f"{group}/{number}" for group, size in (("a", 57), ("b", 3)) for number in range(size)]
    sample = kept(names, lambda name: name[0])
    assert [sum(name[0] == group for name in sample) for group in "ab"] == [6, 1]
    for name in names:
        fewer = kept([other for other in names if other != name], lambda name: name[0])
        assert len(sample - {name} - fewer) <= 1 and len(fewer - sample) <= 1
    assert [p.values[0] for p in scheduling.sampled(names)] == names


def test_every_name_of_the_schedule_exists(root):
    names = [name for name in scheduling.FIRST if name not in scheduling.SHARED]
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
    """With three files in two groups and three processes, each group is in one process."""
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
