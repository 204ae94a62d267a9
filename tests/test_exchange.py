"""Builds that fail leave the previous files as they were."""

import os

import pytest

from tests.project import contents
from tools import exchange


@pytest.fixture
def dist(tmp_path):
    folder = tmp_path / "dist"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.txt").write_text(f"old {name}", encoding="utf-8")
    return folder


def test_files_are_added_and_outdated_ones_go(dist, tmp_path):
    with exchange.adding(dist, tmp_path / "draft", ["b*"]) as draft:
        (draft / "a.txt").write_text("new a", encoding="utf-8")
        assert contents(dist) == {"a.txt": b"old a", "b.txt": b"old b"}
    assert contents(tmp_path) == {"dist/a.txt": b"new a"}


def test_a_folder_is_replaced_as_a_whole(dist, tmp_path):
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "left.txt").write_text("by an earlier failure", encoding="utf-8")
    with exchange.rebuilding(dist, tmp_path / "draft") as draft:
        (draft / "c.txt").write_text("new c", encoding="utf-8")
    assert contents(tmp_path) == {"dist/c.txt": b"new c"}


# Two moves for each file, or for the folder: the old one away, the new one there.
@pytest.mark.parametrize(("way", "moves"), [(exchange.adding, 4), (exchange.rebuilding, 2)])
def test_a_failure_at_any_moment_leaves_the_last_good_build(
    dist, tmp_path, monkeypatch, way, moves
):
    with pytest.raises(KeyboardInterrupt), way(dist, tmp_path / "draft") as draft:
        (draft / "a.txt").write_text("half", encoding="utf-8")
        raise KeyboardInterrupt
    assert contents(dist) == {"a.txt": b"old a", "b.txt": b"old b"}

    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == number:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(exchange.os, "replace", failing)
    for number in range(1, moves + 1):
        calls.clear()
        with pytest.raises(OSError, match="No space"), way(dist, tmp_path / "draft") as draft:
            for name in ("a", "b"):
                (draft / f"{name}.txt").write_text(f"new {name}", encoding="utf-8")
        assert len(calls) >= number
        assert contents(dist) == {"a.txt": b"old a", "b.txt": b"old b"}
        assert [path.name for path in tmp_path.rglob("*.tmp")] == []
