"""Variants of the reference, right ones and wrong ones: tests/golden/README.md says how they look.

python -m tests.variants TOPIC/wrong/NAME.py FOLDER     lay one out, to be graded
"""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import sys
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType, SimpleNamespace

from grading.cases import BoundTest
from grading.edition import TestSpec
from questions.course import Course
from tools.reference import compose
from tools.regions import find_regions

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
REGIONS = {
    "span_corruption": "dataset.py, __getitem__, span corruption",
    "synthesizer": "attention.py, forward, synthesizer",
    "rope": "attention.py, apply_rotary_emb, rope",
    "london_baseline": "london_baseline.py, london_baseline, no pretraining",
}
# The topics whose tests apply to a folder of variants, if not the one of its name; without those
# that need trained files.
TOPICS = {
    "helper": ("finetuning", "pretraining", "synthesizer"),
    "london_baseline": ("no_pretraining",),
    "attention_exploration": (
        "attention_copying",
        "attention_averaging",
        "attention_single_head",
        "attention_two_heads",
        "attention_key_query_value",
    ),
    "building_blocks": tuple(c.topic for c in Course().cases() if c.topic.startswith("blocks_")),
}
NEEDS_FILES = {name for case in Course().cases() for name in case.of_files}
# Tests of `synthesizer` that use the helper; the others test the reference's attention.
OF_THE_HELPER = ("uses_synthesizer", "whole_model")


@dataclass(frozen=True)
class Variant:
    """One variant; `path` is its file or folder."""

    path: Path

    @property
    def topic(self) -> str:
        return self.path.parts[-3]

    @property
    def is_right(self) -> bool:
        return self.path.parts[-2] == "right"

    @property
    def name(self) -> str:
        """For example "span_corruption/wrong/window"."""
        return "/".join((*self.path.parts[-3:-1], self.path.stem))

    @property
    def question(self) -> str:
        """The topic of the region that it changes."""
        words = self.field("region").split(", ")
        return words[2].replace(" ", "_") if len(words) == 3 else self.topic

    @property
    def topics(self) -> tuple[str, ...]:
        """The grader's topics whose tests apply to it."""
        return TOPICS.get(self.topic, (self.topic,))

    @cached_property
    def text(self) -> str:
        """The text of the file, or of the first file of a folder."""
        file = self.path if self.path.is_file() else min(self.path.glob("*.py"))
        return file.read_text(encoding="utf-8")

    def field(self, key: str) -> str:
        """Return what a comment `# key: ...` above the code says, or ""."""
        found = re.match(rf"(?:#.*\n)*?# {key}: (.*)", self.text)
        return found[1] if found else ""

    def listed(self, key: str) -> list[str]:
        """Return the names in a comment `# key: name, name`."""
        return [name.strip() for name in self.field(key).split(",") if name.strip()]

    @property
    def caught_by(self) -> list[str]:
        """The tests that are meant for this mistake."""
        return self.listed("caught by")

    def tests(self, bound: list[BoundTest]) -> list[BoundTest]:
        """The tests of what this variant changes."""
        return [test for test in without_files(bound) if self._concerns(test.spec)]

    def _concerns(self, spec: TestSpec) -> bool:
        if self.topic in ("attention_exploration", "building_blocks"):  # no function calls another
            return spec.topic == self.question
        attention = self.topic == "helper" and spec.topic == "synthesizer"
        return spec.topic in self.topics and (not attention or spec.name in OF_THE_HELPER)

    def key(self, test: BoundTest) -> str:
        """Return a test's name in the table, without the topic if the variant has only one."""
        several = self.topics != (self.topic,)
        return f"{test.spec.topic}.{test.spec.name}" if several else test.spec.name

    def full_name(self, key: str) -> str:
        """Return the test's name with its topic, for a name in the table."""
        return key if "." in key else f"{self.topics[0]}.{key}"


def without_files(bound: list[BoundTest]) -> list[BoundTest]:
    """Return the tests that need no trained files."""
    return [test for test in bound if test.spec.name not in NEEDS_FILES]


def all_variants() -> list[Variant]:
    """Return every variant, sorted by name."""
    found = [p for p in GOLDEN.glob("*/*/*") if p.suffix == ".py" or any(p.glob("*.py"))]
    return [Variant(path) for path in sorted(found)]


def lay_out(variant: Variant | None, target: Path, complete: Path | None = None) -> Path:
    """Create the packages in `target`: the reference, with a variant laid over it.

    Args:
        complete: the reference as an earlier call laid it out, to be copied.

    Raises:
        ValueError: the region that the variant names doesn't exist.
    """
    package = target / "submission"
    if complete is None:
        compose(ROOT, target)
    else:
        shutil.copytree(complete, target, ignore=shutil.ignore_patterns("__pycache__"))
    if variant is None:
        return target
    if variant.path.is_dir():
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(variant.path, package, dirs_exist_ok=True, ignore=ignored)
        return target
    if variant.field("edit"):
        file, old, new = variant.field("edit").split(" | ")
        text = (package / file).read_text(encoding="utf-8")
        if old not in text:
            raise ValueError(f"{variant.path}: {file} holds no {old!r}")
        changed = text.replace(old, new)
    else:
        file, function, marker = _region_words(variant)
        text = (package / file).read_text(encoding="utf-8")
        changed = _with_region(text, file, function, marker, variant.text)
    (package / file).write_text(changed, encoding="utf-8", newline="\n")
    return target


def load_module(name: str, path: Path) -> ModuleType:
    """Return a file's module, without adding it to sys.modules.

    Relative imports are resolved for the package in `name`.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def building_blocks() -> SimpleNamespace:
    """Return the reference's building blocks, from all modules."""
    found: dict[str, object] = {}
    for path in sorted((ROOT / "solutions/submission").glob("building_blocks*.py")):
        found |= vars(load_module(f"reference.{path.stem}", path))
    return SimpleNamespace(**found)


def _region_words(variant: Variant) -> list[str]:
    words = (variant.field("region") or REGIONS.get(variant.topic, "")).split(", ")
    if len(words) != 3:
        raise ValueError(f"{variant.path}: expected a comment `# region: FILE, FUNCTION, TOPIC`")
    return words


def _with_region(text: str, file: str, function: str, marker: str, body: str) -> str:
    """Return `text` with `body` between the markers of the named region."""
    lines = text.split("\n")
    for region in find_regions(text, file):
        if lines[region.start - 2].strip() != f"# [{marker}]":
            continue
        if _function_around(text, region.start) == function:
            indented = textwrap.indent(body.rstrip("\n"), " " * region.indent)
            lines[region.start : region.end - 1] = indented.split("\n")
            return "\n".join(lines)
    raise ValueError(f"{file} has no region [{marker}] in {function}")


def _function_around(text: str, line: int) -> str:
    functions = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    around = [f for f in functions if f.lineno < line <= f.end_lineno]
    return max(around, key=lambda f: f.lineno).name


if __name__ == "__main__":
    name, folder = sys.argv[1:]
    if Path(folder).exists():
        sys.exit(f"{folder} exists already: expected the name of a new folder")
    lay_out(Variant(GOLDEN / name), Path(folder))
