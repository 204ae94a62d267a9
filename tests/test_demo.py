"""The demo's trainings: what they say while they run, and what they resume from."""

import pytest

from tools import reference


@pytest.mark.parametrize("fingerprint, kept", [("same", True), ("of other code", False)])
def test_checkpoints_of_other_code_are_not_gone_on_with(tmp_path, fingerprint, kept):
    text = '{"fingerprint": "same", "finished": {}}'
    (tmp_path / reference.STATE).write_text(text, encoding="utf-8")
    checkpoint = tmp_path / "vanilla.pretrain.params.checkpoint"
    checkpoint.write_bytes(b"")
    reference.Finished(tmp_path, fingerprint)
    assert checkpoint.exists() == kept
