"""Probabilities against what is right: bins, refusals, the picture, and the command."""

import re
import xml.etree.ElementTree as ElementTree

import pytest


@pytest.fixture
def answers(lab):
    return lab.calibration.Answers(
        right=[0.95, 0.92, 0.55], wrong=[0.51, 0.2], unseen=[0.5, 0.3, 0.1, 0.1]
    )


def test_bins_hold_each_answer_once_and_their_distances_are_weighted_by_answers(lab):
    reliability = lab.calibration.reliability

    def error(right, wrong):
        return lab.calibration.calibration_error(lab.calibration.Answers(right, wrong, []))

    bins = reliability([1.0, 0.95, 0.9, 0.1], [0.0, 0.15, 0.05])
    assert [(b.count, b.right) for b in bins] == [(2, 0.0), (2, 0.5), (3, 1.0)]
    assert [b.probability for b in bins] == pytest.approx([0.025, 0.125, 0.95])
    # A sum of logarithms may come out a little above 1.
    assert reliability([1 + 1e-12], [])[0].count == 1
    # Four answers at .95 of which .75 are right, one at .35 that is wrong.
    assert error([0.95, 0.95, 0.95], [0.95, 0.35]) == pytest.approx((4 * 0.2 + 0.35) / 5)
    assert error([0.5], [0.5]) == 0 == error([], [])


def test_a_threshold_lets_through_what_reaches_it(lab, answers):
    half = lab.calibration.refuse_below(answers, 0.5)
    assert (half.answered, half.accuracy, half.unseen) == (4 / 5, 3 / 4, 1 / 4)
    never = lab.calibration.refuse_below(answers, 1.0)
    assert (never.answered, never.accuracy, never.unseen) == (0, None, 0)
    *lines, error = lab.calibration.report(answers).splitlines()
    # Bins of .935 (both right), .53 (one of two) and .2 (wrong).
    assert error == f"expected calibration error on dev: {(2 * 0.065 + 2 * 0.03 + 0.2) / 5:.3f}"
    rows = [line.split() for line in lines[1:]]
    assert rows[0] == ["0.00", "100%", "60%", "100%"]
    assert ["0.50", "80%", "75%", "25%"] in rows and ["0.99", "0%", "-", "0%"] in rows


def test_panels_show_what_thresholds_let_through(lab, answers, monkeypatch):
    seen = []
    monkeypatch.setattr(lab.calibration.plots, "svg", lambda *given: seen.append(given))
    lab.calibration.draw(answers, "vanilla")
    ((axes, title),) = seen
    assert "60% of the answers about people of dev are right" in title
    _, accuracy, given = axes.figure.axes
    below = lab.calibration.refuse_below
    refusals = [below(answers, threshold) for threshold in (0, 0.2, 0.51, 0.55, 0.92, 0.95)]
    points = [(one.answered, one.accuracy) for one in refusals]
    assert list(map(tuple, accuracy.lines[0].get_xydata())) == points
    steps = [list(map(list, each.get_data()[:2])) for each in given.patches]
    assert steps[1] == [[1, 0.5, 0], [0, 0.2, 0.51, 1]]  # wrong
    assert steps[2] == [[1, 0.75, 0.5, 0.25, 0], [0, 0.1, 0.1, 0.3, 0.5, 1]]  # unseen


def test_the_command_draws_and_prints_what_evaluate_counts(run, trained, tmp_path):
    options = f"--recipe smoke --device cpu --reading_params_path {trained}/vanilla.finetune.params"
    code, output, _ = run(f"calibration vanilla wiki.txt {options} --outputs_path c.svg")
    assert code == 0 and "Wrote c.svg." in output
    ElementTree.parse(tmp_path / "c.svg")
    first = next(line.split() for line in output.splitlines() if line.split()[0] == "0.00")
    command = f"evaluate vanilla wiki.txt {options} --outputs_path p --eval_corpus_path"
    right = int(re.search(r"Correct: (\d+) of 20", run(f"{command} birth_dev.tsv")[1])[1])
    assert first == ["0.00", "100%", f"{right / 20:.0%}", "100%"]
