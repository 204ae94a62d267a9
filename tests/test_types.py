"""The types of the whole project agree, which is checked beside the tests that take longer."""

import pytest

from tests.project import ROOT, make

pytestmark = pytest.mark.requires_tool("make")


def test_types_agree():
    checked = make(ROOT, "types")
    assert checked.returncode == 0, checked.stdout + checked.stderr
