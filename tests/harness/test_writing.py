"""A replaced file is always complete: either the old one or the new one."""

import os

import pytest

from grading.results import replacing, write_atomically


def test_a_file_is_replaced_at_the_end_and_not_before(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with replacing(path) as writer:
        writer.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    write_atomically(path, "half \udc80 a pair")  # as in the name of a file
    assert path.read_bytes() == b"half ? a pair"
    assert os.listdir(tmp_path) == ["results.json"]
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_exception_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "results.json"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), replacing(path) as writer:
        writer.write(b"half of the new")
        raise KeyboardInterrupt
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["results.json"]
