"""Failed builds leave the previous files; long work reports its progress."""

import os

import pytest

from tools import exchange


def contents(folder):
    return {
        p.relative_to(folder).as_posix(): p.read_text(encoding="utf-8")
        for p in folder.rglob("*.txt")
    }


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
        assert contents(dist) == {"a.txt": "old a", "b.txt": "old b"}
    assert contents(tmp_path) == {"dist/a.txt": "new a"}


def test_a_folder_is_replaced_as_a_whole(dist, tmp_path):
    (tmp_path / "draft").mkdir()
    (tmp_path / "draft" / "left.txt").write_text("by an earlier failure", encoding="utf-8")
    with exchange.rebuilding(dist, tmp_path / "draft") as draft:
        (draft / "c.txt").write_text("new c", encoding="utf-8")
    assert contents(tmp_path) == {"dist/c.txt": "new c"}


@pytest.mark.parametrize("way", [exchange.adding, exchange.rebuilding])
@pytest.mark.parametrize("failure", [OSError, KeyboardInterrupt])
def test_a_build_that_fails_leaves_the_last_good_one(dist, tmp_path, way, failure):
    with pytest.raises(failure), way(dist, tmp_path / "draft") as draft:
        (draft / "a.txt").write_text("half", encoding="utf-8")
        raise failure
    assert contents(dist) == {"a.txt": "old a", "b.txt": "old b"}


@pytest.mark.parametrize(
    ("way", "call"),
    # Two moves for each file, or for the folder: the old one away, the new one there.
    [*((exchange.adding, n) for n in range(1, 5)), *((exchange.rebuilding, n) for n in (1, 2))],
)
def test_a_failure_in_the_midst_of_the_exchange_undoes_it(dist, tmp_path, monkeypatch, way, call):
    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == call:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(exchange.os, "replace", failing)
    with pytest.raises(OSError, match="No space"), way(dist, tmp_path / "d") as draft:
        for name in ("a", "b"):
            (draft / f"{name}.txt").write_text(f"new {name}", encoding="utf-8")
    assert contents(dist) == {"a.txt": "old a", "b.txt": "old b"}
    assert [path.name for path in tmp_path.rglob("*.tmp")] == []
