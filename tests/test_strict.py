"""A file that is opened without its encoding fails a test, whichever process runs it."""

import os
import subprocess
import sys

import pytest

from tests.project import ROOT
from tests.strict import FLAGS

SUITE = """
import dask.config  # which opens files without their encoding on import

def test_that_names_the_encoding():
    open(__file__, encoding="utf-8").close()

def test_that_does_not():
    open(__file__).close()
"""


@pytest.mark.parametrize("more", [(), ("-n", "1")], ids=["one process", "xdist"])
def test_an_encoding_that_is_not_named_is_an_error(more, tmp_path):
    (tmp_path / "test_inner.py").write_text(SUITE, encoding="utf-8")
    settings = ("-c", ROOT / "pyproject.toml", "--rootdir", tmp_path, "-p", "no:cacheprovider")
    ran = subprocess.run(
        [sys.executable, *FLAGS, "-m", "pytest", *settings, *more, tmp_path],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "1 failed, 1 passed" in ran.stdout, ran.stdout + ran.stderr
    assert "EncodingWarning: 'encoding' argument not specified" in ran.stdout


def test_make_starts_pytest_with_these_flags():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"STRICT := {' '.join(FLAGS)}\n" in makefile
    assert makefile.count("$(PYTHON_VENV) $(STRICT) -m pytest") == 3  # test, test-quick, redteam
