"""Evidence is only looked for once for the same parameters, whoever hands them in."""

import json
import shutil
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from autograder import paths
from autograder.judging import load_hidden
from questions.course import Course
from tests.classroom.test_class_run import Workers, ended, run_class, runner  # noqa: F401
from tools.classroom import class_run, import_graph, remembered, shipping
from tools.classroom.remembered import Remembered

CODE = ("hidden.evidence",)


@pytest.fixture
def hidden(root):
    load_hidden(paths.HIDDEN)
    return sys.modules["hidden.evidence"]


@pytest.fixture
def find(tmp_path, data):
    """Return find(about), which returns the number of the search that found the evidence."""
    looked: list = []

    def look():
        looked.append(1)
        return {"times": len(looked)}

    def run(about, remembered=None, code=CODE):
        kept = remembered or Remembered(tmp_path, Course(), "release")
        return kept.finding(about, code, look)["times"]

    return run


def test_a_finding_is_known_by_parameters_code_data_and_processor(
    find, data, hidden, monkeypatch, tmp_path
):
    weights = {"w": np.zeros(3)}
    assert [find(weights), find(weights), find({"w": np.zeros(3)})] == [1, 1, 1]
    assert find({"w": np.array([0.0, 0.0, 1e-30])}) == 2
    assert find({"w": np.zeros(3, dtype=np.float32)}) == 3
    assert find(weights, code=("hidden.spans",)) == 4
    monkeypatch.setattr(remembered, "processor", lambda: "another")
    assert find(weights) == 5
    monkeypatch.setattr(remembered, "versions", lambda: {"torch": "9"})
    assert find(weights) == 6
    kept = tmp_path / "data"
    shutil.copytree(paths.DATA, kept)
    monkeypatch.setattr(paths, "DATA", kept)
    assert find(weights) == 6
    with open(kept / "wiki.txt", "a", encoding="utf-8") as corpus:
        corpus.write("x")
    assert find(weights) == 7


def test_findings_of_earlier_records_are_used_and_told(find, tmp_path):
    first = Remembered(tmp_path, Course(), "release")
    find("one", first)
    (key,) = first.used()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    other = Remembered(elsewhere, Course(), "release")
    other.begin({key: {"times": 50}, "unknown": 0})
    assert find("one", other) == 50 and other.used() == {key: {"times": 50}}
    other.begin({})
    assert other.used() == {}


def test_a_failure_to_find_is_not_kept(tmp_path, data):
    kept = Remembered(tmp_path, Course(), "release")
    with pytest.raises(ZeroDivisionError):
        kept.finding("one", CODE, lambda: 1 / 0)
    assert kept.used() == {} and list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- which code counts


