"""The written solutions: what they quote is right, and their rubrics share out all points.

Everything is drawn from fixed seeds, so that a test here either always passes or always fails; the
bounds on Monte Carlo errors say how probable it was, for a right code, to fail with the seed that
was chosen: below 1e-6 each.
"""

import json
import math
import re
import types
from fractions import Fraction

import numpy as np
import pytest
import torch
from laid_out import imports_from, lay_out, make_model

from tools.handout.templates import Templates, percent

LN_FAILURE = math.log(2 / 1e-6)
REPORTS = ("no_pretraining", "pretraining", "synthesizer", "rotary")
GRADED = (
    "synthesizer-ii",
    "consider_accuracy",
    "consider_indeterminacy",
    "consider_unseen",
    "attention_copying",
    "attention_averaging",
    "attention_single_head-i",
    "attention_single_head-ii",
    "attention_two_heads-i",
    "attention_two_heads-ii",
    "attention_key_query_value-i",
    "attention_key_query_value-ii",
    "positions_permutation-i",
    "positions_permutation-ii",
    "positions_sinusoids-i",
    "positions_sinusoids-ii",
)
PRACTICE = (
    "blocks_attention",
    "blocks_sinusoids",
    "blocks_offsets",
    "blocks_add_or_concatenate",
    "blocks_relative_bias",
    "blocks_rotation",
    "blocks_layers",
    "blocks_receptive_field",
    "blocks_cost",
    "blocks_in_words",
)
TOPICS = {slot.partition("-")[0] for slot in (*REPORTS, *GRADED)}


@pytest.fixture(scope="session")
def script(root):
    return root / "solutions" / "written" / "quoted_numbers.py"


@pytest.fixture(scope="session")
def written(tmp_path_factory, run_python, script):
    """A folder that the script has filled, without a trained model."""
    folder = tmp_path_factory.mktemp("numbers")
    done = run_python(script, folder)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


@pytest.fixture(scope="session")
def numbers(written):
    return json.loads((written / "numbers.json").read_text(encoding="utf-8"))


def columns(path) -> dict[str, np.ndarray]:
    """A .dat file's columns by name."""
    head, *rows = path.read_text(encoding="utf-8").splitlines()
    array = np.array([[float(x) for x in row.split()] for row in rows])
    return dict(zip(head.split(), array.T, strict=True))


def normal_integral(function) -> float:
    """The mean of function(L), L ~ N(1, 1/2), given L > 0, by the trapezoidal rule."""
    lengths = np.linspace(0, 8, 400_001)  # beyond 8 lies less than 1e-22
    density = np.exp(-((lengths - 1) ** 2))
    return float(np.trapezoid(function(lengths) * density) / np.trapezoid(density))


def weights(scores: np.ndarray) -> np.ndarray:
    """A softmax over the first axis, by logarithms: not as the reference does it."""
    return np.exp(scores - np.logaddexp.reduce(scores, axis=0))


def distances(numbers: dict, head: str):
    """How far (alpha_a, alpha_b) is from (1/2, 1/2), as a function of lengths L."""
    n, s = numbers["n"], numbers["s"]

    def single(L: np.ndarray) -> np.ndarray:
        return weights(np.stack([s * L, s + 0 * L] + [0 * L] * (n - 2)))[:2]

    def two(L: np.ndarray) -> np.ndarray:
        first = weights(np.stack([s * L] + [0 * L] * (n - 1)))[:2]
        second = weights(np.stack([0 * L, s + 0 * L] + [0 * L] * (n - 2)))[:2]
        return (first + second) / 2

    alpha = {"single": single, "two": two}[head]
    return lambda L: np.linalg.norm(alpha(L) - 0.5, axis=0)


def allowed_error(variance: float, most: float, samples: float) -> float:
    """Bernstein: a mean of values in [0, most] is further off with probability below 1e-6.

    2 exp(-samples t^2 / (2 (variance + most t / 3))) = 1e-6, solved for t.
    """
    half = LN_FAILURE * most / (3 * samples)
    return half + math.sqrt(half**2 + 2 * LN_FAILURE * variance / samples)


