"""What a student reads when an assertion fails: each of them, by the wrong solution it is for.

tests/golden/killers.toml names these solutions. Decimal numbers are masked: their last digits
depend on the processor.
"""

import re
import tomllib

from tests import benches, golden_verdicts
from tests.snapshots import check
from tests.variants import GOLDEN, Variant, all_variants

DECIMAL = re.compile(r"-?\d+\.\d+(e[+-]\d+)?|-?\d+e[+-]\d+")


def messages(variant: Variant, names: set[str]) -> dict[str, str]:
    """Return what these tests say about a variant. Call it in a process of `open_executor`."""
    bench = benches.here()
    tests = [t for t in bench.tests if f"{t.spec.topic}.{t.spec.name}" in names]
    results = bench.verdicts(variant, tests, golden_verdicts.SEED)
    return {f"{topic}.{name}": shown(result) for (topic, name), result in results.items()}


def shown(result) -> str:
    texts = [f"{result.outcome.value} ({result.cause}), {result.credit} of the points"]
    texts += [result.message, result.detail and f"staff: {result.detail}"]
    text = re.sub(r"seed: \d+", "seed: N", "\n".join(filter(None, texts)))
    return DECIMAL.sub("0.0", text)


def test_assertions():
    killers = tomllib.loads((GOLDEN / "killers.toml").read_text(encoding="utf-8")).values()
    asked: dict[str, set[str]] = {}
    for killer in killers:
        asked.setdefault(killer["variant"], set()).add(killer["test"])
    with benches.open_executor() as executor:
        futures = {
            variant.name: executor.submit(messages, variant, asked[variant.name])
            for variant in all_variants()
            if variant.name in asked
        }
        texts = {
            f"{test}: {name}": text
            for name, future in futures.items()
            for test, text in future.result().items()
        }
    check("assertions", texts)
