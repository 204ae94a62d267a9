"""A test's digest changes with whatever decides the test, and with nothing else."""

import re
from types import ModuleType

import pytest

from autograder import paths
from autograder.description import load_assignment
from autograder.judging import course_runner
from grading import cli
from grading.runner import Runner
from questions.course import Course
from tests import pinned
from tools.classroom.deciding import Deciding, in_environment


@pytest.fixture(scope="module")
def text() -> str:
    return pinned.text()


@pytest.fixture(scope="module")
def read(text, tmp_path_factory):
    """read(edits) returns the description with some of its text replaced."""
    path = tmp_path_factory.mktemp("description") / "assignment.toml"

    def load(*edits: tuple[str, str]):
        changed = text
        for before, after in edits:
            assert before in changed, before
            changed = changed.replace(before, after)
        path.write_text(changed, encoding="utf-8")
        return load_assignment(path.parent)

    return load


@pytest.fixture(scope="module")
def runner(read) -> Runner:
    return course_runner(read(), Course())


@pytest.fixture(scope="module")
def digests(runner):
    """digests(assignment) returns the digests of the edition with the most topics, by test."""

    def of(assignment=runner.assignment) -> dict[str, str]:
        found = Deciding(assignment, Course(), runner.judging.hidden)
        return found.of(assignment.edition("current"))

    return of


def changed(before: dict[str, str], after: dict[str, str]) -> set[str]:
    assert before.keys() == after.keys()
    return {test_id for test_id in before if before[test_id] != after[test_id]}


# ---------------------------------------------------------------- files


def test_a_change_of_each_file_changes_all_tests_that_it_decides(runner):
    """Compare with what imported modules contain, and with what --where prints."""
    edition = runner.assignment.edition("current")
    tests = runner.tests(edition)
    found = Deciding(runner.assignment, runner.questions, runner.judging.hidden)
    before = found.of(edition)
    decides = {test.spec.test_id: _truly_decides(runner, test) for test in tests}
    own = {name for names in decides.values() for name in names}
    assert len(own) > 25  # modules of questions and of staff that decide something
    for path in list(found._hashes):
        name = path.relative_to(paths.ROOT).as_posix()
        kept, found._hashes[path] = found._hashes[path], "another"
        differ = changed(before, found.of(edition))
        found._hashes[path] = kept
        of_topics = name.startswith(("src/questions/", "solutions/hidden/"))
        if name == "assignment.toml":
            assert not differ  # see below
        elif not of_topics or name.count("/") < 3 and name.startswith("src/"):
            assert differ == set(before), name
        else:
            assert differ >= {t for t, names in decides.items() if name in names}, name
    assert found.of(edition) == before


def _truly_decides(runner, test) -> set[str]:
    """Return the files of a test: modules whose contents its modules use, and those of --where."""
    modules = {test.case.__module__}
    judge = runner.judging.judges.get(f"{test.spec.topic}_{test.spec.name}")
    if judge is not None:
        modules.add(getattr(judge, "func", judge).__module__)
    waiting = list(modules)
    while waiting:
        for name in _held(waiting.pop()) - modules:
            modules.add(name)
            waiting.append(name)
    files = {_file(name) for name in modules}
    for line in cli.where_lines(runner, test):
        files.add(line.split()[1].partition(":")[0])
    return {name for name in files if not name.startswith("src/grading/")}


def _held(module: str) -> set[str]:
    import sys

    held = vars(sys.modules[module]).values()
    names = [
        v.__name__ if isinstance(v, ModuleType) else getattr(v, "__module__", "") for v in held
    ]
    return {name for name in names if re.match(r"(questions\.\w+|hidden)\.\w+", str(name))}


def _file(module: str) -> str:
    folder = "solutions" if module.startswith("hidden.") else "src"
    return f"{folder}/{module.replace('.', '/')}.py"


def test_a_change_in_a_topics_folder_leaves_other_topics_alone(runner):
    edition = runner.assignment.edition("current")
    found = Deciding(runner.assignment, runner.questions, runner.judging.hidden)
    before = found.of(edition)
    path = paths.QUESTIONS / "span_corruption" / "tests.py"
    found._hashes[path] = "another"
    differ = changed(before, found.of(edition))
    assert differ == {t.test_id for t in edition.tests if t.topic == "span_corruption"}


