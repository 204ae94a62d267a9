"""The written solutions' templates render, whatever the data, the numbers and the edition."""

import re

from tests.project import ROOT
from tools.handout.templates import Templates, percent

TEXTS = {
    path.name.removesuffix(".tex.j2"): path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "solutions/written").glob("*.tex.j2"))
}
TOPICS = {slot.partition("-")[0] for slot in TEXTS}
# Of questions whose points are for code, so that staff compare numbers and give none.
REPORTS = {"no_pretraining", "pretraining", "synthesizer", "rope"}


def render(slot: str, numbers: dict, fictional: bool, topics: set[str]) -> str:
    """Render a template like the build; a reference to a missing topic fails."""

    def ref(topic: str, part: int | None = None) -> str:
        assert topic in topics and part in (None, 1, 2, 3)
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
    return Templates(ROOT, ("solutions/written",)).render(f"{slot}.tex.j2", values)


def test_templates_render_for_any_data_numbers_and_edition(numbers, of_trained):
    """Render them alone and among all topics; braces must be balanced."""
    for slot in TEXTS:
        assert slot not in REPORTS or "points(" not in TEXTS[slot]
        for found in (numbers, of_trained):
            for fictional in (True, False):
                for topics in (TOPICS, {slot.partition("-")[0]}):
                    text = render(slot, found, fictional, topics)
                    assert "<<" not in text and "<%" not in text and "  ." not in text, slot
                    plain = re.sub(r"\\[{}]", "", text)
                    assert plain.count("{") == plain.count("}"), slot
                    assert text.count("\\(") == text.count("\\)"), slot


def test_unseen_people_are_explained_as_the_data_have_it(numbers):
    fictional, real = (render("consider_unseen", numbers, kind, TOPICS) for kind in (True, False))
    assert "names and places are independent" in fictional
    assert "names do carry information" in real


def test_without_training_the_reader_is_told_to_train(numbers):
    for slot in (*REPORTS, "consider_indeterminacy", "consider_unseen"):
        assert "make reference" in render(slot, numbers, True, TOPICS)
