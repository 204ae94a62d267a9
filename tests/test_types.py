"""The types of the whole project agree, which is checked beside the tests that take longer."""

from tests.project import ROOT, make


def test_types_agree():
    checked = make(ROOT, "types")
    assert checked.returncode == 0, checked.stdout + checked.stderr