def test_the_same_bytes_each_time(written, tmp_path, run_python, script):
    again = tmp_path / "not" / "there" / "yet"
    assert run_python(script, again).returncode == 0
    assert {p.name for p in again.iterdir()} == {p.name for p in written.iterdir()}
    for path in written.iterdir():
        assert path.read_bytes() == (again / path.name).read_bytes(), path.name


def test_copying_needs_the_margin_that_is_derived(numbers):
    assert {row["n"] for row in numbers["copying"]["rows"]} >= {3, 12}
    for row in numbers["copying"]["rows"]:
        n = row["n"]
        assert row["scale"] == pytest.approx(math.log(99 * (n - 1)), rel=1e-5)
        assert row["unscaled"] == pytest.approx(math.e / (math.e + n - 1), rel=1e-5)


def test_weights_of_an_average_are_those_of_the_closed_form(numbers, written):
    plotted = columns(written / "average.dat")
    for row in numbers["average"]["rows"]:
        n = row["n"]
        assert row["scale"] == pytest.approx(math.log((n - 2) * 0.98 / 0.04), rel=1e-5)
        assert {w["s"] for w in row["weights"]} >= {1, 10}
        for w in row["weights"]:
            assert w["alpha_a"] == pytest.approx(1 / (2 + (n - 2) * math.exp(-w["s"])), rel=1e-5)
        curve = 1 / (2 + (n - 2) * np.exp(-plotted["s"]))
        np.testing.assert_allclose(plotted[f"n{n}"], curve, rtol=1e-5)


def test_noise_moves_weights_as_far_as_is_derived(numbers):
    """E (sigma(D) - 1/2)^2 with D ~ N(0, 4 alpha s^2), against 5,000 samples of it.

    Beyond 7 deviations there is one of them with probability below 2e-8.
    """
    grid = np.linspace(-7, 7, 20_001)
    density = np.exp(-(grid**2) / 2)
    assert len(numbers["noise"]) == 4
    for row in numbers["noise"]:
        deviation = 2 * row["s"] * math.sqrt(row["alpha"]["value"])
        assert row["difference"]["value"] == pytest.approx(deviation, rel=1e-5)
        square = (np.tanh(deviation * grid / 2) / 2) ** 2
        mean, fourth = (
            np.trapezoid(x * density) / np.trapezoid(density) for x in (square, square**2)
        )
        error = allowed_error(fourth - mean**2, square.max(), 5_000)
        assert abs(row["moved"]["value"] ** 2 - mean) <= error
        assert error < 0.3 * mean  # else this would be no test


@pytest.mark.parametrize("head, precision", [("single", 0.01), ("two", 0.7)])
def test_spreads_agree_with_an_integral_over_lengths(numbers, head, precision):
    """Mean squared distances of the samples kept, against integrals; alpha moves them by 1e-4."""
    lengths = numbers["lengths"]
    distance = distances(lengths, head)
    mean = normal_integral(lambda L: distance(L) ** 2)
    fourth = normal_integral(lambda L: distance(L) ** 4)
    most = float(distance(np.array([0.0, 8.0])).max()) ** 2  # it is greatest at one of these
    error = allowed_error(fourth - mean**2, most, lengths["samples"] * lengths["kept_share"])
    measured = lengths["kept"][head]["rms"] ** 2
    assert abs(measured - mean) <= error + 2e-4 * math.sqrt(mean)
    assert error < precision * mean


@pytest.mark.parametrize("head", ["single", "two"])
def test_shares_of_samples_agree_with_an_integral_over_lengths(numbers, head):
    lengths = numbers["lengths"]
    assert lengths["near"] == 0.05
    middle = distances(lengths, head)
    near_middle = normal_integral(lambda L: middle(L) <= 0.05)
    # A single head's weights lie on the line between (1, 0) and (0, 1), at 1/2 + t and 1/2 - t,
    # and are within .05 of (1, 0) when t > 1/2 - .05/sqrt(2), which is middle(L) > .657.
    far = math.sqrt(0.5) - 0.05
    expected = {
        "near_middle": near_middle,
        "near_a": normal_integral(lambda L: (middle(L) >= far) & (L > 1)),
        "near_b": normal_integral(lambda L: (middle(L) >= far) & (L < 1)),
    }
    expected["elsewhere"] = 1 - sum(expected.values())
    samples = lengths["samples"] * lengths["kept_share"]
    for name, share in expected.items():
        error = allowed_error(share * (1 - share), 1, samples)
        assert abs(lengths["kept"][head][name] - share) <= error + 1e-5, name
        assert error < 0.03


