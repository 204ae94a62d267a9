"""A plugin of pytest-xdist: the processes that run tests are as strict as the one that starts them.

Python warns of a file that is opened without its encoding only if it was started with
`-X warn_default_encoding` (Makefile, tests/interpreter.py). xdist starts its processes without the
flags of its own. pyproject.toml makes the warning an error, except in others' packages.
"""

import shlex
import sys

import pytest

FLAGS = ("-X", "warn_default_encoding")


@pytest.hookimpl(optionalhook=True)  # of xdist, which may be missing or turned off
def pytest_xdist_setupnodes(specs: list) -> None:
    for spec in specs:
        if spec.popen and not spec.python:
            spec.python = shlex.join([sys.executable, *FLAGS])
