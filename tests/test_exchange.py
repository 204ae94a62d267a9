"""A build replaces the last one as a whole, and leaves it as it was if it fails at any moment."""

import os
from functools import partial

import pytest

from tests.project import contents
from tools import exchange

OLD = {"a.txt": b"old", "b.txt": b"old"}


# Both leave a.txt alone. Two moves for each file that is replaced, or for the folder: the old one
# away, the new one there; one for b.txt, which is outdated.
@pytest.mark.parametrize(
    ("way", "moves"),
    [(partial(exchange.adding, outdated=["b*"]), 3), (exchange.rebuilding, 2)],
    ids=["adding", "rebuilding"],
)
def test_all_files_of_a_build_are_there_or_none(tmp_path, monkeypatch, way, moves):
    dist, draft = tmp_path / "dist", tmp_path / "draft"
    for folder in (dist, draft):
        folder.mkdir()
    (draft / "left.txt").write_text("by an earlier failure", encoding="utf-8")
    for name, content in OLD.items():
        (dist / name).write_bytes(content)

    def build(failing: bool = False) -> None:
        with way(dist, draft) as new:
            (new / "a.txt").write_text("new", encoding="utf-8")
            assert contents(dist) == OLD
            if failing:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build(failing=True)
    assert contents(dist) == OLD

    replace, calls = os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == number:
            raise OSError(28, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(exchange.os, "replace", failing)
    for number in range(1, moves + 1):
        calls.clear()
        with pytest.raises(OSError, match="No space"):
            build()
        assert len(calls) >= number
        assert contents(dist) == OLD and [*tmp_path.rglob("*.tmp")] == []
    monkeypatch.undo()
    build()
    assert contents(tmp_path) == {"dist/a.txt": b"new"}
