"""Phrases that no native writer would use stay out of the repository, in text and code alike.

Each phrase comes with a better wording. Case, line breaks, comment signs and the quotes between
adjacent string literals don't matter.
"""

import re
import subprocess
from pathlib import Path

import pytest

from tests.project import ROOT

SUFFIXES = {".css", ".html", ".j2", ".js", ".md", ".mk", ".py", ".sh", ".sty", ".tex", ".toml"}
SUFFIXES |= {".ipynb", ".txt", ".yaml", ".yml"}
NAMES = {"Makefile", "run_autograder"}
# `*` is any word that ends no sentence; the rest is a regular expression.
PHRASES = {
    "a fresh machine to": "from setting up to ...",
    "an item is no": "an item is not a",
    "another * than": "a different ... from",
    "as Windows takes it": "which also works on Windows",
    "at the pace that the first seconds": "times a few steps and picks the fastest settings",
    "begins? anew": "starts over",
    "by turns": "alternately",
    "can be had": "can be reproduced, or is available",
    "comes to the other": "adds another",
    "could be had": "could be reproduced, or was available",
    "find it again by yourself": "reconstruct it on your own",
    "(gets|getting) at (it|its|that|the) *": "makes ... accessible",
    "gives other *": "the resulting ... are wrong",
    "(goes|go) on with --resume": "resumes with --resume",
    "has another (attention|dataset)": "uses the wrong ...",
    "holds it all": "contains everything",
    "in whole sentences": "in complete sentences",
    "is (added to|of) what came in": "is added to its input",
    r"(?<!there\s)is no (function|number|pair|tensor|text|tuple)": "is not a ...",
    "is no Python": "is not valid Python",
    "is refused (in|with) (a|one) line": "is rejected with a one-line message",
    "is weighed": "is weighted",
    "is yours to choose": "you may choose",
    "mend (it|that|this)": "fix it",
    "mostly isn't so": "is usually false",
    "nobody tells positions": "without position information",
    "no function shows these": "these questions have no code",
    "no square in general": "in general not square",
    "nor is the example an odd one": "the example is typical",
    "(computer|laptop|machine|processor)s? of today": "recent ...",
    "reckons": "estimates",
    "something else than": "something other than",
    "stand below each other": "each row belongs to ...",
    "tell the birth place": "state the birth place",
    "the more probable it holds": "gives it a higher probability",
    "there is mathematics again": "some questions ask for mathematics",
    "(to|of) the same bits": "bit-identical",
    "(was|were) got": "what your code returned",
    "was it changed": "has it been modified",
    "what is where": "files and folders",
    "what it calls stands": "it calls functions in ...",
    "what looks wrong gets a hint": "prints a hint when ... looks wrong",
    "which are told": "which are reported",
    "who does what where": "layout",
    "whoever draws a length first": "if you draw a length first",
    # Rates: so much *per* unit.
    "(bits|nats) a (character|token|word)": "per",
    "(steps|tokens) a second": "per",
    "a perplexity of * a *": "per",
    "CPU a (submission|test)": "per",
}
GAP = re.compile(r"""(?:[\s"'`*#%|]|\b[fr]{1,2}(?=["']))+""")

BETWEEN = r"(?: |\n+)"  # words of a flat text
WORD = r"\S*[^\s.,;:?!]"


def flat(text: str) -> str:
    """Return a text in lower case, with only spaces or line breaks between its words."""
    return GAP.sub(lambda gap: "\n" * gap[0].count("\n") or " ", text).lower()


def found(phrase: str, flat_text: str) -> list[int]:
    """Return the numbers of the lines on which a phrase begins."""
    words = (WORD if word == "*" else word for word in phrase.lower().replace("'", " ").split())
    hits = (hit.start() for hit in re.finditer(rf"{BETWEEN.join(words)}\b", flat_text))
    # Looking back here, not in the pattern, lets `re` skip to the first letters of the phrase.
    starts = (hit for hit in hits if not re.match(r"\w", flat_text[max(hit - 1, 0) : hit]))
    return [flat_text.count("\n", 0, start) + 1 for start in starts]


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """All text that is committed, or would be, by file (see `flat`), except this file."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.decode("utf-8").split("\0") if name]
    return {
        path.relative_to(ROOT).as_posix(): flat(path.read_text(encoding="utf-8"))
        for path in paths
        if path.is_file() and (path.suffix in SUFFIXES or path.name in NAMES)
        if path.name != Path(__file__).name
    }


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_stays_out(texts, phrase):
    places = [f"{name}:{line}" for name, text in texts.items() for line in found(phrase, text)]
    assert not places, f"{phrase!r}: write {PHRASES[phrase]!r} instead, in {', '.join(places)}"


def test_all_kinds_of_text_are_searched(texts):
    assert {"README.md", "Makefile", "assignment.toml", "course.toml"} <= texts.keys()
    for start in ("src/", "tools/", "tests/", "handout/", "solutions/", "docs/", ".github/"):
        assert any(name.startswith(start) for name in texts), start


@pytest.mark.parametrize(
    "text",
    [
        "It can be had.",
        "It\ncan be\n    had again",
        "# It Can\n# be had",
        '("It can " f"be had: {x}")',
        '"It can "\n        "be had"',
        "it *can* be `had`",
    ],
)
def test_a_phrase_is_found(text):
    assert found("can be had", flat(text)) == [2 if text.startswith("It\n") else 1]


@pytest.mark.parametrize("text", ["can be hadron", "scan be had", "can have been had", "can be"])
def test_other_words_are_not_taken_for_it(text):
    assert found("can be had", flat(text)) == []


def test_a_star_is_any_word_within_a_sentence():
    assert found("another * than", flat("Another {name}\nthan this")) == [1]
    assert found("another * than", flat("another one, rather than this")) == []
    assert found("a perplexity of * a *", flat("a perplexity of 2.5 a token")) == [1]
    assert found("a perplexity of * a *", flat("a perplexity of 8. A loss")) == []


def test_no_wording_that_is_recommended_is_a_phrase_to_avoid():
    for better in PHRASES.values():
        assert not [phrase for phrase in PHRASES if found(phrase, flat(better))]
