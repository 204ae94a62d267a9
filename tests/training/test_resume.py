"""checkpoints.py and batches.py: interrupted trainings end as if they had not been interrupted."""

import itertools
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest
import torch

KILLED = Path(__file__).with_name("killed.py")
KILLS = 10


def same(ours, theirs):
    return all(torch.equal(ours[name], theirs[name]) for name in theirs)


class TestBatchOrder:
    def test_each_epoch_holds_each_example_once_in_an_order_of_its_own(self, submission):
        order = submission.batches.BatchOrder(10, 4, epochs=3)
        batches = list(order)
        assert [len(batch) for batch in batches] == [4, 4, 2] * 3 and len(order) == 9
        epochs = [sum(batches[start : start + 3], []) for start in (0, 3, 6)]
        assert all(sorted(epoch) == list(range(10)) for epoch in epochs)
        assert len({tuple(epoch) for epoch in epochs}) == 3  # equal with probability 3 / 10!, 8e-7

    def test_it_goes_on_where_it_was(self, submission):
        order = submission.batches.BatchOrder(10, 4, epochs=3)
        batches = list(order)
        order.done = 4
        assert list(order) == batches[4:]


def drawing_from(submission, source):
    """Return a dataset whose corruption draws from one of the three generators."""
    draws = {
        "random": lambda: random.random(),
        "numpy": lambda: float(np.random.rand()),
        "torch": lambda: torch.rand(()).item(),
    }

    class Drawn(submission.dataset.CharCorruptionDataset):
        def __getitem__(self, idx):
            x, y = super().__getitem__(idx)
            return (x, y) if draws[source]() < 0.5 else (x, torch.where(y > 20, y, 0))

    return Drawn


class Stop(Exception):
    pass


@pytest.fixture
def train(submission, build, tmp_path, monkeypatch):
    """Return a function that trains a little, stopping abruptly after a step, or resuming."""

    def train(
        stop_after=None, resume=False, threads=1, dropout=0.0, source="random", start=0, **settings
    ):
        drawn = drawing_from(submission, source)
        dataset, model = build(dropout=dropout, seed=start, dataset_class=drawn)
        submission.utils.set_seed(3 if not resume else 99)
        config = submission.trainer.TrainerConfig(
            max_epochs=3,
            lr_decay=True,
            warmup_tokens=5_000,
            **{"optimizer": "muon", "dtype": "float32", "threads": threads, **settings},
            checkpoint_path=str(tmp_path / "p.checkpoint"),
            checkpoint_s=0.0,
            resume=resume,
        )
        trainer = submission.trainer.Trainer(model, dataset, None, config)
        if stop_after is None:
            trainer.train()
            return trainer
        after_step = submission.checkpoints.Keeper.after_step

        def save_and_stop(keeper):
            after_step(keeper)
            if trainer.order.done == stop_after:
                raise Stop

        with monkeypatch.context() as patch, pytest.raises(Stop):
            patch.setattr(submission.checkpoints.Keeper, "after_step", save_and_stop)
            trainer.train()
        return trainer

    return train


@pytest.mark.parametrize(
    "settings",
    [
        {"threads": 2},
        {"dropout": 0.1},
        pytest.param({"source": "numpy"}, marks=pytest.mark.long),
        pytest.param({"source": "torch"}, marks=pytest.mark.long),
        {"dtype": "bfloat16", "threads": 2},
        pytest.param({"optimizer": "adamw", "batch_size": 50}, marks=pytest.mark.long),
    ],
    ids=str,
)
@pytest.mark.sampled(3)
def test_resuming_ends_with_the_same_bits(train, settings):
    whole = train(**settings)
    for steps in (1, 5, 7):  # in the first epoch, at an end of one, after it
        train(stop_after=steps, **settings)
        resumed = train(resume=True, **settings)
        assert resumed.history == whole.history
        assert same(resumed.model.state_dict(), whole.model.state_dict())


def test_nothing_to_resume_is_said_and_without_resume_training_starts_over(train, capsys):
    train(resume=True, stop_after=3)
    assert "p.checkpoint: training starts from the beginning" in capsys.readouterr().out
    assert len(train().history) == 12
    assert "Resuming" not in capsys.readouterr().out


def test_the_pace_is_the_checkpoints(train):
    train(stop_after=3, threads=2)
    assert train(resume=True, threads=None, dtype=None).pace.threads == 2


