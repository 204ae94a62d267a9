"""What a student sees during training: estimate, hints, the bar."""

import io
import sys

import pytest
import torch

from tests.variants import all_variants, lay_out, load_module

# Losses of a healthy training of 16 epochs, at each tenth of the way.
EXPECTED = [3.96, 3.49, 3.20, 2.98, 2.89, 2.69, 2.53, 2.46, 2.34, 2.27]


def test_a_healthy_training_gets_no_hint(train, capsys):
    history = train(max_epochs=16, expected_loss=EXPECTED).history
    printed = "".join(capsys.readouterr())
    assert "Hint" not in printed
    tenths = [history[len(history) * tenth // 10 - 1] for tenth in range(1, 11)]
    assert tenths == pytest.approx(EXPECTED, rel=0.15)
    assert "64 steps of 64 examples in float32, 1 thread: less than a minute" in printed


def test_hint_nothing_is_learnt_when_the_gradient_is_cut_off(train, build, submission, capsys):
    _, model = build()

    class Detached(submission.model.GPT):
        def features(self, idx):
            return super().features(idx).detach() * 0

    model.__class__ = Detached
    train(model, max_epochs=16)
    assert "the model learns nothing" in "".join(capsys.readouterr())


def test_hint_targets_leak_when_y_is_not_moved(train, submission, capsys):
    class Unmoved(submission.dataset.CharCorruptionDataset):
        def __getitem__(self, idx):
            x, _ = super().__getitem__(idx)
            return x, x.clone()

    train(dataset_class=Unmoved, max_epochs=16, expected_loss=EXPECTED)
    printed = "".join(capsys.readouterr())
    assert "and that of the reference is" in printed and "y is not x shifted by one" in printed


def hint_about(submission, dataset):
    submission.utils.set_seed(0)
    return submission.progress.hint_about_data(dataset)


def test_hint_another_share_is_masked(submission, build):
    class Half(submission.dataset.CharCorruptionDataset):
        def __getitem__(self, idx):
            suffix, masked = self.data[idx][:12], self.data[idx][12:24]
            ids = torch.tensor([self.stoi[ch] for ch in f"⁇{suffix}⁇{masked}⁇"])
            return ids[:-1], ids[1:]

    dataset, _ = build(dataset_class=Half)
    hint = hint_about(submission, dataset)
    assert "% of the characters are masked in 512 examples, expected about 25%" in hint
    assert "\n" not in hint
    assert hint_about(submission, [1, 2]) is None  # other datasets are left alone


RIGHT = [v for v in all_variants() if v.topic == "span_corruption" and v.is_right]


@pytest.mark.parametrize("variant", RIGHT, ids=lambda variant: variant.path.stem)
@pytest.mark.sampled(9)
def test_right_corruptions_get_no_hint(submission, corpus, variant, tmp_path):
    # Each share is the mean of 512 examples, whose deviation is at most .25 / sqrt(512) =
    # .011; the farthest mean of these codes is .22 (rounding down), four deviations inside.
    # The seed is fixed, so nothing is left to chance.
    path = lay_out(variant, tmp_path) / "submission" / "dataset.py"
    theirs = load_module("submission.students_dataset", path)

    # It has registered its own class.
    submission.pretraining.register(corruption=submission.dataset.CharCorruptionDataset)

    class Theirs(submission.dataset.CharCorruptionDataset):
        __getitem__ = theirs.CharCorruptionDataset.__getitem__

    assert hint_about(submission, Theirs(corpus, 128)) is None


def test_a_loss_that_is_no_number_stops_training(train, submission):
    with pytest.raises(submission.pretraining.InputError, match="training has diverged") as error:
        train(max_epochs=16, optimizer="adamw", learning_rate=1e30, weight_decay=0.0)
    assert "\n" not in str(error.value)


def test_a_bar_is_drawn_for_people_who_see_colours(submission, monkeypatch):
    terminal = io.StringIO()
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    bar = submission.progress.progress_bar(10, 3)
    bar.update()
    bar.set_postfix_str("loss 0.5", refresh=False)
    bar.close()
    text = terminal.getvalue()
    assert "4/10" in text and "loss 0.5" in text and "\x1b[32m" in text