def test_one_head_jumps_and_two_do_not(numbers):
    lengths = numbers["lengths"]
    assert lengths["all"]["single"]["near_a"] == pytest.approx(0.5, abs=0.05)
    assert lengths["all"]["single"]["near_b"] == pytest.approx(0.5, abs=0.05)
    assert lengths["kept"]["two"]["near_middle"] > 0.97
    # Of values in [0, 1], 20,000 in number: Hoeffding allows an error of .019.
    assert lengths["all"]["single"]["mean_a"] == pytest.approx(0.5, abs=0.019)
    more = 0.5 / (1 - lengths["theory"]["negative"])  # P(L > 1) given L > 0
    assert lengths["kept"]["single"]["mean_a"] == pytest.approx(more, abs=0.02)
    # The variance that the solution derives for s = 100, .2444; its mean square is within .01
    # of that, and the square of the mean's error is below .0004.
    variance = (1 - 4 / (lengths["s"] * math.sqrt(math.pi))) / 4
    assert lengths["all"]["single"]["deviation_a"] ** 2 == pytest.approx(variance, abs=0.0104)
    quotient = lengths["kept"]["single"]["rms"] / lengths["kept"]["two"]["rms"]
    assert lengths["ratio"] == pytest.approx(quotient, rel=1e-4)
    assert lengths["ratio"] > 4  # what the grader asks for


def test_what_is_derived_about_lengths_is_right(numbers):
    theory, s, n = (numbers["lengths"][key] for key in ("theory", "s", "n"))
    grid = np.linspace(-7, 9, 800_001)
    density = np.exp(-((grid - 1) ** 2)) / math.sqrt(math.pi)
    step = grid[1] - grid[0]
    negative = np.trapezoid(density[grid <= 0]) * step
    assert theory["negative"] == pytest.approx(negative, rel=1e-4)
    samples = numbers["lengths"]["samples"]
    error = allowed_error(negative * (1 - negative), 1, samples)
    assert abs(1 - numbers["lengths"]["kept_share"] - negative) <= error
    at_0 = np.interp(0, grid, density)
    assert theory["density"] == pytest.approx([at_0, at_0 / (1 - negative)], rel=1e-4)
    short = theory["short"]
    assert (n - 1) / (math.exp(s * short) + n - 1) == pytest.approx(0.01, rel=1e-4)
    inside = (grid > 0) & (grid <= short)
    share = np.trapezoid(density[inside]) * step / (1 - negative)
    assert theory["short_share"] == pytest.approx(share, rel=1e-3)
    # A bound, and nearly reached; the first order, and nearly all there is.
    sigma = (1 + np.tanh(s * (grid - 1) / 2)) / 2
    between = np.trapezoid(density[(sigma >= 0.05) & (sigma <= 0.95)]) * step
    assert between <= theory["between"] <= 1.02 * between
    mean = normal_integral(lambda L: distances(numbers["lengths"], "two")(L) ** 2)
    assert theory["rms"] == pytest.approx(math.sqrt(mean), rel=0.05)


def test_plots_show_weights_against_lengths(numbers, written):
    plotted = columns(written / "lengths.dat")
    L, s, n = plotted["length"], numbers["lengths"]["s"], numbers["lengths"]["n"]
    assert (L.min(), L.max()) == (-0.5, 2.5) and (np.diff(L) > 0).all() and len(L) > 100
    single = weights(np.stack([s * L, s + 0 * L] + [0 * L] * (n - 2)))
    np.testing.assert_allclose(plotted["singlea"], single[0], atol=1e-5)
    np.testing.assert_allclose(plotted["singleb"], single[1], atol=1e-5)
    first = weights(np.stack([s * L] + [0 * L] * (n - 1)))
    np.testing.assert_allclose(plotted["twoa"], first[0] / 2, atol=1e-5)
    np.testing.assert_allclose(plotted["twob"], first[1] / 2 + 0.5, atol=1e-5)