def test_another_pace_or_version_is_said(train, tmp_path, capsys):
    train(stop_after=3)
    train(resume=True, threads=2)
    said = capsys.readouterr().out
    assert "last digits: computed in float32, 1 thread, now in float32, 2 threads" in said
    state = torch.load(tmp_path / "p.checkpoint", weights_only=True)
    state["surroundings"]["torch"] = "2.12.0"
    torch.save(state, tmp_path / "p.checkpoint")
    train(resume=True, threads=2)
    assert f"torch was 2.12.0, and is now {torch.__version__}" in capsys.readouterr().out


def test_a_checkpoint_from_other_parameters_is_refused(train, submission):
    # For example, finetuning was interrupted, and pretraining has been repeated since.
    train(stop_after=3)
    message = "start was parameters .*pretraining"
    with pytest.raises(submission.pretraining.InputError, match=message):
        train(resume=True, start=1)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", b"\x80\x02cos\nsystem\n."])
def test_a_damaged_checkpoint_is_refused(train, submission, tmp_path, content):
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


def limit_file_size():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))


def run_py(root, *arguments, **keywords):
    # -B: under a limit on the size of files, Python would leave half a file of bytecode.
    command = [sys.executable, "-B", "src/run.py", *arguments]
    return subprocess.Popen(
        command,
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        **keywords,
    )


PRETRAIN = ("pretrain", "vanilla", "wiki.txt", "--writing_params_path")


def test_parameters_that_cant_be_written_are_one_line(root, tmp_path):
    # RLIMIT_FSIZE makes the system refuse writes as a full disk does.
    command = (*PRETRAIN, str(tmp_path / "w"), "--seed", "0")
    process = run_py(root, *command, preexec_fn=limit_file_size)
    _, errors = process.communicate()
    assert process.returncode == 2
    assert errors.splitlines()[-1].startswith(f"error: {tmp_path / 'w'}: can't be written")
    assert "Traceback" not in errors
    assert list(tmp_path.iterdir()) == []


def test_interrupted_by_ctrl_c_and_resumed(root, tmp_path):
    pace = ("--dtype", "float32", "--threads", "1")
    command = (*PRETRAIN, str(tmp_path / "w.params"), "--recipe", "long", *pace)
    process = run_py(root, *command)
    wait_for(lambda: "steps of" in process.stderr.readline())
    # It trains long before it has computed for .3 s, and its 320 steps take longer than that.
    running = psutil.Process(process.pid)
    begun = running.cpu_times().user
    wait_for(lambda: running.cpu_times().user > begun + 0.3)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    kept = tmp_path / "w.params.checkpoint"
    assert f"there is no {tmp_path / 'w.params'}; resume from {kept} with --resume." in errors
    done = torch.load(kept, weights_only=True)["order"]["done"]
    assert done > 0

    process = run_py(root, *command, "--resume")
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert f"{320 - done} steps of 32 examples" in errors
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "training_seed.txt",
        "w.params",
        "w.svg",
    ]


def wait_for(condition):
    while not condition():
        time.sleep(0.01)


@pytest.mark.long
def test_killed_ten_times_a_training_loses_little_and_ends_with_the_same_bits(root, tmp_path):
    def start(params, trace):
        command = [sys.executable, str(KILLED), str(root / "src"), str(params), str(trace)]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    whole, cut, trace = tmp_path / "whole", tmp_path / "cut", tmp_path / "trace"
    undisturbed = start(whole, tmp_path / "undisturbed")
    draws = random.Random(0)
    for _ in range(KILLS):
        trace.write_text("", encoding="utf-8")
        process = start(cut, trace)
        wait_for(lambda: trace.read_text(encoding="utf-8"))
        time.sleep(draws.uniform(0.0, 0.6))
        process.kill()
        process.wait()
        check_loss(trace, Path(f"{cut}.checkpoint"))
    assert not cut.exists()
    process = start(cut, trace)
    assert process.wait() == 0 and undisturbed.wait() == 0
    assert same(torch.load(cut), torch.load(whole))


def check_loss(trace, checkpoint):
    """Check that the checkpoint is at most an interval and a step old, by the training's clock."""
    lines = trace.read_text(encoding="utf-8").splitlines()
    lines = [line.split() for line in lines if len(line.split()) == 2]
    times = {int(step): float(seconds) for step, seconds in lines}
    kept = shutil.copy(checkpoint, f"{checkpoint}.copy") if checkpoint.exists() else None
    done = torch.load(kept, weights_only=True)["order"]["done"] if kept else 0
    since = times.get(done, min(times.values()))
    longest_step_s = max((b - a for a, b in itertools.pairwise(times.values())), default=0.0)
    # 0.25 s is CHECKPOINT_S of killed.py; two steps: the one that was due, and writing it.
    assert max(times.values()) - since <= 0.25 + 3 * longest_step_s + 0.05
