"""Probabilities against what is right: bins, refusals, the picture, and the command."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def answers(source):
    return source.calibration.Answers(
        right=[0.95, 0.92, 0.55], wrong=[0.51, 0.2], unseen=[0.5, 0.3, 0.1, 0.1]
    )


def test_bins_hold_each_answer_once(source):
    bins = source.calibration.reliability([1.0, 0.95, 0.9, 0.1], [0.0, 0.15, 0.05])
    assert [(b.count, b.right) for b in bins] == [(2, 0.0), (2, 0.5), (3, 1.0)]
    assert [b.probability for b in bins] == pytest.approx([0.025, 0.125, 0.95])
    assert source.calibration.reliability([], []) == []
    # A sum of logarithms may come out a little above 1.
    assert source.calibration.reliability([1 + 1e-12], [])[0].count == 1


def test_the_calibration_error_is_the_mean_distance_over_answers(source):
    calibration = source.calibration
    bins = calibration.reliability([0.95, 0.95, 0.95], [0.95, 0.35])
    # Four answers at .95 of which .75 are right, one at .35 that is wrong.
    assert calibration.calibration_error(bins) == pytest.approx((4 * 0.2 + 0.35) / 5)
    perfect = calibration.reliability([0.5], [0.5])
    assert calibration.calibration_error(perfect) == 0 == calibration.calibration_error([])


def test_a_threshold_lets_through_what_reaches_it(source, answers):
    half = source.calibration.refuse_below(answers, 0.5)
    assert (half.answered, half.accuracy) == (4 / 5, 3 / 4)
    assert (half.right, half.wrong, half.unseen) == (1, 1 / 2, 1 / 4)
    never = source.calibration.refuse_below(answers, 1.0)
    assert (never.answered, never.accuracy, never.unseen) == (0, None, 0)


def test_refusals_begin_with_every_answer_and_lose_some_at_each_threshold(source, answers):
    found = source.calibration.refusals(answers)
    thresholds = [one.threshold for one in found]
    assert thresholds == sorted({0.0, *answers.right, *answers.wrong, *answers.unseen})
    assert found[0].answered == 1 and found[0].accuracy == 3 / 5
    given = [one.answered for one in found]
    assert given == sorted(given, reverse=True) and found[-1].accuracy == 1


def test_the_table_has_the_numbers_of_each_threshold(source, answers):
    *lines, error = source.calibration.table(answers).splitlines()
    # Bins of .935 (both right), .53 (one of two) and .2 (wrong).
    wanted = (2 * 0.065 + 2 * 0.03 + 0.2) / 5
    assert error == f"expected calibration error on dev: {wanted:.3f}"
    assert len({len(line) for line in lines}) == 1
    rows = [line.split() for line in lines[1:]]
    assert rows[0] == ["0.00", "100%", "60%", "100%"]
    assert ["0.50", "80%", "75%", "25%"] in rows and ["0.99", "0%", "-", "0%"] in rows


@pytest.mark.parametrize("kinds", ["rwu", "rw", "ru", "wu", "r", "w"])
def test_the_picture_shows_what_there_is_inside_its_panels(source, answers, kinds):
    fields = {name: getattr(answers, name) for name in ("right", "wrong", "unseen")}
    some = source.calibration.Answers(**{n: v if n[0] in kinds else [] for n, v in fields.items()})
    axes, title = drawn(source.calibration, some)
    share = len(some.right) / (len(some.right) + len(some.wrong))
    assert f"{share:.0%} of the answers about people of dev are right" in title
    words = [text.get_text() for each in axes for text in legend_of(each)]
    assert ("unseen people" in words) == ("u" in kinds)
    assert words.count("right") == ("r" in kinds) and words.count("wrong") == ("w" in kinds)
    points = [point for each in axes for line in each.lines for point in line.get_xydata()]
    assert len(points) > 3 and all(0 <= x <= 1 and 0 <= y <= 1 for x, y in points)
    assert ElementTree.fromstring(source.calibration.draw(some, "vanilla")).tag == f"{SVG}svg"


def drawn(calibration, answers):
    """Return the axes of a picture, and its title."""
    seen = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(calibration.plots, "svg", lambda *given: seen.append(given))
        calibration.draw(answers, "vanilla")
    ((axes, title),) = seen
    return axes.figure.axes, title


def legend_of(axes):
    return axes.get_legend().get_texts() if axes.get_legend() else []


def test_lines_of_the_third_panel_are_the_refusals(source, answers):
    """Compare the steps of the plot with what a threshold between two points lets through."""
    stairs = drawn(source.calibration, answers)[0][2].patches
    for kind, steps in zip(("right", "wrong", "unseen"), stairs, strict=True):
        shares, edges, _ = steps.get_data()
        for threshold in (0.05, 0.25, 0.4, 0.53, 0.7, 0.94, 0.99):
            (shown,) = shares[(edges[:-1] < threshold) & (threshold < edges[1:])]
            one = source.calibration.refuse_below(answers, threshold)
            assert shown == pytest.approx(getattr(one, kind))


OPTIONS = "--recipe smoke --device cpu --reading_params_path"


@pytest.mark.long
def test_the_command_draws_and_prints_what_evaluate_counts(run, trained, tmp_path):
    params = trained / "vanilla.finetune.params"
    code, output, _ = run(f"calibration vanilla wiki.txt {OPTIONS} {params} --outputs_path c.svg")
    assert code == 0 and "Wrote c.svg." in output
    ElementTree.parse(tmp_path / "c.svg")
    first = next(line.split() for line in output.splitlines() if line.split()[0] == "0.00")
    evaluated = run(
        f"evaluate vanilla wiki.txt {OPTIONS} {params} --outputs_path p "
        "--eval_corpus_path birth_dev.tsv"
    )[1]
    right = int(re.search(r"Correct: (\d+) of 20", evaluated)[1])
    assert first == ["0.00", "100%", f"{right / 20:.0%}", "100%"]