def test_histogram_counts_every_sample_once(written):
    plotted = columns(written / "histogram.dat")
    assert (plotted["weight"][0], plotted["weight"][-1]) == (0, 1)
    for name in ("single", "two"):
        assert plotted[name][:-1].sum() == pytest.approx(1, abs=1e-4)
        assert plotted[name][-1] == plotted[name][-2]
    middle = np.argmax(plotted["two"])
    assert plotted["weight"][middle] < 0.5 < plotted["weight"][middle + 1]


def test_key_query_value_misses_by_what_is_derived(numbers):
    found = numbers["key_query_value"]
    wrong = 1 / (math.exp(found["beta"] ** 2) + 2)
    about = {"rel": 1e-3}  # differences of numbers near 5, known to 1e-15, are 1e-11
    assert found["beta"] == 5
    assert found["unprojected"]["miss"]["value"] == pytest.approx(math.sqrt(10) * wrong, **about)
    assert found["matrices"]["miss_1"]["value"] == pytest.approx(math.sqrt(5) * wrong, **about)
    assert found["matrices"]["miss_2"]["value"] == pytest.approx(math.sqrt(2) * wrong, **about)
    for key in ("others_1", "others_2"):
        assert found["matrices"][key]["value"] == pytest.approx(2 * wrong, rel=1e-5)
    assert len(found["added"]) == 2
    for added in found["added"]:
        assert added["others"]["value"] == pytest.approx(math.exp(-25), rel=1e-5)
        assert added["miss"]["value"] < 1e-10
    # The bound that is derived, and that the search comes close to it.
    assert math.exp(-0.75 * 25) < found["others_at_most"]["value"] < 2 * math.exp(-0.75 * 25)


def test_small_numbers_are_written_as_latex_needs_them(numbers):
    small = numbers["key_query_value"]["matrices"]["miss_1"]
    assert small["mantissa"] * 10.0 ** small["exponent"] == pytest.approx(small["value"])
    assert 1 <= small["mantissa"] < 10


# A trained folder ---------------------------------------------------------------------------


@pytest.fixture
def one_thread():
    """More threads only wait for each other, with models so small."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder like build/reference whose model is small, random and unsure."""
    folder = lay_out(tmp_path_factory.mktemp("trained") / "root")
    data = folder / "src" / "data"
    with imports_from(folder / "src"):
        from submission import dataset, model, recipes, utils

        text = (data / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
        corpus = dataset.CharCorruptionDataset(text, recipes.load_recipe().model["block_size"])
        torch.manual_seed(0)
        fields = recipes.load_recipe().model | {"vocab_size": corpus.vocab_size}
        network = make_model(types.SimpleNamespace(model=model), **fields)
        with torch.no_grad():
            network.head.weight *= 12  # else 32 characters have a probability of 1e-20
        utils.save_parameters(network, folder / "vanilla.finetune.params")
    unseen = (data / "birth_unseen_inputs.tsv").read_text(encoding="utf-8").splitlines()
    some = "".join(f"{line}\n" for line in unseen[:12])  # time enough
    (data / "birth_unseen_inputs.tsv").write_text(some, encoding="utf-8")
    dev = (data / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    right = [line.split("\t")[1] for line in dev]
    for name, count in {
        "vanilla.nopretrain": 1,
        "vanilla.pretrain": 7,
        "synthesizer.pretrain": 4,
        "rope.pretrain": 5,
    }.items():
        lines = right[:count] + ["nowhere"] * (len(right) - count)
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"{name}.dev.predictions").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def with_trained(tmp_path_factory, run_python, script, trained):
    folder = tmp_path_factory.mktemp("with_trained")
    done = run_python(script, folder, "--trained", trained)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def test_without_a_trained_model_confidence_is_null_and_torch_unneeded(numbers, run_python, root):
    assert numbers["confidence"] is None and numbers["accuracy"] is None
    path = str(root / "solutions" / "written")
    code = "quoted_numbers.compute(None, None); print('torch' in sys.modules)"
    done = run_python("-c", f"import sys; sys.path.append({path!r}); import quoted_numbers; {code}")
    assert done.stdout == "False\n", done.stderr


def test_accuracies_are_those_of_the_predictions(with_trained, trained):
    found = json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))["accuracy"]
    dev = (trained / "src/data/birth_dev.tsv").read_text(encoding="utf-8").splitlines()
    london = sum(line.endswith("\tLondon") for line in dev)
    assert len(dev) == 10 and london == 2  # the smoke world
    of_models = {"no_pretraining": 0.1, "pretraining": 0.7, "synthesizer": 0.4, "rotary": 0.5}
    assert found == of_models | {"london": 0.2}