def test_modules_are_imported_in_ways_that_a_reader_of_text_sees():
    for folder in (paths.QUESTIONS, paths.HIDDEN):
        for path in folder.rglob("*.py"):
            source = path.read_text(encoding="utf-8")
            assert not re.search(r"import_module|__import__|importlib|exec\(", source), path


@pytest.mark.parametrize(
    "source, found",
    [
        ("from questions.one import helper\n", {"one/helper.py"}),
        ("from questions.one import (\n    nothing,\n    helper,\n)\n", {"one/helper.py"}),
        ("from . import own\n", {"two/own.py"}),
        ("from .own import (\n    name as other\n)\n", {"two/own.py"}),
        ("import questions.one.helper as other\n", {"one/helper.py"}),
        ("def f():\n    from questions.one.helper import name\n", {"one/helper.py"}),
        ("x = self.probe('one.ask', SPEC)\n", {"one/probe.py"}),
        ("helper = own = 1  # one.ask\n", set()),
    ],
)
def test_imports_and_probes_are_read_from_the_text(source, found, runner, monkeypatch, tmp_path):
    made = Deciding(runner.assignment, runner.questions, None)
    names = ("one/helper.py", "one/probe.py", "two/own.py", "two/probe.py")
    questions = tmp_path / "questions"
    texts = {questions / name: "" for name in names} | {questions / "two/a.py": source}
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.setattr(paths, "SRC", tmp_path)
    monkeypatch.setattr(made, "_texts", texts)
    linked = made._linked(questions / "two/a.py")
    assert {path.relative_to(questions).as_posix() for path in linked} == found


# ---------------------------------------------------------------- the description


def test_points_titles_and_comments_change_nothing(digests, read, text):
    after = read(
        ('"span_corruption", coding = 16', '"span_corruption", coding = 20'),
        ("[topics.span_corruption]\n", "# a comment\n[topics.span_corruption]\n"),
    )
    assert after.edition("current").tests != read().edition("current").tests
    assert changed(digests(), digests(after)) == set()


def test_a_threshold_changes_the_tests_that_may_read_it(digests, read, text, runner):
    table = text[text.index("[datasets.") :]
    line = re.search(r"^thresholds = .*$", table, re.MULTILINE)
    assert line is not None
    differ = changed(digests(), digests(read((line[0], re.sub(r"0\.\d+", "0.01", line[0])))))
    tests = {t.test_id: t for t in runner.assignment.edition("current").tests}
    topics = {tests[test_id].topic for test_id in differ}
    assert {"pretraining", "synthesizer", "rope"} <= topics
    assert not topics & {"span_corruption", "attention_copying"}
    reading = [t for t in tests.values() if t.name.endswith("accuracy")]
    assert len(reading) == 6 and {t.test_id for t in reading} <= differ


@pytest.mark.parametrize("key", ["learning_rate", "block_size"])
def test_a_recipe_changes_all_tests(digests, read, text, key):
    line = re.search(rf"\b{key} = [\d.e_-]+", text)
    assert line is not None
    before = digests()
    assert changed(before, digests(read((line[0], f"{key} = 96")))) == set(before)


def test_a_time_limit_changes_its_own_test(digests, read, text, runner):
    line = 'remembers_training = { kind = "hidden", weight = 4, timeout_s = 60'
    differ = changed(digests(), digests(read((line, line.replace("60", "61")))))
    (test_id,) = differ
    tests = {t.test_id: t for t in runner.assignment.edition("current").tests}
    assert tests[test_id].name == "remembers_training"


# ---------------------------------------------------------------- where it runs


def test_versions_and_processor_count_and_the_kernel_does_not():
    versions = {"python": "3.12.1", "torch": "2.5", "numpy": "2", "system": "Linux-6.1"}
    one = in_environment("d", versions, "Xeon avx2")
    assert in_environment("d", versions | {"system": "Linux-6.2"}, "Xeon avx2") == one
    others = [
        in_environment("e", versions, "Xeon avx2"),
        in_environment("d", versions | {"torch": "2.6"}, "Xeon avx2"),
        in_environment("d", versions, "Xeon avx2 avx512f"),
    ]
    assert len({one, *others}) == 4
