"""Which package may import which: `pretraining` imports none, secrets and tools stay apart."""

import ast
import re
import sys
from pathlib import PurePosixPath

import pytest

import environment

STUDENTS_LIBRARIES = {"torch", "numpy", "tqdm", "tensorboard"}
LIBRARIES = STUDENTS_LIBRARIES | {"jinja2", "pytest"}
OURS = {"submission", "pretraining", "grading", "grader", "run", "hidden", "solutions"}
OURS |= {"tools", "tests", "environment", "experiments", "inputs", "letters"}

# Which of our packages a file may import; the first matching pattern applies. Only workers import
# `submission`, so nothing in the grader but its probes and the worker may.
RULES = [
    (r"src/pretraining/", {"pretraining"}),
    (r"(src|solutions)/submission/", {"submission", "pretraining"}),
    (
        r"src/(run|experiments|inputs|dataset|london_baseline|attention_exploration)\.py",
        {"environment", "submission", "pretraining", "run", "experiments", "inputs"},
    ),
    (r"src/environment\.py", {"grading.bare_names"}),
    (r"src/grader\.py", {"environment", "grading", "questions"}),
    (r"src/collect_submission\.py", {"environment", "grading", "questions", "pretraining"}),
    (r"src/letters\.py", set()),
    (r"src/check_written\.py", {"environment", "grading", "letters"}),
    (r"src/grading/worker\.py", {"grading", "submission"}),
    (r"src/grading/", {"grading", "hidden"}),
    (
        r"src/questions/\w+/(probe|models)\.py",
        {"grading", "questions", "submission", "pretraining"},
    ),
    (r"src/questions/", {"grading", "questions"}),
    (r"solutions/hidden/", {"grading", "questions"}),
    (r"solutions/written/", {"submission", "pretraining", "heads_compared", "rounding"}),
    (r"tools/watched_pretraining\.py", {"submission", "pretraining"}),  # a program of its own
    (r"tools/__init__\.py", {"environment"}),
    (r"tools/handout/", {"tools", "grading", "pretraining", "letters"}),
    (r"tools/", {"tools", "grading", "questions", "pretraining"}),
]
# What the grader's workers import; pages.py, which makes HTML, is for run.py alone.
STUDENTS = r"(src|solutions)/submission/|src/pretraining/(?!pages\.py)"


def imported(text):
    """Return (line number, module's name) of each import; None if relative.

    Imports in `if TYPE_CHECKING:` are only for type checkers, and are left out.
    """
    tree = ast.parse(text)
    tree.body = [node for node in tree.body if not _is_for_types(node)]
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [None if node.level else f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "attr", getattr(node.func, "id", None))
            first = node.args[0] if node.args else None
            if isinstance(first, ast.JoinedStr):
                first = first.values[0]
            literal = isinstance(first, ast.Constant) and isinstance(first.value, str)
            if called in ("import_module", "__import__") and literal:
                names = [first.value]
        for name in names:
            yield node.lineno, None if (name or ".").startswith(".") else name


def _is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def violations(path, text):
    """Return a line for each import that the rules forbid.

    Args:
        path: relative to the repository, with `/`.
        text: its content.
    """
    allowed = next((names for pattern, names in RULES if re.match(pattern, path)), None)
    if allowed is None:
        return [f"{path}: no rule says what it may import"]
    libraries = STUDENTS_LIBRARIES if re.match(STUDENTS, path) else LIBRARIES
    if path.startswith("src/grading/gradescope/"):  # used on Gradescope alone
        libraries = libraries | {"jsonschema"}
    found = []
    for line, whole in imported(text):
        name = whole and whole.partition(".")[0]
        if whole is None or {whole, name} & (allowed | sys.stdlib_module_names):
            continue
        staff = path.startswith("tools/")
        if name in OURS or (name not in libraries and not staff):
            found.append(f"{path}:{line}: imports {name}")
    return found


def test_every_import_keeps_the_rules(root):
    paths = [
        path.relative_to(root).as_posix()
        for folder in ("src", "solutions", "tools")
        for path in sorted((root / folder).rglob("*.py"))
    ]
    assert len(paths) > 20
    found = [
        line
        for path in paths
        for line in violations(path, (root / path).read_text(encoding="utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    "path, statement",
    [
        ("src/submission/model.py", "import grading.wire"),
        ("src/submission/model.py", "import jinja2"),
        ("solutions/submission/helper.py", "import requests"),
        ("src/pretraining/fast.py", "import requests"),
        ("src/pretraining/inspection.py", "import jinja2"),
        ("src/pretraining/pages.py", "import requests"),
        ("src/experiments.py", "import grading"),
        ("src/pretraining/fast.py", "from submission.model import GPT"),
        ("src/pretraining/fast.py", "importlib.import_module('submission')"),
        ("src/pretraining/fast.py", "import grading"),
        ("src/environment.py", "import grading"),
        ("src/environment.py", "from grading import wire"),
        ("src/grading/cli.py", "import environment"),
        ("src/run.py", "from grading import wire"),
        ("src/run.py", "from tools import world"),
        ("src/grader.py", "import submission"),
        ("src/collect_submission.py", "from submission import dataset"),
        ("src/check_written.py", "from tools import regions"),
        ("src/grading/runner.py", "def f():\n    from submission import helper"),
        ("src/grading/runner.py", "importlib.import_module('submission.helper')"),
        ("src/grading/runner.py", "importlib.import_module(f'submission.{name}')"),
        ("src/questions/training/probe.py", "import hidden"),
        ("src/grading/worker.py", "import hidden"),
        ("src/grading/runner.py", "from questions import course"),
        ("src/questions/training/tests.py", "from submission import helper"),
        ("src/questions/training/tests.py", "import hidden"),
        ("solutions/hidden/attention_exploration.py", "import submission"),
        ("tools/world.py", "import hidden"),
        ("tools/demo.py", "from solutions.submission import dataset"),
        ("tools/demo.py", "import submission.dataset"),
        ("src/other/new.py", "import os"),
    ],
)
def test_forbidden_import_is_found(path, statement):
    assert len(violations(path, statement)) == 1


@pytest.mark.parametrize(
    "path, statement",
    [
        ("src/submission/model.py", "import math, torch\nfrom .attention import x"),
        ("src/submission/trainer.py", "from pretraining import checkpoints"),
        ("src/pretraining/pace.py", "if TYPE_CHECKING:\n    from submission.model import GPT"),
        ("src/run.py", "from submission import helper"),
        ("src/run.py", "import experiments"),
        ("src/pretraining/pages.py", "import jinja2"),
        ("src/grader.py", "from grading import wire\nimport pytest"),
        ("src/collect_submission.py", "from grading import staging"),
        ("src/questions/training/probe.py", "from submission import helper"),
        ("src/grading/worker.py", "importlib.import_module(module)"),
        ("tools/demo.py", "from tools import world\nimport rattler"),
    ],
)
def test_allowed_import_passes(path, statement):
    assert violations(path, statement) == []


def test_modules_that_commands_import_are_never_hidden_by_the_submissions(root):
    files = {path.stem: path for path in (root / "src").glob("*.py")}
    names = {
        (name or "").partition(".")[0]
        for path in files.values()
        for _, name in imported(path.read_text(encoding="utf-8"))
    }
    assert names & files.keys() == set(environment.OURS)


def test_rules_are_written_for_this_tree(root):
    # A rule whose files are gone would check nothing.
    folders = ("src/submission", "src/pretraining", "solutions/submission")
    for pattern in (*folders, "src/questions/training", "tools"):
        assert any((root / PurePosixPath(pattern)).glob("*.py")), pattern