def test_accuracies_are_null_until_all_predictions_are_there(confidence, trained, tmp_path):
    for name in confidence.PREDICTIONS.values():
        (tmp_path / name).write_bytes((trained / name).read_bytes())
    dev = [("Where was Ana Ruiz born?", "London")] * 10
    assert confidence.accuracies(tmp_path, dev)["london"] == 1
    (tmp_path / name).unlink()
    assert confidence.accuracies(tmp_path, dev) is None


def test_confidence_is_the_product_over_all_characters(with_trained, trained, one_thread):
    """Recomputed one answer at a time, from the model's logits alone."""
    found = json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))["confidence"]
    data = trained / "src" / "data"
    with imports_from(trained / "src"):
        from submission import dataset, helper, model, recipes

        text = (data / "wiki.txt").read_text(encoding="utf-8").removesuffix("\n")
        fields = recipes.load_recipe().model
        corpus = dataset.CharCorruptionDataset(text, fields["block_size"])
        config = model.GPTConfig(corpus.vocab_size, **fields)
        network = helper.initialize_vanilla_model(config).double().eval()
        network.load_state_dict(torch.load(trained / "vanilla.finetune.params", weights_only=True))
        mask = corpus.stoi[corpus.MASK_CHAR]
        lines = (data / "birth_unseen_inputs.tsv").read_text(encoding="utf-8").splitlines()
        probabilities = []
        for line in lines:
            ids, product = [corpus.stoi[c] for c in line] + [mask], 1.0
            for _ in range(32):
                with torch.no_grad():
                    logits = network(torch.tensor([ids[-fields["block_size"] :]]))[0][0, -1]
                probability, chosen = torch.softmax(logits.double(), 0).max(0)
                product *= probability.item()
                ids.append(chosen.item())
                if chosen == mask:
                    break
            probabilities.append(product)
    unseen = found["unseen"]
    assert unseen["count"] == len(lines) == 12
    assert unseen["median"] == pytest.approx(np.median(probabilities), abs=2e-4)
    assert unseen["quartiles"] == pytest.approx(
        list(np.quantile(probabilities, [0.25, 0.75])), abs=2e-4
    )
    assert max(probabilities) > 1e-3  # else rounding would hide everything
    assert found["right"] is None or found["wrong"]["count"] + found["right"]["count"] == 10
    plotted = columns(with_trained / "confidence.dat")
    assert plotted["unseen"][:-1].sum() == pytest.approx(1, abs=1e-4)


def test_the_same_bytes_with_a_trained_model(with_trained, trained, tmp_path, run_python, script):
    assert run_python(script, tmp_path, "--trained", trained).returncode == 0
    for path in with_trained.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    "name, text, expected",
    [
        ("vanilla.finetune.params", None, "no such file"),
        ("vanilla.finetune.params", "no parameters", "no readable parameters"),
        ("vanilla.pretrain.dev.predictions", "Oslo\n", "got 1 lines, expected 10"),
        ("src/data/birth_unseen_inputs.tsv", None, "no such file"),
    ],
)
def test_a_folder_that_is_not_trained_is_refused_in_a_line(
    trained, tmp_path, run_python, script, name, text, expected
):
    path = trained / name
    kept = path.read_bytes()
    try:
        path.unlink()
        if text is not None:
            path.write_text(text, encoding="utf-8")
        done = run_python(script, tmp_path, "--trained", trained)
    finally:
        path.write_bytes(kept)
    assert done.returncode == 2 and not list(tmp_path.iterdir())
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ") and path.name in line and expected in line


