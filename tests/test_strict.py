"""A file that is opened without its encoding fails a test of ours, however the tests are run."""

import os

import pytest

INNER = """
import importlib
from pathlib import Path

def test_of_ours():
    open(__file__).close()

def test_of_ours_that_names_the_encoding():
    open(__file__, encoding="utf-8").close()

def test_of_a_package_of_others(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    importlib.import_module("NAME.opens")
"""


@pytest.fixture
def run_inner(tmp_path, root, run_python):
    """Return a function that runs tests like those of the suite, with its configuration."""

    def run(name, *more):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / "opens.py").write_text("open(__file__).close()\n", encoding="utf-8")
        test = tmp_path / "test_inner.py"
        test.write_text(INNER.replace("NAME", name), encoding="utf-8")
        options = ("-p", "no:cacheprovider", "-c", root / "pyproject.toml", "--rootdir", root)
        environment = {**os.environ, "PYTHONPATH": str(root)}
        return run_python("-m", "pytest", *options, *more, test, env=environment)

    return run


def test_an_encoding_that_is_not_named_fails_a_test(run_inner):
    found = run_inner("ours", "-n", "1")
    assert "2 failed, 1 passed" in found.stdout, found.stdout + found.stderr
    assert found.stdout.count("EncodingWarning: 'encoding' argument not specified") >= 2


def test_in_a_package_of_dasks_it_does_not(run_inner):
    # dask itself can't be replaced here, so this is a package whose name begins like one of its.
    found = run_inner("distributed", "-n", "1")
    assert "1 failed, 2 passed" in found.stdout, found.stdout + found.stderr
    assert "test_of_ours -" in found.stdout


@pytest.mark.long
def test_the_whole_suite_is_collected_in_one_process(run_python):
    """xdist's processes collect it in every run."""
    found = run_python("-m", "pytest", "-p", "no:cacheprovider", "--collect-only", "-qq")
    assert found.returncode == 0, found.stdout[-3000:] + found.stderr
    assert "tests/classroom/test_cluster.py: " in found.stdout