def test_all_modules_that_find_evidence_count(hidden, root):
    """All our modules that Python imports for it are among the files that are hashed."""
    code = """
import sys; sys.path.insert(0, 'src')
from autograder import paths
before = set(sys.modules)
import importlib.util
spec = importlib.util.spec_from_file_location(
    "hidden", paths.HIDDEN / "__init__.py", submodule_search_locations=[str(paths.HIDDEN)])
sys.modules["hidden"] = importlib.util.module_from_spec(spec)  # not run: it imports all judges
import hidden.evidence, questions.shared.probe
for name, module in sys.modules.items():
    ours = name.partition(".")[0] in ("grading", "questions", "hidden") and name != "hidden"
    if ours and module.__file__:  # a package without __init__.py has none
        print(module.__file__)
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, encoding="utf-8", check=True
    )
    imported = set(ran.stdout.splitlines())
    assert len(imported) > 10
    counted = {str(path) for path in import_graph.files_of(hidden.CODE)}
    assert imported <= counted
    assert str(root / "solutions" / "submission" / "model.py") not in counted  # a given module
    for name in ("solutions/submission/dataset.py", "src/submission/model.py"):
        assert str(root / name) in counted
    assert not any(path.endswith("tests.py") for path in counted)


@pytest.mark.parametrize(
    "file, counts",
    [
        ("solutions/hidden/evidence.py", True),
        ("solutions/hidden/spans.py", True),
        ("solutions/submission/attention.py", True),
        ("src/submission/model.py", True),
        ("src/questions/shared/probe.py", True),
        ("src/grading/wire.py", True),
        ("solutions/hidden/synthesizer.py", False),
        ("src/questions/span_corruption/tests.py", False),
        ("src/grading/report.py", False),
    ],
)
def test_an_edit_asks_for_new_evidence_only_where_it_decides(
    hidden, root, tmp_path, monkeypatch, file, counts
):
    for folder in ("src", "solutions"):
        shutil.copytree(
            root / folder, tmp_path / folder, ignore=shutil.ignore_patterns("data", "__pycache__")
        )
    monkeypatch.setattr(paths, "SRC", tmp_path / "src")
    monkeypatch.setattr(paths, "SOLUTIONS", tmp_path / "solutions")
    before = _digest(hidden)
    with open(tmp_path / file, "a", encoding="utf-8") as module:
        module.write("# more\n")
    assert (_digest(hidden) != before) is counts
    monkeypatch.undo()
    import_graph.digest_of.cache_clear()


def _digest(hidden) -> str:
    import_graph.digest_of.cache_clear()  # the grader caches it, as files don't change there
    return import_graph.digest_of(hidden.CODE)


def test_a_module_that_is_not_there_is_a_mistake(root):
    with pytest.raises(FileNotFoundError, match=r"hidden\.nothing"):
        import_graph.digest_of(("hidden.nothing",))


# ---------------------------------------------------------------- who asks


def test_the_judge_finds_evidence_once_for_the_same_parameters(hidden, tmp_path, data, monkeypatch):
    looked = []

    def evidence(case, variant):
        looked.append(variant)
        return hidden.Finding("", "", {"loss": "0.2"}, {"loss": 0.2})

    kept = Remembered(tmp_path, Course(), "release")
    monkeypatch.setattr(hidden, "_evidence", evidence)

    def found(weights, variant="vanilla", p=1e-6):
        return hidden._remembered(case_of(hidden, kept, weights, p), variant)

    one, other = np.zeros((2, 2)), np.ones((2, 2))
    assert found(one) == found(one) == hidden.Finding("", "", {"loss": "0.2"}, {"loss": 0.2})
    assert len(looked) == 1
    for asked in ((other,), (one, "rope"), (one, "vanilla", 1e-7)):
        found(*asked)
    assert looked == ["vanilla", "vanilla", "rope", "vanilla"]


def case_of(hidden, kept, weights, p=1e-6) -> SimpleNamespace:
    """Return a case in which all of the submission's files have these parameters."""
    limits = hidden.Evidence(p=p, cosine=0.9, loss={"vanilla": 0.8})
    case = SimpleNamespace(
        once=lambda name, make: make(case),
        fitting=lambda params, variant: ({"w": weights}, {"n_layer": 1}),
        readings=lambda weights, config: [weights],
        finding=kept.finding,
        run=SimpleNamespace(data=SimpleNamespace(dataset=SimpleNamespace(evidence=limits))),
    )
    return case


def test_parameters_that_are_no_numbers_are_found_wanting_and_can_be_written(
    hidden, tmp_path, data
):
    """A class's records can't contain NaN, so a submission full of them might end the command."""
    kept = Remembered(tmp_path, Course(), "release")
    found = hidden._remembered(case_of(hidden, kept, np.full((2, 2), np.nan)), "vanilla")
    assert "was not finetuned from" in found.sentence and found.numbers == {}
    json.dumps(kept.used(), allow_nan=False)


NEXT = shipping.Release("cd" * 32, b"", 6)


def test_a_later_release_gets_what_was_found_with_authority(run_class, monkeypatch):  # noqa: F811
    first, second = run_class.ids[:2]
    preview = ended("passed") | {"findings": {"b": 2}}
    preview["results"]["facts"]["authoritative"] = False
    run_class(
        Workers(**{second: [preview]} | {first: [preview], run_class.ids[2]: [preview]}), False
    )
    found, _, _ = run_class(Workers(**{first: [ended("passed") | {"findings": {"a": 1}}]}))
    assert found[first]["findings"] == {"a": 1}
    asked = {}

    class Asked(Workers):
        def run(self, jobs, say, alone=False):
            for job in jobs:
                asked[job.submission_id] = job.request["findings"]
                yield job, ended("passed")

    run_class(Asked(), release=NEXT)
    assert asked[first] == {"a": 1} and asked[second] == {}


def test_a_rerun_keeps_the_findings_of_the_first_run(run_class):  # noqa: F811
    first = run_class.ids[0]
    script = [ended("timed out", "passed") | {"findings": {"a": 1}}]
    script += [ended("passed") | {"findings": {"b": 2}}]
    found, _, _ = run_class(Workers(**{first: script}))
    assert found[first]["findings"] == {"a": 1, "b": 2} and class_run.MOST_LOSSES == 2