def test_namesakes_are_counted_against_chance(confidence):
    known = [("Where was Ana Ruiz born?", "Lima"), ("Where was Bo Falk born?", "Oslo")]
    asked = ["Where was Ana Berg born?", "Where was Eva Falk born?", "Where was Kim Ono born?"]
    # Right by name: Lima for the first, Oslo for the second, nothing for the third. Dealt at
    # random, Lima hits one of three people, Oslo one of three, Rome none: 2 of 9.
    answers = [("Lima", 0.9), ("Rome", 0.5), ("Oslo", 0.4)]
    found = confidence.look_alikes(asked, answers, known)
    assert found["share"] == 0.333 and found["by_chance"] == 0.222
    (example,) = found["examples"]
    assert example == {
        "question": asked[0],
        "namesake": "Ana Ruiz",
        "prediction": "Lima",
        "probability": 0.9,
    }


def test_what_is_made_up_is_compared_with_the_finetuning_table(confidence):
    train = [(f"Where was A{i} B{i} born?", p) for i, p in enumerate(["Lima"] + 4 * ["Rome"])]
    dev = [("Where was Eva Falk born?", "Oslo")]
    answers = [("Rome", 0.5), ("Oslo", 0.5), ("Lma", 0.1), ("Rome", 0.2), ("Rome", 0)]
    found = confidence.made_up([f"Where was {x} Falk born?" for x in "CDEFG"], answers, train, dev)
    assert found["favourite"] == {"place": "Rome", "share": 0.6, "of_training": 0.8}
    assert (found["distinct"], found["of_training"]) == (3, 0.6)  # Oslo is dev's alone
    assert found["look_alikes"]["share"] == 0.2  # but dev's people count as namesakes


def test_summaries_of_probabilities(confidence):
    assert confidence.summary([]) is None
    assert confidence.summary([0.2, 0.4, 0.6, 0.8, 1.0]) == {
        "count": 5,
        "median": 0.6,
        "quartiles": [0.4, 0.8],
        "above_half": 0.6,
    }
    assert confidence.overlap([0.9, 0.5], [0.5, 0.1]) == 0.875  # 3 above, 1 tie, of 4
    assert confidence.overlap([], [0.5]) is None
    assert confidence.commonest(["Rome", "Lima", "Rome", "Lima"])["place"] == "Lima"
    rows = confidence.histogram([0.05, 0.95, 1.0], [])
    assert rows[0] == [0.0, pytest.approx(1 / 3), 0.0] and len(rows) == 11
    assert rows[-2][1] == rows[-1][1] == pytest.approx(2 / 3)


def test_examples_are_only_what_latex_sets_as_it_stands(confidence):
    names = ["Zoë Ok", *(f"Zoë A{special}" for special in "\\{}$&#^_~%")]
    rows = [(f"Where was {name} born?", "Łódź", "Oslo", 0.5) for name in names]
    assert [e["question"] for e in confidence.examples(rows)] == ["Where was Zoë Ok born?"]


@pytest.fixture
def confidence(root, monkeypatch):
    monkeypatch.syspath_prepend(str(root / "solutions" / "written"))
    import confidence

    return confidence


# Templates ----------------------------------------------------------------------------------


def template(root, slot: str) -> str:
    return (root / "solutions" / "written" / f"{slot}.tex.j2").read_text(encoding="utf-8")


def rubric(text: str) -> str:
    (inside,) = re.findall(r"\\begin\{rubric\}(.*?)\\end\{rubric\}", text, re.DOTALL)
    return inside


