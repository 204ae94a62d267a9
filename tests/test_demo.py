"""The demo's trainings: what they say while they run, and what they resume from."""

import functools
import time

import pytest

from tools import reference
from tools.commands import PIPELINES


def test_a_training_says_how_far_it_is(tmp_path, monkeypatch, capsys):
    def run(words, options, folder, log):
        log.write_text(" 10%|# | 1/10\r 35%|### | 3/10", encoding="utf-8")
        time.sleep(0.3)

    monkeypatch.setattr(reference, "run", run)
    often = functools.partial(reference.telling, every_s=0.05)
    monkeypatch.setattr(reference, "telling", often)
    command = PIPELINES["vanilla"][0]
    reference._train("vanilla", command, tmp_path, "laptop", 0)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == f"vanilla: pretrain vanilla -> {command.writes} ..."
    assert others and set(others) == {f"  {command.writes}: 35% done after 0 s"}


@pytest.mark.parametrize("fingerprint, kept", [("same", True), ("of other code", False)])
def test_checkpoints_of_other_code_are_not_gone_on_with(tmp_path, fingerprint, kept):
    text = '{"fingerprint": "same", "finished": {}}'
    (tmp_path / reference.STATE).write_text(text, encoding="utf-8")
    checkpoint = tmp_path / "vanilla.pretrain.params.checkpoint"
    checkpoint.write_bytes(b"")
    reference.Finished(tmp_path, fingerprint)
    assert checkpoint.exists() == kept
