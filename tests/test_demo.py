"""The demo's estimate is right within a third after one minute, on machines of any speed."""

import re

import pytest

from tests import pinned
from tools import demo, reference, world
from tools.commands import PIPELINES
from tools.remaining import (
    EVALUATION_S,
    GRADING_S,
    POSITIONS_PER_S,
    START_S,
    Remaining,
    chosen_recipe,
    positions,
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Return a folder with the data set `world` and a description."""
    root = tmp_path_factory.mktemp("project")
    assert world.main(["--seed", str(2**40), "--out", str(root)]) == 0
    (root / "assignment.toml").write_text(pinned.text(), encoding="utf-8")
    return root


@pytest.mark.parametrize("slower", [0.3, 1.0, 3.0])
def test_the_time_left_is_right_on_machines_of_any_speed(project, slower, capsys):
    # A demo that is acted out: the clock is ours, and each command takes what it takes on a
    # machine so many times slower than the one that was measured. The log lags by 5 seconds.
    recipe, now = chosen_recipe(project, None), [0.0]
    remaining = Remaining(project, recipe, clock=lambda: now[0])
    watch = demo.TimeLeft(remaining, clock=lambda: now[0])
    told = []
    for commands in PIPELINES.values():
        for command in commands:
            work = positions(command, recipe, project)
            fixed_s = (START_S if work else EVALUATION_S) * slower
            total_s = fixed_s + work * slower / POSITIONS_PER_S
            began = now[0]
            while now[0] < began + total_s:
                now[0] += 0.5
                seen_s = (now[0] - began - fixed_s) // 5 * 5
                share = max(seen_s, 0.0) * POSITIONS_PER_S / slower / work if work else 0.0
                watch(command, min(share, 1.0))
                told.append((now[0], remaining.now(command, min(share, 1.0))))
    ended = now[0] + GRADING_S * slower
    after_a_minute = [(at, left_s) for at, left_s in told if at > 75]
    assert after_a_minute
    for at, left_s in after_a_minute:
        assert left_s == pytest.approx(ended - at, rel=1 / 3, abs=20)
    lines = [line for line in capsys.readouterr().out.splitlines() if "until the demo" in line]
    shown = r" +\d+% of [\w.]+\.(params|predictions); about [\d.]+ minutes until the demo ends"
    assert lines and all(re.fullmatch(shown, line) for line in lines)


def test_a_resumed_training_is_not_taken_for_a_fast_one(project):
    now = [0.0]
    remaining = Remaining(project, chosen_recipe(project, None), clock=lambda: now[0])
    command = PIPELINES["vanilla"][0]
    told = []
    for now[0], share in ((5.0, 0.5), (30.0, 0.6), (55.0, 0.7)):  # 250 seconds in total
        told.append(remaining.now(command, share))
    recipe = chosen_recipe(project, None)
    slower = 250 * POSITIONS_PER_S / positions(command, recipe, project)
    fresh = Remaining(project, recipe, clock=lambda: now[0])
    rest = fresh.now(PIPELINES["vanilla"][1], 0.0) * slower
    assert told[-1] == pytest.approx(75 + rest, rel=0.1)


def test_a_short_training_does_not_change_the_estimate(project):
    # Finetuning takes a few seconds, and a pause in them says nothing about the machine.
    now = [0.0]
    remaining = Remaining(project, chosen_recipe(project, None), clock=lambda: now[0])
    finetune, evaluate = PIPELINES["vanilla"][1:3]
    usual = remaining.now(evaluate, 0.0)
    for now[0], share in ((5.0, 0.2), (13.0, 0.4)):
        remaining.now(finetune, share)
    assert remaining.now(evaluate, 0.0) == pytest.approx(usual)


def test_positions_follow_the_recipe(project):
    recipe = chosen_recipe(project, "laptop")
    lines = (project / "src/data/wiki.txt").read_text(encoding="utf-8").splitlines()
    mean = sum((4 + min(len(line), 112)) / 2 + 3 for line in lines)
    first = PIPELINES["vanilla"][0]
    assert positions(first, recipe, project) == recipe("pretrain", "vanilla")["max_epochs"] * mean
    assert positions(PIPELINES["vanilla"][-1], recipe, project) == 0


def test_a_training_says_every_ten_seconds_how_far_it_is(monkeypatch):
    now, said = [0.0], []
    monkeypatch.setattr(reference.time, "monotonic", lambda: now[0])
    watch = reference.shares(said.append)
    first, second = PIPELINES["vanilla"][:2]
    for command in (first, second):
        for step in range(50):  # 25 seconds
            now[0] += 0.5
            watch(command, step / 50)
    assert [line.split(":")[0].strip() for line in said] == [first.writes] * 2 + [second.writes] * 2
    assert said[0].endswith("% done after 10 s")


@pytest.mark.parametrize("fingerprint, kept", [("same", True), ("of other code", False)])
def test_checkpoints_of_other_code_are_not_gone_on_with(tmp_path, fingerprint, kept):
    text = '{"fingerprint": "same", "finished": {}}'
    (tmp_path / reference.STATE).write_text(text, encoding="utf-8")
    checkpoint = tmp_path / "vanilla.pretrain.params.checkpoint"
    checkpoint.write_bytes(b"")
    reference.State(tmp_path / reference.STATE, fingerprint)
    assert checkpoint.exists() == kept
