"""Practice on building blocks: the sheet's numbers are those that its functions compute."""

import math
import re
from types import SimpleNamespace

import pytest
import torch

from tests.variants import load_module


@pytest.fixture(scope="module")
def b(root):
    """The reference's building blocks, from all modules."""
    found: dict[str, object] = {}
    for path in sorted((root / "solutions/submission").glob("building_blocks*.py")):
        found |= vars(load_module(f"reference.{path.stem}", path))
    return SimpleNamespace(**found)


@pytest.fixture(scope="module")
def text(root):
    """text(topic): a practice question and its answer, from the templates, in one line."""

    def text(topic: str) -> str:
        names = (f"handout/{folder}/blocks_{topic}.tex.j2" for folder in ("topics", "answers"))
        return " ".join(" ".join((root / n).read_text(encoding="utf-8").split()) for n in names)

    return text


def test_weights_of_both_masks_in_the_example(b, text):
    mask = torch.tensor([True, True, False])
    for hidden, after in ((0.0, (0.665, 0.245)), (5.0, (0.047, 0.017))):
        scores = torch.tensor([2.0, 1.0, hidden], dtype=torch.float64)
        before = b.masked_softmax(scores, mask, "before")[:2].tolist()
        assert before == pytest.approx([0.731, 0.269], abs=5e-4)
        found = b.masked_softmax(scores, mask, "after")[:2].tolist()
        assert found == pytest.approx(after, abs=5e-4)
    said = text("late_mask")
    assert all(word in said for word in (".731", ".269", ".665", ".245", ".047", ".017"))


def test_the_encoders_ranges_are_those_of_the_table(b, text):
    """Compute borders: bucket 8 + r begins at 8 sqrt(2)^r, rounded up to a whole distance."""
    (row,) = re.findall(r"distances & (.*?) \\end", text("buckets"))
    said = [[int(n) for n in re.findall(r"\d+", cell)] for cell in row.split("&")]
    borders = [math.ceil(round(8 * 2 ** (r / 2), 9)) for r in range(9)]
    pairs = zip(borders[:7], borders[1:], strict=False)
    assert said == [*([low, high - 1] for low, high in pairs), [91]]
    got = b.relative_buckets(-torch.arange(500))
    for r, cell in enumerate(said):
        high = cell[1] if len(cell) == 2 else 499
        assert set(got[cell[0] : high + 1].tolist()) == {8 + r}
    assert got[:8].tolist() == list(range(8))


def test_the_text_of_sentinels_is_what_the_function_gives(b, text):
    line = "Thank you for inviting me to your party last week"
    source, target = b.span_corruption(line.split(), [(2, 4), (8, 9)])
    for words in (line, " ".join(source), " ".join(target)):
        assert rf"\lit{{{words}}}" in text("sentinels")


def test_the_examples_of_cost(b, text):
    wanted = {"encoder": 180, "encoder-decoder": 300, "decoder": 500}
    for kind, count in wanted.items():
        assert b.attention_multiply_adds(kind, 3, 5, 10) == count and str(count) in text("cost")
