"""A term's answers, seed and grading secret are never lost: a new world archives them."""

import datetime
import stat
from pathlib import Path

import pytest

from tests.project import contents
from tools import datafiles, world

SMOKE = ("--dataset", "smoke")
SECRETS = (datafiles.TEST_ANSWERS, datafiles.SEED, datafiles.GRADING_SECRET)


@pytest.fixture
def term(tmp_path) -> dict[str, bytes]:
    """Return a term's secrets in tmp_path, by their names in the archive."""
    assert world.main([*SMOKE, "--seed", "1", "--out", str(tmp_path)]) == 0
    secret = tmp_path / datafiles.GRADING_SECRET
    secret.write_text("0" * 64, encoding="utf-8")
    secret.chmod(0o600)
    return {Path(name).name: (tmp_path / name).read_bytes() for name in SECRETS}


def kept(root: Path) -> list[dict[str, bytes]]:
    """Return the contents of each folder in the archive."""
    return [contents(folder) for folder in sorted((root / datafiles.ARCHIVE).glob("*"))]


def test_a_fresh_world_takes_force_where_a_part_of_a_data_set_is(tmp_path, term, capsys):
    parts = (datafiles.DATASET, datafiles.TEST_ANSWERS, datafiles.SEED)
    written = contents(tmp_path)
    for present in parts:
        for name in parts:
            (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / present).write_bytes(written[present])
        before = contents(tmp_path)
        assert world.main([*SMOKE, "--out", str(tmp_path)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and "there is a data set already" in said
        assert present in said and "FORCE=1" in said and contents(tmp_path) == before


def test_another_world_moves_a_terms_secrets_to_the_archive(tmp_path, term, capsys):
    assert world.main([*SMOKE, "--seed", "1", "--out", str(tmp_path)]) == 0  # the same world
    assert kept(tmp_path) == []
    assert {Path(name).name: (tmp_path / name).read_bytes() for name in SECRETS} == term
    assert world.main([*SMOKE, "--force", "--out", str(tmp_path)]) == 0
    assert kept(tmp_path) == [term]
    (folder,) = (tmp_path / datafiles.ARCHIVE).iterdir()
    assert folder.name == datetime.date.today().isoformat()
    assert not stat.S_IMODE((folder / "grading_secret").stat().st_mode) & 0o077
    assert not (tmp_path / datafiles.GRADING_SECRET).exists()  # the next term draws its own
    said = capsys.readouterr().out
    for name in SECRETS:
        moved = f"{datafiles.ARCHIVE}/{folder.name}/{Path(name).name}"
        assert f"kept: {name} is now {moved}\n" in said
    assert world.main([*SMOKE, "--seed", "3", "--out", str(tmp_path)]) == 0
    assert len(kept(tmp_path)) == 2 and term in kept(tmp_path)  # a second one on the same day


def test_a_world_that_cannot_be_written_changes_nothing(tmp_path, term, monkeypatch):
    before, replace, calls = contents(tmp_path), datafiles.os.replace, []

    def failing(source, target):
        calls.append(target)
        if len(calls) == number:
            raise OSError(28, "No space left on device", str(target))
        replace(source, target)

    monkeypatch.setattr(datafiles.os, "replace", failing)
    for number in (2, 6, 12):  # while secrets are archived, after that, and near the end
        calls.clear()
        assert world.main([*SMOKE, "--seed", "2", "--out", str(tmp_path)]) == 2
        assert len(calls) > number and contents(tmp_path) == before
