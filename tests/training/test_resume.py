"""checkpoints.py and batches.py: interrupted trainings end as if they had not been interrupted."""

import contextlib
import itertools
import random
import signal
import subprocess
import sys
import time

import numpy as np
import psutil
import pytest
import torch


def same(ours, theirs):
    return all(torch.equal(ours[name], theirs[name]) for name in theirs)


def test_each_epoch_holds_each_example_once_in_an_order_of_its_own(submission):
    order = submission.batches.BatchOrder(10, 4, epochs=3)
    batches = list(order)
    assert [len(batch) for batch in batches] == [4, 4, 2] * 3 and len(order) == 9
    epochs = [sum(batches[start : start + 3], []) for start in (0, 3, 6)]
    assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 3  # equal with probability 3 / 10!, 8e-7


class Stop(Exception):
    pass


@pytest.fixture
def train(submission, build, train, tmp_path, monkeypatch):
    """Return a function that trains a little, stopping abruptly after a step, or resuming."""

    class Drawn(submission.dataset.CharCorruptionDataset):
        """It draws from each of the three generators, too."""

        def __getitem__(self, idx):
            x, y = super().__getitem__(idx)
            drawn = random.random() + np.random.rand() + torch.rand(()).item()
            return (x, y) if drawn < 1.5 else (x, torch.where(y > 20, y, 0))

    after_step = submission.checkpoints.Keeper.after_step
    usual = {"max_epochs": 3, "lr_decay": True, "warmup_tokens": 5_000}
    usual |= {"checkpoint_path": str(tmp_path / "p.checkpoint"), "checkpoint_s": 0.0}

    def interrupted(stop_after=None, resume=False, dropout=0.0, start=0, **settings):
        _, model = build(dropout=dropout, seed=start)
        steps = itertools.count(1)

        def save_and_stop(keeper):
            after_step(keeper)
            if next(steps) == stop_after:
                raise Stop

        end = contextlib.nullcontext() if stop_after is None else pytest.raises(Stop)
        with monkeypatch.context() as patch, end:
            patch.setattr(submission.checkpoints.Keeper, "after_step", save_and_stop)
            seed = 99 if resume else 3
            return train(model, Drawn, seed, resume=resume, **usual | settings)

    return interrupted


@pytest.mark.parametrize(
    ("settings", "stops"),
    [
        ({"dropout": 0.1}, [5]),  # in the second epoch
        pytest.param({"dtype": "bfloat16", "threads": 2}, [1, 4, 7], marks=pytest.mark.long),
        pytest.param({"optimizer": "adamw", "batch_size": 50}, [1, 7], marks=pytest.mark.long),
    ],
    ids=str,
)
def test_resuming_ends_with_the_same_bits(train, settings, stops):
    whole = train(**settings)
    for steps in stops:
        train(stop_after=steps, **settings)
        resumed = train(resume=True, **settings)
        assert resumed.history == whole.history
        assert same(resumed.model.state_dict(), whole.model.state_dict())


def test_the_pace_is_the_checkpoints_and_another_one_is_said(train, capsys):
    train(stop_after=3, threads=2, resume=True)
    assert "p.checkpoint: training starts from the beginning" in capsys.readouterr().out
    assert train(resume=True, threads=None, dtype=None).pace.threads == 2
    assert "Resuming" not in capsys.readouterr().out
    train(resume=True, threads=1)
    said = capsys.readouterr().out
    assert "last digits: computed in float32, 2 threads, now in float32, 1 thread" in said


def test_a_damaged_checkpoint_or_one_from_other_parameters_is_refused(train, submission, tmp_path):
    # For example, finetuning was interrupted, and pretraining has been repeated since.
    train(stop_after=3)
    message = "start was parameters .*pretraining"
    with pytest.raises(submission.pretraining.InputError, match=message):
        train(resume=True, start=1)
    for content in (b"", b"PK\x03\x04 cut off", b"\x80\x02cos\nsystem\n."):
        (tmp_path / "p.checkpoint").write_bytes(content)
        with pytest.raises(submission.pretraining.InputError, match="not a readable checkpoint"):
            train(resume=True)


def test_a_full_disk_ends_no_training(train, submission, monkeypatch, capsys):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(submission.checkpoints, "save_tensors", full)
    assert len(train().history) == 12
    said = capsys.readouterr().out
    assert said.count("Warning: no checkpoint was written ([Errno 28] No space left") == 1


# -- processes ------------------------------------------------------------------------------------

PRETRAIN = ("src/run.py", "pretrain", "vanilla", "wiki.txt", "--seed", "0")
LONG = ("--recipe", "long", "--dtype", "float32", "--threads", "1", "--writing_params_path")


def start(folder, *words):
    return subprocess.Popen(
        [sys.executable, *PRETRAIN, *LONG, *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def test_interrupted_by_ctrl_c_and_resumed_it_ends_with_the_same_bits(assignment, tmp_path):
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    process = start(assignment, cut)
    assert any("steps of" in line for line in process.stderr)
    # It trains long before it has computed for .3 s, and its 320 steps take longer than that.
    running = psutil.Process(process.pid)
    begun = running.cpu_times().user
    while running.cpu_times().user < begun + 0.3:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    kept = tmp_path / "cut.checkpoint"
    assert f"there is no {cut}; resume from {kept} with --resume." in errors
    done = torch.load(kept, weights_only=True)["order"]["done"]
    assert done > 0

    for path, option, left in ((cut, "--resume", 320 - done), (whole, "--restart", 320)):
        process = start(assignment, path, option)
        _, errors = process.communicate()
        assert process.returncode == 0 and f"{left} steps of 32 examples" in errors
    assert same(torch.load(cut), torch.load(whole))
