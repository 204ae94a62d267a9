"""The grader's verdicts on all variants of the reference are those of tests/golden/verdicts.toml.

If a test of the grader changes, verdicts may, too: `python -m tests.golden_verdicts` prints which,
and `--write` accepts them.
"""

import re
import tomllib
from typing import Any

import pytest

from grading.cases import HINTS
from grading.verdicts import Outcome, TestResult
from questions.building_blocks.tests import BlocksAttention
from tests import benches, golden_verdicts, pinned
from tests.snapshots import check
from tests.variants import GOLDEN, NEEDS_FILES, ROOT, Variant, all_variants

# The first result waits for those of a whole topic, in a long test for those of all variants.
pytestmark = pytest.mark.timeout(3600)
VARIANTS = all_variants()
TABLE = golden_verdicts.read_table()
BY_NAME = {variant.name: variant for variant in VARIANTS}
TESTS = pinned.load().edition("current").tests
OF_BLOCKS = "test_messages_of_blocks_ask_a_question_and_tell_no_formula"
OF_THE_FORM = (".modified-arguments", ".not-finite", ".not-two-lists", ".shape")
HINTS_FILE = ROOT / "src/questions/building_blocks/hints.toml"
OF_VARIANTS = ("test_verdicts_are_those_of_the_table", "test_confined_workers_say_the_same")
KILLERS = tomllib.loads((GOLDEN / "killers.toml").read_text(encoding="utf-8")).values()
# Tests whose messages are pinned, by variant.
PINNED = {v.name: {v.full_name(test) for test in v.listed("message of")} for v in VARIANTS}
for killer in KILLERS:
    PINNED[killer["variant"]].add(killer["test"])
# Right variants whose spans are distributed as others' are. The test span_share, which draws 20,000
# items and more, takes two thirds of the time of right corruptions.
SPARED = """a_list_for_the_pair clamped_length generator_of_its_own ids_first max_one no_final_mask
    numpy_randomness padded_to_block_size prefix_never_empty rounded_down start_clipped
    suffix_never_empty torch_real_numbers truncation_of_floats whole_words_of_code""".split()
# A compiled model is compiled anew in each of its eight tests, for seconds.
SOME = {"helper/right/compiled_model": ("pretraining.loads_pretrained", "finetuning.model_output")}
DECIMAL = re.compile(r"-?\d+\.\d+(e[+-]\d+)?|-?\d+e[+-]\d+")


@pytest.fixture(scope="module")
def found(executor, request: pytest.FixtureRequest):
    """Run all selected variants at once, by a student's workers; return how their tests end.

    Of wrong variants, only the tests meant for them, and those with a pinned message, are run; what
    others say is long, and so are the longest test of SPARED and most of SOME.
    """
    of_many = {"test_messages": {n for n, tests in PINNED.items() if tests}, OF_BLOCKS: set(BLOCKS)}
    selected: set[str] = set()
    for item in request.session.items:
        one = {item.callspec.params["name"]} if item.originalname in OF_VARIANTS else set()
        selected |= one | of_many.get(item.originalname, set())
    chosen = golden_verdicts.longest_first(v for v in VARIANTS if v.name in selected)
    return {v.name: executor.submit(golden_verdicts.endings, v, **asked(v)) for v in chosen}


def asked(variant: Variant) -> dict[str, Any]:
    """Return the seed, and which tests are run (None: all)."""
    meant = {variant.full_name(test) for test in variant.caught_by} | PINNED[variant.name]
    only = tuple(t for t in not_passed(variant.name) if variant.full_name(t) in meant)
    if variant.is_right:
        spared = variant.name.removeprefix("span_corruption/right/") in SPARED
        names = (test.name for test in TESTS if test.topic == variant.topic)
        only = tuple(name for name in names if name != "span_share")
        only = only if spared else SOME.get(variant.name)
    return {"seed": golden_verdicts.SEED, "only": only}


@pytest.fixture(scope="module")
def everything(executor):
    """All tests of all variants."""
    return golden_verdicts.submit(executor, VARIANTS, golden_verdicts.SEED)


def not_passed(name: str) -> set[str]:
    """Return the tests that don't pass a variant, according to the table."""
    return {test for tests in TABLE.get(name, {}).values() for test in tests}


@pytest.mark.parametrize("name", BY_NAME)
def test_verdicts_are_those_of_the_table(name: str, found):
    """Every difference is printed: read it, then update the table."""
    caught, meant = not_passed(name), set(BY_NAME[name].caught_by)
    if BY_NAME[name].is_right:
        assert not caught, "a right variant should pass every test: is this one right?"
    else:
        assert meant, "name the tests that are meant for it: # caught by: ..."
        assert meant <= caught, f"passes {', '.join(sorted(meant - caught))}"
    outcomes = golden_verdicts.outcomes(found[name].result())
    expected = {o: [t for t in tests if t in outcomes] for o, tests in TABLE.get(name, {}).items()}
    difference = golden_verdicts.difference(name, expected, outcomes)
    command = "if this is meant: python -m tests.golden_verdicts --write"
    assert not difference, f"{difference}\n{command}"