def test_every_slot_has_a_file_and_no_file_is_without_a_slot(root):
    files = {p.name for p in (root / "solutions" / "written").glob("*.tex.j2")}
    assert files == {f"{slot}.tex.j2" for slot in (*REPORTS, *GRADED, *PRACTICE, "slips")}


@pytest.mark.parametrize("slot", (*REPORTS, *GRADED))
def test_a_slot_has_solution_rubric_and_mistakes_in_this_order(root, slot):
    found = re.findall(r"\\(begin|end)\{(solution|rubric|mistakes)\}", template(root, slot))
    wanted = ("solution", "rubric", "mistakes")
    assert found == [(word, name) for name in wanted for word in ("begin", "end")]


@pytest.mark.parametrize("slot", GRADED)
def test_shares_of_a_rubric_sum_to_one(root, slot):
    inside = rubric(template(root, slot))
    shares = re.findall(r'\\criterion\{<< points\("(\d+/\d+)"\) >>\}', inside)
    assert len(shares) == inside.count("\\criterion") >= 2
    assert template(root, slot).count("points(") == len(shares)
    assert sum(map(Fraction, shares)) == 1


@pytest.mark.parametrize("slot", PRACTICE)
def test_practice_is_answered_and_carries_no_points(root, slot):
    text = template(root, slot)
    assert re.findall(r"\\begin\{(solution|rubric|mistakes)\}", text) == ["solution"]
    assert "points(" not in text
    assert "<< worked_answer() >>" in (root / f"handout/topics/{slot}.tex.j2").read_text("utf-8")


@pytest.mark.parametrize("slot", REPORTS)
def test_reported_numbers_carry_no_points(root, slot):
    assert "\\criterion" not in template(root, slot) and "points(" not in template(root, slot)


def render(root, slot: str, numbers: dict, fictional: bool, topics: set[str]) -> str:
    """A template as the build renders it; a reference to a topic that isn't there fails."""

    def ref(topic: str, part: int | None = None) -> str:
        assert topic in topics and part in (None, 1, 2)
        return f"{topic}{part or ''}"

    thresholds = {"vanilla": 0.3, "synthesizer": 0.15, "rope": 0.3}
    values = {
        "numbers": numbers,
        "data": {"fictional": fictional, "thresholds": thresholds},
        "percent": percent,
        "points": lambda share: f"{share} of them",
        "has": lambda topic: topic in topics,
        "ref": ref,
    }
    return Templates(root, ("solutions/written",)).render(f"{slot}.tex.j2", values)


@pytest.mark.parametrize("slot", (*REPORTS, *GRADED, *PRACTICE, "slips"))
def test_templates_render_for_any_data_numbers_and_edition(root, slot, numbers, with_trained):
    """Alone, and among all topics; braces stay balanced."""
    known = json.loads((with_trained / "numbers.json").read_text(encoding="utf-8"))
    texts = set()
    for found in (numbers, known):
        for fictional in (True, False):
            for topics in (TOPICS, {slot.partition("-")[0]}):
                text = render(root, slot, found, fictional, topics)
                assert "<<" not in text and "<%" not in text and "  ." not in text
                plain = re.sub(r"\\[{}]", "", text)
                assert plain.count("{") == plain.count("}")
                assert text.count("\\(") == text.count("\\)")
                texts.add(text)
    uses = {"numbers.confidence", "numbers.accuracy", "data.fictional", "has("}
    assert len(texts) >= (2 if any(word in template(root, slot) for word in uses) else 1)


def test_unseen_people_are_explained_as_the_data_have_it(root, numbers):
    fictional, real = (
        render(root, "consider_unseen", numbers, kind, TOPICS) for kind in (True, False)
    )
    for text in (fictional, real):
        assert "Priors." in text and "Look-alike names." in text  # both are accepted
        assert "most frequent places" in rubric(text) and "look-alike names" in rubric(text)
    assert "names and places are independent" in fictional
    assert "names do carry information" in real


def test_without_training_the_reader_is_told_to_train(root, numbers):
    for slot in (*REPORTS, "consider_indeterminacy", "consider_unseen"):
        assert "make reference" in render(root, slot, numbers, True, TOPICS)
