"""The grader's verdicts on all variants of the reference are those of tests/golden/verdicts.toml.

If a test of the grader changes, verdicts may, too: `python -m tests.golden_verdicts` prints which,
and `--write` accepts them.
"""

import pytest

from tests import benches, golden_seeds, golden_verdicts, pinned
from tests.golden_seeds import failures
from tests.scheduling import sampled
from tests.variants import NEEDS_FILES, Variant, all_variants, lay_out

VARIANTS = all_variants()
TABLE = golden_verdicts.read_table()
BY_NAME = {variant.name: variant for variant in VARIANTS}
TESTS = pinned.load().edition("current").tests
OF_VARIANTS = ("test_verdicts_are_those_of_the_table", "test_confined_workers_say_the_same")


@pytest.fixture(scope="module")
def executor():
    with benches.open_executor() as executor:
        yield executor
        executor.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def found(executor, request: pytest.FixtureRequest):
    """Run all selected variants at once; return how their tests end."""
    ours = [item for item in request.session.items if item.originalname in OF_VARIANTS]
    selected = {item.callspec.params["name"] for item in ours}
    chosen = [variant for variant in VARIANTS if variant.name in selected]
    futures = golden_verdicts.submit(executor, chosen, golden_verdicts.SEED)
    return {variant.name: future for variant, future in futures.items()}


@pytest.fixture(scope="module")
def everything(executor):
    return golden_verdicts.submit(executor, VARIANTS, golden_verdicts.SEED)


def place_of(name: str) -> tuple[str, bool, str]:
    """Return what a variant has in common with those of which some are run for all."""
    variant = BY_NAME[name]
    return variant.topic, variant.is_right, variant.field("region")


@pytest.mark.parametrize("name", BY_NAME)
def test_verdicts_are_those_of_the_table(name: str, found):
    """Every difference is printed: read it, then update the table."""
    outcomes = golden_verdicts.outcomes(found[name].result())
    difference = golden_verdicts.difference(name, TABLE.get(name), outcomes)
    command = "if this is meant: python -m tests.golden_verdicts --write"
    assert not difference, f"{difference}\n{command}"


@pytest.mark.parametrize("name", sampled(BY_NAME, place_of))
def test_confined_workers_say_the_same(name: str, found, executor):
    """Those of this test share nothing; a student's do one test after another."""
    given = BY_NAME[name], golden_verdicts.SEED
    confined = executor.submit(golden_verdicts.endings, *given, confined=True)
    assert confined.result() == found[name].result()


@pytest.mark.long
@pytest.mark.parametrize("order", range(3))
def test_the_order_of_tests_changes_nothing(order: int, everything, executor):
    """A student's workers run the tests of all variants, each time in another order."""
    found = golden_verdicts.submit(executor, VARIANTS, golden_verdicts.SEED, order)
    differ = [v.name for v in VARIANTS if found[v].result() != everything[v].result()]
    assert not differ


@pytest.mark.parametrize("name", [v.name for v in VARIANTS if v.is_right])
def test_right_variants_pass(name: str):
    assert name not in TABLE, "a right variant should pass every test: is this one right?"


@pytest.mark.parametrize("name", [v.name for v in VARIANTS if not v.is_right])
def test_wrong_variants_are_caught_by_the_tests_meant_for_them(name: str):
    caught = {test for tests in TABLE.get(name, {}).values() for test in tests}
    meant = set(BY_NAME[name].caught_by)
    assert meant, "name the tests that are meant for it: # caught by: ..."
    assert meant <= caught, f"passes {', '.join(sorted(meant - caught))}"


@pytest.mark.parametrize("name", [v.name for v in VARIANTS if "/wrong/returns_" in v.name])
def test_what_computes_nothing_earns_nothing(name: str):
    """Zeros, a constant, the input, an empty tensor: they pass only tests of other code."""
    others = {"uses_synthesizer", "uses_rope", "angles", "any_angles"}
    caught = {test for tests in TABLE[name].values() for test in tests}
    topic = BY_NAME[name].topic
    code = {t.name for t in TESTS if t.topic == topic and t.name not in NEEDS_FILES}
    assert code - caught <= others


def test_the_grader_itself_never_fails():
    assert not [name for name, groups in TABLE.items() if "grader error" in groups]


def test_the_table_names_existing_variants_only():
    assert set(TABLE) <= set(BY_NAME)


@pytest.mark.parametrize(
    "topic, right, wrong",
    [("span_corruption", 12, 20), ("synthesizer", 6, 12), ("rope", 3, 6)],
)
def test_there_are_enough_variants(topic: str, right: int, wrong: int):
    of_topic = [variant for variant in VARIANTS if variant.topic == topic]
    assert sum(v.is_right for v in of_topic) >= right
    assert sum(not v.is_right for v in of_topic) >= wrong


@pytest.mark.parametrize("seed", [1, *(pytest.param(n, marks=pytest.mark.long) for n in (2, 3))])
def test_reference_passes_with_other_seeds(seed: int, executor):
    """Every bound of the grader fails correct code with probability below 1e-6."""
    assert executor.submit(failures, None, seed).result() == {}


def test_difference_names_each_test_that_changed():
    expected = {"failed": ["position"], "error": ["pairs"]}
    found = {"position": "passed", "pairs": "error", "span_share": "failed"}
    assert golden_verdicts.difference("a/wrong/b", expected, found) == (
        "a/wrong/b:\n"
        "  position: the table says failed, the grader says passed\n"
        "  span_share: the table says passed, the grader says failed"
    )


def test_table_is_read_as_it_was_written(tmp_path):
    names = [f"a_test_with_a_long_name_{number}" for number in range(5)]
    wrong = {"a/wrong/c": {"timed out": ["x"], "failed": names}}
    golden_verdicts.write_table({"a/right/b": {}, **wrong}, tmp_path / "table.toml")
    assert golden_verdicts.read_table(tmp_path / "table.toml") == wrong


def test_a_variant_without_a_region_is_refused(tmp_path):
    path = tmp_path / "helper" / "right" / "nowhere.py"
    path.parent.mkdir(parents=True)
    path.write_text("# Says nothing about its place.\npass\n", encoding="utf-8")
    with pytest.raises(ValueError, match="expected a comment `# region:"):
        lay_out(Variant(path), tmp_path / "out")


def test_results_of_seeds_are_those_of_every_file_that_decides():
    """If a module were forgotten, stale results would count."""
    decide = set(golden_seeds.files_that_decide(None))
    for folder in ("src/grading", "solutions/hidden", "solutions/submission"):
        modules = set((golden_seeds.ROOT / folder).rglob("*.py"))
        assert modules and modules <= decide
    assert golden_seeds.ROOT / "assignment.toml" in decide
