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
    reliability, error = lab.calibration.reliability, lab.calibration.calibration_error
    bins = reliability([1.0, 0.95, 0.9, 0.1], [0.0, 0.15, 0.05])
    assert [(b.count, b.right) for b in bins] == [(2, 0.0), (2, 0.5), (3, 1.0)]
    assert [b.probability for b in bins] == pytest.approx([0.025, 0.125, 0.95])
    # A sum of logarithms may come out a little above 1.
    assert reliability([1 + 1e-12], [])[0].count == 1
    # Four answers at .95 of which .75 are right, one at .35 that is wrong.
    bins = reliability([0.95, 0.95, 0.95], [0.95, 0.35])
    assert error(bins) == pytest.approx((4 * 0.2 + 0.35) / 5)
    assert error(reliability([0.5], [0.5])) == 0 == error([])


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


def drawn(calibration, answers):
    """Return the axes of a picture, and its title."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration.plots, "svg", lambda *given: seen.append(given))
        calibration.draw(answers, "vanilla")
    ((axes, title),) = seen
    return axes.figure.axes, title


@pytest.mark.parametrize("kinds", ["rwu", "r", "wu"])
def test_the_picture_shows_what_there_is_inside_its_panels(lab, answers, kinds):
    fields = {name: getattr(answers, name) for name in ("right", "wrong", "unseen")}
    some = lab.calibration.Answers(**{n: v if n[0] in kinds else [] for n, v in fields.items()})
    axes, title = drawn(lab.calibration, some)
    share = len(some.right) / (len(some.right) + len(some.wrong))
    assert f"{share:.0%} of the answers about people of dev are right" in title
    words = [text.get_text() for text in axes[2].get_legend().get_texts()]
    names = {"r": "right", "w": "wrong", "u": "unseen people"}
    assert words == [names[kind] for kind in kinds]
    points = [point for each in axes for line in each.lines for point in line.get_xydata()]
    assert len(points) > 3 and all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)


def test_panels_show_what_thresholds_let_through(lab, answers):
    """Compare both curves with what a threshold between two points lets through."""
    (_, accuracy, given), _ = drawn(lab.calibration, answers)
    thresholds = (0.05, 0.25, 0.4, 0.53, 0.7, 0.94)
    refusals = [lab.calibration.refuse_below(answers, threshold) for threshold in thresholds]
    points = list(map(tuple, accuracy.lines[0].get_xydata()))
    assert all((one.answered, one.accuracy) in points for one in refusals)
    for group, steps in zip(("right", "wrong", "unseen"), given.patches, strict=True):
        shares, edges, _ = steps.get_data()
        for threshold in thresholds:
            (shown,) = shares[(edges[:-1] < threshold) & (threshold < edges[1:])]
            numbers = getattr(answers, group)
            assert shown == pytest.approx(sum(p > threshold for p in numbers) / len(numbers))


def test_the_command_draws_and_prints_what_evaluate_counts(run, trained, tmp_path):
    options = f"--recipe smoke --device cpu --reading_params_path {trained}/vanilla.finetune.params"
    code, output, _ = run(f"calibration vanilla wiki.txt {options} --outputs_path c.svg")
    assert code == 0 and "Wrote c.svg." in output
    ElementTree.parse(tmp_path / "c.svg")
    first = next(line.split() for line in output.splitlines() if line.split()[0] == "0.00")
    command = f"evaluate vanilla wiki.txt {options} --outputs_path p --eval_corpus_path"
    right = int(re.search(r"Correct: (\d+) of 20", run(f"{command} birth_dev.tsv")[1])[1])
    assert first == ["0.00", "100%", f"{right / 20:.0%}", "100%"]