@pytest.fixture(scope="module")
def alone():
    """A process of its own, since a pool of confined workers needs several more."""
    with benches.open_executor(1) as executor:
        yield executor


@pytest.mark.parametrize("name", BY_NAME)
@pytest.mark.sampled(200, group_of=lambda name: BY_NAME[name].topic)
def test_confined_workers_say_the_same(name: str, found, alone):
    """A student's workers do one test after another; those of staff share nothing."""
    variant = BY_NAME[name]
    confined = alone.submit(golden_verdicts.endings, variant, pool="confined", **asked(variant))
    assert said(confined.result()) == said(found[name].result())


def said(results: dict[str, TestResult]) -> dict[str, tuple[Outcome, str, str]]:
    """Return what a student sees, and the cause."""
    return {test: (r.outcome, r.message, r.cause) for test, r in results.items()}


def test_messages(found):
    """What a student reads when an assertion fails: each of them, by the variant it is for.

    tests/golden/killers.toml names these. Decimal numbers are masked: their last digits depend on
    the processor.
    """
    texts = {}
    for name, tests in PINNED.items():
        endings = found[name].result() if tests else {}
        for key, ending in endings.items():
            if (test := BY_NAME[name].full_name(key)) in tests:
                texts[f"{test}: {name}"] = shown(ending)
    check("assertions", texts)


BLOCKS = [v.name for v in VARIANTS if v.topic == "building_blocks" and not v.is_right]


def test_messages_of_blocks_ask_a_question_and_tell_no_formula(found):
    """Failures of an answer's form need no hints; there are no hints on anything else."""
    seen = set()
    for name in BLOCKS:
        variant = BY_NAME[name]
        module = variant.field("region").split(", ")[0]
        for test in variant.caught_by:
            if test.split(".")[1].startswith(("random", "any_", "long", "shares")):
                continue
            ending = found[name].result()[test]
            assert ending.outcome is Outcome.FAILED, (name, ending.detail)
            assert f"in submission/{module}" in ending.message, name
            id = ending.cause.partition(".")[2]
            if id.endswith(OF_THE_FORM):
                continue
            hints = BlocksAttention.hints(id)
            assert tuple(hints) == HINTS and len(set(hints.values())) == len(HINTS), id
            assert f"\n  question: {hints['question']}\n" in ending.message
            message = "".join(ending.message.split())
            assert not any("".join(hints[kind].split()) in message for kind in HINTS[1:]), id
            seen.add(id)
    assert seen == set(tomllib.loads(HINTS_FILE.read_text(encoding="utf-8")))


def shown(result: TestResult) -> str:
    first = f"{result.outcome.value} ({result.cause}), {result.credit} of the points"
    texts = [first, result.message]
    if result.outcome is Outcome.FAILED and result.detail:  # otherwise, it is a traceback
        texts.append(f"staff: {result.detail}")
    return DECIMAL.sub("0.0", re.sub(r"seed: \d+", "seed: N", "\n".join(texts)))


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
def test_all_tests_of_all_variants_say_what_the_table_says(everything):
    ended = {v.name: golden_verdicts.outcomes(everything[v].result()) for v in VARIANTS}
    differ = [golden_verdicts.difference(n, TABLE.get(n), found) for n, found in ended.items()]
    assert not any(differ), "\n".join(filter(None, differ))


@pytest.mark.long
@pytest.mark.timeout(4 * 3600)
@pytest.mark.parametrize("order", range(3))
def test_the_order_of_tests_changes_nothing(order: int, everything, executor):
    found = golden_verdicts.submit(executor, VARIANTS, golden_verdicts.SEED, order=order)
    differ = [v.name for v in VARIANTS if said(found[v].result()) != said(everything[v].result())]
    assert not differ


def test_what_computes_nothing_earns_nothing():
    """Zeros, a constant, the input, an empty tensor: they pass only tests of other code."""
    others = {"uses_synthesizer", "uses_rope", "angles", "any_angles"}
    for variant in VARIANTS:
        if "/wrong/returns_" in variant.name:
            tests = {t.name for t in TESTS if t.topic == variant.topic}
            assert tests - not_passed(variant.name) <= {*others, *NEEDS_FILES}, variant.name
    # And no code at all lets the grader itself fail.
    assert not [name for name, groups in TABLE.items() if "grader error" in groups]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_the_reference_passes(seed: int, executor):
    """Every bound of the grader fails correct code with probability below 1e-6."""
    ended = executor.submit(golden_verdicts.endings, None, seed).result()
    assert {result.outcome for result in ended.values()} == {Outcome.PASSED}, ended
