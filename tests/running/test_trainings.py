"""A training's seed, and what an interrupted training leaves behind."""

import re
import subprocess
import sys
from unittest.mock import Mock

import torch

from tests.snapshots import check

PRE = "pretrain vanilla wiki.txt --writing_params_path w"


def test_trainings_of_a_folder_have_a_seed_of_their_own(run, tmp_path, monkeypatch):
    """It is drawn once, saved, printed and recorded; given by hand, it gives identical bits."""
    drawn = iter((2**32 - 1, 7))
    monkeypatch.setattr("secrets.randbelow", lambda most: next(drawn))
    seed = "4294967295"
    folders = [tmp_path / name for name in "abc"]
    for folder in folders:
        folder.mkdir()

    def pretrain(path, *options):
        command = f"pretrain vanilla wiki.txt --writing_params_path {path}"
        code, output, errors = run(" ".join([command, *options]))
        assert code == 0, errors
        return output, torch.load(path, weights_only=True)

    def same(one, two):
        return all(torch.equal(one[name], two[name]) for name in one)

    kept = folders[0] / "training_seed.txt"
    output, first = pretrain(folders[0] / "w.params")
    assert f"seed {seed} (kept in {kept}; " in output
    assert kept.read_text(encoding="utf-8") == f"{seed}\n"
    assert f"seed {seed}" in (folders[0] / "w.svg").read_text(encoding="utf-8")
    assert same(first, pretrain(folders[0] / "again.params")[1])
    _, given = pretrain(folders[1] / "w.params", "--seed", seed)
    assert same(first, given)
    assert not (folders[1] / "training_seed.txt").exists()  # a given seed is not saved
    output, other = pretrain(folders[2] / "w.params")
    assert "seed 7 (kept" in output and not same(first, other)


def test_interrupting_keeps_the_older_file_and_restarting_no_older_checkpoint(
    run, modules, monkeypatch, tmp_path
):
    """If the new training is killed before its first one, the old isn't mistaken for it."""
    monkeypatch.setattr(modules[1], "train", Mock(side_effect=KeyboardInterrupt))
    (tmp_path / "w").write_text("older", encoding="utf-8")
    code, _, errors = run(PRE)
    assert (code, errors) == (130, "\nInterrupted: w keeps its older contents.\n")
    assert (tmp_path / "w").read_text(encoding="utf-8") == "older"
    (tmp_path / "w").rename(tmp_path / "w.checkpoint")
    code, _, errors = run(f"{PRE} --restart")
    assert (code, errors) == (130, "\nInterrupted: there is no w.\n")


def test_a_checkpoint_of_another_recipe_is_one_line(run, tmp_path, monkeypatch):
    from pretraining import checkpoints

    def save_and_stop(keeper):
        keeper.save()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(checkpoints.Keeper, "after_step", save_and_stop)
        assert run(PRE)[0] == 130
    code, output, errors = run(PRE)
    assert (code, output) == (2, "")
    found = {"without --resume or --restart": errors}
    code, _, errors = run(f"{PRE} --recipe smoke --resume")
    assert code == 2
    found["of another recipe"] = re.sub(r"GPTConfig\(.*?\)", "GPTConfig(...)", errors)
    check("run_checkpoint_refused", found)
    assert (tmp_path / "w.checkpoint").exists() and not (tmp_path / "w").exists()
    assert run(f"{PRE} --resume")[0] == 0
    assert not (tmp_path / "w.checkpoint").exists()  # the training is finished


def test_a_file_is_written_by_one_training_at_a_time(root, run, tmp_path):
    """A killed training's lock doesn't stop the next one, although its file is still there."""
    command = [sys.executable, root / "src" / "run.py", *PRE.split(), "--recipe", "long"]
    first = subprocess.Popen(
        [*map(str, command), "--threads", "1"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        assert b"pretrain vanilla: recipe long" in first.stdout.readline()
        code, output, errors = run(PRE)
        assert (code, output) == (2, "")
        assert errors.startswith("error: w: another training ") and errors.count("\n") == 1
        assert run(f"{PRE} --resume")[0] == run(f"{PRE} --restart")[0] == 2
        assert run(PRE.replace("path w", "path other"))[0] == 0
        assert first.poll() is None
    finally:
        first.kill()
        first.communicate()
    assert (tmp_path / "w.lock").exists()
    assert run(f"{PRE} --restart")[0] == 0
    assert not list(tmp_path.glob("*.lock"))
